"""The documentation: its links lead somewhere, its lists are complete, and what it tells to type works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hashrange.cli import app
from hashrange.core.errors import StorageError
from tests.e2e.clients.conftest import require
from tests.e2e.served import CLEAN, Served

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "bench" / "README.md"])
CLIENTS = ROOT / ".venv-clients" / "bin"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
DOCUMENTED_COMMANDS = {"serve": "howto/serve.md", "load": "howto/load-data.md"}
RUNNABLE = (
    "howto/add-an-index.md",
    "howto/back-up-and-restore.md",
    "howto/control-time.md",
    "howto/embed.md",
    "howto/load-data.md",
    "howto/use-streams.md",
    "reference/errors.md",
    "start.md",
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


def find_subclasses(cls):
    return {cls, *(found for child in cls.__subclasses__() for found in find_subclasses(child))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_inside_the_project_leads_somewhere(page):
    assert list(find_broken_links(page)) == []


def test_the_index_names_every_page():
    listed = {link.partition("#")[0] for link in LINK.findall(read("README.md"))}
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if "decisions" not in page.parts}
    assert pages - listed == {"README.md"}


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


@pytest.mark.parametrize("page", RUNNABLE)
def test_the_examples_of_a_page_work(page, tmp_path, monkeypatch):
    """Blocks of `python` and `sh` run in order, in an empty directory; a page that speaks of a server gets one."""
    monkeypatch.chdir(tmp_path)
    text = read(page)
    examples = [(kind, code) for kind, code in FENCE.findall(text) if kind in {"python", "sh"}]
    assert examples
    served = Served("--data", str(tmp_path / "data"), errors=tmp_path / "errors") if ENDPOINT in text else None
    try:
        names = {"__name__": "example"}
        for kind, code in examples:
            if served is not None and "hashrange.open" in code:
                served.stop()
            run_example(kind, code.replace(ENDPOINT, served.url if served else ENDPOINT), names)
    finally:
        if served is not None:
            served.kill()


def run_example(kind, code, names):
    if kind == "python":
        exec(compile(code, "example", "exec"), names)
        return
    require("aws " not in code or (CLIENTS / "aws").exists(), "the AWS CLI")
    path = os.pathsep.join((str(Path(sys.executable).parent), str(CLIENTS), os.environ["PATH"]))
    outcome = subprocess.run(
        ("bash", "-eu", "-c", code),
        env={**CLEAN, "PATH": path, "HOME": str(Path.cwd()), "AWS_PAGER": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
