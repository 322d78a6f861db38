"""Which item of a source becomes which item of a target, so that two that become the same one are noticed.

Nothing else would say so: the second one replaces the first, and the numbers of items read and written are right.
"""

from __future__ import annotations

import hashlib

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

    @property
    def keys(self) -> str:
        """Both source keys and the target key, as part of a sentence."""
        return f"{show_key(self.first)} and {show_key(self.second)} both become {show_key(self.target)}"

    def __str__(self) -> str:
        """Return the keys, what the collision means, and what ends it."""
        return (
            f"{self.keys}: one would replace the other. Give the target a key that distinguishes them, or let the "
            "conversion drop one."
        )


class TargetKeys:
    """The keys of the target, each with the items of the source that become it: more than one collide."""

    def __init__(self) -> None:
        self._first: dict[bytes, tuple[Table, str]] = {}
        self._others: dict[bytes, list[tuple[Table, str]]] = {}

    def __contains__(self, digest: bytes) -> bool:
        """Return whether an item of the source becomes the target key with this digest."""
        return digest in self._first

    def add(self, source: TableItem, digest: bytes) -> list[TableItem]:
        """Note that an item of the source becomes a target key, and return the others that do."""
        packed = _pack(source)
        if self._first.setdefault(digest, packed) == packed and digest not in self._others:
            return []
        others = self._others.setdefault(digest, [])
        if packed not in {self._first[digest], *others}:
            others.append(packed)
        return [_unpack(other) for other in (self._first[digest], *others) if other != packed]

    def remove(self, source: TableItem, digest: bytes) -> None:
        """Note that an item of the source no longer becomes a target key."""
        left = [packed for packed in self._find(digest) if packed != _pack(source)]
        self._first.pop(digest, None)
        self._others.pop(digest, None)
        if left:
            self._first[digest] = left[0]
        if left[1:]:
            self._others[digest] = left[1:]

    def sources_of(self, digest: bytes) -> list[TableItem]:
        """Return the items of the source that become a target key, in the order in which they were noted."""
        return [_unpack(packed) for packed in self._find(digest)]

    def _find(self, digest: bytes) -> list[tuple[Table, str]]:
        return [self._first[digest], *self._others.get(digest, ())] if digest in self._first else []


def _pack(source: TableItem) -> tuple[Table, str]:
    table, raw = source
    return table, orjson.dumps([raw[attr] for attr in table.keys]).decode()  # bytes would keep their whole buffer


def _unpack(packed: tuple[Table, str]) -> TableItem:
    table, values = packed
    return table, dict(zip(table.keys, orjson.loads(values), strict=True))


def key_of_item(item: TableItem) -> TableItem:
    """Return the table and the key of an item alone."""
    table, raw = item
    return table, {attr: raw[attr] for attr in table.keys}


def digest_key(table: Table, raw: Raw) -> bytes:
    """Return a short form of the key of an item."""
    key = orjson.dumps([table.physical_name, *(raw[attr] for attr in table.keys)])
    return hashlib.blake2b(key, digest_size=16).digest()


def show_key(item: TableItem) -> str:
    """Return a table and the key of an item in it, for people."""
    table, key = item
    values = ", ".join(f"{attr} {next(iter(key[attr].values()))}" for attr in table.keys)
    return f"{table.physical_name} ({values})"
