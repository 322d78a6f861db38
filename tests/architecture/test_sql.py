"""SQL is in engine/sql.py; the modules that open SQLite files have pragmas and transactions besides."""

import ast
import re
from pathlib import Path

import pytest

import hashrange

ROOT = Path(hashrange.__file__).parent
OPENING = {"engine/store.py", "engine/sqlite_file.py"}
SQL = re.compile(
    r"\b(SELECT\b.*\bFROM|INSERT (OR \w+ )?INTO|UPDATE \w*\{?.*\bSET|DELETE FROM|CREATE (TEMP |UNIQUE )?(TABLE|INDEX)"
    r"|DROP (TABLE|INDEX)|ALTER TABLE|SELECT \w+\(|WHERE \w+ (=|<|<=|>|>=) \?)",
    re.DOTALL,
)
CONNECTION = re.compile(r"PRAGMA |BEGIN IMMEDIATE")
MODULES = sorted(path for path in (ROOT / "engine").rglob("*.py") if path.name != "sql.py")


def texts_in(tree: ast.AST) -> list[str]:
    """Return the string literals of a module, f-strings with their expressions left out; docstrings are no code."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            found.append(node.value)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_sql_has_statements(path):
    forbidden = [SQL] if str(path.relative_to(ROOT)) in OPENING else [SQL, CONNECTION]
    texts = texts_in(ast.parse(path.read_text()))
    assert [text for text in texts if any(each.search(text) for each in forbidden)] == []


def test_sql_is_recognised():
    tree = ast.parse('"""SELECT 1 FROM nothing."""\nrun(f"DELETE FROM t{n} WHERE id = ?", "a text")')
    assert [bool(SQL.search(text)) for text in texts_in(tree)] == [True, False]
