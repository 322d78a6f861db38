"""The rules for operands that need no item: how many a function takes, which types, and which may not be the same.

`check_contents` is the part that looks into values; all else follows from their types, so that a request whose types
were once accepted needs only that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hashrange.core.values import TAGS, Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.nodes import (
    Arithmetic,
    Assigned,
    Between,
    Clause,
    Comparison,
    DocumentPath,
    FunctionCall,
    Literal,
    Membership,
    Node,
    Placeholder,
    children_of,
    format_path,
    walk_inner_first,
)
from hashrange.expr.order import COMPARISON_KEYS, ORDERINGS, comparison_key, tag_of

ARITY = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
    "if_not_exists": 2,
    "list_append": 2,
}
MOST_OPTIONS = 100
NEED_A_PATH = {"attribute_exists", "attribute_not_exists", "if_not_exists"}
ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
TYPE_NAMES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
ORDERED = frozenset(COMPARISON_KEYS)
# The types that each operator or function takes from the request; those not here take any.
ALLOWED = {
    "BETWEEN": ORDERED,
    "begins_with": frozenset({"S", "B"}),
    "size": TAGS - {"N", "BOOL", "NULL"},
    "list_append": frozenset({"L"}),
    "+": frozenset({"N"}),
    "-": frozenset({"N"}),
} | dict.fromkeys(ORDERINGS, ORDERED)

Values = Mapping[str, Value]


def check_clause(clause: Clause, values: Values) -> None:
    """Refuse a clause of a condition for its operands: their number, then sameness, then types and contents."""
    nodes = list(filter(children_of, walk_inner_first(clause)))
    for node in nodes:
        _check_count(node)
    for node in nodes:
        _check_distinct(node)
    for node in nodes:
        _check_types(node, values)
    check_contents(clause, values)


def check_functions(value: Assigned, values: Values) -> None:
    """Refuse the right side of SET for the operands of its functions."""
    for node in filter(children_of, walk_inner_first(value)):
        _check_count(node)
        _check_types(node, values)


def has_contents_to_check(clause: Clause) -> bool:
    """Whether a clause's acceptance depends on more than the types of its values."""
    return isinstance(clause, Between) or (isinstance(clause, FunctionCall) and clause.function == "attribute_type")


def check_contents(clause: Clause, values: Values) -> None:
    """Refuse bounds in the wrong order, and names of types that there are not."""
    if isinstance(clause, Between):
        low, high = _value_of(clause.low, values), _value_of(clause.high, values)
        if low is not None and high is not None:
            _check_bounds(low, high)
    elif isinstance(clause, FunctionCall) and clause.function == "attribute_type":
        wanted = _value_of(clause.arguments[1], values)
        if wanted is not None and wanted["S"] not in TAGS:
            raise ExpressionError(f"Invalid attribute type name found; type: {wanted['S']}, valid types: {TYPE_NAMES}")


def _check_bounds(low: Value, high: Value) -> None:
    (low_tag, low_rank), (high_tag, high_rank) = comparison_key(low), comparison_key(high)
    if low_tag == high_tag and low_rank <= high_rank:
        return
    needs = "same data type for lower and upper bounds"
    if low_tag == high_tag:
        needs = "upper bound to be greater than or equal to lower bound"
    raise ExpressionError(
        f"The BETWEEN operator requires {needs}; "
        f"lower bound operand: {_show_value(low)}, upper bound operand: {_show_value(high)}"
    )


def _show_value(value: Value) -> str:
    tag = tag_of(value)
    return f"AttributeValue: {{{tag}:{value[tag]}}}"


def _value_of(operand: Node, values: Values) -> Value | None:
    if isinstance(operand, Placeholder):
        return values[operand.name]
    return operand.value if isinstance(operand, Literal) else None


def _type_of(operand: Node, values: Values) -> str | None:
    """Return the type of an operand if the request alone tells it."""
    if isinstance(operand, FunctionCall) and operand.function == "size":
        return "N"
    value = _value_of(operand, values)
    return None if value is None else tag_of(value)


def _check_count(node: Node) -> None:
    if isinstance(node, FunctionCall) and len(node.arguments) != ARITY[node.function]:
        raise ExpressionError(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {node.function}, number of operands: {len(node.arguments)}"
        )
    if isinstance(node, Membership) and len(node.options) > MOST_OPTIONS:
        raise ExpressionError(
            f"The IN operator is provided with too many operands; number of operands: {len(node.options)}"
        )


def _check_distinct(node: Node) -> None:
    first, *rest = children_of(node)
    if isinstance(first, DocumentPath) and first in rest:
        raise ExpressionError(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {_name_of(node)}, first operand: {format_path(first)}"
        )


def _name_of(node: Node) -> str:
    match node:
        case FunctionCall():
            return node.function
        case Comparison() | Arithmetic():
            return node.operator
        case Between():
            return "BETWEEN"
        case _:
            return "IN"


def _check_types(node: Node, values: Values) -> None:
    name = _name_of(node)
    if name in NEED_A_PATH and not isinstance(children_of(node)[0], DocumentPath):
        raise ExpressionError(f"Operator or function requires a document path; operator or function: {name}")
    if name == "attribute_type":
        _check_type(name, _type_of(children_of(node)[1], values) or ANY_TYPE, {"S"})
    elif name in ALLOWED:
        for operand in children_of(node):
            tag = _type_of(operand, values)
            if tag is not None:
                _check_type(name, tag, ALLOWED[name])


def _check_type(name: str, tag: str, allowed: Iterable[str]) -> None:
    if tag not in allowed:
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {tag}"
        )
