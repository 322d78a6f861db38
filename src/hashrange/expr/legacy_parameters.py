"""Legacy parameters (Expected, QueryFilter, AttributeUpdates ...), converted to the same objects as expressions.

Names are literal: a dot has no meaning, and reserved words are allowed. NULL and NOT_NULL test whether an attribute
exists, not whether it has the type NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hashrange.core.errors import RequestInvalid, ValidationException
from hashrange.core.values import (
    EMPTY_NAME,
    INVALID_PARAMETER,
    MAX_NAME_BYTES,
    NAME_TOO_LONG,
    ErrorWording,
    InvalidValue,
    Value,
    canonicalise,
    utf8_length,
)
from hashrange.core.wire import Wire
from hashrange.expr.condition import Predicate, bind_condition
from hashrange.expr.functions import FUNCTIONS
from hashrange.expr.key_condition_expression import KeyClause, KeyCondition
from hashrange.expr.nodes import (
    Action,
    AddAction,
    And,
    Between,
    Comparison,
    Condition,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Not,
    Or,
    RemoveAction,
    SetAction,
    path_of,
)
from hashrange.expr.operators import LEGACY_ARITHMETIC, ORDERED_TYPES, SET_TYPES, comparison_key, tag_of
from hashrange.expr.projection import Projection, project_attributes
from hashrange.expr.update import ItemUpdate, bind_update

COMPARATORS = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}
KEY_OPERATORS = COMPARATORS | {"BEGINS_WITH": "begins_with"}
COUNTS = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
# The types of values that each operator takes; operators that are not here take any.
OPERATOR_TYPES = {"BEGINS_WITH": FUNCTIONS["begins_with"].operands[1].types} | dict.fromkeys(
    ("LE", "LT", "GE", "GT", "BETWEEN", "IN", "CONTAINS", "NOT_CONTAINS"), ORDERED_TYPES
)
BOUNDS_REVERSED = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
ADDABLE_TYPES = SET_TYPES | {"N", "L"}


def check_operator(operator: str | None, conditions: Mapping[str, Any] | None) -> None:
    """Refuse a ConditionalOperator without two conditions to combine."""
    if operator is None:
        return
    if not conditions:
        raise RequestInvalid("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) < 2:
        raise RequestInvalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")


def convert_expected(expected: Wire, operator: str | None, wording: ErrorWording) -> Predicate | None:
    """Return the predicate of Expected; None when it is empty."""
    nodes = [_convert_expectation(name, condition, wording) for name, condition in expected.items()]
    return _combine(nodes, operator)


def convert_filter(conditions: Wire, operator: str | None, wording: ErrorWording) -> Predicate | None:
    """Return the predicate of a QueryFilter or ScanFilter; None when it is empty."""
    nodes = [_convert_condition(name, condition, wording) for name, condition in conditions.items()]
    return _combine(nodes, operator)


def convert_key_conditions(conditions: Wire, wording: ErrorWording) -> KeyCondition:
    """Return the key condition of KeyConditions."""
    if not conditions:
        raise RequestInvalid("Conditions can be of length 1 or 2 only")
    clauses = []
    for name, condition in conditions.items():
        _check_name(name)
        operator, values = _read_condition(condition, wording)
        clauses.append(KeyClause(name, KEY_OPERATORS.get(operator, operator), tuple(values)))
    return KeyCondition(tuple(clauses))


def convert_attributes(names: list[str]) -> Projection:
    """Return the projection of AttributesToGet."""
    seen: set[str] = set()
    for name in names:
        _check_name(name)
        if name in seen:
            raise RequestInvalid(f"{INVALID_PARAMETER}Duplicate value in attribute name: {name}")
        seen.add(name)
    return project_attributes(names)


def convert_updates(updates: Wire, wording: ErrorWording) -> ItemUpdate | None:
    """Return the update of AttributeUpdates; None when it is empty."""
    actions = tuple(_convert_update(_convert_name(name), update, wording) for name, update in updates.items())
    return bind_update(actions, LEGACY_ARITHMETIC) if actions else None


def _convert_name(name: str) -> DocumentPath:
    _check_name(name)
    return path_of(name)


def _check_name(name: str) -> None:
    """Refuse a name that no attribute can have."""
    if not name:
        raise ValidationException(EMPTY_NAME)
    if utf8_length(name) > MAX_NAME_BYTES:
        raise ValidationException(NAME_TOO_LONG)


def _combine(conditions: list[Condition], operator: str | None) -> Predicate | None:
    if not conditions:
        return None
    return bind_condition((Or if operator == "OR" else And)(tuple(conditions)))


def _canonicalise(value: Value, wording: ErrorWording) -> Value:
    try:
        return canonicalise(value)
    except InvalidValue as error:
        raise error.service_error(wording) from None


def _convert_condition(name: str, condition: Wire, wording: ErrorWording) -> Condition:
    return _make_condition(_convert_name(name), *_read_condition(condition, wording))


def _read_condition(condition: Wire, wording: ErrorWording) -> tuple[str, list[Value]]:
    """Return the operator and the values of a condition, both checked."""
    operator: str = condition["ComparisonOperator"]
    values = [_canonicalise(value, wording) for value in condition.get("AttributeValueList") or ()]
    _check_count(operator, values)
    _check_types(operator, values)
    return operator, values


def _convert_expectation(name: str, condition: Wire, wording: ErrorWording) -> Condition:
    path = _convert_name(name)
    _check_members(name, condition)
    listed: list[Value] = condition.get("AttributeValueList") or []
    values = [condition["Value"]] if "Value" in condition else listed
    operator: str = condition.get("ComparisonOperator") or ("EQ" if values else "NULL")
    _check_count(operator, values)
    values = [_canonicalise(value, wording) for value in values]
    _check_types(operator, values)
    return _make_condition(path, operator, values)


def _check_members(name: str, condition: Wire) -> None:
    """Refuse an entry of Expected with members that exclude each other."""
    has_value, has_list = "Value" in condition, "AttributeValueList" in condition
    operator, exists = condition.get("ComparisonOperator"), condition.get("Exists")
    if has_value and has_list:
        raise _member_error("Value and AttributeValueList cannot be used together", name)
    if operator is not None:
        if exists is not None:
            raise _member_error("Exists and ComparisonOperator cannot be used together", name)
        if not (has_value or has_list or operator in {"NULL", "NOT_NULL"}):
            raise _member_error(f"Value or AttributeValueList must be used with ComparisonOperator: {operator}", name)
    elif has_list:
        raise _member_error("AttributeValueList can only be used with a ComparisonOperator", name)
    elif exists is False:
        if has_value:
            raise _member_error("Value cannot be used when Exists is false", name)
    elif not has_value:
        raise _member_error(f"Value must be provided when Exists is {'null' if exists is None else 'true'}", name)


def _member_error(problem: str, name: str) -> RequestInvalid:
    return RequestInvalid(f"{INVALID_PARAMETER}{problem} for Attribute: {name}")


def _check_count(operator: str, values: list[Value]) -> None:
    fits = len(values) >= 1 if operator == "IN" else len(values) == COUNTS.get(operator, 1)
    if not fits:
        raise RequestInvalid(f"{INVALID_PARAMETER}Invalid number of argument(s) for the {operator} ComparisonOperator")


def _check_types(operator: str, values: list[Value]) -> None:
    tags = [tag_of(value) for value in values]
    if len(set(tags)) > 1:
        raise RequestInvalid(f"{INVALID_PARAMETER}AttributeValues inside AttributeValueList must be of same type")
    if tags and operator in OPERATOR_TYPES and tags[0] not in OPERATOR_TYPES[operator]:
        raise RequestInvalid(
            f"{INVALID_PARAMETER}ComparisonOperator {operator} is not valid for {tags[0]} AttributeValue type"
        )
    if operator == "BETWEEN" and comparison_key(values[0]) > comparison_key(values[1]):
        raise RequestInvalid(BOUNDS_REVERSED)


def _make_condition(path: DocumentPath, operator: str, values: list[Value]) -> Condition:
    operands = tuple(Literal(value) for value in values)
    if operator in COMPARATORS:
        return Comparison(COMPARATORS[operator], path, operands[0])
    match operator:
        case "NULL":
            return FunctionCall("attribute_not_exists", (path,))
        case "NOT_NULL":
            return FunctionCall("attribute_exists", (path,))
        case "BETWEEN":
            return Between(path, *operands)
        case "IN":
            return Membership(path, operands)
        case "BEGINS_WITH":
            return FunctionCall("begins_with", (path, operands[0]))
        case "NOT_CONTAINS":  # false for a missing attribute, unlike NOT contains()
            return And((FunctionCall("attribute_exists", (path,)), Not(FunctionCall("contains", (path, operands[0])))))
        case _:
            return FunctionCall("contains", (path, operands[0]))


def _convert_update(path: DocumentPath, update: Wire, wording: ErrorWording) -> Action:
    action = update.get("Action") or "PUT"
    given: Value | None = update.get("Value")
    if given is None:
        if action != "DELETE":
            raise RequestInvalid(
                f"{INVALID_PARAMETER}Only DELETE action is allowed when no attribute value is specified"
            )
        return RemoveAction(path)
    value = _canonicalise(given, wording)
    tag = tag_of(value)
    if action == "DELETE" and tag not in SET_TYPES:
        raise RequestInvalid(f"{INVALID_PARAMETER}DELETE action with value is not supported for the type {tag}")
    if action == "ADD" and tag not in ADDABLE_TYPES:
        raise RequestInvalid(f"{INVALID_PARAMETER}ADD action is not supported for the type {tag}")
    match action:
        case "ADD":
            return AddAction(path, Literal(value))
        case "DELETE":
            return DeleteAction(path, Literal(value))
        case _:
            return SetAction(path, Literal(value))
