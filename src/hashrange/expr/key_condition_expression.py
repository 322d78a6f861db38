"""Key conditions: the restricted conditions that select the items of a Query.

`compile_key_condition` refuses conditions of any other form; `check_key_condition` checks a key condition against the
key of a table or an index, whose partition key and sort key may have up to four attributes each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

from hashrange.core.errors import ValidationException
from hashrange.core.keys import KeyAttribute, check_key_size, message_for_empty_key
from hashrange.core.values import INVALID_PARAMETER, Value, decode_binary, utf8_length
from hashrange.expr.errors import ExpressionError
from hashrange.expr.functions import FUNCTIONS, Values, constant_getter
from hashrange.expr.nodes import (
    And,
    Between,
    Comparison,
    Condition,
    DocumentPath,
    FunctionCall,
    Membership,
    Not,
    Or,
    children_of,
)
from hashrange.expr.operators import MIRRORED

ConstantGetter: TypeAlias = Callable[[Values], Value]

INDEXABLE_OPERATORS = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN"})
WRONG_TYPE = f"{INVALID_PARAMETER}Condition parameter type does not match schema type"
NOT_SUPPORTED = "Query key condition not supported"
NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"


class KeyClause(NamedTuple):
    """The condition on one key attribute; the attribute is the left operand."""

    attribute: str
    operator: str
    operands: tuple[Value, ...]


class KeyCondition(NamedTuple):
    """The clauses of a key condition, in the order written."""

    clauses: tuple[KeyClause, ...]


@dataclass(frozen=True, slots=True)
class CompiledKeyCondition:
    """A key condition without the values of its placeholders."""

    clauses: tuple[tuple[str, str, tuple[ConstantGetter, ...]], ...]

    def bind(self, values: Values) -> KeyCondition:
        """Return the key condition for a request's values."""
        return KeyCondition(
            tuple(
                [
                    KeyClause(attribute, operator, tuple([get(values) for get in getters]))
                    for attribute, operator, getters in self.clauses
                ]
            )
        )


def compile_key_condition(condition: Condition) -> CompiledKeyCondition:
    """Return a resolved condition as a key condition, or raise ExpressionError for the first invalid part."""
    clauses: dict[str, tuple[str, str, tuple[ConstantGetter, ...]]] = {}
    for part in _parts_of(condition):
        attribute = _check_part(part)
        if attribute in clauses:
            raise ExpressionError("KeyConditionExpressions must only contain one condition per key")
        clauses[attribute] = (attribute, _operator_of(part), _getters_of(part))
    return CompiledKeyCondition(tuple(clauses.values()))


def _parts_of(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions joined by AND, left to right."""
    stack = [condition]
    while stack:
        current = stack.pop()
        if isinstance(current, And):
            stack.extend(reversed(current.operands))
        else:
            yield current


def _written_operator(part: Condition) -> str:
    match part:
        case Comparison():
            return part.operator
        case FunctionCall():
            return part.function
        case Between():
            return "BETWEEN"
        case Membership():
            return "IN"
        case Not() | Or() | And():
            return type(part).__name__.upper()


def _is_indexable(operator: str) -> bool:
    """Return whether an operator or function selects a range of keys."""
    if operator in INDEXABLE_OPERATORS:
        return True
    function = FUNCTIONS.get(operator)
    return function is not None and function.in_key_condition


def _check_part(part: Condition) -> str:
    """Return the key attribute of a part, or raise ExpressionError."""
    name = _written_operator(part)
    if not _is_indexable(name):
        raise ExpressionError(f"Invalid operator used in KeyConditionExpression: {name}")
    operands = children_of(part)
    if not isinstance(part, Comparison) and not isinstance(operands[0], DocumentPath):
        raise _invalid_condition(f"{name} operator must have the key attribute as its first operand")
    attribute = ""
    for operand in operands:
        if isinstance(operand, FunctionCall):
            raise ExpressionError("KeyConditionExpressions cannot contain nested operations")
        if isinstance(operand, DocumentPath):
            if attribute:
                raise _invalid_condition("Multiple attribute names used in one condition")
            if len(operand.elements) > 1:
                raise ExpressionError("KeyConditionExpressions cannot have conditions on nested attributes")
            attribute = cast("str", operand.elements[0])
    if not attribute:
        raise _invalid_condition("No key attribute specified")
    return attribute


def _invalid_condition(problem: str) -> ExpressionError:
    return ExpressionError(f"Invalid condition in KeyConditionExpression: {problem}")


def _operator_of(part: Condition) -> str:
    name = _written_operator(part)
    return name if isinstance(children_of(part)[0], DocumentPath) else MIRRORED[name]


def _getters_of(part: Condition) -> tuple[ConstantGetter, ...]:
    getters = [constant_getter(operand) for operand in children_of(part)]
    return tuple(get for get in getters if get is not None)


def check_key_condition(
    condition: KeyCondition, hashes: Sequence[KeyAttribute], ranges: Sequence[KeyAttribute]
) -> tuple[list[Value], list[KeyClause]]:
    """Return the partition key's values and the sort key's clauses, in the key's order, or raise a service error."""
    given = {clause.attribute: clause for clause in condition.clauses}
    if len(given) > len(hashes) + len(ranges):
        raise ValidationException(
            f"The number of query conditions ({len(given)}) exceeds "
            f"the number of key attributes defined in the schema ({len(hashes) + len(ranges)})"
        )
    values = [_check_hash(given.get(name), name, tag, hashes) for name, tag in hashes]
    clauses = _check_ranges(given, len(given) - len(hashes), ranges)
    check_key_size(sum(map(_length_of, values)), sum(max(map(_length_of, clause.operands)) for clause in clauses))
    return values, clauses


def _check_hash(clause: KeyClause | None, name: str, tag: str, hashes: Sequence[KeyAttribute]) -> Value:
    several = len(hashes) > 1
    if clause is None:
        raise ValidationException(_message_for_equality(name) if several else _message_for_missing(name))
    _check_operands(clause, tag)
    if clause.operator != "=":
        raise ValidationException(_message_for_equality(name) if several else NOT_SUPPORTED)
    return clause.operands[0]


def _check_ranges(given: dict[str, KeyClause], wanted: int, ranges: Sequence[KeyAttribute]) -> list[KeyClause]:
    clauses: list[KeyClause] = []
    unequal: list[str] = []  # attributes without an equality: no condition may follow them
    for name, tag in ranges:
        clause = given.get(name)
        if clause is not None:
            if unequal:
                raise ValidationException(
                    f"RANGE key attributes {', '.join(unequal)} must have equality conditions specified in the query "
                    f"because a condition is present on key attribute {name}"
                )
            _check_operands(clause, tag)
            clauses.append(clause)
        if clause is None or clause.operator != "=":
            unequal.append(name)
    if len(clauses) < wanted:
        raise ValidationException(_message_for_missing(next(name for name, _ in ranges if name not in given)))
    return clauses


def _message_for_missing(name: str) -> str:
    return f"Query condition missed key schema element: {name}"


def _message_for_equality(name: str) -> str:
    return f"HASH key attributes {name} must have equality conditions specified in the query"


def _check_operands(clause: KeyClause, tag: str) -> None:
    if not _is_indexable(clause.operator):
        raise ValidationException(NOT_INDEXABLE)
    for operand in clause.operands:
        if tag not in operand:
            raise ValidationException(WRONG_TYPE)
        if not operand[tag]:
            raise ValidationException(message_for_empty_key(KeyAttribute(clause.attribute, tag)))


def _length_of(value: Value) -> int:
    for tag, content in value.items():  # noqa: B007 - the one entry
        break
    return len(decode_binary(content)) if tag == "B" else utf8_length(content)
