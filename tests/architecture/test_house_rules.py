"""The rules of the source tree that a linter does not know; CONTRIBUTING.md gives their reasons."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.syntax import PACKAGES, ROOT, find_statements, list_modules, parse_file, select_statements

NAMES_THAT_ROT = {"base", "common", "helpers", "manager", "utils"}
SQLITE_LIBRARIES = {"apsw", "sqlite3"}
TERMINAL_LIBRARIES = {"click", "rich", "typer"}


def relative(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def imported_libraries(statements: list[ast.stmt]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def modules_that_import(libraries: set[str]) -> list[str]:
    return relative([path for path in list_modules() if libraries & {*imported_libraries(find_statements(path))}])


def test_the_package_is_where_these_rules_look():
    assert {package / "__init__.py" for package in PACKAGES} <= set(list_modules())


def test_every_module_opens_with_a_docstring():
    parsed = {path: parse_file(path) for path in list_modules()}
    silent = [path for path, tree in parsed.items() if tree.body and not ast.get_docstring(tree)]
    assert relative(silent) == []


def test_no_module_has_a_name_that_attracts_everything():
    named = [path for path in list_modules() if NAMES_THAT_ROT & {path.stem, path.parent.name}]
    assert relative(named) == []


def test_only_the_store_speaks_to_sqlite():
    assert set(modules_that_import(SQLITE_LIBRARIES)) <= {
        "src/hashrange/engine/sqlite_file.py",
        "src/hashrange/engine/store.py",
    }


def test_only_the_command_line_draws_on_the_terminal():
    drawing = modules_that_import(TERMINAL_LIBRARIES)
    assert [name for name in drawing if "cli" not in Path(name).with_suffix("").parts] == []


@pytest.mark.parametrize(
    "source", ["import apsw", "import apsw.ext", "from apsw import Connection", "def f():\n import apsw"]
)
def test_every_way_to_import_a_library_is_seen(source):
    assert list(imported_libraries(select_statements(ast.parse(source)))) == ["apsw"]


def test_every_operation_has_a_conformance_test():
    called = "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "conformance").glob("test_*.py"))
    operations = [path.stem for path in (ROOT / "src" / "hashrange" / "operations").glob("[a-z]*.py")]
    assert len(operations) > 50
    assert [name for name in operations if name not in called] == []


def test_a_function_that_returns_a_bool_returns_whether():
    others = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in list_modules()
        for node in find_statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id == "bool"
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
        and (ast.get_docstring(node) or "").startswith(("Whether", "Tell"))
    ]
    assert others == []
