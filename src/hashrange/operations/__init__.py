"""The operations: one file each, found by walking this folder; nothing else lists them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from hashrange.engine.operation import Operation


def find_operations() -> dict[str, Operation]:
    """Return every operation in this folder by its DynamoDB name."""
    found: dict[str, Operation] = {}
    for module in iter_modules(__path__):
        declared = getattr(import_module(f"{__name__}.{module.name}"), module.name)
        found[declared.name] = declared
    return found


OPERATIONS = find_operations()
