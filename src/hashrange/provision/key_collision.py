"""Which item of a source becomes which item of a target, so that two that become the same one are noticed.

Nothing else would say so: the second one replaces the first, and the numbers of items read and written are right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import orjson
from msgspec import Struct

from hashrange.core.values import Item as Raw
from hashrange.schema.declare.table import Table

TableItem = tuple[Table, Raw]


class Collision(Struct, frozen=True):
    """Two items of the source that become one item of the target; each with its table and key."""

    first: TableItem
    second: TableItem
    target: TableItem

    def __str__(self) -> str:
        """Return both source keys and the target key, as a sentence."""
        return (
            f"{show_key(self.first)} and {show_key(self.second)} both become {show_key(self.target)}: one would "
            "replace the other. Give the target a key that distinguishes them, or let the conversion drop one."
        )


class TargetKeys:
    """The keys of the target that were seen, and the item of the source that each comes from."""

    def __init__(self) -> None:
        self._sources: dict[bytes, tuple[Table, str]] = {}

    def __contains__(self, digest: bytes) -> bool:
        """Return whether an item of the source becomes the target key with this digest."""
        return digest in self._sources

    def add(self, source: TableItem, targets: Iterable[TableItem]) -> Iterator[Collision]:
        """Note what an item becomes, and yield what another one has become too."""
        table, key = source
        packed = orjson.dumps(key).decode()  # orjson's bytes keep their whole buffer allocated
        for target, raw in targets:
            digest = digest_key(target, raw)
            first, first_key = self._sources.get(digest, (table, packed))
            self._sources[digest] = table, packed
            if (first, first_key) != (table, packed):
                target_key = target, {attr: raw[attr] for attr in target.keys}
                yield Collision((first, orjson.loads(first_key)), source, target_key)


def digest_key(table: Table, raw: Raw) -> bytes:
    """Return a short form of the key of an item."""
    key = orjson.dumps([table.physical_name, *(raw[attr] for attr in table.keys)])
    return hashlib.blake2b(key, digest_size=16).digest()


def show_key(item: TableItem) -> str:
    """Return a table and the key of an item in it, for people."""
    table, key = item
    values = ", ".join(f"{attr} {next(iter(key[attr].values()))}" for attr in table.keys)
    return f"{table.physical_name} ({values})"
