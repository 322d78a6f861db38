"""What the documents say about the source tree is true: modules, paths and layers that they name exist."""

import pkgutil
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hashrange"
PACKAGES = {path.stem for path in PACKAGE.iterdir() if path.suffix in {"", ".py"} and not path.name.startswith("_")}
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/concepts.md",
]

DOTTED = re.compile(r"`(?:hashrange\.)?([a-z_]+(?:\.[A-Za-z_]+)+)")
FILE_NAMES = (".json", ".md", ".py")
PATH = re.compile(r"`((?:src|systems|tests|docs|bench|scripts)/[\w./*-]*|\w+/[\w/]+\.py)`")


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def resolves(dotted: str) -> bool:
    """Return whether a name is a module of hashrange, or something in one."""
    try:
        pkgutil.resolve_name(f"hashrange.{dotted}")
    except (AttributeError, ImportError):
        return False
    return True


def exists(path: str) -> bool:
    """Return whether a path is in the repository, from its root or from that of the package; * stands for any name."""
    return any(any(root.glob(path)) for root in (ROOT, PACKAGE))


@pytest.mark.parametrize("page", PAGES)
def test_every_module_that_a_page_names_exists(page):
    named = {name for name in DOTTED.findall(read(page)) if not name.endswith(FILE_NAMES)}
    ours = {name for name in named if name.partition(".")[0] in PACKAGES}
    assert sorted(name for name in ours if not resolves(name)) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page):
    assert sorted(path for path in set(PATH.findall(read(page))) if not exists(path)) == []


def test_the_readme_says_where_every_folder_is():
    _, _, section = read("README.md").partition("## Where things are\n")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    top = {path.split("/")[0] for path in tracked if "/" in path and not path.startswith(".")}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(name for name in top if not re.search(rf"[`(]{name}[/)]", section)) == []
    assert sorted(name for name in packages if f"`src/hashrange/{name}/`" not in section) == []


def test_the_layers_are_drawn_as_they_are_enforced():
    contract = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
    enforced = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    drawing = re.search(r"```\n(cli\b.*?)```", read("docs/architecture.md"), re.DOTALL)
    drawn = [set(re.findall(r"\w+", re.split(r"\s{2,}", line)[0])) for line in drawing[1].splitlines()]
    assert drawn == enforced


def test_the_places_to_add_something_are_listed_with_the_tests_that_add_it():
    _, _, section = read("docs/architecture.md").partition("## Where to add\n")
    rows = re.findall(r"^\| (?:an?) ([\w ]+?) \| (.+) \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    assert {name for name, _, _ in rows} == {
        "operation",
        "field kind",
        "format of key templates",
        "expression function",
        "system",
    }
    assert [name for name, code, tests in rows if not (PATH.findall(code) and PATH.findall(tests))] == []


@pytest.mark.parametrize(
    "name", ["core.keys", "engine.store", "core.errors.Conflict", "session.patterns.Patterns.open"]
)
def test_what_exists_is_found(name):
    assert resolves(name)


@pytest.mark.parametrize("name", ["core.nothing", "core.errors.Nothing", "nothing.at.all"])
def test_what_does_not_exist_is_not_found(name):
    assert not resolves(name)
