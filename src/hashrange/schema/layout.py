"""Items as they are stored: `store` writes one out with every index key it carries. `reader` is the way back."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from hashrange.core.values import Item as Raw
from hashrange.schema import anatomy
from hashrange.schema.anatomy import Attribute, Kind
from hashrange.schema.keymaker import KeyMaker, make_keymaker
from hashrange.schema.memory import remembered
from hashrange.schema.shape import Item


@remembered
def makers(cls: Kind) -> dict[str, KeyMaker]:
    """Return the makers of every key attribute that a class may carry."""
    table, fields = anatomy.table_of(cls), anatomy.known(cls)
    return {attr: make_keymaker(attr, template, fields, table) for attr, template in anatomy.keys(cls).items()}


def key_of(cls: Kind, values: dict[str, Any]) -> Raw:
    """Return the primary key of an item of this class."""
    found: Raw = {}
    for attr in anatomy.table_of(cls).keys:
        value = makers(cls)[attr].make(values.get)
        if value is not None:
            found[attr] = value
    return found


def store(entity: Item) -> Raw:
    """Return an item as DynamoDB holds it, its keys in every index included."""
    plan = _store_plan(type(entity), tuple(type(getattr(entity, name)) for name in anatomy.parts(type(entity))))
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
    for maker in plan.makers:
        key = maker.make(values.get)
        if key is not None:
            out[maker.attr] = key
    return out


ABSENT_SET: set[Any] = set()  # DynamoDB has no empty sets: an absent one is empty


class _StorePlan(Struct, frozen=True):
    lifecycles: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    unset: tuple[tuple[str, str], ...]
    makers: tuple[KeyMaker, ...]


@cache
def _store_plan(cls: type[Item], states: tuple[Kind, ...]) -> _StorePlan:
    table = anatomy.table_of(cls)
    shapes = (cls, *states)
    fields = {
        name: found for shape in shapes for name, found in anatomy.attributes(shape).items() if not found.key_only
    }
    taken = {found.stored for found in fields.values()}
    keyed = {attr: maker for shape in shapes for attr, maker in makers(shape).items()}
    return _StorePlan(
        lifecycles=tuple(anatomy.parts(cls)),
        attributes=tuple(fields.values()),
        unset=_unset(cls, set(fields)),
        makers=tuple(maker for attr, maker in keyed.items() if attr not in taken and attr in table.key_names),
    )


def _unset(cls: type[Item], present: set[str]) -> tuple[tuple[str, str], ...]:
    """Say which attributes hold the table's word for "no value" when they have none."""
    table = anatomy.table_of(cls)
    if table.unset is None:
        return ()
    word = table.unset
    return tuple(
        (found.stored, word)
        for name, found in anatomy.known(cls).items()
        if (found.optional or name not in present)
        and found.codec.tag == "S"
        and found.stored not in table.key_names
        and not found.key_only
    )


def pattern_of(cls: Kind, name: str) -> str | None:
    """Return the regular expression that a field must match, as `Field(pattern=...)` declares it."""
    for shape in (cls, *anatomy.family(anatomy.root(anatomy.item_of(cls)))):
        for fact in shape.model_fields[name].metadata if name in shape.model_fields else ():
            pattern = getattr(fact, "pattern", None)
            if pattern is not None:
                return str(pattern)
    return None
