"""The documentation: its links lead somewhere, its lists are complete, and what it tells to type works."""

import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest
import typer

import hashrange
from hashrange.cli.app import app
from hashrange.client import errors as client_errors
from hashrange.core import errors as core_errors
from hashrange.core.errors import HashrangeError, ServiceError, StorageError
from tests.conftest import require
from tests.e2e.served import CLEAN, Served

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "bench" / "README.md"])
BASES = (ROOT, ROOT / "src" / "hashrange", ROOT / "systems" / "src" / "hashrange_systems", DOCS)
CLIENTS = ROOT / ".venv-clients" / "bin"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"^```(\w*)\n(.*?)^```\n(?:\n?```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
DOCUMENTED_COMMANDS = {"up": "howto/run-everything.md", "serve": "howto/serve.md", "load": "howto/load-data.md"}
SCHEMA_PAGES = (
    "tutorial.md",
    "howto/change-items.md",
    "howto/create-tables.md",
    "howto/declare-a-table.md",
    "howto/model-a-lifecycle.md",
    "howto/page-through-results.md",
    "howto/read-changes.md",
    "howto/read-items.md",
    "howto/run-a-transaction.md",
    "howto/separate-tenants.md",
    "howto/test-a-schema.md",
    "howto/use-an-existing-table.md",
    "howto/watch-calls.md",
    "reference/vocabulary.md",
)
RUNNABLE = (
    "howto/add-a-system.md",
    "howto/add-an-index.md",
    "howto/back-up-and-restore.md",
    "howto/connect-to-aws.md",
    "howto/control-time.md",
    "howto/embed.md",
    "howto/explain-a-schema.md",
    "howto/load-data.md",
    "howto/use-streams.md",
    "reference/errors.md",
    "start.md",
    *SCHEMA_PAGES,
)
ENDPOINT = "http://127.0.0.1:8000"


def read(page):
    return (DOCS / page).read_text("utf-8")


def find_anchors(text):
    """The anchors that headings get: lower case, punctuation gone, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_broken_links(page):
    for link in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in find_anchors(target.read_text("utf-8"))):
            yield link


def find_named_files(page):
    """Yield the paths of Python files and folders that a page names in backticks; the changelog speaks of the past."""
    if page.name != "CHANGELOG.md" and "decisions" not in page.parts:
        for path in re.findall(
            r"`((?:[\w.-]+/)+(?:[\w-]+\.(?:py|toml|json))?)`", FENCE.sub("", page.read_text("utf-8"))
        ):
            if is_in_project(Path(path).parts[0]) and "duck" not in path:  # the example of "add a system"
                yield path


def is_in_project(path):
    return any(folder.joinpath(path).exists() for folder in BASES)


def is_importable(name):
    """Tell whether it is a module, or an attribute of one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def find_subclasses(cls):
    return {cls, *(found for child in cls.__subclasses__() for found in find_subclasses(child))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_inside_the_project_leads_somewhere(page):
    assert list(find_broken_links(page)) == []


def test_the_index_names_every_page():
    listed = {link.partition("#")[0] for link in LINK.findall(read("README.md"))}
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent != DOCS / "decisions"}
    assert pages - listed == {"README.md"}


def test_the_list_of_terms_explains_each_term_once():
    terms = re.findall(r"^\| ([^|`]+) \|[^|]+\|$", read("concepts.md"), re.MULTILINE)
    counted = Counter(term for term in terms if term.strip("- ") not in {"", "term"})
    assert len(counted) > 50
    assert [term for term, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_of_the_project_that_a_page_names_exists(page):
    assert [path for path in find_named_files(page) if not is_in_project(path)] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_module_that_a_page_names_can_be_imported(page):
    named = set(re.findall(r"`(hashrange(?:_systems)?(?:\.[a-z_]+)+)`", page.read_text("utf-8"))) - {
        "hashrange.db",
        "hashrange.lock",
    }
    assert [name for name in named if not is_importable(name)] == []


@pytest.mark.parametrize(("command", "page"), DOCUMENTED_COMMANDS.items())
def test_every_option_of_a_command_is_explained(command, page):
    parameters = typer.main.get_group(app).commands[command].params
    options = {option for parameter in parameters for option in parameter.opts if parameter.name != "help"}
    explained = {
        name for line in read(page).splitlines() if line.startswith("|") for name in re.findall(r"`([\w-]+)`", line)
    }
    assert len(options) > 5
    assert options - explained == set()


def test_every_storage_error_is_explained():
    rows = [line.split("|") for line in read("reference/errors.md").splitlines() if line.startswith("|")]
    explained = {row[1].strip().strip("`") for row in rows}
    assert {error.__name__ for error in find_subclasses(StorageError)} - explained == set()


def test_decisions_are_numbered_and_have_the_same_parts():
    pages = sorted((DOCS / "decisions").glob("*.md"))
    for number, page in enumerate(pages, 1):
        headings = re.findall(r"^#+ .+$", page.read_text("utf-8"), re.MULTILINE)
        assert page.name.startswith(f"{number:04d}-")
        assert headings[0].startswith(f"# {number}. ")
        assert headings[1:] == ["## Context", "## Decision", "## Why", "## Consequences"]


def test_the_vocabulary_explains_every_word():
    headings = re.findall(r"^### (.+)$", read("reference/vocabulary.md"), re.MULTILINE)
    explained = [word for heading in headings for word in re.findall(r"`(\w+)`", heading)]
    exported = sorted({*hashrange.__all__, "open", "dump_item", "load_item"})  # type: ignore[attr-defined]
    assert sorted(explained) == exported


def test_every_transport_error_and_every_error_of_the_schema_layer_is_explained():
    explained = set(re.findall(r"`(?:hashrange\.)?(\w+)`", read("reference/errors.md")))
    modules = {core_errors.__name__, client_errors.__name__}
    ours = {error for error in find_subclasses(HashrangeError) if error.__module__ in modules}
    named = {error.__name__ for error in ours if not issubclass(error, ServiceError)}
    assert {"CredentialsMissing", "Tampered", "Taken"} <= named
    assert named <= explained


@pytest.mark.parametrize("page", RUNNABLE)
def test_the_examples_of_a_page_work(page, tmp_path, monkeypatch):
    """Blocks of `python` and `sh` run in order, in an empty directory; a `text` right below shows what is printed.

    A page that speaks of a server gets one, and so does a page that speaks of AWS: it stands for AWS.
    """
    monkeypatch.chdir(tmp_path)
    text = read(page)
    examples = [(kind, code, shown) for kind, code, shown in EXAMPLE.findall(text) if kind in {"python", "sh"}]
    assert examples
    with ExitStack() as stack:
        served = stack.enter_context(serve(tmp_path, "--data", "data")) if ENDPOINT in text else None
        if "hashrange.connect()" in text:
            use_as_aws(stack.enter_context(serve(tmp_path)), monkeypatch)
        module = ModuleType(f"example_{re.sub(r'[^a-z]', '_', page)}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        for kind, code, shown in examples:
            if served is not None and 'hashrange.open("' in code:
                served.stop()
            printed = run_example(kind, code.replace(ENDPOINT, served.url if served else ENDPOINT), vars(module))
            assert not shown or printed == shown


def test_the_tests_of_a_page_pass(pytester):
    text = read("howto/test-a-schema.md")
    pytester.makepyfile("".join(code for kind, code in FENCE.findall(text) if kind == "python"))
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=text.count("def test_"))


@contextmanager
def serve(folder, *options):
    served = Served(*options, errors=folder / "errors")
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
    path = os.pathsep.join((str(Path(sys.executable).parent), str(CLIENTS), os.environ["PATH"]))
    outcome = subprocess.run(
        ("bash", "-eu", "-c", code),
        env={**CLEAN, "PATH": path, "HOME": str(Path.cwd()), "AWS_PAGER": ""},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout
