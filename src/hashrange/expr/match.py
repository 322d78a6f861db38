"""What the functions of conditions say about values: begins_with, contains and size."""

from __future__ import annotations

from binascii import a2b_base64
from typing import Any

from hashrange.core.values import Value
from hashrange.expr.order import tag_of

# The sets and the type of their members.
MEMBERS = {"SS": "S", "NS": "N", "BS": "B"}


def begins_with(value: Value, prefix: Value) -> bool:
    """Whether a string or binary starts with another."""
    if "S" in value:
        text: str = value["S"]
        return "S" in prefix and text.startswith(prefix["S"])
    return "B" in value and "B" in prefix and a2b_base64(value["B"]).startswith(a2b_base64(prefix["B"]))


def contains(value: Value, part: Value) -> bool:
    """Whether a string or binary has a part, or a set or list a member."""
    for tag, content in value.items():  # noqa: B007 - the one entry
        break
    match tag:
        case "S":
            return "S" in part and part["S"] in content
        case "B":
            return "B" in part and a2b_base64(part["B"]) in a2b_base64(content)
        case "L":
            return part in content
        case "SS" | "NS" | "BS":
            return part.get(MEMBERS[tag]) in content
        case _:
            return False


def measure(value: Value) -> int | None:
    """Return what size() gives: UTF-16 code units, bytes, or elements; None for a value without a size."""
    tag = tag_of(value)
    content: Any = value[tag]
    match tag:
        case "S":
            return len(content) if content.isascii() else len(content.encode("utf-16-le")) // 2
        case "B":
            return len(content) // 4 * 3 - int(content.count("="))
        case "SS" | "NS" | "BS" | "L" | "M":
            return len(content)
        case _:
            return None
