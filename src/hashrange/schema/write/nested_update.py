"""Updates inside a field: a member of a map, an element of a list, at a path such as `address.city` or `notes[{at}]`.

`At` gives the path; `{name}` in it is a parameter. A path is checked against the types of the fields. No index
key can go stale, because a field that has members is never part of a key (HR134).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import And, Condition, DocumentPath, FunctionCall
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.field_constraint import constraints_in
from hashrange.schema.declare.field_kind import INSIDE, kind_of, members_of
from hashrange.schema.pattern.parameter_types import WORDS, added_hint
from hashrange.schema.pattern.signature import Parameter, format_type
from hashrange.schema.pattern.value_source import Argument, Constant, FieldValue, Placeholders
from hashrange.schema.write.sum_bounds import Addition, bound_conditions
from hashrange.schema.write.write_intent import WriteIntent
from hashrange.schema.write.write_plan import AttributeChange, PinnedCondition

PATH = re.compile(r"(\w+)((?:\.\w+|\.\{\w+\}|\[\d+\]|\[\{\w+\}\])+)")
ELEMENT = re.compile(r"\.(\w+|\{\w+\})|\[(\d+)\]|(\[\{\w+\}\])")


class NestedChange(Struct, frozen=True):
    """One member or element that a write changes."""

    parameter: Parameter
    root: str  # the field
    path: DocumentPath  # `{name}` is a member whose name is an argument, `[{name}]` such an element
    hint: Any  # the type of what is there
    info: FieldInfo | None  # the field of a pydantic model that it is

    @property
    def is_element(self) -> bool:
        """Whether it is an element of a list."""
        last = self.path.elements[-1]
        return isinstance(last, int) or last.startswith("[")

    @property
    def start(self) -> Any:
        """The value that an absent one is counted from or appended to; None for 0."""
        info = self.info
        found = info.default if info is not None and info.default_factory is None and not info.is_required() else None
        return found or ([] if self.parameter.change == "APPEND" else None)

    @property
    def constraints(self) -> list[Any]:
        """The constraints of what is there."""
        return constraints_in(self.hint, self.info.metadata if self.info is not None else ())


def read_nested_changes(intent: WriteIntent) -> tuple[NestedChange, ...]:
    """Return what a write changes inside fields, or refuse a path that leads nowhere."""
    found = tuple(_resolve(intent, parameter) for parameter in intent.signature.nested.values())
    if found and intent.verb != "Update":
        raise _refuse(intent, found[0].parameter, f"{intent.verb} changes nothing inside a field", "return Update")
    for change in found:
        _check_value(intent, change)
    _check_overlaps(intent, found)
    return found


def change_nested(changes: tuple[NestedChange, ...]) -> Iterator[AttributeChange]:
    """Yield the changes as parts of an update expression."""
    for change in changes:
        parameter = change.parameter
        yield AttributeChange(
            stored=str(change.path.elements[0]),
            path=change.path,
            action="REMOVE" if parameter.is_none else parameter.change or "SET",
            value_source=FieldValue(Constant(None) if parameter.is_none else Argument(parameter.name), INSIDE),
            depends=_depends(change),
            start=FieldValue(Constant(change.start), INSIDE) if _has_start(change) else None,
        )


def nested_conditions(
    label: str, changes: tuple[NestedChange, ...], placeholders: Placeholders
) -> Iterator[PinnedCondition]:
    """Yield the tests that what contains each change exists, and that sums and lengths stay within their bounds."""
    for change in changes:
        last = len(change.path.elements) - 1
        wanted = [DocumentPath(change.path.elements[:last]), *([change.path] if change.is_element else [])]
        exists: list[Condition] = [FunctionCall("attribute_exists", (path,)) for path in wanted]
        yield PinnedCondition(And(tuple(exists)) if len(exists) > 1 else exists[0], "", _depends(change))
        kind = kind_of(hints.without_none(change.hint))
        addition = Addition(
            label=label,
            parameter=change.parameter.name,
            action=change.parameter.change,
            path=change.path,
            codec=INSIDE,
            is_set=kind is not None and kind.category.name == "a set",
            constraints=change.constraints,
            start=Constant(change.start) if change.start is not None else None,
        )
        yield from bound_conditions(addition, placeholders)


def _has_start(change: NestedChange) -> bool:
    return change.parameter.change in {"ADD", "APPEND"} and change.start is not None


def _depends(change: NestedChange) -> frozenset[str]:
    parameter = change.parameter
    return frozenset({parameter.name}) if parameter.may_be_left_out and not parameter.is_none else frozenset()


# ── the path ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _resolve(intent: WriteIntent, parameter: Parameter) -> NestedChange:
    """Return what a path leads to."""
    found = PATH.fullmatch(parameter.path)
    if found is None:
        raise _refuse(
            intent, parameter, "is not a path into a field", "write a path such as address.city or notes[{index}]"
        )
    field = intent.signature.field(intent.target, found[1], f"At({parameter.path!r})")
    if field.sealed or field.codec.tag not in {"L", "M", ""}:
        raise _refuse(intent, parameter, f"leads into {field.name}, which has no members", "set the whole field")
    elements: list[str | int] = [field.stored]
    hint, info = field.hint, None
    for match in ELEMENT.finditer(found[2]):
        element = int(match[2]) if match[2] else match[1] or match[3]
        hint, info = _enter(intent, parameter, hint, element)
        elements.append(element)
    return NestedChange(parameter, field.name, DocumentPath(tuple(elements)), hint, info)


def _enter(intent: WriteIntent, parameter: Parameter, hint: Any, element: str | int) -> tuple[Any, FieldInfo | None]:
    """Return the type of a member or element, and its field if it is one of a pydantic model."""
    inner = hints.without_none(hint)
    members = members_of(inner)
    is_position = isinstance(element, int) or element.startswith("[")
    name = element.strip("[]{}") if isinstance(element, str) else ""
    is_argument = isinstance(element, str) and "{" in element
    if is_argument:
        _check_path_argument(intent, parameter, name, int if is_position else str)
    if members is None:
        return Any, None
    key: Any = int if is_position else str if is_argument or element not in members else element
    if key not in members:
        known = ", ".join(word for word in members if isinstance(word, str))
        raise _refuse(intent, parameter, f"names {element}, which is not there", f"there are {known or 'no members'}")
    is_model = isinstance(inner, type) and issubclass(inner, BaseModel)
    return members[key], inner.model_fields[name] if is_model else None


def _check_path_argument(intent: WriteIntent, parameter: Parameter, name: str, wanted: type) -> None:
    given = intent.signature.values.get(name)
    kind = kind_of(given.hint) if given is not None else None
    if kind is None or kind.codec.tag != ("N" if wanted is int else "S") or given is None or given.may_be_left_out:
        raise _refuse(
            intent, parameter, f"needs a parameter {name}", f"take {name}: {wanted.__name__}, without a default"
        )


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _check_value(intent: WriteIntent, change: NestedChange) -> None:
    """Refuse a value of another type, a change that the type does not have, and the removal of what is required."""
    parameter, inside = change.parameter, hints.without_none(change.hint)
    kind, given = kind_of(inside), kind_of(parameter.hint)
    word = WORDS.get(parameter.change)
    if parameter.compare:
        raise _refuse(intent, parameter, "is compared", f"write @where('{parameter.path} = ...')")
    if parameter.is_none or hints.is_optional(parameter.hint):
        is_required = change.info is not None and change.info.is_required() and not hints.is_optional(change.hint)
        if is_required or (change.is_element and not parameter.is_none):
            raise _refuse(intent, parameter, "may be None, and is required there", "drop the None")
    if parameter.is_none or inside is Any:
        return
    if word is not None and (kind is None or parameter.change not in kind.category.changes):
        raise _refuse(intent, parameter, f"is {format_type(inside)} there, which has no {word}", "set a value instead")
    mine = hints.without_none(parameter.hint)
    is_same = kind.category is given.category if kind is not None and given is not None else inside == mine
    if parameter.change != "DELETE" and not is_same:
        shown = format_type(mine)
        raise _refuse(intent, parameter, f"is {shown}, and {format_type(inside)} there", f"take {format_type(inside)}")


def _check_overlaps(intent: WriteIntent, changes: tuple[NestedChange, ...]) -> None:
    """Refuse two changes of which one is inside the other: DynamoDB would refuse the request."""
    for at, change in enumerate(changes):
        others = [other.path.elements for other in changes[:at]]
        mine = change.path.elements
        inside = any(mine[: len(other)] == other[: len(mine)] for other in others)
        if inside or change.root in intent.sets:
            raise _refuse(intent, change.parameter, "overlaps another change of this pattern", "write two patterns")


def _refuse(intent: WriteIntent, parameter: Parameter, problem: str, remedy: str) -> DeclarationError:
    return DeclarationError("HR253", intent.label, f"{parameter.name} At({parameter.path!r}) {problem}", remedy)


def nested_hint(change: NestedChange) -> Any:
    """Return the type that the value of a change is validated as."""
    parameter = change.parameter
    if parameter.is_none or change.hint is Any:
        return hints.constrain(parameter.hint, parameter.constraints)
    if parameter.change and parameter.change != "ONCE":
        return added_hint(parameter, change.hint, change.constraints)
    own = change.info.metadata if change.info is not None else ()
    hint = change.hint if hints.is_optional(parameter.hint) else hints.drop_none(change.hint)
    return hints.constrain(hint, (*own, *parameter.constraints))
