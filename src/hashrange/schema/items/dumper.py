"""Converts an item to the attribute values that are stored, index keys included. `loader` converts back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_codec import EMPTY_KEYS, KeyCodec, key_codecs, refuse_empty_key
from hashrange.schema.declare.model import Item, Model


def dump(entity: Item) -> Raw:
    """Return the stored form of an item, with its keys in every index."""
    plan = _plan_of(entity)
    values = _merge(entity, plan)
    out: Raw = {}
    for field in plan.fields:
        value = values.get(field.name)
        if value is None or value == ABSENT_SET:
            continue
        out[field.stored] = field.codec.encode(value)
    for stored, unset in plan.unset:
        out.setdefault(stored, {"S": unset})
    for stored in plan.plain_keys:
        if out.get(stored) in EMPTY_KEYS:
            raise refuse_empty_key(stored)
    for key_codec in plan.key_codecs:
        key = key_codec.make(values.get)
        if key is not None:
            out[key_codec.attr] = key
    return out


def merge_states(entity: Item) -> dict[str, Any]:
    """Return the values of an item and its states; refuse a field that has two of them."""
    return _merge(entity, _plan_of(entity))


def _merge(entity: Item, plan: _StorePlan) -> dict[str, Any]:
    values = dict(entity.__dict__)
    for name, shared in plan.lifecycles:
        held = entity.__dict__[name].__dict__
        agree = all(held[field] == values[field] for field in shared)
        values.update(held if agree else _reconcile(entity, name, shared, values))
    return values


def _plan_of(entity: Item) -> _StorePlan:
    cls = type(entity)
    return _store_plan(cls, tuple(type(getattr(entity, name)) for name in introspection.lifecycles(cls)))


def _reconcile(entity: Item, lifecycle: str, shared: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a state, with a default replaced by the item's value; refuse two values that differ."""
    state: Model = entity.__dict__[lifecycle]
    merged = dict(state.__dict__)
    for name in shared:
        if name not in state.model_fields_set:
            merged[name] = values[name]
        is_default = name in type(entity).model_fields and name not in entity.model_fields_set
        if merged[name] != values[name] and not is_default:
            is_secret = introspection.all_fields(type(entity))[name].sealed
            mine, other = ("...", "another value") if is_secret else (repr(values[name]), repr(merged[name]))
            raise ValueInvalid(
                f"{type(entity).__name__}.{name} is {mine}, and its {lifecycle} has {other}: give both the same value"
            )
    return merged


ABSENT_SET: set[Any] = set()  # DynamoDB has no empty sets: an empty one is not stored


class _StorePlan(Struct, frozen=True):
    lifecycles: tuple[tuple[str, tuple[str, ...]], ...]  # each with the fields that it shares with the item
    fields: tuple[ModelField, ...]
    unset: tuple[tuple[str, str], ...]
    key_codecs: tuple[KeyCodec, ...]
    plain_keys: tuple[str, ...]  # fields that are keys themselves


@cache
def _store_plan(cls: type[Item], states: tuple[ModelClass, ...]) -> _StorePlan:
    table = introspection.table_of(cls)
    models = (cls, *states)
    fields = {
        name: found
        for model in models
        for name, found in introspection.stored_fields(model).items()
        if not found.key_only
    }
    taken = {found.stored for found in fields.values()}
    keyed = dict(key_codecs(cls))
    for state in states:  # a view has the keys of the item that it names, which a variant may declare anew
        own = introspection.variant_keys(state).keys() | introspection.keys(state).keys() - keyed.keys()
        keyed.update({attr: key_codecs(state)[attr] for attr in own})
    return _StorePlan(
        lifecycles=tuple(_shared_fields(cls, states)),
        fields=tuple(fields.values()),
        unset=_unset(cls, set(fields)),
        key_codecs=tuple(
            key_codec for attr, key_codec in keyed.items() if attr not in taken and attr in table.key_names
        ),
        plain_keys=tuple(sorted(taken & table.key_names)),
    )


def _shared_fields(cls: type[Item], states: tuple[ModelClass, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each lifecycle with the fields that its state shares with the item, or with a state before it."""
    seen = {*introspection.stored_fields(cls)}
    for name, state in zip(introspection.lifecycles(cls), states, strict=True):
        mine = introspection.stored_fields(state)
        yield name, tuple(field for field in mine if field in seen)
        seen |= mine.keys()


def _unset(cls: type[Item], present: set[str]) -> tuple[tuple[str, str], ...]:
    """Return the attributes that store the table's word for "no value" when they are None."""
    table = introspection.table_of(cls)
    if table.unset is None:
        return ()
    word = table.unset
    return tuple(
        (found.stored, word)
        for name, found in introspection.all_fields(cls).items()
        if (found.optional or name not in present)
        and found.codec.tag == "S"
        and found.stored not in table.key_names
        and not found.key_only
    )
