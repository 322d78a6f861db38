"""Executes the examples of the documentation: programs, shell commands and tests."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack, contextmanager, redirect_stdout
from inspect import signature
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import require
from tests.e2e.pages import DOCS, README, ROOT, SCHEMA_PAGES, find_blocks, read
from tests.e2e.served import CLEAN, Served

CLIENTS = ROOT / ".venv-clients" / "bin"
EXAMPLE = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\n?```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
ENDPOINT = "http://127.0.0.1:8000"
EXECUTED_PAGES = (
    "howto/add-a-system.md",
    "howto/add-an-index.md",
    "howto/back-up-and-restore.md",
    "howto/come-from-other-libraries.md",
    "howto/connect-to-aws.md",
    "howto/control-time.md",
    "howto/embed.md",
    "howto/encrypt-a-field.md",
    "howto/explain-a-schema.md",
    "howto/load-data.md",
    "howto/use-streams.md",
    "reference/errors.md",
    "start.md",
    *SCHEMA_PAGES,
)
EXECUTED_ELSEWHERE = {
    "howto/receive-webhooks.md",  # systems/tests/checks/test_senders.py
    "howto/type-check.md",  # tests/typing/test_unseen.py
    "systems/shared.md",  # systems/tests/shared/test_sandbox.py
    "reference/declaration-errors.md",  # tests/unit/schema, each example by its code
}
FRAGMENTS = {"architecture.md"}
ALONE = ("-p", "no:cacheprovider", "-p", "no:schemathesis")  # the latter takes two seconds to import
PAGES_OF_TESTS = ("howto/test-with-pytest.md", "howto/test-your-retries.md", "howto/replace-moto.md")


def test_every_page_with_an_example_is_listed():
    pages = {str(page.relative_to(DOCS)): page.read_text("utf-8") for page in DOCS.rglob("*.md")}
    shown = {page for page, text in pages.items() if find_blocks(text, "python", "sh")}
    assert shown - {*EXECUTED_PAGES, *PAGES_OF_TESTS} == EXECUTED_ELSEWHERE | FRAGMENTS


def test_programs_in_the_readme_run(tmp_path):
    programs = [text for text in find_blocks(README.read_text("utf-8"), "python") if "def test_" not in text]
    assert programs
    for program in programs:
        command = [sys.executable, "-W", "error", "-c", program]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False, cwd=tmp_path)
        assert outcome.returncode == 0, outcome.stderr
        promised = re.findall(r"print\(.*\)\s+# (.*)", program)
        assert outcome.stdout.split("\n")[: len(promised)] == promised


def test_tests_in_the_readme_pass(pytester):
    texts = [text for text in find_blocks(README.read_text("utf-8"), "python") if "def test_" in text]
    assert texts
    for text in texts:
        pytester.makepyfile(text)
        outcome = pytester.runpytest_subprocess("-q", *ALONE)
        outcome.assert_outcomes(passed=text.count("def test_"))


@pytest.mark.parametrize("page", EXECUTED_PAGES)
def test_the_examples_of_a_page_work(page, tmp_path, monkeypatch):
    """Blocks of `python` and `sh` run in order, in an empty directory; a `text` right below shows what is printed.

    A page that speaks of a server gets the one that it starts, and a page that speaks of AWS one that stands for AWS.
    """
    monkeypatch.chdir(tmp_path)
    text = read(page)
    examples = [(kind, code, shown) for kind, code, shown in EXAMPLE.findall(text) if kind in {"python", "sh"}]
    assert examples
    with ExitStack() as stack:
        served = stack.enter_context(serve(tmp_path, *find_serve_options(text))) if ENDPOINT in text else None
        if "hashrange.connect()" in text:
            use_as_aws(stack.enter_context(serve(tmp_path)), monkeypatch)
        module = ModuleType(f"example_{re.sub(r'[^a-z]', '_', page)}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        for kind, code, shown in examples:
            if served is not None and 'hashrange.open("' in code:
                served.stop()
            printed = run_example(kind, code.replace(ENDPOINT, served.url if served else ENDPOINT), vars(module))
            assert not shown or printed == shown
        for test in find_tests(module):
            test()


def test_the_tests_of_a_page_pass(pytester):
    text = read("howto/test-a-schema.md")
    pytester.makepyfile("".join(find_blocks(text, "python")))
    outcome = pytester.runpytest_subprocess("-q", *ALONE)
    outcome.assert_outcomes(passed=text.count("def test_"))


@pytest.mark.parametrize("page", PAGES_OF_TESTS)
def test_every_example_of_a_page_about_testing_is_a_test_that_passes(pytester, page):
    examples = find_blocks(read(page), "python")
    assert examples
    for number, example in enumerate(examples):
        pytester.path.joinpath(f"test_example_{number}.py").write_text(example, "utf-8")
    outcome = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--import-mode=importlib")
    passed = outcome.parseoutcomes()
    assert set(passed) == {"passed"}
    assert passed["passed"] >= len(examples)


def find_tests(module):
    """Return the tests among the examples of a page that need no fixture."""
    found = [value for name, value in vars(module).items() if name.startswith("test_")]
    return [test for test in found if not signature(test).parameters]


def find_serve_options(text):
    """Return the options of the command with which a page starts its server; none if it does not say."""
    shown = re.search(r"^\$ hashrange serve(.*)$", "".join(find_blocks(text, "console")), re.MULTILINE)
    return shlex.split(shown[1], comments=True) if shown else []


@contextmanager
def serve(folder, *options):
    """Start a server with these options alone, as a reader does; only the port is another."""
    served = Served(*options, errors=folder / "errors", shared=False)
    try:
        yield served
    finally:
        served.kill()


def use_as_aws(served, monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    settings = {
        "ENDPOINT_URL_DYNAMODB": served.url,
        "ACCESS_KEY_ID": "x",
        "SECRET_ACCESS_KEY": "y",
        "REGION": "eu-west-2",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)


def run_example(kind, code, names):
    """Run it; return what it prints."""
    if kind == "python":
        with redirect_stdout(StringIO()) as printed:
            exec(compile(code, "example", "exec"), names)
        return printed.getvalue()
    require("aws " not in code or (CLIENTS / "aws").exists(), "the AWS CLI")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    aws = shlex.join([str(CLIENTS / "python"), str(CLIENTS / "aws")])  # alone it starts in no folder with a space
    outcome = subprocess.run(
        ("bash", "-eu", "-c", f'aws() {{ {aws} "$@"; }}\n{code}'),
        env={**CLEAN, "PATH": path, "HOME": str(Path.cwd()), "AWS_PAGER": ""},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout
