"""How an error message shows a value: quoted, as null, or as Java's toString prints a structure."""

from __future__ import annotations

from typing import Any

from hashrange.core.values import decode_binary
from hashrange.engine.shape.request_shape import (
    ATTRIBUTE_VALUE,
    MAX_REQUEST_DEPTH,
    AttributeValueShape,
    BinaryShape,
    ListShape,
    MapShape,
    Shape,
    StructureShape,
)


def quote_value(shape: Shape, found: Any) -> str:
    """Return a value as the error message shows it."""
    return "null" if found is None else f"'{print_java(shape, found)}'"


def lower_first(name: str) -> str:
    """Return a member's name as Java spells it."""
    return name[:1].lower() + name[1:]


def print_java(shape: Shape, found: Any, depth: int = 0) -> str:
    """Return what Java's toString prints of a value; dots beyond a depth that is never stored."""
    if found is None:
        return "null"
    if depth > MAX_REQUEST_DEPTH:
        return "..."
    if isinstance(shape, AttributeValueShape):
        return _print_structure(ATTRIBUTE_VALUE, found, depth + 1)
    if isinstance(shape, StructureShape):
        return _print_structure(shape, found, depth)
    if isinstance(shape, ListShape):
        return f"[{', '.join(print_java(shape.of, element, depth) for element in found)}]"
    if isinstance(shape, MapShape):
        return f"{{{', '.join(f'{key}={print_java(shape.of, content, depth)}' for key, content in found.items())}}}"
    if isinstance(shape, BinaryShape):
        size = len(decode_binary(found))
        return f"java.nio.HeapByteBuffer[pos=0 lim={size} cap={size}]"
    return str(found).lower() if isinstance(found, bool) else str(found)


def _print_structure(shape: StructureShape, found: Any, depth: int) -> str:
    members = (
        f"{lower_first(name)}={print_java(member, found.get(name), depth)}" for name, member in shape.members.items()
    )
    return f"{shape.name}({', '.join(members)})"
