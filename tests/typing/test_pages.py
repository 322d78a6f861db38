"""The examples of the documentation are typed, strictly, and lint-free; what a page calls refused is refused."""

import re
import subprocess
import sys

import pytest

from tests.e2e.pages import DOCS, README, SCHEMA_PAGES
from tests.typing.conftest import run_mypy, run_pyright

PAGES = {page: DOCS / page for page in SCHEMA_PAGES} | {"README.md": README}
RULES = "A,B,E,F,N,PIE,RET,RUF,SIM,UP,W"
EXCUSED = "E301,E302,E305,E402,E702,F811,N818,RUF012"  # blocks stand apart on a page; items are frozen


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Each page's Python, put together in a file."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for page, path in PAGES.items():
        blocks = re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        kept = [block for block in blocks if page != "README.md" or "Patterns" in block]
        found[page] = folder / f"{page.removesuffix('.md').replace('/', '_').replace('-', '_')}.py"
        found[page].write_text("\n\n".join(kept), "utf-8")
    return found


@pytest.fixture(scope="module")
def mypy_says(examples):
    return run_mypy(list(examples.values()))


@pytest.fixture(scope="module")
def pyright_says(examples):
    return run_pyright(list(examples.values()))


@pytest.mark.parametrize("checker", ["mypy_says", "pyright_says"])
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_passes_and_what_it_calls_refused_is_refused(page, checker, examples, request):
    lines = enumerate(examples[page].read_text("utf-8").splitlines(), 1)
    refused = [at for at, line in lines if "# refused: " in line]
    findings = request.getfixturevalue(checker)
    said = next((found for file, found in findings.items() if file.name == examples[page].name), {})
    assert said.keys() == set(refused), said


def test_the_refusal_in_the_tutorial_is_in_the_words_of_mypy(mypy_says):
    [quoted] = re.findall(r"^error: (.+)$", PAGES["tutorial.md"].read_text("utf-8"), re.MULTILINE)
    said = [text for found in mypy_says.values() for texts in found.values() for text in texts]
    assert quoted in said


def test_what_pages_show_is_lint_free(examples):
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length=160", f"--select={RULES}"]
    command += [f"--ignore={EXCUSED}", "--target-version=py311", *map(str, examples.values())]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout
