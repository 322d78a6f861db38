"""The rules of the source tree that a linter does not know; CONTRIBUTING.md gives their reasons."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "src" / "hashrange", ROOT / "systems" / "src" / "hashrange_systems"]
MODULES = {path: ast.parse(path.read_bytes()) for package in PACKAGES for path in sorted(package.rglob("*.py"))}
WRITTEN = [
    path
    for folder in ("src", "systems", "tests", "bench")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not any(part == "node_modules" or part.startswith(".") for part in path.relative_to(ROOT).parts)
]

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
NAMES_THAT_ROT = {"base", "common", "helpers", "manager", "utils"}
SQLITE_LIBRARIES = {"apsw", "sqlite3"}
TERMINAL_LIBRARIES = {"click", "rich", "typer"}


def relative(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def imported_libraries(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def modules_that_import(libraries: set[str]) -> list[str]:
    return relative([path for path, tree in MODULES.items() if libraries & {*imported_libraries(tree)}])


def functions_longer_than(limit: int, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limit:
                yield f"{node.name} has {lines} lines"


def test_the_package_is_where_these_rules_look():
    assert {package / "__init__.py" for package in PACKAGES} <= MODULES.keys()


def test_every_module_opens_with_a_docstring():
    silent = [path for path, tree in MODULES.items() if tree.body and not ast.get_docstring(tree)]
    assert relative(silent) == []


def test_no_module_has_a_name_that_attracts_everything():
    named = [path for path in MODULES if NAMES_THAT_ROT & {path.stem, path.parent.name}]
    assert relative(named) == []


def test_no_file_is_longer_than_a_reader_can_hold():
    long = [path for path in WRITTEN if len(path.read_text("utf-8").splitlines()) > LONGEST_FILE]
    assert relative(long) == []


def test_no_function_is_longer_than_a_screen():
    long = {
        str(path.relative_to(ROOT)): found
        for path, tree in MODULES.items()
        if (found := list(functions_longer_than(LONGEST_FUNCTION, tree)))
    }
    assert long == {}


def test_only_the_store_speaks_to_sqlite():
    assert set(modules_that_import(SQLITE_LIBRARIES)) <= {"src/hashrange/engine/store.py"}


def test_only_the_command_line_draws_on_the_terminal():
    drawing = modules_that_import(TERMINAL_LIBRARIES)
    assert [name for name in drawing if "cli" not in Path(name).with_suffix("").parts] == []


@pytest.mark.parametrize(
    "source", ["import apsw", "import apsw.ext", "from apsw import Connection", "def f():\n import apsw"]
)
def test_every_way_to_import_a_library_is_seen(source):
    assert list(imported_libraries(ast.parse(source))) == ["apsw"]
