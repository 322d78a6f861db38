"""Checks of the documentation: links, lists of terms, options, errors and names, generated pages, commands."""

import ast
import json
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import typer.main

import hashrange
from hashrange import provision
from hashrange.cli.app import app
from hashrange.cli.system_commands import load_commands
from hashrange.client import errors as client_errors
from hashrange.core import errors as core_errors
from hashrange.core.errors import HashrangeError, ServiceError, StorageError
from hashrange.hosting.discovery import find_systems
from tests.e2e.pages import BLOCK, DOCS, PAGES, README, ROOT, find_blocks, name_page, read

BASES = (ROOT, ROOT / "src" / "hashrange", ROOT / "systems" / "src" / "hashrange_systems", DOCS)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# What concepts.md calls index column or due time, rowid, rowid collision, response, list of terms, idle.
FORMER_TERMS = ("slots?", "place of (?:the|its|a) key", "displaced", "answers? of", "glossary", "settled?")
PAGES_ABOUT_FORMER_TERMS = ("CHANGELOG", "0020", "0021", "0024")  # the last two: slots of Python classes
DOCUMENTED_COMMANDS = {"up": "howto/run-everything.md", "serve": "howto/serve.md", "load": "howto/load-data.md"}


def find_anchors(text):
    """Return the anchors of the headings: lower case, without punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_broken_links(page):
    for link in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
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
            r"`((?:[\w.-]+/)+(?:[\w-]+\.(?:py|toml|json))?)`", BLOCK.sub("", page.read_text("utf-8"))
        ):
            if is_in_project(Path(path).parts[0]) and "duck" not in path:  # the example of "add a system"
                yield path


def is_in_project(path):
    return any(folder.joinpath(path).exists() for folder in BASES)


def is_importable(name):
    """Return whether it is a module, or an attribute of one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def find_subclasses(cls):
    return {cls, *(found for child in cls.__subclasses__() for found in find_subclasses(child))}


def find_command_lines(path):
    """Return the command lines that a page shows after a prompt, or as a shell script."""
    shown = [
        line[2:]
        for text in find_blocks(path.read_text("utf-8"), "console")
        for line in join_lines(text)
        if line.startswith("$ ")
    ]
    scripts = [
        line for text in find_blocks(path.read_text("utf-8"), "sh", "shell", "bash") for line in join_lines(text)
    ]
    return [line.partition("#")[0].strip() for line in shown + scripts if line.partition("#")[0].strip()]


def join_lines(text):
    """Return the lines of a script; a line that ends in a backslash is joined with the next."""
    return re.sub(r"\\\n\s*", " ", text).splitlines()


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=500, check=False, **options)


def find_command(words):
    """Return the command that words call, a system's own included; without one it is hashrange itself."""
    found = typer.main.get_command(app)
    for word in words:
        if not hasattr(found, "commands") or word.startswith("-"):
            break
        found = found.commands[word] if word in found.commands else load_commands(word)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_page)
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


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_no_page_uses_a_former_term(page):
    text = re.sub(r"`[^`]+`", "", BLOCK.sub("", page.read_text("utf-8"))).lower()
    if not page.name.startswith(PAGES_ABOUT_FORMER_TERMS):
        assert [term for term in FORMER_TERMS if re.search(rf"\b{term}\b", text)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_file_of_the_project_that_a_page_names_exists(page):
    assert [path for path in find_named_files(page) if not is_in_project(path)] == []


def test_every_page_and_decision_that_the_source_names_exists():
    sources = [path for folder in ("src", "systems/src", "bench") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources if "node_modules" not in path.parts)
    pages = set(re.findall(r"docs/[\w/-]+\.md", text))
    decisions = {int(number) for number in re.findall(r"decision (\d+)", text)}
    assert pages
    assert [page for page in pages if not (ROOT / page).exists()] == []
    assert max(decisions, default=0) <= len(list((DOCS / "decisions").glob("*.md")))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_page)
def test_every_module_that_a_page_names_can_be_imported(page):
    named = set(re.findall(r"`(hashrange(?:_systems)?(?:\.[a-z_]+)+)`", page.read_text("utf-8"))) - {
        "hashrange.db",
        "hashrange.end",
        "hashrange.lock",
        "hashrange.systems",  # the entry-point group
    }
    assert [name for name in named if not is_importable(name)] == []


def test_the_pages_show_the_systems_and_tables_of_hashrange_up():
    systems, shown = find_systems(), read("howto/run-everything.md")
    assert f"hashrange {hashrange.__version__}: DynamoDB and {len(systems)} systems\n" in shown
    for system in systems:
        assert f"\n  {system.name:<8}  http://127.0.0.1:8002/{system.name}  {system.title}\n" in shown
    listed = set(
        json.loads(re.search(r"^\{\n.*?^\}$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0])["TableNames"]
    )
    declared = {table.physical_name for system in systems for each in system.patterns for table in each.tables()}
    assert listed == declared | {"aura-historia-checkpoints"}  # created when aura starts


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
    names = {*hashrange.__all__, *provision.__all__}  # type: ignore[attr-defined]
    exported = sorted(names | {"open", "dump_item", "load_item"})
    assert sorted(explained) == exported


def test_every_transport_error_and_every_error_of_the_schema_layer_is_explained():
    explained = set(re.findall(r"`(?:hashrange\.)?(\w+)`", read("reference/errors.md")))
    modules = {core_errors.__name__, client_errors.__name__}
    ours = {error for error in find_subclasses(HashrangeError) if error.__module__ in modules}
    named = {error.__name__ for error in ours if not issubclass(error, ServiceError)}
    assert {"CredentialsMissing", "Tampered", "Taken"} <= named
    assert named <= explained


def test_the_reference_of_operations_is_up_to_date():
    page = ROOT / "docs" / "reference" / "operations.md"
    outcome = run(sys.executable, "-m", "hashrange.cli", "docs", "--check", str(page))
    assert outcome.returncode == 0, outcome.stderr


def test_a_page_that_is_out_of_date_is_reported(tmp_path):
    page = tmp_path / "operations.md"
    command = (sys.executable, "-m", "hashrange.cli", "docs")
    missing = run(*command, "--check", str(page))
    assert missing.returncode == 1
    assert "hashrange docs --write" in missing.stderr
    assert run(*command, "--write", str(page)).returncode == 0
    assert run(*command, "--check", str(page)).returncode == 0
    assert page.read_text("utf-8") == run(*command).stdout


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_python_in_the_documentation_is_python(page):
    for text in find_blocks(page.read_text("utf-8"), "python"):
        ast.parse(text)


def test_commands_in_the_documentation_exist():
    named = [shlex.split(command) for page in PAGES for command in find_command_lines(page)]
    ours = [words[1:] for words in named if words[0] == "hashrange"]
    assert ours
    for words in ours:
        options = {text for option in find_command(words).params for text in option.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options | {"--help"}


def test_make_up_passes_options_on():
    outcome = run(shutil.which("make"), "--dry-run", "--no-print-directory", "up", "ARGS=--web-port 9002", cwd=ROOT)
    assert outcome.stdout.splitlines()[-1] == ".venv/bin/hashrange up --demo --web-port 9002"


def test_make_targets_in_the_documentation_exist():
    named = {
        words[1] for page in PAGES for command in find_command_lines(page) if (words := command.split())[0] == "make"
    }
    assert named >= {"up", "test"}
    for target in named:
        outcome = run(shutil.which("make"), "--dry-run", "--question", target, cwd=ROOT)
        assert "No rule to make target" not in outcome.stderr
