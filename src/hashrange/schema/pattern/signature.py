"""Reads the signature of a pattern: the verb and models it returns, its parameters, its decorators.

A parameter is named after a field. Its type says how it is used: a comparison, a change, an item in the state that is
left. One whose type is a class of fields, which the item inherits, stands for a parameter for each of them.
`read_compiler` and `write_compiler` make a plan of it.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.marker import At, ChangeMarker, Compare, KeyForm
from hashrange.schema.declare.table import Table

F = TypeVar("F", bound=Callable[..., object])

READS = ("Get", "Query", "Latest", "Scan", "Filter")
PARAMETER = re.compile(r"\{(\w+)\}")  # in a @where
COMPARE_BOOL = "conditions have no constant for a bool: compare with a parameter, such as {value}"
TEST_PRESENCE = "write attribute_exists(...) or attribute_not_exists(...)"
CONSTANTS = {"true": COMPARE_BOOL, "false": COMPARE_BOOL, "none": TEST_PRESENCE, "null": TEST_PRESENCE}  # in a @where
NO_DEFAULT: Any = object()
WRITES = ("Update", "Upsert", "Delete", "Ensure")


class Parameter(Struct, frozen=True):
    """One parameter of a pattern."""

    name: str
    hint: Any
    compare: str  # the operator of a comparison, or nothing
    change: str  # ADD, DELETE, APPEND, ONCE, or nothing
    may_be_left_out: bool
    models: list[ModelClass] = []  # the states that an item passed in may be in; none for a plain value
    constraints: tuple[Any, ...] = ()  # constraints that pydantic checks
    path: str = ""  # where it changes something inside a field
    count: int = 1  # of a list: how many values a call gives
    by_key: bool = False  # compared in the form that a key has

    @property
    def operator(self) -> str:
        """How a read compares it."""
        return self.compare or "="

    @property
    def is_list(self) -> bool:
        """Whether it is a list of values that its field may have."""
        return self.compare == "IN"

    @property
    def is_none(self) -> bool:
        """Whether its type is None, which removes the field."""
        return hints.members(self.hint) == [type(None)]


class Signature(Struct, frozen=True, dict=True):
    """One pattern, as declared."""

    label: str
    name: str
    verb: str
    models: tuple[ModelClass, ...]
    table: Table  # of the models, or where it is mounted
    before: tuple[ModelClass, ...]  # what an item was before an update, if declared
    parameters: Mapping[str, Parameter]
    wheres: tuple[str, ...]
    via: str | None
    tenant: str | None
    field_classes: Mapping[str, type[BaseModel]] = {}  # the arguments that give several parameters at once

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """What a call gives, in order: the parameters, and classes of fields in the place of theirs."""
        given_by = {field: name for name, cls in self.field_classes.items() for field in cls.model_fields}
        return tuple(dict.fromkeys(given_by.get(name, name) for name in self.parameters))

    @cached_property
    def values(self) -> dict[str, Parameter]:
        """The parameters that are plain values of fields, not items."""
        return {name: found for name, found in self.parameters.items() if not found.models and not found.path}

    @cached_property
    def nested(self) -> dict[str, Parameter]:
        """The parameters that change what is inside a field."""
        return {name: found for name, found in self.parameters.items() if found.path}

    @cached_property
    def in_paths(self) -> frozenset[str]:
        """The parameters that are parts of a path into a field."""
        return frozenset(name for found in self.nested.values() for name in PARAMETER.findall(found.path))

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The parameters of a read that may be left out."""
        left_out = (name for name, found in self.parameters.items() if found.may_be_left_out)
        return tuple(left_out) if self.verb in READS else ()

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The parameters that are lists of values."""
        return tuple(name for name, found in self.parameters.items() if found.is_list)

    @cached_property
    def ranges(self) -> tuple[str, ...]:
        """The parameters that are pairs of bounds."""
        return tuple(name for name, found in self.parameters.items() if found.compare == "BETWEEN")

    def when_given(self, given: AbstractSet[str]) -> Signature:
        """Return the signature of a read in calls that give these of the optional parameters, and no others.

        A `@where` that names a parameter which is left out does not apply.
        """
        left_out = set(self.optional) - given
        return replace(
            self,
            parameters={
                name: replace(found, may_be_left_out=False)
                for name, found in self.parameters.items()
                if name not in left_out
            },
            wheres=tuple(text for text in self.wheres if left_out.isdisjoint(PARAMETER.findall(text))),
        )

    @property
    def checked(self) -> dict[str, Any]:
        """The types of the values that the signature itself constrains."""
        given = self.values.items()
        return {name: hints.constrain(found.hint, found.constraints) for name, found in given if found.constraints}

    def field(self, model: ModelClass, name: str, location: str) -> ModelField:
        """Return the field of a name, or refuse a name that is no field."""
        fields = introspection.all_fields(model)
        if name not in fields:
            item = introspection.item_of(model).__name__
            raise DeclarationError(
                "HR210",
                self.label,
                f"{location} names no field of {item}",
                CONSTANTS.get(name.lower()) or f"its fields are {', '.join(sorted(fields))}",
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
    returned = found.pop("return", None)
    verb, models = _returned(label, returned)
    field_classes = {each: found[each] for each in declared if _is_field_class(found.get(each), verb, models)}
    parameters: dict[str, Parameter] = {}
    for each, given in declared.items():
        if each in field_classes:
            parameters |= _parameters_of(field_classes[each], verb, introspection.item_of(models[0]))
        else:
            parameters[each] = _parameter(label, each, found, verb, given)
    signature = Signature(
        label=label,
        name=name,
        verb=verb,
        models=tuple(models),
        table=introspection.table_of(models[0]),
        before=tuple(_before(label, returned, models)),
        parameters=parameters,
        wheres=getattr(function, "__where__", ()),
        via=getattr(function, "__via__", None),
        tenant=tenant,
        field_classes=field_classes,
    )
    _check(signature)
    _check_field_classes(signature, declared)
    return signature


def _is_field_class(hint: Any, verb: str, models: list[ModelClass]) -> bool:
    """Return whether a type is a class of fields that an item inherits which the pattern changes."""
    is_plain = isinstance(hint, type) and issubclass(hint, BaseModel) and not introspection.is_model(hint)
    return is_plain and verb in {"Update", "Upsert"} and issubclass(introspection.item_of(models[0]), hint)


def _parameters_of(cls: type[BaseModel], verb: str, item: ModelClass) -> dict[str, Parameter]:
    """Return a parameter for each field of a class; what a call does not set an update leaves as it is."""
    return {
        name: Parameter(
            name=name,
            hint=hints.unwrap(item.model_fields[name].annotation)[0],
            compare="",
            change="",
            may_be_left_out=verb == "Update" or not info.is_required(),
        )
        for name, info in cls.model_fields.items()
    }


def _check_field_classes(signature: Signature, declared: Mapping[str, Any]) -> None:
    """Refuse a class of fields that a write cannot set, or that other parameters set too."""
    for name, cls in signature.field_classes.items():
        problem, remedy = _explain_field_class(signature, name, declared)
        if problem:
            raise DeclarationError("HR266", signature.label, f"{name} is {cls.__name__}, and {problem}", remedy)


def _explain_field_class(signature: Signature, name: str, declared: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong with a class of fields, and the remedy; empty texts if nothing is."""
    target, classes = signature.models[0], signature.field_classes
    mine = classes[name].model_fields.keys()
    others = {field for other, cls in classes.items() if other != name for field in cls.model_fields}
    if in_key := sorted(introspection.primary_key_fields(target) & mine):
        return f"it has {in_key[0]}, which is part of the key", f"leave {in_key[0]} out of it: a key never changes"
    if signature.tenant in mine:
        return f"it has {signature.tenant}, the tenant", f"leave {signature.tenant} out of it, and take it by itself"
    if states := sorted(mine - introspection.all_fields(target).keys()):
        return f"its {states[0]} is a state", f"leave {states[0]} out of it, and enter the state: Update[...]"
    if twice := sorted({*declared, *others} & mine):
        return f"another parameter sets its {twice[0]} too", f"drop that parameter, or leave {twice[0]} out of it"
    if declared[name] is not NO_DEFAULT:
        return "has a default", "drop the default: a call gives an object in which nothing is set"
    return "", ""


def _read_parameters(label: str, function: Any) -> dict[str, Any]:
    """Return the parameters of a method after self, each with its default."""
    code: types.CodeType | None = getattr(function, "__code__", None)
    if code is None or code.co_varnames[:1] != ("self",) or not code.co_argcount:
        raise DeclarationError("HR197", label, "does not take self", "a pattern is a method: write self first")
    if code.co_flags & inspect.CO_COROUTINE:
        raise DeclarationError("HR198", label, "is async", "write def: what it returns can be awaited as well as run")
    count = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise _untyped(label, code.co_varnames[count])
    positional = function.__defaults__ or ()
    last = code.co_varnames[code.co_argcount - len(positional) : code.co_argcount]
    defaults = {**dict(zip(last, positional, strict=True)), **(function.__kwdefaults__ or {})}
    return {name: defaults.get(name, NO_DEFAULT) for name in code.co_varnames[1:count]}


def _untyped(label: str, name: str) -> DeclarationError:
    return DeclarationError("HR205", label, f"parameter {name!r} has no type", "name each parameter and its type")


def _hints_of(label: str, function: Any, scope: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=dict(scope), include_extras=True)
    except NameError as unknown:
        raise DeclarationError(
            "HR201", label, f"{unknown}", "declare or import it above the Patterns class"
        ) from unknown


def is_declared_as_pattern(function: Any) -> bool:
    """Return whether a function says that it returns one of the verbs."""
    try:
        returned: Any = get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):  # a name that only type checkers import, or no function
        returned = getattr(function, "__annotations__", {}).get("return")
    if isinstance(returned, str):
        return returned.partition("[")[0].rpartition(".")[2] in {*READS, *WRITES}
    return getattr(get_origin(returned) or returned, "verb", "") in {*READS, *WRITES}


def _returned(label: str, returned: Any) -> tuple[str, list[ModelClass]]:
    verb = getattr(get_origin(returned), "verb", "")
    if verb not in {*READS, *WRITES}:
        verbs = ", ".join((*READS, *WRITES))
        shown = "nothing" if returned is None else format_type(returned)
        raise DeclarationError("HR202", label, f"returns {shown}", f"return one of {verbs}, of a model: Get[Shop]")
    models = hints.members(get_args(returned)[0])
    for model in models:
        if not introspection.is_model(model):
            raise _unknown_model(label, verb, model)
    tables = {introspection.table_of(model).name for model in models}
    if len(tables) > 1:
        raise DeclarationError("HR204", label, f"returns items of {sorted(tables)}", "write a pattern for each table")
    return verb, models


def _unknown_model(label: str, verb: str, given: Any) -> DeclarationError:
    return DeclarationError(
        "HR203",
        label,
        f"returns {verb} of {format_type(given)}",
        "give an Item, a View or a union of them: a Get may find nothing and a Query finds many as it is",
    )


def _before(label: str, returned: Any, models: list[ModelClass]) -> list[ModelClass]:
    """Return the classes that an item was of before an `Update[New, Old]`; none if only New is declared."""
    found = [member for argument in get_args(returned)[1:] for member in hints.members(argument)]
    if found == models or any(isinstance(member, TypeVar) for member in found):
        return []  # the default of the type variable
    for model in found:
        if not introspection.is_model(model):
            raise _unknown_model(label, "Update", model)
    return found


def format_type(hint: Any) -> str:
    """Return a type as it is written in declarations."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return "None" if hint is type(None) else hint.__name__
    return re.sub(r"[\w.]+\.(?=\w)", "", str(hint))


def _parameter(label: str, name: str, found: Mapping[str, Any], verb: str, default: Any) -> Parameter:
    if name not in found:
        raise _untyped(label, name)
    hint, may_be_left_out = found[name], default is not NO_DEFAULT
    if may_be_left_out:
        _check_default(label, name, verb, default, hint)
        hint = hints.drop_none(hint) if verb in READS else hint
    markers = hints.markers_of(hint)
    compare, change = hints.find(markers, Compare), hints.find(markers, ChangeMarker)
    return Parameter(
        name=name,
        hint=hints.unwrap(hint)[0],
        compare=compare.operator if compare else "",
        change=change.action if change else "",
        may_be_left_out=may_be_left_out,
        models=_models_in(hint),
        path=at.path if (at := hints.find(markers, At)) else "",
        constraints=hints.constraints_of(hint),
        by_key=hints.find(markers, KeyForm) is not None,
    )


def _check_default(label: str, name: str, verb: str, default: Any, hint: Any) -> None:
    """Refuse a default that is no mark for a parameter that may be left out: a caller would not see the value."""
    is_removal = hints.unwrap(hint)[0] in {None, type(None)}
    if default is ... or (default is None and (verb in READS or is_removal)):
        return
    if verb in READS:
        remedy = f"write {name}: ... | None = None, which leaves the comparison out, and give the value in the call"
    else:
        remedy = f"write {name}: ... = ..., which leaves the field as it is, and give the value in the call"
    raise DeclarationError("HR207", label, f"{name!r} has the default {default!r}", remedy)


def _models_in(hint: Any) -> list[ModelClass]:
    models = hints.members(hint)
    return models if all(map(introspection.is_model, models)) else []


def _problem_of_filter(signature: Signature) -> str:
    """Return why a pattern is not a filter; empty if it is one."""
    if len(signature.models) > 1:
        return "is a filter of several classes"
    if not signature.parameters and not signature.wheres:
        return "is a filter that compares nothing"
    return f"is a filter, and {signature.optional[0]} may be left out" if signature.optional else ""


def _check(signature: Signature) -> None:
    label, reads = signature.label, signature.verb in READS
    for parameter in signature.parameters.values():
        if reads and (parameter.models or parameter.change or parameter.path):
            raise DeclarationError(
                "HR206",
                label,
                f"{parameter.name!r} would change something, and {signature.verb} reads",
                "compare or drop it",
            )
        if parameter.may_be_left_out and not reads and (parameter.models or parameter.compare):
            raise DeclarationError(
                "HR196",
                label,
                f"{parameter.name!r} is a condition and has a default",
                "only what an update sets may be left out: write two patterns",
            )
        if parameter.is_list and not reads:
            raise DeclarationError(
                "HR229",
                label,
                f"{parameter.name!r} is a list of values, and {signature.verb} writes",
                "write a condition with @where, such as @where('status IN ({one}, {other})')",
            )
    if signature.verb == "Filter" and (problem := _problem_of_filter(signature)):
        raise DeclarationError("HR239", label, problem, "compare fields of one class; leave it out by not passing it")
    if len(signature.models) > 1 and not reads:
        raise DeclarationError("HR208", label, "enters one of several states", "write a pattern for each")
    _check_tenant(signature)


def _check_tenant(signature: Signature) -> None:
    """Refuse a pattern without the tenant. A filter needs none: it reads nothing, and narrows a query that has it."""
    if not signature.tenant or signature.verb == "Filter":
        return
    if signature.tenant not in signature.parameters.keys() - set(signature.optional):
        raise DeclarationError(
            "HR209",
            signature.label,
            f"{'may leave out' if signature.tenant in signature.optional else 'does not take'} {signature.tenant}",
            f"every pattern of this class is given its {signature.tenant}",
        )


def check_ranges(label: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
    """Raise for a range that is no pair of bounds, or whose bounds are in the wrong order, as DynamoDB does."""
    for name in names:
        given = arguments.get(name)
        if given is None:
            continue
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ValueInvalid(f"{label}: {name} is {given!r}: give a pair, (low, high)")
        if _is_reversed(*given):
            raise ValueInvalid(f"{label}: {name} is {given!r}: the lower bound is above the upper one")


def _is_reversed(low: Any, high: Any) -> bool:
    try:
        return bool(low > high)
    except (
        TypeError,
        ArithmeticError,
    ):  # of types without an order, or no number: the codec refuses what it cannot store
        return False
