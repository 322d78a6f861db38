"""Reads the signature of a pattern: the verb and shapes it returns, its parameters, its decorators.

A parameter is named after a field. Its type says how it is used: a comparison, a change, an item in the state that is
left. `read_compiler` and `write_compiler` make a plan of it.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.marker import ChangeMarker, Compare

F = TypeVar("F", bound=Callable[..., object])

READS = ("Get", "Query", "Latest", "Scan")
WRITES = ("Update", "Upsert", "Delete", "Ensure")


class Parameter(Struct, frozen=True):
    """One parameter of a pattern."""

    name: str
    hint: Any
    compare: str  # the operator of a comparison, or nothing
    change: str  # ADD, DELETE, APPEND, ONCE, or nothing
    may_be_left_out: bool
    shapes: list[Kind] = []  # the states that an item passed in may be in; none for a plain value
    constraints: tuple[Any, ...] = ()  # constraints that pydantic checks

    @property
    def operator(self) -> str:
        """How a read compares it."""
        return self.compare or "="

    @property
    def is_none(self) -> bool:
        """Whether its type is None, which removes the field."""
        return hints.members(self.hint) == [type(None)]


class Signature(Struct, frozen=True, dict=True):
    """One pattern, as declared."""

    label: str
    name: str
    verb: str
    kinds: tuple[Kind, ...]
    parameters: Mapping[str, Parameter]
    wheres: tuple[str, ...]
    via: str | None
    tenant: str | None

    @cached_property
    def values(self) -> dict[str, Parameter]:
        """The parameters that are plain values, not items."""
        return {name: found for name, found in self.parameters.items() if not found.shapes}

    @property
    def checked(self) -> dict[str, Any]:
        """The types of the values that the signature itself constrains."""
        given = self.values.items()
        return {name: hints.constrain(found.hint, found.constraints) for name, found in given if found.constraints}

    def attribute(self, kind: Kind, name: str, place: str) -> Attribute:
        """Return the field of a name, or refuse a name that is no field."""
        fields = introspection.all_attributes(kind)
        if name not in fields:
            item = introspection.item_of(kind).__name__
            raise DeclarationError(
                "HR210", self.label, f"{place} names no field of {item}", f"its fields are {', '.join(sorted(fields))}"
            )
        return fields[name]


def where(expression: str) -> Callable[[F], F]:
    """Add a filter to a read, or a condition to a write: DynamoDB's grammar over fields, `{name}` is a parameter."""

    def mark(function: F) -> F:
        found: tuple[str, ...] = getattr(function, "__where__", ())
        function.__where__ = (expression, *found)  # type: ignore[attr-defined]  # a function takes any attribute
        return function

    return mark


def via(index: str) -> Callable[[F], F]:
    """Choose the index of a read that two indexes serve equally well; the empty name is the table itself."""

    def mark(function: F) -> F:
        function.__via__ = index  # type: ignore[attr-defined]  # same
        return function

    return mark


def read_signature(owner: str, function: Any, tenant: str | None, scope: Mapping[str, Any]) -> Signature:
    """Return what a method of a Patterns class declares."""
    name = function.__name__
    label = f"{owner}.{name}"
    declared = _read_parameters(label, inspect.unwrap(function))
    found = _hints_of(label, function, scope)
    verb, kinds = _returned(label, found.pop("return", None))
    signature = Signature(
        label=label,
        name=name,
        verb=verb,
        kinds=tuple(kinds),
        parameters={name: _parameter(label, name, found, optional) for name, optional in declared.items()},
        wheres=getattr(function, "__where__", ()),
        via=getattr(function, "__via__", None),
        tenant=tenant,
    )
    _check(signature)
    return signature


def _read_parameters(label: str, function: Any) -> dict[str, bool]:
    """Return the parameters of a method after self, and whether each has a default."""
    code: types.CodeType | None = getattr(function, "__code__", None)
    if code is None or code.co_varnames[:1] != ("self",) or not code.co_argcount:
        raise DeclarationError("HR197", label, "does not take self", "a pattern is a method: write self first")
    if code.co_flags & inspect.CO_COROUTINE:
        raise DeclarationError("HR198", label, "is async", "write def: what it returns can be awaited as well as run")
    count = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise _untyped(label, code.co_varnames[count])
    first_default = code.co_argcount - len(function.__defaults__ or ())
    defaults = {*code.co_varnames[first_default : code.co_argcount], *(function.__kwdefaults__ or ())}
    return {name: name in defaults for name in code.co_varnames[1:count]}


def _untyped(label: str, name: str) -> DeclarationError:
    return DeclarationError("HR205", label, f"parameter {name!r} has no type", "name each parameter and its type")


def _hints_of(label: str, function: Any, scope: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=dict(scope), include_extras=True)
    except NameError as unknown:
        raise DeclarationError(
            "HR201", label, f"{unknown}", "declare or import it above the Patterns class"
        ) from unknown


def _returned(label: str, returned: Any) -> tuple[str, list[Kind]]:
    verb = getattr(get_origin(returned), "verb", "")
    if verb not in {*READS, *WRITES}:
        verbs = ", ".join((*READS, *WRITES))
        shown = "nothing" if returned is None else format_type(returned)
        raise DeclarationError("HR202", label, f"returns {shown}", f"return one of {verbs}, of a shape: Get[Shop]")
    kinds = hints.members(get_args(returned)[0])
    for kind in kinds:
        if not introspection.is_shape(kind):
            raise DeclarationError(
                "HR203",
                label,
                f"returns {verb} of {format_type(kind)}",
                "give an Item, a View or a union of them: a Get may find nothing and a Query finds many as it is",
            )
    tables = {introspection.table_of(kind).name for kind in kinds}
    if len(tables) > 1:
        raise DeclarationError("HR204", label, f"returns items of {sorted(tables)}", "write a pattern for each table")
    return verb, kinds


def format_type(hint: Any) -> str:
    """Return a type as it is written in declarations."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return "None" if hint is type(None) else hint.__name__
    return re.sub(r"[\w.]+\.(?=\w)", "", str(hint))


def _parameter(label: str, name: str, found: Mapping[str, Any], may_be_left_out: bool) -> Parameter:
    if name not in found:
        raise _untyped(label, name)
    hint = found[name]
    markers = hints.markers_of(hint)
    compare, change = hints.find(markers, Compare), hints.find(markers, ChangeMarker)
    return Parameter(
        name=name,
        hint=hints.unwrap(hint)[0],
        compare=compare.operator if compare else "",
        change=change.action if change else "",
        may_be_left_out=may_be_left_out,
        shapes=_shapes_in(hint),
        constraints=hints.constraints_of(hint),
    )


def _shapes_in(hint: Any) -> list[Kind]:
    kinds = hints.members(hint)
    return kinds if all(map(introspection.is_shape, kinds)) else []


def _check(signature: Signature) -> None:
    label, reads = signature.label, signature.verb in READS
    for parameter in signature.parameters.values():
        if reads and (parameter.shapes or parameter.change):
            raise DeclarationError(
                "HR206",
                label,
                f"{parameter.name!r} would change something, and {signature.verb} reads",
                "compare or drop it",
            )
        if parameter.may_be_left_out and (reads or parameter.shapes or parameter.compare):
            raise DeclarationError(
                "HR207",
                label,
                f"{parameter.name!r} has a default",
                "only what an update sets may be left out: write two patterns",
            )
    if len(signature.kinds) > 1 and not reads:
        raise DeclarationError("HR208", label, "enters one of several states", "write a pattern for each")
    if signature.tenant and signature.tenant not in signature.parameters:
        raise DeclarationError(
            "HR209",
            label,
            f"does not take {signature.tenant}",
            f"every pattern of this class is given its {signature.tenant}",
        )
