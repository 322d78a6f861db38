"""The SQL of a table's rows, its index slots and its change log: all of it, and nothing else.

t<n> (id INTEGER PRIMARY KEY, k BLOB, size INTEGER, x INTEGER, g0 BLOB .. gm BLOB, item BLOB)
    id    the key's place (`core.keys`); where another key had that already, and in rows from before format 2,
          a number below all places: such a row is displaced, and found by its key
    k     the key as bytes (`core.keys`), unique       size  the item's size in DynamoDB's bytes
    x     expiry in seconds, for tables with a TTL     gN    the key in the index that occupies slot N, NULL = not in it
    item  the item as canonical wire JSON; last, because it may spill into overflow pages
indexes: (k) unique; (x) where not null; (gN, k) where gN is not null. An empty slot costs next to nothing.
c<n> (seq INTEGER PRIMARY KEY, at INTEGER, k BLOB, old BLOB, new BLOB, actor INTEGER)
    at    milliseconds, never decreasing               old, new  the images, NULL = no item
    actor 0 a caller, 1 the TTL sweeper
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from hashrange.core.keys import FIRST_ROWID

TOP = b"\xff" * 8  # above every key: a key starts with a checksum and a length below 0xFFFF
SPARE_COLUMNS = 4


def create_rows(n: int, slots: int) -> Iterator[str]:
    """Yield the statements that make the rows of table n with that many index slots."""
    columns = "".join(f"g{slot} BLOB, " for slot in range(slots))
    yield (
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, k BLOB NOT NULL, size INTEGER NOT NULL, x INTEGER, "
        f"{columns}item BLOB NOT NULL)"
    )
    yield from create_indexes(n, slots)


def create_indexes(n: int, slots: int) -> Iterator[str]:
    """Yield the statements that make the rows searchable by key, expiry and slots, as far as they are not yet."""
    yield f"CREATE UNIQUE INDEX IF NOT EXISTS t{n}k ON t{n} (k)"
    yield f"CREATE INDEX IF NOT EXISTS t{n}x ON t{n} (x) WHERE x IS NOT NULL"
    for slot in range(slots):
        yield create_column_index(n, slot)


def create_column_index(n: int, slot: int) -> str:
    """Return the statement that makes a slot searchable."""
    return f"CREATE INDEX IF NOT EXISTS t{n}g{slot} ON t{n} (g{slot}, k) WHERE g{slot} IS NOT NULL"


def add_column(n: int, slot: int) -> Iterator[str]:
    """Yield the statements that add a slot to a table which has run out of them."""
    yield f"ALTER TABLE t{n} ADD COLUMN g{slot} BLOB"
    yield create_column_index(n, slot)


def create_log(n: int) -> str:
    """Return the statement that makes the change log of table n."""
    return (
        f"CREATE TABLE IF NOT EXISTS c{n} "
        "(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, k BLOB NOT NULL, old BLOB, new BLOB, actor INTEGER NOT NULL)"
    )


class Statements:
    """The texts for one table with given slots in use; made once, so that SQLite's statement cache holds them."""

    def __init__(self, n: int, slots: tuple[int, ...], *, expires: bool) -> None:
        self.n = n
        self.slots = slots
        self.columns = (*(("x",) if expires else ()), *(f"g{slot}" for slot in slots))
        listed = "".join(f", {column}" for column in self.columns)
        marks = ", ?" * len(self.columns)
        self.select_by_key = f"SELECT id, size, item{listed} FROM t{n} WHERE k = ?"
        self.select = f"{self.select_by_key} AND id = ?"
        self.fetch_by_key = f"SELECT size, item FROM t{n} WHERE k = ?"
        self.fetch = f"{self.fetch_by_key} AND id = ?"
        self.insert = f"INSERT INTO t{n} (k, size, item{listed}, id) VALUES (?, ?, ?{marks}, ?)"
        self.insert_collided = (
            f"INSERT INTO t{n} (k, size, item{listed}, id) SELECT ?, ?, ?{marks}, coalesce(max(id), 0) + 1 "
            f"FROM t{n} WHERE id < {FIRST_ROWID}"
        )
        self.delete = f"DELETE FROM t{n} WHERE id = ?"
        self.log = f"INSERT INTO c{n} (seq, at, k, old, new, actor) VALUES (?, ?, ?, ?, ?, ?)"
        self._updates: dict[int, str] = {}

    def update(self, changed: int) -> str:
        """Return the update that also sets the columns whose bits are given."""
        text = self._updates.get(changed)
        if text is None:
            sets = "".join(f", {column} = ?" for at, column in enumerate(self.columns) if changed >> at & 1)
            text = self._updates[changed] = f"UPDATE t{self.n} SET size = ?, item = ?{sets} WHERE id = ?"
        return text

    @property
    def indexes(self) -> list[str]:
        """Return the names of the indexes that rows of this table are in; those of empty slots cost nothing."""
        return [f"t{self.n}{column}" for column in ("k", *self.columns)]

    @cached_property
    def page(self) -> tuple[str, str]:
        """Return the page of rows in key order: backward, forward."""
        text = f"SELECT size, item FROM t{self.n} WHERE k >= ? AND k < ? ORDER BY k"
        return f"{text} DESC LIMIT ?", f"{text} LIMIT ?"

    @cached_property
    def index_pages(self) -> dict[tuple[int, bool, bool], str]:
        """Return the pages of each slot by (slot, forward, whether a start position is given)."""
        return {
            (slot, forward, started): self._index_page(slot, forward, started)
            for slot in self.slots
            for forward in (True, False)
            for started in (True, False)
        }

    def _index_page(self, slot: int, forward: bool, started: bool) -> str:
        g, order = f"g{slot}", "" if forward else " DESC"
        start = f" AND ({g}, k) {'>' if forward else '<'} (?, ?)" if started else ""
        return (
            f"SELECT size, item FROM t{self.n} INDEXED BY t{self.n}g{slot} "
            f"WHERE {g} >= ? AND {g} < ?{start} AND {g} IS NOT NULL ORDER BY {g}{order}, k{order} LIMIT ?"
        )
