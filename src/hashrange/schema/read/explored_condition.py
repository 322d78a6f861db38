"""Conditions that are written at run time: planned like a pattern, by the index that serves them, or as a scan.

The comparisons that a condition joins with AND become parameters, which may be part of a key; the rest is a filter, as
a `@where` is. Both are checked against the declaration.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.core.errors import DeclarationError, HashrangeError, ValueInvalid
from hashrange.core.values import Value
from hashrange.expr.nodes import And, Between, Comparison, Condition, DocumentPath, FunctionCall, Literal, Placeholder
from hashrange.expr.render import render
from hashrange.schema.declare import introspection
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.field_check import check_view
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.table import Table
from hashrange.schema.declare.table_check import check_table
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.expression_text import show_path
from hashrange.schema.pattern.parameter_types import check_parameters
from hashrange.schema.pattern.signature import Parameter, Signature, check_ranges
from hashrange.schema.read.access_path import ReadNotServed
from hashrange.schema.read.key_range import RANGES
from hashrange.schema.read.read_compiler import plan_read
from hashrange.schema.read.read_plan import ReadPlan


class ExploredRead(Struct, frozen=True):
    """A condition over one class: the query that serves it, and the scan, each with the reason where there is none."""

    query: ReadPlan | DeclarationError
    scan: ReadPlan | DeclarationError
    arguments: Mapping[str, Any]


def plan_condition(
    model: ModelClass, table: Table, expressions: tuple[str, ...], values: Mapping[str, Any]
) -> ExploredRead:
    """Return the plans of conditions that must all hold; refuse names and values that do not match the declaration."""
    check_table(introspection.table_of(model))
    check_view(model)
    parts = _Parts(model, table, f"explore({model.__name__})", values)
    for expression in expressions:
        parts.read(expression)
    parts.check_names(expressions)
    signature = parts.signature()
    check_parameters(signature)
    check_ranges(signature.label, signature.ranges, parts.arguments)
    scan = _plan_read(replace(signature, verb="Scan"))
    paths = table.paths
    queries = [_plan_read(replace(signature, via=via)) for via in (None, *(path.name for path in paths))]
    served = [plan for plan in queries if isinstance(plan, ReadPlan)]  # of two that can each serve it, the first
    return ExploredRead(served[0] if served else queries[0], scan, parts.arguments)


def _plan_read(signature: Signature) -> ReadPlan | DeclarationError:
    try:
        return plan_read(signature)
    except ReadNotServed as error:
        return error


class _Parts:
    """The parameters, their arguments, and the rest of a condition."""

    def __init__(self, model: ModelClass, table: Table, label: str, values: Mapping[str, Any]) -> None:
        self.model, self.table, self.label, self.values = model, table, label, values
        self.fields = introspection.all_fields(model)
        self.compared: dict[str, str] = {}  # the operators, by field
        self.arguments: dict[str, Any] = {}
        self.rest: list[str] = []

    def signature(self) -> Signature:
        """Return the condition as the signature of a pattern."""
        given = {name: self.compared.get(name, "") for name in self.arguments}
        return Signature(
            label=self.label,
            name="explore",
            verb="Query",
            models=(self.model,),
            table=self.table,
            parameters={name: self._parameter(name, operator) for name, operator in given.items()},
            wheres=tuple(self.rest),
            via=None,
            tenant=None,
            before=(),
        )

    def _parameter(self, name: str, operator: str) -> Parameter:
        """Return a value as a parameter, whose type is that of the value."""
        value: Any = self.arguments[name]
        hint: Any = type(value)
        if operator == "BETWEEN":
            hint = types.GenericAlias(tuple, (type(value[0]), type(value[1])))
        elif operator == "=" and introspection.allowed_values(self.model, name):
            hint = typing.Literal[value]
        return Parameter(name=name, hint=hint, compare=operator, change="", may_be_left_out=False)

    def read(self, expression: str) -> None:
        """Read a condition: its comparisons, and the rest."""
        tree, constants = criterion.parse_where(self.label, expression)
        for clause in _conjuncts(tree):
            if not self._take(clause, constants):
                self.rest.append(_render(clause, constants))

    def check_names(self, expressions: tuple[str, ...]) -> None:
        """Add the values of the rest; refuse one that no condition names, and one whose name has another meaning."""
        in_rest = criterion.parameters_in(tuple(self.rest))
        if clash := sorted(in_rest & self.compared.keys()):
            raise ValueInvalid(f"{self.label}: {{{clash[0]}}} is named after a field that is compared: rename it")
        if unknown := sorted(self.values.keys() - criterion.parameters_in(expressions)):
            raise ValueInvalid(f"{self.label}: the condition has no {{{unknown[0]}}}")
        self.arguments |= {name: self.values[name] for name in in_rest if name in self.values}

    def _take(self, clause: Condition, constants: Mapping[str, Value]) -> bool:
        """Keep a comparison of a field with values as a parameter; return whether it is one."""
        match clause:
            case Comparison(operator, DocumentPath(elements=(str(name),)), Placeholder() as value):
                values = [value]
            case Between(DocumentPath(elements=(str(name),)), Placeholder() as low, Placeholder() as high):
                operator, values = "BETWEEN", [low, high]
            case FunctionCall("begins_with" as operator, (DocumentPath(elements=(str(name),)), Placeholder() as value)):
                values = [value]
            case _:
                return False
        field = self.fields.get(name)
        if field is None or name in self.compared or operator not in {"=", *RANGES}:
            return False
        found = [self._value_of(field, one, constants) for one in values]
        if None in found:
            return False
        self.compared[name] = operator
        self.arguments[name] = tuple(found) if operator == "BETWEEN" else found[0]
        return True

    def _value_of(self, field: ModelField, operand: Placeholder, constants: Mapping[str, Value]) -> Any:
        """Return an argument, or a constant as a value of the field; None if it is neither."""
        if operand.name not in constants:
            return self.values.get(operand.name[1:])
        try:
            found = field.codec.decode(constants[operand.name])
            return found if field.codec.encode(found) == constants[operand.name] else None
        except (HashrangeError, ValueError, TypeError):
            return None


def _conjuncts(tree: Condition) -> list[Condition]:
    """Return the conditions that are joined with AND."""
    return [part for operand in tree.operands for part in _conjuncts(operand)] if isinstance(tree, And) else [tree]


def _render(clause: Condition, constants: Mapping[str, Value]) -> str:
    """Return a condition as text again."""

    def value(found: Placeholder | Literal) -> str:
        if isinstance(found, Placeholder) and found.name not in constants:
            return f"{{{found.name[1:]}}}"
        constant = plain(constants[found.name] if isinstance(found, Placeholder) else found.value)
        return f"'{constant}'" if isinstance(constant, str) else str(constant)

    return render(clause, show_path, value)
