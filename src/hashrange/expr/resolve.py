"""What a parsed expression refers to: all checks that need no table, in the service's order; names are put in.

The order (the first problem found is the one reported):
  condition   unknown function, function out of place, reserved word; then clause by clause: undefined name or value,
              number of operands, operands not distinct, operand types
  update      reserved word, unknown function, function out of place, repeated section, undefined name, undefined value,
              overlapping paths, conflicting paths, ADD and DELETE operands, function operands
  projection  reserved word, undefined name, overlapping paths, conflicting paths
Placeholders stay in the tree; `Scope.names_used` and `values_used` say afterwards what the request need not have given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from hashrange.core.values import Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.nodes import (
    Action,
    AddAction,
    Assigned,
    Clause,
    Condition,
    DeleteAction,
    DocumentPath,
    Element,
    FunctionCall,
    Node,
    Placeholder,
    Section,
    SetAction,
    calls_of,
    clauses_of,
    paths_of,
    replace_paths,
    walk,
)
from hashrange.expr.operand import check_clause, check_functions
from hashrange.expr.path import make_path_tree
from hashrange.expr.reserved_words import is_reserved

DEEPEST = 32
LARGEST_INDEX = 2**31 - 1
TESTS = {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"}
ASSIGNERS = {"if_not_exists", "list_append"}
FUNCTIONS = TESTS | ASSIGNERS | {"size"}
LONG_TAGS = {
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
        """Return what an element of a path stands for."""
        if not isinstance(element, str) or element[0] != "#":
            return element
        if element not in self.names:
            raise ExpressionError(
                f"An expression attribute name used in the document path is not defined; attribute name: {element}"
            )
        self.names_used.add(element)
        return self.names[element]

    def look_up_value(self, placeholder: Placeholder) -> None:
        """Make sure that a placeholder has a value."""
        if placeholder.name not in self.values:
            raise ExpressionError(
                f"An expression attribute value used in expression is not defined; attribute value: {placeholder.name}"
            )
        self.values_used.add(placeholder.name)


def resolve_condition(condition: Condition, scope: ExpressionAttributes) -> Condition:
    """Return a condition with its names put in, or raise Fault."""
    _check_known(calls_of(condition))
    for clause in clauses_of(condition):
        _check_places(clause)
    _check_written(paths_of(condition))
    for clause in clauses_of(condition):
        _look_up(clause, scope)
        check_clause(_rename(clause, scope), scope.values)
    resolved: Condition = _rename(condition, scope)
    return resolved


def resolve_projection(paths: tuple[DocumentPath, ...], scope: ExpressionAttributes) -> tuple[DocumentPath, ...]:
    """Return the paths of a projection with their names put in, or raise Fault."""
    _check_written(paths)
    resolved = tuple(_rename_path(path, scope) for path in paths)
    _check_depth(resolved)
    make_path_tree(resolved)
    return resolved


def resolve_update(sections: tuple[Section, ...], scope: ExpressionAttributes) -> tuple[Action, ...]:
    """Return the actions of an update with their names put in, or raise Fault."""
    actions = tuple(action for section in sections for action in section.actions)
    assigned = [action.value for action in actions if isinstance(action, SetAction)]
    _check_written(_paths_in(actions))
    _check_known(call for value in assigned for call in calls_of(value))
    for value in assigned:
        _check_assigners(value)
    _check_sections(sections)
    resolved = [_rename_path(path, scope) for path in _paths_in(actions)]
    for action in actions:
        _look_up_values(action, scope)
    _check_depth(resolved)
    renamed = tuple(_rename_action(action, scope) for action in actions)
    make_path_tree(tuple(action.path for action in renamed))
    for action in renamed:
        _check_set_operand(action, scope.values)
    for action in renamed:
        if isinstance(action, SetAction):
            check_functions(action.value, scope.values)
    return renamed


def _paths_in(actions: Iterable[Action]) -> Iterator[DocumentPath]:
    for action in actions:
        yield action.path
        if isinstance(action, SetAction):
            yield from paths_of(action.value)


def _check_known(calls: Iterable[FunctionCall]) -> None:
    for call in calls:
        if call.function not in FUNCTIONS:
            raise ExpressionError(f"Invalid function name; function: {call.function}")


def _misplaced(function: str) -> ExpressionError:
    return ExpressionError(f"The function is not allowed to be used this way in an expression; function: {function}")


def _check_places(clause: Clause) -> None:
    """Refuse functions where they cannot stand: only tests alone, only size as an operand."""
    for call in calls_of(clause):
        if call.function in ASSIGNERS:
            raise ExpressionError(f"The function is not allowed in a condition expression; function: {call.function}")
        if (call is clause) is not (call.function in TESTS):
            raise _misplaced(call.function)


def _check_assigners(value: Assigned) -> None:
    """Refuse functions that SET does not take, and list_append inside another function."""
    for call in calls_of(value):
        if call.function not in ASSIGNERS:
            raise ExpressionError(f"The function is not allowed in an update expression; function: {call.function}")
        for argument in call.arguments:
            if isinstance(argument, FunctionCall) and argument.function == "list_append":
                raise _misplaced(argument.function)


def _check_written(paths: Iterable[DocumentPath]) -> None:
    """Refuse what a path may not say, whatever it refers to: reserved words and too large an index."""
    for element in (element for path in paths for element in path.elements):
        if isinstance(element, str):
            if is_reserved(element):
                raise ExpressionError(f"Attribute name is a reserved keyword; reserved keyword: {element}")
        elif element > LARGEST_INDEX:
            raise ExpressionError(f"List index is not within the allowable range; index: [{element}]")


def _check_depth(paths: Iterable[DocumentPath]) -> None:
    for path in paths:
        if len(path.elements) > DEEPEST:
            raise ExpressionError(
                f"The document path has too many nesting levels; nesting levels: {len(path.elements)}"
            )


def _check_sections(sections: tuple[Section, ...]) -> None:
    seen: set[str] = set()
    for section in sections:
        if section.keyword in seen:
            raise ExpressionError(f'The "{section.keyword}" section can only be used once in an update expression;')
        seen.add(section.keyword)


def _check_set_operand(action: Action, values: Mapping[str, Value]) -> None:
    """Refuse a value that ADD or DELETE cannot take."""
    if not isinstance(action, AddAction | DeleteAction) or not isinstance(action.value, Placeholder):
        return
    operator, allowed = ("ADD", "N") if isinstance(action, AddAction) else ("DELETE", "")
    tag = next(iter(values[action.value.name]))
    if tag in LONG_TAGS and tag != allowed:
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator: {operator}, operand type: {LONG_TAGS[tag]}"
        )


def _look_up(clause: Clause, scope: ExpressionAttributes) -> None:
    """Make sure that everything a clause refers to is defined, in the order written."""
    paths = []
    for node in walk(clause):
        if isinstance(node, Placeholder):
            scope.look_up_value(node)
        elif isinstance(node, DocumentPath):
            paths.append(_rename_path(node, scope))
    _check_depth(paths)


def _look_up_values(action: Action, scope: ExpressionAttributes) -> None:
    value = getattr(action, "value", None)
    for node in walk(value) if value is not None else ():
        if isinstance(node, Placeholder):
            scope.look_up_value(node)


def _rename_path(path: DocumentPath, scope: ExpressionAttributes) -> DocumentPath:
    return DocumentPath(tuple([scope.look_up_name(element) for element in path.elements]))


def _rename(node: Node, scope: ExpressionAttributes) -> Any:
    return replace_paths(node, lambda path: _rename_path(path, scope))


def _rename_action(action: Action, scope: ExpressionAttributes) -> Action:
    path = _rename_path(action.path, scope)
    if isinstance(action, SetAction):
        return SetAction(path, _rename(action.value, scope))
    return replace(action, path=path)
