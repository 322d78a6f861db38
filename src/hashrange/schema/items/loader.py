"""Converts stored items to objects, each of the most specific class that matches.

Items of the usual form are read by a compiled function (`compiled_reader`), all others by `Reader`, which is slower and
gives the reason for items that match no class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from hashrange.core.errors import Unreadable
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.schema.declare import introspection
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import NOTHING, ModelClass, ModelField
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.model import Item, Model
from hashrange.schema.declare.table import Table
from hashrange.schema.declare.variant_fields import distinguished_by_fields, recognised_by_keys
from hashrange.schema.items.compiled_reader import compile_reader
from hashrange.schema.items.reader import GUESSED, STATE, UNUSUAL, WHOLE, Mismatch, Reader
from hashrange.schema.items.unknown_state import explain_unknown_keys, find_misplaced_keys


def load(models: Sequence[ModelClass], raw: Raw, table: Table | None = None) -> Any:
    """Return a stored item as one of these classes or of their variants; None when it is of another model.

    Errors name the table; without one, that which the classes are declared for.
    """
    return load_all(models, (raw,), table)[0]


def load_all(models: Sequence[ModelClass], raws: Iterable[Raw], table: Table | None = None) -> list[Any]:
    """Return stored items as objects of these classes or of their variants; None for each of another model."""
    readers = [reader for model in models for reader in _readers(model)]
    if len(readers) == 1 and readers[0].whole is not None:
        return _load_usual(readers[0].whole, readers, raws, table)
    return [_load_one(readers, raw, table) for raw in raws]


def _load_usual(
    whole: Callable[[Raw], Model | None], readers: list[Reader], raws: Iterable[Raw], table: Table | None
) -> list[Any]:
    """Read items of one class without variants; an unusual item is read field by field."""
    found: list[Any] = []
    for raw in raws:
        try:
            one = whole(raw)
        except UNUSUAL:
            one = _load_one(readers, raw, table)
        if one is None:
            _refuse_unknown_state(readers, raw, table)
        found.append(one)
    return found


def _load_one(readers: list[Reader], raw: Raw, table: Table | None) -> Model | None:
    mismatch = None
    for reader in readers:
        found = reader.read(raw, WHOLE)
        if found is None:
            continue
        if type(found) is not Mismatch:
            return found  # type: ignore[return-value]  # what is no Mismatch is a Shape
        mismatch = found
    if mismatch is not None and not any(isinstance(one.read(raw, WHOLE), Model) for one in _readers_above(readers)):
        raise Unreadable(f"{_locate(readers[0].cls, raw, table)}: {mismatch.reason}", raw)
    _refuse_unknown_state(readers, raw, table)
    return None


def _refuse_unknown_state(readers: list[Reader], raw: Raw, table: Table | None) -> None:
    """Refuse an item among the keys of a state or a variant that is in no declared state: it would be missed silently.

    An item of another class is no such item, and one in another state neither.
    """
    for model in (reader.cls for reader in readers):
        if find_misplaced_keys(model, raw) and _reader_of(introspection.root(introspection.item_of(model))).is_of_item(
            raw
        ):
            name, why = introspection.item_of(model).__name__, explain_unknown_keys(model, raw)
            raise Unreadable(f"{_locate(model, raw, table)}: {name} is in none of its states{why}", raw)


def _readers_above(readers: list[Reader]) -> list[Reader]:
    """Return the readers of the classes of which these are variants only by fields that they require."""
    wanted = {reader.cls for reader in readers}
    above = dict.fromkeys(base for reader in readers for base in distinguished_by_fields(reader.cls))
    return [reader for base in above if base not in wanted for reader in _readers(base) if reader.cls is base]


def _locate(model: ModelClass, raw: Raw, table: Table | None) -> str:
    """Return the key of an item, and its table."""
    table = table or introspection.table_of(model)
    key = ", ".join(f"{attr}={plain(raw[attr])!r}" for attr in table.keys if attr in raw)
    return f"{key} in {table.physical_name}"


@cached_by_class
def _readers(cls: ModelClass) -> list[Reader]:
    return [make_reader(variant) for variant in reversed(introspection.with_variants(cls))]


@cached_by_class
def _reader_of(cls: ModelClass) -> Reader:
    return make_reader(cls)


def load_state(models: tuple[ModelClass, ...], raw: Raw) -> Model | None:
    """Return the state of a lifecycle; if its key is absent, the state with the most required fields that matches."""
    readers = [reader for model in models for reader in _readers(model)]
    for reader in readers:
        found = reader.read(raw, STATE)
        if isinstance(found, Model):
            return found
    for reader in sorted(readers, key=lambda reader: len(reader.required))[::-1]:  # of equals, the last state declared
        if all(key_codec.attr not in raw for key_codec in reader.states):
            found = reader.read(raw, GUESSED)
            if isinstance(found, Model):
                return found
    return None


def make_reader(cls: ModelClass) -> Reader:
    """Return the reader of a class."""
    table, fields, all_codecs = introspection.table_of(cls), introspection.stored_fields(cls), key_codecs(cls)
    own = recognised_by_keys(cls)
    stored = {name: found for name, found in fields.items() if not found.key_only and found.fixed is NOTHING}
    inside = frozenset(name for key_codec in all_codecs.values() for name in key_codec.template.recoverable)
    possible = {name for name, found in fields.items() if found.fixed is not None}
    identity = tuple(all_codecs[attr] for attr in table.keys if attr in all_codecs and all_codecs[attr].alone is None)
    uncompiled = Reader(
        cls=cls,
        unset=None if table.unset is None else {"S": table.unset},
        identity=identity,
        states=tuple(all_codecs[attr] for attr in own if attr not in table.keys),
        spare=tuple(
            key_codec for attr, key_codec in all_codecs.items() if attr not in own and key_codec.template.recoverable
        ),
        guards=_guards(cls),
        fixed=tuple((found.stored, _fixed_value(found)) for found in fields.values() if found.fixed is not NOTHING),
        constants={
            name: found.fixed
            for name, found in fields.items()
            if found.is_fixed or (found.fixed is None and found.required)
        },
        fields=tuple((name, found.stored, found.codec.decode) for name, found in stored.items()),
        required=frozenset(
            n for n, found in fields.items() if found.required and found.fixed is NOTHING and not _is_set(found)
        ),
        sets=tuple(name for name, found in fields.items() if _is_set(found) and found.required),
        lifecycles=tuple(
            (name, partial(load_state, tuple(models))) for name, models in introspection.lifecycles(cls).items()
        ),
        key_names=tuple(
            sorted({*table.key_names, *filter(None, [table.ttl]), *(f.stored for f in introspection.added_fields(cls))})
        ),
        in_keys=inside & possible,
        foreign_fields=inside - possible,
    )
    return replace(
        uncompiled,
        whole=compile_reader(uncompiled, identity),
        state=None if issubclass(cls, Item) else compile_reader(uncompiled, ()),
    )


def _is_set(field: ModelField) -> bool:
    return field.codec.tag in {"SS", "NS", "BS"}


def _fixed_value(field: ModelField) -> Value | None:
    return None if field.fixed is None else field.codec.encode(field.fixed)


def _guards(cls: ModelClass) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of plain fields that are primary keys, which distinguish items of a table."""
    found: list[tuple[str, re.Pattern[str]]] = []
    for attr in introspection.table_of(cls).keys:
        key_codec = key_codecs(cls).get(attr)
        pattern = (
            introspection.pattern_of(cls, key_codec.alone.name)
            if key_codec is not None and key_codec.alone is not None
            else None
        )
        if pattern is not None:
            found.append((attr, re.compile(pattern)))
    return tuple(found)
