"""The rooms of the schema package: data flows one way, so each imports only those below it, type imports included."""

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


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hashrange.schema"):
            _, _, rest = f"{node.module}.".partition("hashrange.schema.")
            yield rest.partition(".")[0] or node.names[0].name


def test_every_room_is_listed():
    assert {path.parent.name for path in SCHEMA.glob("*/__init__.py")} == set(BELOW)


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_only_the_rooms_below_it(room):
    found = {(path.name, other) for path in (SCHEMA / room).glob("*.py") for other in imported_rooms(path)}
    assert {other for _, other in found} >= BELOW[room]
    assert {(name, other) for name, other in found if other not in {room, *BELOW[room]}} == set()
