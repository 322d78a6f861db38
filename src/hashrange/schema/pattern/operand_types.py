"""Checks that the values in a `@where` have the type of what they are compared with.

A comparison of two types is false for every item, and its negation true, so it is refused when it is declared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.core.values import Value
from hashrange.expr.nodes import (
    Clause,
    Condition,
    DocumentPath,
    FunctionCall,
    Node,
    Placeholder,
    children_of,
    clauses_of,
)
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.codec import make_codec
from hashrange.schema.declare.field_kind import kind_of, members_of
from hashrange.schema.declare.introspection import NOTHING, ModelClass
from hashrange.schema.pattern.expression_text import show_path
from hashrange.schema.pattern.signature import Parameter, Signature, format_type

TYPE_OF_TAG = {"S": "text", "N": "a number", "M": "a map"}  # of constants, and of fields that are models


class _Compared(Struct, frozen=True):
    """What a value is compared with: its text, its type, and what is known of it."""

    text: str
    hint: Any
    tag: str  # the DynamoDB type; empty where it varies
    is_field: bool  # and not a member of one, or a size
    allowed: tuple[Any, ...] = ()

    @property
    def category(self) -> str:
        """The name of its category; empty if it has none."""
        return category_of(self.hint) or TYPE_OF_TAG.get(self.tag, "")

    @property
    def shown(self) -> str:
        """Its text with its type."""
        return f"{self.text}, which is {self.category or self.tag},"


def category_of(hint: Any) -> str:
    """Return the name of a type's category; empty if it has none."""
    kind = kind_of(hint)
    return kind.category.name if kind is not None else ""


def refuse_type(signature: Signature, problem: str, name: str, wanted: Any) -> DeclarationError:
    """Return the error for a parameter of another type than its field."""
    return DeclarationError("HR211", signature.label, problem, f"take {name} as {format_type(wanted)}")


def check_operands(signature: Signature, model: ModelClass, tree: Condition, constants: Mapping[str, Value]) -> None:
    """Refuse a comparison of two types, or with a value that a Literal does not have."""
    for clause in clauses_of(tree):
        compared = list(_compared_in(model, clause))
        for name, known in itertools.product(_values_in(clause), compared):
            if name in constants:
                _check_constant(signature, known, constants[name])
            else:
                _check_parameter(signature, model, known, name[1:], is_alone=len(compared) == 1)


def _values_in(clause: Clause) -> list[str]:
    """Return the placeholders that are operands of a comparison."""
    operands = () if isinstance(clause, FunctionCall) else children_of(clause)
    return [operand.name for operand in operands if isinstance(operand, Placeholder)]


def _compared_in(model: ModelClass, clause: Clause) -> Iterator[_Compared]:
    fields = introspection.all_fields(model)
    for operand in () if isinstance(clause, FunctionCall) else children_of(clause):
        if isinstance(operand, FunctionCall):  # size()
            yield _Compared(f"{operand.function}({', '.join(map(_show, operand.arguments))})", int, "N", is_field=False)
        elif isinstance(operand, DocumentPath):
            field, inner = fields[str(operand.elements[0])], operand.elements[1:]
            hint = hint_at(field.hint, inner) if inner else field.hint
            kind = kind_of(hint)
            tag = field.codec.tag if not inner else kind.codec.tag if kind is not None else ""
            allowed = hints.literals(hint) if inner else introspection.allowed_values(model, field.name)
            yield _Compared(show_path(operand), hint, tag, not inner, tuple(allowed))


def _show(operand: Node) -> str:
    return show_path(operand) if isinstance(operand, DocumentPath) else "..."


def hint_at(hint: Any, elements: tuple[str | int, ...]) -> Any:
    """Return the type of what a path leads to inside a value of a type; NOTHING where that is not known."""
    for element in elements:
        members = members_of(hints.without_none(hint))
        if members is None:
            return NOTHING
        hint = members.get(element) if element in members else members.get(type(element), NOTHING)
    return hints.without_none(hint)


def _check_constant(signature: Signature, known: _Compared, constant: Value) -> None:
    (tag,), value = constant, plain(constant)
    if known.tag not in {"", tag}:
        problem = f"{known.shown} with {value!r}, which is {TYPE_OF_TAG[tag]}"
        remedy = "write text in quotes and numbers without, and take a value of any other type as a parameter"
    elif known.allowed and value not in known.allowed:
        problem = f"{known.text} with {value!r}, which it never is"
        remedy = f"it has {', '.join(map(repr, known.allowed))}"
    else:
        return
    raise DeclarationError("HR223", signature.label, f"@where compares {problem}", remedy)


def _check_parameter(signature: Signature, model: ModelClass, known: _Compared, name: str, *, is_alone: bool) -> None:
    parameter = signature.parameters[name]
    if parameter.is_list or parameter.compare == "BETWEEN" or parameter.hint is known.hint:
        return
    given = category_of(parameter.hint)
    if known.is_field and is_alone:  # then the value is stored as the field is
        differs = given not in {"", known.category} and known.category
    else:
        differs = _tag_of(model, parameter) not in {"", known.tag} and known.tag
    if differs:
        problem = f"@where compares {known.shown} with {{{name}}}, which is {given or format_type(parameter.hint)}"
        raise refuse_type(signature, problem, name, known.hint)


def _tag_of(model: ModelClass, parameter: Parameter) -> str:
    """Return the type that a parameter is sent as."""
    field = introspection.all_fields(model).get(parameter.name)
    return field.codec.tag if field is not None else make_codec(parameter.hint, hints.markers_of(parameter.hint)).tag
