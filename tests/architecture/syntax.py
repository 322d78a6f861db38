"""The syntax of the source files, parsed and searched once for all rules; nothing is read before a test asks."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "src" / "hashrange", ROOT / "systems" / "src" / "hashrange_systems"]
KEPT = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parse_file(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_bytes())


@cache
def find_statements(path: Path) -> list[ast.stmt]:
    """Return the imports, classes and functions of a file, nested ones included."""
    return select_statements(parse_file(path))


def select_statements(tree: ast.AST) -> list[ast.stmt]:
    """Return the imports, classes and functions of a tree; expressions contain none and are not searched."""
    found: list[ast.stmt] = []
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.expr):
                continue
            if isinstance(node, KEPT):
                found.append(node)
            waiting.append(node)
    return found


@cache
def list_modules() -> list[Path]:
    """Return the files of both packages."""
    return [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
