"""Bounds of what a write adds to: the sum of numbers, the length of a list.

The database computes the sum, so the bound is part of the condition: `stock >= 0 - {amount}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import Comparison, DocumentPath, FunctionCall
from hashrange.schema.declare.field_constraint import length_bounds, limits_digits, number_bounds
from hashrange.schema.declare.field_kind import KINDS, Codec
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.bound_source import BoundMinusArgument
from hashrange.schema.pattern.value_source import ArgumentSource, Placeholders
from hashrange.schema.write.write_plan import PinnedCondition


class Addition(Struct, frozen=True):
    """A parameter that adds to what is stored at a path."""

    label: str  # of the pattern
    parameter: str
    action: str  # ADD, APPEND or DELETE
    path: DocumentPath
    codec: Codec
    is_set: bool
    constraints: list[object]
    start: ArgumentSource | None  # what an absent value is counted from


def bound_conditions(addition: Addition, placeholders: Placeholders) -> Iterator[PinnedCondition]:
    """Yield the tests that a sum or a length stays within its bounds; refuse those that no condition can test."""
    if addition.action not in {"ADD", "APPEND", "DELETE"}:
        return
    _check_testable(addition)
    is_length = addition.action == "APPEND"
    codec = KINDS[int].codec if is_length else addition.codec
    tested = FunctionCall("size", (addition.path,)) if is_length else addition.path
    bounds = length_bounds(addition.constraints) if is_length else number_bounds(addition.constraints)
    for operator, bound in bounds if not addition.is_set else ():
        limit = BoundMinusArgument(addition.parameter, bound, operator, codec, addition.start, is_length=is_length)
        test = Comparison(operator, tested, criterion.operand(limit, placeholders))
        yield PinnedCondition(test, depends=frozenset({addition.parameter}))


def _check_testable(addition: Addition) -> None:
    """Refuse bounds of the size of a set, which depends on the members that it has, and of digits."""
    why = ""
    if addition.is_set and length_bounds(addition.constraints):
        why = "the number of its members is limited, and depends on those that it has"
    elif addition.action == "ADD" and not addition.is_set and limits_digits(addition.constraints):
        why = "its number of digits is limited, and DynamoDB cannot count those of the sum"
    if why:
        raise DeclarationError(
            "HR260",
            addition.label,
            f"{addition.parameter} changes a value whose bounds no condition can test: {why}",
            "take the item and set the new value, or bound the value with ge and le",
        )
