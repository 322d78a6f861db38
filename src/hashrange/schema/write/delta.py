"""Step 1 of the write compiler: every field that a write sets, removes or counts, and how its new value is known.

The delta has the parameters, the fixed values of the state entered, the fields of the state left, touched times and the
version. `index_keys` computes keys from it; what is not in it does not change, and `stored_defaults` adds defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.core.values import Value
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelField
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentField,
    ArgumentSource,
    Constant,
    DefaultOf,
    FieldValue,
    FixedValue,
    Incremented,
    Now,
    OptionalArgument,
)
from hashrange.schema.write.write_intent import WriteIntent
from hashrange.schema.write.write_plan import AttributeChange

REMOVE = "REMOVE"


class FieldChange(Struct, frozen=True):
    """One field that a write changes."""

    field: ModelField
    action: str  # SET, REMOVE, ADD, DELETE, APPEND or ONCE
    source: ArgumentSource  # the value that is sent; None for one that is removed
    parameter: str = ""  # the parameter that gives it
    optional: bool = False  # it does not change in a call without that parameter
    counted_from: ArgumentField | None = None  # the old value that a version is counted up from
    start: ArgumentSource | None = None  # the default that an absent field is counted from or appended to

    @property
    def is_known(self) -> bool:
        """Whether the new value is known before the database has made the change."""
        return self.action in {"SET", REMOVE}


class Delta(Struct, frozen=True):
    """The fields that a write changes, by name."""

    fields: Mapping[str, FieldChange]

    def new_value(self, intent: WriteIntent, name: str) -> ArgumentSource | None:
        """Return the value that a field has after the write; None when it is not known here."""
        change = self.fields.get(name)
        if change is not None:
            return OptionalArgument(name, intent.held(name)) if change.optional else change.source
        fixed, parameter = introspection.fixed_values(intent.target), intent.signature.values.get(name)
        if parameter is not None and parameter.by_key:
            return intent.held(name)  # the argument has the form that the key has, and need not be the value
        if parameter is not None and name not in intent.tests:
            return Argument(name)  # part of the primary key
        if name in fixed:
            return Constant(fixed[name])
        return Argument(name) if parameter is not None and parameter.operator == "=" else intent.held(name)


def compute_delta(intent: WriteIntent) -> Delta:
    """Return every field that a write changes."""
    found: dict[str, FieldChange] = {}
    for changes in (_parameters, _fixed_values, _absent_fields, _touched_times, _version, _left_fields):
        for change in changes(intent):
            found.setdefault(change.field.name, change)
    return Delta(found)


def _parameters(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields that parameters set."""
    for name, parameter in intent.sets.items():
        field = intent.fields[name]
        if parameter.change == "ONCE" and _unset_word(intent, field) is not None:
            raise DeclarationError(
                "HR247",
                intent.label,
                f"{name} would never be set: {intent.table.name} stores a word for no value, so it is always there",
                "set it when the item is created, or test it with @where",
            )
        action = REMOVE if parameter.is_none else parameter.change or "SET"
        optional = parameter.may_be_left_out and not parameter.is_none
        yield FieldChange(field, action, Argument(name), name, optional, start=_start_of(intent, field, action))


def _start_of(intent: WriteIntent, field: ModelField, action: str) -> ArgumentSource | None:
    """Return the default that an absent field is counted from; None for 0, and for a change that needs none."""
    if action not in {"ADD", "DELETE", "APPEND"}:
        return None
    default = _find_default(intent, field.name)
    if default is None or default.is_empty:
        return Constant([]) if action == "APPEND" else None
    if field.codec.tag in {"SS", "NS", "BS", ""} and action != "APPEND":
        raise DeclarationError(
            "HR250",
            intent.label,
            f"{field.name} has members by default, which an item that is stored without it would lose",
            f"set {field.name} to a value, or let it be empty by default",
        )
    return default


def _find_default(intent: WriteIntent, name: str) -> DefaultOf | None:
    """Return the default of a field in the state entered or in the item."""
    item = introspection.root(introspection.item_of(intent.target))
    for model in (intent.target, item, *introspection.item_and_states(item)):
        if name in model.__pydantic_fields__:
            found = DefaultOf(model, name)
            return found if found.is_there else None
    return None


def _fixed_values(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields that have one value in the state entered, and may have had another before."""
    for name, value in introspection.fixed_values(intent.target).items():
        before = [introspection.fixed_values(model).get(name) for model in intent.start_models]
        if intent.verb == "Upsert" or any(held != value for held in before):
            yield FieldChange(intent.fields[name], "SET", Constant(value))


def _absent_fields(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields that the state entered never has."""
    for name, field in introspection.stored_fields(intent.target).items():
        if field.fixed is None:
            yield FieldChange(intent.fields[name], REMOVE, Constant(None))


def _touched_times(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the times of the last write."""
    for field in introspection.touched_fields(intent.target):
        yield FieldChange(field, "SET", Now())


def _version(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the version: one more than the subject's, or counted by the database."""
    version = introspection.version_of(intent.target)
    if version is None:
        return
    held = intent.held(version.name)
    if held is not None:
        yield FieldChange(version, "SET", Incremented(held), counted_from=held)
    else:
        yield FieldChange(version, "ADD", Constant(1), start=_start_of(intent, version, "ADD"))


def _left_fields(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields of the state left that neither the one entered needs, nor the rest of the item."""
    if any(introspection.root(model) is not introspection.root(intent.target) for model in intent.start_models[:1]):
        return
    kept = {*introspection.stored_fields(intent.target), *_fields_outside(intent)}
    for model in intent.left_models():
        for name, field in introspection.stored_fields(model).items():
            if name not in kept and not field.key_only:
                yield FieldChange(field, REMOVE, Constant(None))


def _fields_outside(intent: WriteIntent) -> Iterator[str]:
    """Yield the fields that an item has in any state: its own, and those of its other lifecycles."""
    top, item = introspection.root(intent.target), introspection.item_of(intent.target)
    yield from introspection.stored_fields(top)
    if top is not introspection.root(item):
        for variant in introspection.with_variants(introspection.root(item)):
            yield from introspection.stored_fields(variant)
    for states in introspection.lifecycles(item).values():
        if introspection.root(states[0]) is not top:
            for state in states:
                yield from introspection.stored_fields(state)


# ── attributes ───────────────────────────────────────────────────────────────────────────────────────────────────────
def change_attributes(intent: WriteIntent, delta: Delta) -> tuple[dict[str, AttributeChange], list[str]]:
    """Return the attributes that a delta sets, by stored name, and those that it removes."""
    changes: dict[str, AttributeChange] = {}
    removes: list[str] = []
    for change in delta.fields.values():
        stored, unset = change.field.stored, _unset_word(intent, change.field)
        if change.field.key_only:
            continue
        if change.action != REMOVE:
            changes[stored] = AttributeChange(
                stored=stored,
                action=change.action,
                value_source=FieldValue(change.source, change.field.codec, is_key=stored in intent.table.key_names),
                depends=frozenset({change.parameter}) if change.optional else frozenset(),
                unset=unset,
                start=FieldValue(change.start, change.field.codec) if change.start is not None else None,
                sealed=change.field.sealed,
            )
        elif unset is not None:
            changes[stored] = AttributeChange(stored=stored, action="SET", value_source=FixedValue(unset))
        else:
            removes.append(stored)
    return changes, removes


def repair_expiry(intent: WriteIntent, delta: Delta) -> AttributeChange | None:
    """Return the change that writes a TTL in seconds, where the subject was stored with one in milliseconds."""
    ttl = next((found for found in intent.fields.values() if found.stored == intent.table.ttl), None)
    held = intent.held(ttl.name) if ttl is not None and ttl.name not in delta.fields else None
    if ttl is None or held is None or not intent.subject or intent.table.former_ttl is None:
        return None
    return AttributeChange(
        stored=ttl.stored, action="SET", value_source=FieldValue(held, ttl.codec), repairs=intent.subject
    )


def _unset_word(intent: WriteIntent, field: ModelField) -> Value | None:
    """Return the table's word for "no value", if this attribute can store it."""
    word = intent.table.unset
    can_hold = word is not None and field.codec.tag == "S" and field.stored not in intent.table.key_names
    return {"S": word} if can_hold else None
