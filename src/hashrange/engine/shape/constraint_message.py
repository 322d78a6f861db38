"""The messages for members that break a constraint, and which violations one refusal reports together.

The service has an older layer, which lists up to ten violations and quotes each value, and a current one, which words
some members in its own way. Operations differ: each states its `ViolationReport` in its own file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from hashrange.core.errors import ValidationException
from hashrange.core.limits import MAX_NAME_LENGTH, MIN_NAME_LENGTH
from hashrange.core.wire import Wire
from hashrange.engine.shape.constraint import ConstraintType, ConstraintViolation, find_violations
from hashrange.engine.shape.java_text import quote_value
from hashrange.engine.shape.request_shape import StructureShape

MAX_LISTED_ERRORS = 10
Violations = list[ConstraintViolation]

# The current layer of the single-item writes; the missing letter in UPDATE_NEW is the service's.
CURRENT_ENUMS = {
    "ConditionalOperator": "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]",
    "ReturnItemCollectionMetrics": "ReturnItemCollectionMetrics can only be SIZE or NONE",
    "ReturnValues": "Failed to satisfy constraint: "
    "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
}


def messages_for_each(violations: Violations) -> list[str]:
    """Return the older layer's message for each violation."""
    return [message_with_value(violation) for violation in violations]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationReport:
    """How an operation reports violations: the members it checks before all others, and its messages."""

    first: frozenset[str] = frozenset()
    unless_missing: str | None = None  # without this member of the request, none comes first
    messages: Callable[[Violations], list[str]] = messages_for_each


ALL_TOGETHER = ViolationReport()


def check_constraints(shape: StructureShape, request: Wire, report: ViolationReport) -> None:
    """Raise the operation's ValidationException if a converted request breaks a constraint."""
    first = report.first
    if report.unless_missing and report.unless_missing not in request:
        first = frozenset()
    for stage in (first, shape.members.keys() - first):
        members = [member for member in shape.members if member in stage]
        violations = list(islice(find_violations(shape, request, members), MAX_LISTED_ERRORS))
        if violations:
            raise ValidationException(_join(report.messages(violations)))


def _join(messages: list[str]) -> str:
    plural = "" if len(messages) == 1 else "s"
    return f"{len(messages)} validation error{plural} detected: {'; '.join(messages)}"


def message_with_value(violation: ConstraintViolation) -> str:
    """Return the older layer's message, which quotes the value."""
    return message_at(f"Value {quote_value(violation.shape, violation.found)} at '{violation.path.lower}'", violation)


def message_without_value(violation: ConstraintViolation) -> str:
    """Return the current layer's message, which spells the member as the model does."""
    return message_at(f"Value at '{violation.path.upper}'", violation)


def message_at(where: str, violation: ConstraintViolation) -> str:
    """Return the message for a violation whose path is already text."""
    return f"{where} failed to satisfy constraint: {violation.rule.text}"


def messages_for_write(violations: Violations) -> list[str]:
    """Return the messages of the single-item writes, whose current layer words some enums."""
    if any(violation.rule.type is ConstraintType.NULL for violation in violations):
        return messages_for_each(violations)
    return [CURRENT_ENUMS.get(each.path.upper) or message_with_value(each) for each in violations]


def messages_for_transaction(violations: Violations) -> list[str]:
    """Return the messages of a transaction; its entries are not checked when their number is wrong."""
    return messages_for_each(violations[:1] if violations[0].path.upper == "TransactItems" else violations)


def length_in_own_sentence(member: str, shown: str) -> ViolationReport:
    """Return the report of operations that state the length of a name in a sentence of its own."""

    def messages(violations: Violations) -> list[str]:
        if any(each.path.upper == member and each.rule.type is ConstraintType.RANGE for each in violations):
            raise ValidationException(
                f"{shown} must be at least {MIN_NAME_LENGTH} characters long and at most "
                f"{MAX_NAME_LENGTH} characters long"
            )
        return messages_for_each(violations)

    return ViolationReport(messages=messages)
