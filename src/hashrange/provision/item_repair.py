"""What a stored item lacks of its declaration: index keys, defaults, versions, derived attributes.

Pure: takes an item as it is stored, and returns the conditional update that completes it. Attributes that the item has
are left alone, except keys of indexes: these become what the declaration computes from the other attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from hashrange.core.errors import HashrangeError, Unreadable
from hashrange.core.values import MAX_ITEM_BYTES, Value, measure_item
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import After, Item
from hashrange.schema.declare.table import Table
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.loader import load
from hashrange.schema.items.storable_item import make_storable
from hashrange.schema.items.unknown_state import find_states_by_prefix, find_unknown_keys


class Repair(Struct, frozen=True):
    """What an update sets and removes, and the values that it was computed from."""

    model: str  # the class of the item
    key: Raw
    sets: dict[str, Value]
    removes: tuple[str, ...]
    pins: dict[str, Value | None]  # None: the item has no such attribute

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that change."""
        return (*sorted(self.sets), *self.removes)

    def request(self, table_name: str) -> Wire:
        """Return the UpdateItem request. It changes nothing if a value that it was computed from has changed."""
        names = {name: f"#{number}" for number, name in enumerate(dict.fromkeys([*self.attributes, *self.pins]))}
        values: Raw = {}

        def alias(value: Value) -> str:
            text = f":{len(values)}"
            values[text] = value
            return text

        sets = ", ".join(f"{names[attr]} = {alias(value)}" for attr, value in sorted(self.sets.items()))
        removes = ", ".join(names[attr] for attr in self.removes)
        pins = [
            f"attribute_not_exists({names[attr]})" if value is None else f"{names[attr]} = {alias(value)}"
            for attr, value in self.pins.items()
        ]
        return {
            "TableName": table_name,
            "Key": self.key,
            "UpdateExpression": " ".join(filter(None, (sets and f"SET {sets}", removes and f"REMOVE {removes}"))),
            "ConditionExpression": " AND ".join(pins),
            "ExpressionAttributeNames": {alias: attr for attr, alias in names.items()},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **({"ExpressionAttributeValues": values} if values else {}),
        }


class Unrepairable(Struct, frozen=True):
    """An item that has the key of a declared class and cannot be read as one, or not be stored as one."""

    key: Raw
    reason: str

    def __str__(self) -> str:
        """Return the key and the reason."""
        shown = ", ".join(f"{attr}={next(iter(value.values()))!r}" for attr, value in self.key.items())
        return self.reason if self.reason.startswith(shown) else f"{shown}: {self.reason}"


Finding: TypeAlias = Repair | Unrepairable | None


def find_repair(table: Table, raw: Raw) -> tuple[str, Finding]:
    """Return the class of a stored item ("" if none is declared for it), and what it lacks, if anything."""
    key = {attr: raw[attr] for attr in table.keys}
    try:
        loaded = _load(table, raw)
        if loaded is None:
            return "", None
        found = make_storable(loaded)  # the variant that its values make, whose key it may lack
        wanted = dump(found)
    except HashrangeError as error:
        return "", Unrepairable(key, str(error))
    model = type(found)
    index_keys = table.key_names - set(table.keys)
    sets = {
        attr: value
        for attr, value in wanted.items()
        if raw.get(attr) != value and (attr in index_keys or attr not in raw)
    }
    removes = tuple(sorted(attr for attr in index_keys & raw.keys() if attr not in wanted and _is_derived(model, attr)))
    if not sets and not removes:
        return model.__name__, None
    completed = {attr: value for attr, value in {**raw, **sets}.items() if attr not in removes}
    if (size := measure_item(completed)) > MAX_ITEM_BYTES:
        return "", Unrepairable(
            key, f"completed it would take {size:,} bytes; DynamoDB stores at most {MAX_ITEM_BYTES:,}"
        )
    pinned = dict.fromkeys([*table.keys, *sorted({*sources_of(model), *sets, *removes} - set(table.keys))])
    return model.__name__, Repair(model.__name__, key, sets, removes, {attr: raw.get(attr) for attr in pinned})


def _load(table: Table, raw: Raw) -> Any:
    """Return a stored item; None if no class is declared for it."""
    roots = roots_of(table)
    try:
        return load(roots, raw, table)
    except Unreadable:
        for root in roots:
            if found := _load_former_state(root, raw):
                return found
        raise


def _load_former_state(item: ModelClass, raw: Raw) -> Any:
    """Return an item whose state has a key of a former form, if that begins as the key of the state of its fields."""
    attrs = find_unknown_keys(item, raw)
    if not attrs:
        return None
    try:
        found = load([item], {attr: value for attr, value in raw.items() if attr not in attrs})
    except Unreadable:
        return None
    held = {type(getattr(found, name)) for name in introspection.lifecycles(type(found))} if found else set()
    told = [find_states_by_prefix(item, attr, raw[attr]) for attr in attrs]
    return found if all(len(states) == 1 and held.issuperset(states) for states in told) else None


def roots_of(table: Table) -> list[ModelClass]:
    """Return the item classes of a table, without variants."""
    return list(dict.fromkeys(introspection.root(item) for item in introspection.items_of(table)))


def _is_derived(model: type[Item], attr: str) -> bool:
    """Return whether the declaration computes a key attribute of this item in some state."""
    return any(attr in introspection.keys(each) for each in introspection.item_and_states(model))


@cached_by_class
def sources_of(model: type[Item]) -> frozenset[str]:
    """Return the attributes that the class of an item, its index keys and its derived defaults depend on."""
    return frozenset((*_sources(model), *_sources_of_defaults(model)))


def _sources(model: type[Item]) -> Iterator[str]:
    fields = introspection.all_fields(model)
    for each in introspection.item_and_states(model):
        names = {name for template in introspection.keys(each).values() for name in template.fields}
        for name in names | introspection.fixed_values(each).keys():
            if not fields[name].key_only:
                yield fields[name].stored
        yield from introspection.keys(each)


def _sources_of_defaults(model: type[Item]) -> Iterator[str]:
    """Yield the attributes that defaults are computed from: the other time of `after`, all for a function of them."""
    stored = {name: field.stored for name, field in introspection.all_fields(model).items() if not field.key_only}
    for each in introspection.item_and_states(model):
        for info in introspection.pydantic_fields(each).values():
            if isinstance(info.default, After):
                yield from [stored[info.default.other]] if info.default.other in stored else []
            elif info.default_factory_takes_validated_data:
                yield from stored.values()
