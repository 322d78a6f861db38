"""The operators of the expression language, applied to values: comparison, `+` and `-`, ADD and DELETE.

Strings compare by code point, numbers exactly, binaries by byte; no other type has an order.
"""

from __future__ import annotations

import operator
from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from hashrange.core import numbers
from hashrange.core.errors import ValidationException
from hashrange.core.values import Value

Compare: TypeAlias = Callable[[Any, Any], bool]

ORDERINGS: dict[str, Compare] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COMPARATORS = frozenset({"=", "<>", *ORDERINGS})
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Converts the content of a value to what Python compares; the keys are the types that have an order.
COMPARISON_KEYS: dict[str, Callable[[str], Any]] = {"S": str, "N": Decimal, "B": a2b_base64}
ORDERED_TYPES = frozenset(COMPARISON_KEYS)
SET_TYPES = frozenset({"SS", "NS", "BS"})
# The sort key of a set's members; None to compare them as strings.
SET_ORDERS: dict[str, Callable[[str], Any] | None] = {"SS": None, "NS": Decimal, "BS": a2b_base64}
# Whole numbers up to this length cannot overflow when added.
SHORT = 36
WRONG_OPERAND_TYPE = "An operand in the update expression has an incorrect data type"


def tag_of(value: Value) -> str:
    """Return the type of a value, such as `S`."""
    return next(iter(value))


def comparison_key(value: Value) -> tuple[str, Any]:
    """Return the type of a value that has an order, and what to compare it by."""
    for tag, content in value.items():  # noqa: B007 - the one entry
        break
    return tag, COMPARISON_KEYS[tag](content)


def are_ordered(compare: Compare, left: Value | None, right: Value | None) -> bool:
    """Return whether an order holds; never for missing values, different types, or types without an order."""
    if left is None or right is None:
        return False
    for tag, content in left.items():  # noqa: B007 - the one entry
        break
    key_of = COMPARISON_KEYS.get(tag)
    if key_of is None or tag not in right:
        return False
    return compare(key_of(content), key_of(right[tag]))


@dataclass(frozen=True, slots=True)
class UpdateArithmetic:
    """The arithmetic of one type of update: its text for a wrong type, and whether ADD appends to lists."""

    mismatch: str
    lists: bool

    def plus(self, left: Value, right: Value) -> Value:
        """Return the sum of two numbers."""
        return {"N": add_numbers(self._content(left, "N"), self._content(right, "N"))}

    def minus(self, left: Value, right: Value) -> Value:
        """Return the difference of two numbers."""
        return {"N": subtract_numbers(self._content(left, "N"), self._content(right, "N"))}

    def add(self, value: Value | None, operand: Value) -> Value:
        """Return what ADD gives: the sum, the union of two sets, or a longer list; a missing value is the operand."""
        if value is None:
            return operand
        tag = tag_of(operand)
        content = self._content(value, tag)
        if tag == "N":
            return {"N": add_numbers(content, operand["N"])}
        if tag == "L" and self.lists:
            return {"L": [*content, *operand["L"]]}
        more = set(operand[tag]).difference(content)
        return {tag: sorted([*content, *more], key=SET_ORDERS[tag])} if more else value

    def remove(self, value: Value | None, operand: Value) -> Value | None:
        """Return what DELETE gives: a set without the operand's members; None when none is left."""
        if value is None:
            return None
        tag = tag_of(operand)
        content = self._content(value, tag)
        removed = set(operand[tag])
        kept = [member for member in content if member not in removed]
        if len(kept) == len(content):
            return value
        return {tag: kept} if kept else None

    def _content(self, value: Value, tag: str) -> Any:
        content = value.get(tag)
        if content is None:
            raise ValidationException(self.mismatch)
        return content


EXPRESSION_ARITHMETIC = UpdateArithmetic(WRONG_OPERAND_TYPE, lists=False)
LEGACY_ARITHMETIC = UpdateArithmetic("Type mismatch for attribute to update", lists=True)


def add_numbers(left: str, right: str) -> str:
    """Return the sum of two canonical numbers, or refuse one that cannot be stored."""
    if _are_short(left, right):
        return str(int(left) + int(right))
    return _store(numbers.add, left, right)


def subtract_numbers(left: str, right: str) -> str:
    """Return the difference of two canonical numbers, or refuse one that cannot be stored."""
    if _are_short(left, right):
        return str(int(left) - int(right))
    return _store(numbers.subtract, left, right)


def _are_short(left: str, right: str) -> bool:
    return len(left) <= SHORT and len(right) <= SHORT and "." not in left and "." not in right


def _store(combine: Callable[[str, str], str], left: str, right: str) -> str:
    try:
        return combine(left, right)
    except numbers.NumberError as error:
        raise ValidationException(str(error)) from None
