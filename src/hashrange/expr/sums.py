"""What adding and taking away do to values: numbers exactly, sets by member, lists at the end."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hashrange.core import numbers
from hashrange.core.errors import ValidationException
from hashrange.core.values import Value
from hashrange.expr.order import tag_of

# How the members of a set are sorted; None for as they are.
SET_ORDERS: dict[str, Callable[[str], Any] | None] = {"SS": None, "NS": Decimal, "BS": a2b_base64}
# Whole numbers up to this length cannot overflow when added.
SHORT = 36


@dataclass(frozen=True, slots=True)
class UpdateArithmetic:
    """The sums of one kind of update: how it words a type that does not fit, and whether lists may be added to."""

    mismatch: str
    lists: bool

    def plus(self, left: Value, right: Value) -> Value:
        """Return the sum of two numbers."""
        return {"N": add_numbers(self._take(left, "N"), self._take(right, "N"))}

    def minus(self, left: Value, right: Value) -> Value:
        """Return the difference of two numbers."""
        return {"N": subtract_numbers(self._take(left, "N"), self._take(right, "N"))}

    def append(self, left: Value, right: Value) -> Value:
        """Return one list after the other."""
        return {"L": [*self._take(left, "L"), *self._take(right, "L")]}

    def add(self, value: Value | None, operand: Value) -> Value:
        """Return a number plus the operand, or a set (or list) with its members; a missing value is the operand."""
        if value is None:
            return operand
        tag = tag_of(operand)
        content = self._take(value, tag)
        if tag == "N":
            return {"N": add_numbers(content, operand["N"])}
        if tag == "L" and self.lists:
            return {"L": [*content, *operand["L"]]}
        more = set(operand[tag]).difference(content)
        return {tag: sorted([*content, *more], key=SET_ORDERS[tag])} if more else value

    def remove(self, value: Value | None, operand: Value) -> Value | None:
        """Return a set without the operand's members; None when none is left."""
        if value is None:
            return None
        tag = tag_of(operand)
        content = self._take(value, tag)
        gone = set(operand[tag])
        kept = [member for member in content if member not in gone]
        if len(kept) == len(content):
            return value
        return {tag: kept} if kept else None

    def _take(self, value: Value, tag: str) -> Any:
        content = value.get(tag)
        if content is None:
            raise ValidationException(self.mismatch)
        return content


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
