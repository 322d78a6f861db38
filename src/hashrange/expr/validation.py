"""Validates expressions without looking at a table, in the service's order, and replaces `#name` references.

The order (the first problem found is the one reported):
  condition   unknown function, misplaced function, reserved word; then clause by clause: undefined name or value,
              number of operands, operands not distinct, operand types
  update      reserved word, unknown function, misplaced function, repeated section, undefined name, undefined value,
              overlapping paths, conflicting paths, ADD and DELETE operands, function operands
  projection  reserved word, undefined name, overlapping paths, conflicting paths
Placeholders stay in the tree; `ExpressionAttributes.names_used` and `values_used` then say which definitions were
needed. `check_constants` is the part that reads the contents of values; all else depends on their types, so that a
request whose types were once accepted needs only that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from hashrange.core.limits import MAX_IN_OPERANDS
from hashrange.core.values import Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.functions import FUNCTIONS, Role, Values, find_function, misplaced
from hashrange.expr.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Assigned,
    Between,
    Clause,
    Comparison,
    Condition,
    DeleteAction,
    DocumentPath,
    Element,
    FunctionCall,
    Literal,
    Membership,
    Node,
    Placeholder,
    Section,
    SetAction,
    calls_of,
    children_of,
    clauses_of,
    format_path,
    paths_of,
    replace_paths,
    walk,
    walk_postorder,
)
from hashrange.expr.operators import ORDERED_TYPES, ORDERINGS, comparison_key, tag_of
from hashrange.expr.path import make_path_tree
from hashrange.expr.reserved_words import is_reserved

MAX_PATH_DEPTH = 32
MAX_INDEX = 2**31 - 1
TOO_MANY_OPTIONS = "The IN operator is provided with too many operands; number of operands: {}"
ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
# The types of values that each operator takes; operators that are not here take any.
OPERATOR_TYPES = dict.fromkeys((*ORDERINGS, "BETWEEN"), ORDERED_TYPES) | dict.fromkeys("+-", frozenset({"N"}))
# The types that DELETE refuses, and ADD except numbers, as named in the error texts.
LONG_TYPE_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
    "L": "LIST",
    "M": "MAP",
}


@dataclass(slots=True)
class ExpressionAttributes:
    """The names and values that a request gives to all of its expressions, and which of them were used."""

    names: Mapping[str, str]
    values: Mapping[str, Value]
    names_used: set[str] = field(default_factory=set)
    values_used: set[str] = field(default_factory=set)

    def look_up_name(self, element: Element) -> Element:
        """Return the attribute name of a `#name` reference; other elements are returned as they are."""
        if not isinstance(element, str) or element[0] != "#":
            return element
        if element not in self.names:
            raise ExpressionError(
                f"An expression attribute name used in the document path is not defined; attribute name: {element}"
            )
        self.names_used.add(element)
        return self.names[element]

    def look_up_value(self, placeholder: Placeholder) -> None:
        """Check that a placeholder has a value."""
        if placeholder.name not in self.values:
            raise ExpressionError(
                f"An expression attribute value used in expression is not defined; attribute value: {placeholder.name}"
            )
        self.values_used.add(placeholder.name)


def resolve_condition(condition: Condition, given: ExpressionAttributes) -> Condition:
    """Return a condition with its `#name` references replaced, or raise ExpressionError."""
    _check_known(calls_of(condition))
    for clause in clauses_of(condition):
        _check_condition_roles(clause)
    _check_written(paths_of(condition))
    for clause in clauses_of(condition):
        _look_up(clause, given)
        check_clause(_rename(clause, given), given.values)
    resolved: Condition = _rename(condition, given)
    return resolved


def resolve_projection(paths: tuple[DocumentPath, ...], given: ExpressionAttributes) -> tuple[DocumentPath, ...]:
    """Return the paths of a projection with their `#name` references replaced, or raise ExpressionError."""
    _check_written(paths)
    resolved = tuple(_rename_path(path, given) for path in paths)
    _check_depth(resolved)
    make_path_tree(resolved)
    return resolved


def resolve_update(sections: tuple[Section, ...], given: ExpressionAttributes) -> tuple[Action, ...]:
    """Return the actions of an update with their `#name` references replaced, or raise ExpressionError."""
    actions = tuple(action for section in sections for action in section.actions)
    assigned = [action.value for action in actions if isinstance(action, SetAction)]
    _check_written(_paths_in(actions))
    _check_known(call for value in assigned for call in calls_of(value))
    for value in assigned:
        _check_assignment_roles(value)
    _check_sections(sections)
    resolved = [_rename_path(path, given) for path in _paths_in(actions)]
    for action in actions:
        _look_up_values(action, given)
    _check_depth(resolved)
    renamed = tuple(_rename_action(action, given) for action in actions)
    make_path_tree(tuple(action.path for action in renamed))
    for action in renamed:
        _check_add_or_delete(action, given.values)
    for action in renamed:
        if isinstance(action, SetAction):
            check_assigned(action.value, given.values)
    return renamed


def _paths_in(actions: Iterable[Action]) -> Iterator[DocumentPath]:
    for action in actions:
        yield action.path
        if isinstance(action, SetAction):
            yield from paths_of(action.value)


# -- functions and paths as written -----------------------------------------------------------------------------------


def _check_known(calls: Iterable[FunctionCall]) -> None:
    for call in calls:
        find_function(call.function)


def _check_condition_roles(clause: Clause) -> None:
    """Refuse a misplaced function: only condition functions stand alone, only operand functions are operands."""
    for call in calls_of(clause):
        role = FUNCTIONS[call.function].role
        if role is Role.ASSIGNMENT:
            raise ExpressionError(f"The function is not allowed in a condition expression; function: {call.function}")
        if role is not (Role.CONDITION if call is clause else Role.OPERAND):
            raise misplaced(call.function)


def _check_assignment_roles(value: Assigned) -> None:
    """Refuse a function that SET does not take, or that may not be inside another one."""
    for call in calls_of(value):
        if FUNCTIONS[call.function].role is not Role.ASSIGNMENT:
            raise ExpressionError(f"The function is not allowed in an update expression; function: {call.function}")
        for argument in call.arguments:
            if isinstance(argument, FunctionCall) and not find_function(argument.function).is_nestable:
                raise misplaced(argument.function)


def _check_written(paths: Iterable[DocumentPath]) -> None:
    """Refuse reserved words and too large an index in paths as written."""
    for element in (element for path in paths for element in path.elements):
        if isinstance(element, str):
            if is_reserved(element):
                raise ExpressionError(f"Attribute name is a reserved keyword; reserved keyword: {element}")
        elif element > MAX_INDEX:
            raise ExpressionError(f"List index is not within the allowable range; index: [{element}]")


def _check_depth(paths: Iterable[DocumentPath]) -> None:
    for path in paths:
        if len(path.elements) > MAX_PATH_DEPTH:
            raise ExpressionError(
                f"The document path has too many nesting levels; nesting levels: {len(path.elements)}"
            )


def _check_sections(sections: tuple[Section, ...]) -> None:
    seen: set[str] = set()
    for section in sections:
        if section.keyword in seen:
            raise ExpressionError(f'The "{section.keyword}" section can only be used once in an update expression;')
        seen.add(section.keyword)


def _check_add_or_delete(action: Action, values: Values) -> None:
    """Refuse a value that ADD or DELETE cannot take."""
    if not isinstance(action, AddAction | DeleteAction) or not isinstance(action.value, Placeholder):
        return
    operator, allowed = ("ADD", "N") if isinstance(action, AddAction) else ("DELETE", "")
    tag = tag_of(values[action.value.name])
    if tag in LONG_TYPE_NAMES and tag != allowed:
        raise ExpressionError(
            "Incorrect operand type for operator or function; "
            f"operator: {operator}, operand type: {LONG_TYPE_NAMES[tag]}"
        )


def _look_up(clause: Clause, given: ExpressionAttributes) -> None:
    """Check that all names and values of a clause are defined, in the order written."""
    paths = []
    for node in walk(clause):
        if isinstance(node, Placeholder):
            given.look_up_value(node)
        elif isinstance(node, DocumentPath):
            paths.append(_rename_path(node, given))
    _check_depth(paths)


def _look_up_values(action: Action, given: ExpressionAttributes) -> None:
    value = getattr(action, "value", None)
    for node in walk(value) if value is not None else ():
        if isinstance(node, Placeholder):
            given.look_up_value(node)


def _rename_path(path: DocumentPath, given: ExpressionAttributes) -> DocumentPath:
    return DocumentPath(tuple([given.look_up_name(element) for element in path.elements]))


def _rename(node: Node, given: ExpressionAttributes) -> Any:
    return replace_paths(node, lambda path: _rename_path(path, given))


def _rename_action(action: Action, given: ExpressionAttributes) -> Action:
    path = _rename_path(action.path, given)
    if isinstance(action, SetAction):
        return SetAction(path, _rename(action.value, given))
    return replace(action, path=path)


# -- operands ---------------------------------------------------------------------------------------------------------


def check_clause(clause: Clause, values: Values) -> None:
    """Check the operands of a clause: their number, that they are distinct, their types and contents."""
    nodes = list(filter(children_of, walk_postorder(clause)))
    for node in nodes:
        _check_count(node)
    for node in nodes:
        _check_distinct(node)
    for node in nodes:
        _check_types(node, values)
    check_constants(clause, values)


def check_assigned(value: Assigned, values: Values) -> None:
    """Check the operands of the functions and operators on the right side of SET."""
    for node in filter(children_of, walk_postorder(value)):
        _check_count(node)
        _check_types(node, values)


def has_constants_to_check(clause: Clause) -> bool:
    """Return whether a clause has values whose contents, not only their types, must be checked."""
    if isinstance(clause, FunctionCall):
        return find_function(clause.function).check_constants is not None
    return isinstance(clause, Between)


def check_constants(clause: Clause, values: Values) -> None:
    """Refuse bounds in the wrong order, and constants that a function does not take."""
    if isinstance(clause, Between):
        low, high = _constant(clause.low, values), _constant(clause.high, values)
        if low is not None and high is not None:
            _check_bounds(low, high)
    elif isinstance(clause, FunctionCall):
        check = find_function(clause.function).check_constants
        if check is not None:
            check([_constant(argument, values) for argument in clause.arguments])


def _check_bounds(low: Value, high: Value) -> None:
    (low_tag, low_key), (high_tag, high_key) = comparison_key(low), comparison_key(high)
    if low_tag == high_tag and low_key <= high_key:
        return
    needs = "same data type for lower and upper bounds"
    if low_tag == high_tag:
        needs = "upper bound to be greater than or equal to lower bound"
    raise ExpressionError(
        f"The BETWEEN operator requires {needs}; "
        f"lower bound operand: {_format_value(low)}, upper bound operand: {_format_value(high)}"
    )


def _format_value(value: Value) -> str:
    tag = tag_of(value)
    return f"AttributeValue: {{{tag}:{value[tag]}}}"


def _constant(operand: Node, values: Values) -> Value | None:
    """Return the value of an operand; None for one that depends on the item."""
    if isinstance(operand, Placeholder):
        return values[operand.name]
    return operand.value if isinstance(operand, Literal) else None


def _type_of(operand: Node, values: Values) -> str | None:
    """Return the type of an operand; None if it depends on the item."""
    if isinstance(operand, FunctionCall):
        return find_function(operand.function).returns
    value = _constant(operand, values)
    return None if value is None else tag_of(value)


def _check_count(node: Node) -> None:
    if isinstance(node, FunctionCall) and len(node.arguments) != len(find_function(node.function).operands):
        raise ExpressionError(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {node.function}, number of operands: {len(node.arguments)}"
        )
    if isinstance(node, Membership) and len(node.options) > MAX_IN_OPERANDS:
        raise ExpressionError(TOO_MANY_OPTIONS.format(len(node.options)))


def _check_distinct(node: Node) -> None:
    first, *rest = children_of(node)
    if isinstance(first, DocumentPath) and first in rest:
        raise ExpressionError(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {_operator_of(node)}, first operand: {format_path(first)}"
        )


def _operator_of(node: Node) -> str:
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
    if isinstance(node, FunctionCall):
        _check_function_types(node, values)
        return
    name = _operator_of(node)
    for operand in children_of(node) if name in OPERATOR_TYPES else ():
        _check_type(name, _type_of(operand, values), OPERATOR_TYPES[name])


def _check_function_types(call: FunctionCall, values: Values) -> None:
    rules = find_function(call.function).operands
    operands = tuple(zip(rules, call.arguments, strict=True))
    if any(rule.is_path and not isinstance(operand, DocumentPath) for rule, operand in operands):
        raise ExpressionError(f"Operator or function requires a document path; operator or function: {call.function}")
    for rule, operand in operands:
        tag = _type_of(operand, values)
        _check_type(call.function, ANY_TYPE if tag is None and rule.is_constant else tag, rule.types)


def _check_type(name: str, tag: str | None, allowed: frozenset[str]) -> None:
    if tag is not None and tag not in allowed:
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {tag}"
        )
