"""Step 1 of the write compiler: every field that a write sets, removes or counts, and how its new value is known.

The delta has the parameters, the fixed values of the state entered, the fields of the state left, touched times, the
version, and defaults that are index keys. `index_keys` computes keys from it; what is not in it does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from hashrange.core.errors import DeclarationError
from hashrange.core.values import Value
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute
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

    attribute: Attribute
    action: str  # SET, REMOVE, ADD, DELETE, APPEND or ONCE
    source: ArgumentSource  # the value that is sent; None for one that is removed
    parameter: str = ""  # the parameter that gives it
    optional: bool = False  # it does not change in a call without that parameter
    counted_from: ArgumentField | None = None  # the old value that a version is counted up from

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
        if parameter is not None and name not in intent.tests:
            return Argument(name)  # part of the primary key
        if name in fixed:
            return Constant(fixed[name])
        return Argument(name) if parameter is not None and parameter.operator == "=" else intent.held(name)


def compute_delta(intent: WriteIntent) -> Delta:
    """Return every field that a write changes."""
    found: dict[str, FieldChange] = {}
    for changes in (_parameters, _fixed_values, _absent_fields, _touched_times, _version, _defaults, _left_fields):
        for change in changes(intent):
            found.setdefault(change.attribute.name, change)
    return Delta(found)


def _parameters(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields that parameters set."""
    for name, parameter in intent.sets.items():
        attribute = intent.fields[name]
        if parameter.change == "ONCE" and _unset_word(intent, attribute) is not None:
            raise DeclarationError(
                "HR247",
                intent.label,
                f"{name} would never be set: {intent.table.name} stores a word for no value, so it is always there",
                "set it when the item is created, or test it with @where",
            )
        action = REMOVE if parameter.is_none else parameter.change or "SET"
        optional = parameter.may_be_left_out and not parameter.is_none
        yield FieldChange(attribute, action, Argument(name), name, optional)


def _fixed_values(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields that have one value in the state entered, and may have had another before."""
    for name, value in introspection.fixed_values(intent.target).items():
        before = [introspection.fixed_values(kind).get(name) for kind in intent.start_kinds]
        if intent.verb == "Upsert" or any(held != value for held in before):
            yield FieldChange(intent.fields[name], "SET", Constant(value))


def _absent_fields(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields that the state entered never has."""
    for name, attribute in introspection.attributes(intent.target).items():
        if attribute.fixed is None:
            yield FieldChange(intent.fields[name], REMOVE, Constant(None))


def _touched_times(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the times of the last write."""
    for attribute in introspection.touched_attributes(intent.target):
        yield FieldChange(attribute, "SET", Now())


def _version(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the version: one more than the subject's, or counted by the database."""
    version = introspection.version_of(intent.target)
    if version is None:
        return
    held = intent.held(version.name)
    if held is not None:
        yield FieldChange(version, "SET", Incremented(held), counted_from=held)
    else:
        yield FieldChange(version, "ADD", Constant(1))


def _defaults(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the defaults that are index keys: an item that is created without them would not be in the index."""
    if intent.verb != "Upsert":
        return
    for name, attribute in introspection.attributes(intent.target).items():
        is_index_key = attribute.stored in intent.table.key_names - set(intent.table.keys) and not attribute.key_only
        default = DefaultOf(intent.target, name)
        if is_index_key and default.is_there:
            yield FieldChange(attribute, "ONCE", default)


def _left_fields(intent: WriteIntent) -> Iterator[FieldChange]:
    """Yield the fields of the state left that are no part of the one entered."""
    top = introspection.root(intent.target)
    if not intent.start_kinds or introspection.root(intent.start_kinds[0]) is not top:
        return
    kept = {*introspection.attributes(intent.target), *introspection.attributes(top)}
    for kind in intent.left_kinds():
        for name, attribute in introspection.attributes(kind).items():
            if name not in kept and not attribute.key_only:
                yield FieldChange(attribute, REMOVE, Constant(None))


# ── attributes ───────────────────────────────────────────────────────────────────────────────────────────────────────
def change_attributes(intent: WriteIntent, delta: Delta) -> tuple[dict[str, AttributeChange], list[str]]:
    """Return the attributes that a delta sets, by stored name, and those that it removes."""
    changes: dict[str, AttributeChange] = {}
    removes: list[str] = []
    for change in delta.fields.values():
        stored, unset = change.attribute.stored, _unset_word(intent, change.attribute)
        if change.attribute.key_only:
            continue
        if change.action != REMOVE:
            changes[stored] = AttributeChange(
                stored=stored,
                action=change.action,
                value_source=FieldValue(change.source, change.attribute.codec),
                depends=frozenset({change.parameter}) if change.optional else frozenset(),
                unset=unset,
                sealed=change.attribute.sealed,
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
    if ttl is None or held is None or not intent.subject:
        return None
    return AttributeChange(
        stored=ttl.stored, action="SET", value_source=FieldValue(held, ttl.codec), repairs=intent.subject
    )


def _unset_word(intent: WriteIntent, attribute: Attribute) -> Value | None:
    """Return the table's word for "no value", if this attribute can store it."""
    word = intent.table.unset
    can_hold = word is not None and attribute.codec.tag == "S" and attribute.stored not in intent.table.key_names
    return {"S": word} if can_hold else None
