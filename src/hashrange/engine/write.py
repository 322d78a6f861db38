"""THE write path: every put, update, delete, batch, transaction, statement, expiry and restore ends in `apply`.

Callers check everything first (`prepare` raises what the service would answer), then apply; nothing is checked after
the first row is written. One call changes the row, its index slots, the counters and the change log together.
What it passes around is msgspec's structs, which are made in half the time of a class's own `__init__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from hashrange.core.errors import ConditionalCheckFailedException, ValidationException
from hashrange.core.keys import rowid_of
from hashrange.core.values import Item
from hashrange.engine.store import NotUnique

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table
    from hashrange.expr.condition import Predicate

ITEM_LIMIT = 409_600
PUT_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
CALLER, TTL_SERVICE = 0, 1


class Row(Struct, gc=False):
    """An item as it is stored; decoded only when someone looks inside."""

    id: int
    size: int
    body: bytes
    columns: tuple[object, ...]  # what its index slots (and expiry) hold, in the order of `Statements.columns`
    _item: Item | None = None

    @property
    def item(self) -> Item:
        """Return the item; not to be changed."""
        if self._item is None:
            self._item = orjson.loads(self.body)
        return self._item


class Image(Struct, gc=False):
    """An item about to be stored: checked, measured, with its index keys."""

    item: Item
    size: int
    body: bytes
    columns: tuple[object, ...]


class WriteResult(Struct, gc=False):
    """What a write did to one item; what capacity, answers and streams are made from."""

    table: Table
    key: bytes
    old: Row | None
    new: Image | None


def load(engine: Engine, table: Table, key: bytes) -> Row | None:
    """Return the stored row of a key."""
    found = engine.store.run(table.sql.select, (key, rowid_of(key))).get
    if found is None and table.has_collisions:
        found = engine.store.run(table.sql.select_by_key, (key,)).get
    return None if found is None else Row(found[0], found[1], found[2], found[3:])


def prepare(table: Table, item: Item, size: int, *, checked: bool = False) -> Image:
    """Return an item ready to be stored; unless `checked`, raise for index keys that no index can hold."""
    columns: tuple[object, ...] = (table.expiry_of(item),) if table.ttl_attribute else ()
    if table.indexes:
        slots = table.index_keys_of(item)
        if not checked and None in slots:
            table.check_index_keys(item, slots)
        columns = (*columns, *slots)
    return Image(item, size, orjson.dumps(item), columns)


def check_put_size(size: int) -> None:
    """Raise when an item is too large to be put."""
    if size > ITEM_LIMIT:
        raise ValidationException(PUT_TOO_LARGE)


def check_condition(test: Predicate, row: Row | None, *, return_item: bool) -> None:
    """Raise ConditionalCheckFailedException, with the item when asked for, unless the test holds."""
    if not test({} if row is None else row.item):
        if return_item and row is not None:
            raise ConditionalCheckFailedException(Item=row.item)
        raise ConditionalCheckFailedException


def apply(
    engine: Engine, table: Table, key: bytes, old: Row | None, new: Image | None, actor: int = CALLER
) -> WriteResult:
    """Store (or, with no image, remove) the item of a key; a write that changes nothing leaves no trace."""
    change = WriteResult(table, key, old, new)
    if new is None:
        if old is not None:
            _remove(engine, table, key, old, actor)
        return change
    if old is None:
        _insert(engine, table, key, new, actor)
    elif old.body != new.body:
        _replace(engine, table, key, old, new, actor)
    return change


def _insert(engine: Engine, table: Table, key: bytes, new: Image, actor: int) -> None:
    engine.written += 1
    try:
        engine.store.run(table.sql.insert, (key, new.size, new.body, *new.columns, rowid_of(key)))
    except NotUnique:  # another key has the place; that this one has no row yet is known
        table.has_collisions = True
        engine.store.run(table.sql.insert_collided, (key, new.size, new.body, *new.columns))
    _count(engine, table, None, new)
    if table.logged:
        _log(engine, table, key, None, new.body, actor)


def _replace(engine: Engine, table: Table, key: bytes, old: Row, new: Image, actor: int) -> None:
    if table.logged and old.size == new.size and old.item == new.item:
        return  # the same attributes in another order
    engine.written += 1
    changed, values = 0, [new.size, new.body]
    if old.columns != new.columns:
        for at, value in enumerate(new.columns):
            if value != old.columns[at]:
                changed |= 1 << at
                values.append(value)
    engine.store.run(table.sql.update(changed), (*values, old.id))
    _count(engine, table, old, new)
    if table.logged:
        _log(engine, table, key, old.body, new.body, actor)


def _remove(engine: Engine, table: Table, key: bytes, old: Row, actor: int) -> None:
    engine.written += 1
    engine.store.run(table.sql.delete, (old.id,))
    _count(engine, table, old, None)
    if table.logged:
        _log(engine, table, key, old.body, None, actor)


def _log(engine: Engine, table: Table, key: bytes, old: bytes | None, new: bytes | None, actor: int) -> None:
    engine.store.run(table.sql.log, (engine.next_sequence(), engine.now(), key, old, new, actor))


def _count(engine: Engine, table: Table, old: Row | None, new: Image | None) -> None:
    """Keep the counters of the table and its indexes exact."""
    table.item_count += (new is not None) - (old is not None)
    table.size_bytes += (new.size if new else 0) - (old.size if old else 0)
    engine.catalog.touch(table)
    if not table.indexes:
        return
    first = 1 if table.ttl_attribute else 0
    for at, index in enumerate(table.indexes, first):
        before = old.columns[at] if old else None
        after = new.columns[at] if new else None
        if before == after:
            if before is None or index.keys_only:
                continue
            if index.keeps_all and old is not None and new is not None:  # as most are
                index.size_bytes += new.size - old.size
                continue
        index.item_count += (after is not None) - (before is not None)
        if after is not None and new is not None:
            index.size_bytes += index.measure(new.item, new.size)
        if before is not None and old is not None:
            index.size_bytes -= old.size if index.keeps_all else index.measure(old.item, old.size)
