"""The limit: SQLite itself with rows of the same bytes under a unique key, and nothing around its statements."""

import json
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import apsw

SCHEMA = """
CREATE TABLE t (id INTEGER PRIMARY KEY, k BLOB, size INTEGER, item BLOB, g0 BLOB);
CREATE UNIQUE INDEX t_k ON t (k);
"""
INDEX = "CREATE INDEX t_g0 ON t (g0, k) WHERE g0 IS NOT NULL"
PUT = """
INSERT INTO t (k, size, item) VALUES (?, ?, ?)
ON CONFLICT (k) DO UPDATE SET size = excluded.size, item = excluded.item
"""
GET = "SELECT item FROM t WHERE k = ?"
INSERT = "INSERT INTO t (k, size, item, g0) VALUES (?, ?, ?, ?)"
ROWS_PER_COMMIT = 10_000

BulkRow = tuple[bytes, int, bytes, bytes]


class Bare:
    """One connection in WAL mode, synchronous NORMAL, a commit for every statement."""

    def __init__(self, path: Path | None, *, index: bool = False) -> None:
        self._connection = apsw.Connection(str(path / "bare.db") if path else ":memory:")
        if path:
            self._connection.execute("PRAGMA journal_mode=WAL").fetchall()
            self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(SCHEMA + (INDEX if index else ""))
        self.execute = self._connection.execute

    def put(self, key: bytes, item: bytes) -> None:
        """Writes a row, or replaces it."""
        self.execute(PUT, (key, len(item), item))

    def get(self, key: bytes) -> object:
        """Reads a row."""
        return self.execute(GET, (key,)).fetchone()

    def insert(self, rows: Iterable[BulkRow]) -> None:
        """Inserts rows in one transaction."""
        with self._connection:
            self._connection.executemany(INSERT, rows)

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


def encode_key(partition: str, sort: str) -> bytes:
    """A key of the same length and order as the engine's."""
    head = partition.encode()
    return struct.pack(">IH", zlib.crc32(head), len(head)) + head + sort.encode()


def to_row(text: str) -> BulkRow:
    """An item's JSON as the row that a bulk insert takes."""
    item = json.loads(text)
    key = encode_key(item["pk"]["S"], item["sk"]["S"])
    return key, len(text), text.encode(), encode_key(item["category"]["S"], item["updatedAt"]["S"])
