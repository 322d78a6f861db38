"""Table and Index: a definition in the form the read and write paths use (key encoders, projections, SQL texts).

Definitions are the catalog's; which requests may change them is decided by `engine.control_plane`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hashrange.core.errors import ValidationException
from hashrange.core.keys import TYPE_NAMES, KeyAttribute, KeyEncoder, check_key_size, message_for_empty_key
from hashrange.core.values import INVALID_PARAMETER, Item, Value, measure, measure_item
from hashrange.engine.definition import Definition, GlobalIndexDefinition, IndexDefinition, KeySchema
from hashrange.engine.sql import Statements

MISMATCH = "The provided key element does not match the schema"


class SchemaMismatch(ValidationException, wire_name="ValidationException"):
    """A key or index key of another type than the schema's; inside a transaction a reason to cancel it."""


class KeyTooLong(ValidationException, wire_name="ValidationException"):
    """A primary key that is too long; inside a transaction a reason to cancel it, which an empty key is not."""


class Index:
    """A secondary index: the column of its key, and what its entries hold."""

    __slots__ = (
        "backfilling",
        "column",
        "definition",
        "is_global",
        "item_count",
        "keeps_all",
        "key_encoder",
        "keys_only",
        "name",
        "names",
        "projected",
        "size_bytes",
        "table_keys",
    )  # fmt: skip

    def __init__(self, definition: IndexDefinition, types: dict[str, str], table_key_encoder: KeyEncoder) -> None:
        self.definition = definition
        self.name = definition.name
        self.column = definition.column
        self.is_global = isinstance(definition, GlobalIndexDefinition)
        self.key_encoder = make_key_encoder(definition.key_schema, types)
        self.table_keys = tuple(attribute.name for attribute in table_key_encoder.attributes)
        self.names = tuple(dict.fromkeys((*(a.name for a in self.key_encoder.attributes), *self.table_keys)))
        self.keeps_all = definition.projection.type == "ALL"
        self.projected = frozenset((*self.names, *(definition.projection.non_key_attributes or ())))
        self.keys_only = not self.keeps_all and len(self.projected) == len(self.names)
        # Whether items from before the index still have to be put into it.
        self.backfilling = isinstance(definition, GlobalIndexDefinition) and definition.backfill
        self.item_count = 0
        self.size_bytes = 0

    def project(self, item: Item) -> Item:
        """Return the entry that the index holds for an item."""
        if self.keeps_all:
            return item
        projected = self.projected
        return {name: value for name, value in item.items() if name in projected}

    def measure_entry(self, item: Item) -> int:
        """Return the size of the entry for an item."""
        return measure_item(self.project(item))


class Table:
    """A table as the read and write paths see it."""

    __slots__ = (
        "counts_written",
        "definition",
        "encoders",
        "has_collisions",
        "hash_name",
        "indexes",
        "indexes_by_name",
        "is_hidden",
        "item_count",
        "key_encoder",
        "key_names",
        "logged",
        "n",
        "name",
        "size_bytes",
        "sql",
        "ttl_attribute",
    )  # fmt: skip

    def __init__(self, n: int, definition: Definition) -> None:
        self.n = n
        self.item_count = 0
        self.size_bytes = 0
        self.counts_written: object = None  # the counters as they are in the database
        self.has_collisions = False  # there may be rows whose rowid is not the one of their key
        self.indexes: tuple[Index, ...] = ()
        self.load(definition)

    def load(self, definition: Definition) -> None:
        """Use a changed definition, keeping the counters."""
        self.definition = definition
        self.name = definition.name
        self.is_hidden = bool(definition.restoring)
        types = {attribute.name: attribute.type for attribute in definition.attributes}
        self.key_encoder = make_key_encoder(definition.key_schema, types)
        self.key_names = tuple(attribute.name for attribute in self.key_encoder.attributes)
        self.hash_name = self.key_names[0]
        counted = {index.name: (index.item_count, index.size_bytes) for index in self.indexes}
        self.indexes = tuple(Index(index, types, self.key_encoder) for index in definition.indexes)
        for index in self.indexes:
            index.item_count, index.size_bytes = counted.get(index.name, (0, 0))
        self.encoders = [
            index.key_encoder.encode for index in self.indexes
        ]  # of an item's key in each; None: not in it
        self.indexes_by_name = {index.name: index for index in self.indexes}
        self.ttl_attribute = definition.ttl.attribute if definition.ttl else None
        self.logged = bool(definition.stream or definition.recovery or definition.copying)
        self.sql = Statements(
            self.n, tuple(index.column for index in self.indexes), expires=self.ttl_attribute is not None
        )

    @property
    def arn(self) -> str:
        """Return the table's ARN."""
        return self.definition.arn

    @property
    def counts(self) -> tuple[int, int, dict[str, tuple[int, int]]]:
        """Return the counters: items, bytes, and both for each index."""
        by_index = {index.name: (index.item_count, index.size_bytes) for index in self.indexes}
        return self.item_count, self.size_bytes, by_index

    @property
    def has_local_indexes(self) -> bool:
        """Whether the table has item collections (local secondary indexes)."""
        return bool(self.indexes) and not self.indexes[0].is_global

    def key_of_item(self, item: Item) -> bytes:
        """Return the key of an item to be put, or raise the error of a put."""
        key = self.key_encoder.encode(item)
        if key is None:
            refuse_item_key(self.key_encoder, item)
            raise SchemaMismatch(MISMATCH)
        return key

    def key_of(self, key: Item) -> bytes:
        """Return a given key as bytes, or raise the error of a key that does not fit the schema."""
        if len(key) == len(self.key_names):
            encoded = self.key_encoder.encode(key)
            if encoded is not None:
                return encoded
        refuse_key(self.key_encoder, key)
        raise SchemaMismatch(MISMATCH)

    def key_item(self, item: Item) -> Item:
        """Return the key attributes of an item."""
        return {name: item[name] for name in self.key_names}

    def check_index_keys(self, item: Item, keys: Sequence[bytes | None]) -> None:
        """Raise when an item has an index's key attribute, but with a value that no key can have."""
        absent = [index for index, key in zip(self.indexes, keys, strict=True) if key is None]
        for index in sorted(absent, key=lambda index: index.name):
            for attribute in index.key_encoder.attributes:
                value = item.get(attribute.name)
                if value is not None:
                    check_index_value(index, attribute, value)
            check_index_lengths(index, item)

    def expiry_of(self, item: Item) -> int | None:
        """Return when an item expires, in whole seconds; None when it never does."""
        value = item.get(self.ttl_attribute) if self.ttl_attribute else None
        whole = value.get("N", "").partition(".")[0] if value else ""
        return int(whole) if 0 < len(whole) <= 18 else None


def make_key_encoder(schema: KeySchema, types: dict[str, str]) -> KeyEncoder:
    """Return the key encoder of a KeySchema."""
    sides: dict[str, list[KeyAttribute]] = {"HASH": [], "RANGE": []}
    for element in schema:
        sides[element.type].append(KeyAttribute(element.name, types[element.name]))
    return KeyEncoder(tuple(sides["HASH"]), tuple(sides["RANGE"]))


def refuse_item_key(key_encoder: KeyEncoder, item: Item) -> None:
    """Raise the error of a put when the item's key attributes cannot be its key."""
    for attribute in key_encoder.attributes:
        value = item.get(attribute.name)
        if value is None:
            raise SchemaMismatch(f"{INVALID_PARAMETER}Missing the key {attribute.name} in the item")
        if attribute.tag not in value:
            actual = next(iter(value))
            raise SchemaMismatch(
                f"{INVALID_PARAMETER}Type mismatch for key {attribute.name} expected: {attribute.tag} actual: {actual}"
            )
    check_key_contents(key_encoder, item)


def refuse_key(key_encoder: KeyEncoder, key: Item) -> None:
    """Raise the error of a key that does not fit the schema."""
    attributes = key_encoder.attributes
    if len(key) != len(attributes) or any(a.tag not in key.get(a.name, {}) for a in attributes):
        raise SchemaMismatch(MISMATCH)
    check_key_contents(key_encoder, key)


def check_key_contents(key_encoder: KeyEncoder, item: Item) -> None:
    """Raise for key values of the right type that are empty or too long."""
    for attribute in key_encoder.attributes:
        if not item[attribute.name][attribute.tag]:
            raise ValidationException(message_for_empty_key(attribute))
    check_key_size(
        sum(measure(item[a.name]) for a in key_encoder.hashes),
        sum(measure(item[a.name]) for a in key_encoder.ranges),
        KeyTooLong,
    )


def check_index_value(index: Index, attribute: KeyAttribute, value: Value) -> None:
    """Raise when a value cannot be part of an index key."""
    check_index_type(index, attribute, next(iter(value)))
    if not value[attribute.tag]:
        raise ValidationException(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
            f"The AttributeValue for a key attribute cannot contain an empty {TYPE_NAMES[attribute.tag]} value. "
            f"IndexName: {index.name}, IndexKey: {attribute.name}"
        )


def check_index_type(index: Index, attribute: KeyAttribute, tag: str | None) -> None:
    """Raise when values of a type, if that is known, cannot be part of an index key."""
    if tag not in (None, attribute.tag):
        raise SchemaMismatch(
            f"{INVALID_PARAMETER}Type mismatch for Index Key {attribute.name} Expected: {attribute.tag} "
            f"Actual: {tag} IndexName: {index.name}"
        )


def check_index_lengths(index: Index, item: Item) -> None:
    """Raise when the attributes of an index key are too long together."""
    check_key_size(
        sum(measure(item[a.name]) for a in index.key_encoder.hashes if a.name in item),
        sum(measure(item[a.name]) for a in index.key_encoder.ranges if a.name in item),
    )


def check_scalars(table: Table, attributes: Collection[str]) -> None:
    """Raise when a key attribute is used as if it were a list or a map."""
    if not attributes:
        return
    text = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    for name in table.key_names:
        if name in attributes:
            raise ValidationException(f"{text}Key: {name}")
    for index in table.indexes:
        for attribute in index.key_encoder.attributes:
            if attribute.name in attributes:
                raise ValidationException(f"{text}IndexKey: {attribute.name}")
