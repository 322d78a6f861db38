"""The packages of the schema: each imports only those below it, type imports included."""

import ast
from pathlib import Path

import pytest

SCHEMA = Path(__file__).parents[3] / "src" / "hashrange" / "schema"
BELOW = {
    "declare": set(),
    "items": {"declare"},
    "pattern": {"declare"},
    "read": {"declare", "pattern"},
    "write": {"declare", "pattern"},
}


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hashrange.schema"):
            _, _, rest = f"{node.module}.".partition("hashrange.schema.")
            yield rest.partition(".")[0] or node.names[0].name


def test_every_package_is_listed():
    assert {path.parent.name for path in SCHEMA.glob("*/__init__.py")} == set(BELOW)


@pytest.mark.parametrize("package", BELOW)
def test_a_package_imports_only_those_below_it(package):
    found = {(path.name, other) for path in (SCHEMA / package).glob("*.py") for other in imported_packages(path)}
    assert {other for _, other in found} >= BELOW[package]
    assert {(name, other) for name, other in found if other not in {package, *BELOW[package]}} == set()
