"""How two values compare: strings by code point, numbers exactly, bytes as bytes; nothing else has an order."""

from __future__ import annotations

import operator
from binascii import a2b_base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from hashrange.core.values import Value

Compare: TypeAlias = Callable[[Any, Any], bool]

ORDERINGS: dict[str, Compare] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# What to compare instead of the wire's text; the keys are the types that have an order.
COMPARISON_KEYS: dict[str, Callable[[str], Any]] = {"S": str, "N": Decimal, "B": a2b_base64}


def tag_of(value: Value) -> str:
    """Return the type of a value, such as `S`."""
    return next(iter(value))


def comparison_key(value: Value) -> tuple[str, Any]:
    """Return the type of an ordered value and what to compare it by."""
    for tag, content in value.items():  # noqa: B007 - the one entry
        break
    return tag, COMPARISON_KEYS[tag](content)


def are_ordered(compare: Compare, left: Value | None, right: Value | None) -> bool:
    """Whether an order holds between two values; never between missing ones, other types, or types without order."""
    if left is None or right is None:
        return False
    for tag, content in left.items():  # noqa: B007 - the one entry
        break
    to_rank = COMPARISON_KEYS.get(tag)
    if to_rank is None or tag not in right:
        return False
    return compare(to_rank(content), to_rank(right[tag]))
