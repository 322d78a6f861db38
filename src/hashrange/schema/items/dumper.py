"""Converts an item to the attribute values that are stored, index keys included. `loader` converts back."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from hashrange.core.values import Item as Raw
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.shape import Item


def dump(entity: Item) -> Raw:
    """Return the stored form of an item, with its keys in every index."""
    plan = _store_plan(
        type(entity), tuple(type(getattr(entity, name)) for name in introspection.lifecycles(type(entity)))
    )
    values = dict(entity.__dict__)
    for name in plan.lifecycles:
        values.update(entity.__dict__[name].__dict__)
    out: Raw = {}
    for attribute in plan.attributes:
        value = values.get(attribute.name)
        if value is None or value == ABSENT_SET:
            continue
        out[attribute.stored] = attribute.codec.encode(value)
    for stored, unset in plan.unset:
        out.setdefault(stored, {"S": unset})
    for key_codec in plan.key_codecs:
        key = key_codec.make(values.get)
        if key is not None:
            out[key_codec.attr] = key
    return out


ABSENT_SET: set[Any] = set()  # DynamoDB has no empty sets: an empty one is not stored


class _StorePlan(Struct, frozen=True):
    lifecycles: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    unset: tuple[tuple[str, str], ...]
    key_codecs: tuple[KeyCodec, ...]


@cache
def _store_plan(cls: type[Item], states: tuple[Kind, ...]) -> _StorePlan:
    table = introspection.table_of(cls)
    shapes = (cls, *states)
    fields = {
        name: found for shape in shapes for name, found in introspection.attributes(shape).items() if not found.key_only
    }
    taken = {found.stored for found in fields.values()}
    keyed = {attr: key_codec for shape in shapes for attr, key_codec in key_codecs(shape).items()}
    return _StorePlan(
        lifecycles=tuple(introspection.lifecycles(cls)),
        attributes=tuple(fields.values()),
        unset=_unset(cls, set(fields)),
        key_codecs=tuple(
            key_codec for attr, key_codec in keyed.items() if attr not in taken and attr in table.key_names
        ),
    )


def _unset(cls: type[Item], present: set[str]) -> tuple[tuple[str, str], ...]:
    """Return the attributes that store the table's word for "no value" when they are None."""
    table = introspection.table_of(cls)
    if table.unset is None:
        return ()
    word = table.unset
    return tuple(
        (found.stored, word)
        for name, found in introspection.all_attributes(cls).items()
        if (found.optional or name not in present)
        and found.codec.tag == "S"
        and found.stored not in table.key_names
        and not found.key_only
    )
