"""All SQL of the engine: of rows, index columns, change logs, and of the tables that `engine.store` describes.

t<n> (id INTEGER PRIMARY KEY, k BLOB, size INTEGER, x INTEGER, g0 BLOB .. gm BLOB, item BLOB)
    id    the rowid of the key (`core.keys`); where another key had that already (a rowid collision), and in rows from
          before format 2, a number below all rowids of keys: such a row is found by its key
    k     the key as bytes (`core.keys`), unique       size  the item's size in DynamoDB's bytes
    x     expiry in seconds, for tables with a TTL     gN    the key in the index that has column N, NULL = not in it
    item  the item as canonical wire JSON; last, because it may spill into overflow pages
indexes: (k) unique; (x) where not null; (gN, k) where gN is not null. An empty column costs next to nothing.
c<n> (seq INTEGER PRIMARY KEY, at INTEGER, k BLOB, old BLOB, new BLOB, actor INTEGER)
    at    milliseconds, as the clock had them          old, new  the images, NULL = no item
    actor 0 a caller, 1 a deletion by TTL
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from hashrange.core.keys import FIRST_ROWID

TOP = b"\xff" * 8  # above every key: a key starts with a checksum and a length below 0xFFFF
SPARE_COLUMNS = 4


def create_rows(n: int, columns: int) -> Iterator[str]:
    """Yield the statements that make the rows of table n with that many index columns."""
    listed = "".join(f"g{column} BLOB, " for column in range(columns))
    yield (
        f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, k BLOB NOT NULL, size INTEGER NOT NULL, x INTEGER, "
        f"{listed}item BLOB NOT NULL)"
    )
    yield from create_indexes(n, columns)


def create_indexes(n: int, columns: int) -> Iterator[str]:
    """Yield the statements that make the rows searchable by key, expiry and columns, as far as they are not yet."""
    yield f"CREATE UNIQUE INDEX IF NOT EXISTS t{n}k ON t{n} (k)"
    yield f"CREATE INDEX IF NOT EXISTS t{n}x ON t{n} (x) WHERE x IS NOT NULL"
    for column in range(columns):
        yield create_column_index(n, column)


def create_column_index(n: int, column: int) -> str:
    """Return the statement that makes a column searchable."""
    return f"CREATE INDEX IF NOT EXISTS t{n}g{column} ON t{n} (g{column}, k) WHERE g{column} IS NOT NULL"


def add_column(n: int, column: int) -> Iterator[str]:
    """Yield the statements that add a column to a table which has run out of them."""
    yield f"ALTER TABLE t{n} ADD COLUMN g{column} BLOB"
    yield create_column_index(n, column)


def create_log(n: int) -> str:
    """Return the statement that makes the change log of table n."""
    return (
        f"CREATE TABLE IF NOT EXISTS c{n} "
        "(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, k BLOB NOT NULL, old BLOB, new BLOB, actor INTEGER NOT NULL)"
    )


# -- rows of table n --------------------------------------------------------------------------------------------------


def find_any_row(n: int) -> str:
    """Return the query whether table n has any row."""
    return f"SELECT 1 FROM t{n} LIMIT 1"


def find_rowid_collision(n: int) -> str:
    """Return the query whether table n has rows whose rowid is not the one of their key."""
    return f"SELECT 1 FROM t{n} WHERE id < {FIRST_ROWID} LIMIT 1"


def count_rows(tables: Iterable[str], limit: int) -> str:
    """Return the query for the number of rows in some tables, each counted up to a limit."""
    limited = " UNION ALL ".join(f"SELECT * FROM (SELECT 1 FROM {table} LIMIT {limit})" for table in tables)
    return f"SELECT count(*) FROM ({limited})"


def sum_sizes(n: int, columns: Sequence[int]) -> str:
    """Return the query for the number and the size of all rows, then of the rows that are in each index."""
    size = "coalesce(sum(size) FILTER (WHERE {0} IS NOT NULL), 0)"
    sums = [f"count({name}), {size.format(name)}" for name in ("id", *(f"g{column}" for column in columns))]
    return f"SELECT {', '.join(sums)} FROM t{n}"


def indexed_items(n: int, column: int) -> str:
    """Return the query for the items that are in an index."""
    return f"SELECT item FROM t{n} WHERE g{column} IS NOT NULL"


def rows_after(n: int, column: str, limit: int) -> str:
    """Return the query for the next rows after an id: id, size, item and one more column."""
    return f"SELECT id, size, item, {column} FROM t{n} WHERE id > ? ORDER BY id LIMIT {limit}"


def whole_rows(n: int, columns: Iterable[str]) -> str:
    """Return the query for all rows: id, key, size, item and some columns."""
    return f"SELECT id, k, size, item{''.join(f', {column}' for column in columns)} FROM t{n} ORDER BY id"


def check_structure(n: int) -> str:
    """Return the query that compares the rows of table n with their indexes: `ok`, or what is wrong."""
    return f"PRAGMA integrity_check(t{n})"


def copied_rows_after(n: int | None) -> str:
    """Return the query for a page of the rows of a copy inside the database."""
    return f"SELECT id, k, size, item FROM t{n} WHERE id > ? ORDER BY id LIMIT ?"


def set_column(n: int, column: str) -> str:
    """Return the statement that sets an index key or an expiry."""
    return f"UPDATE t{n} SET {column} = ? WHERE id = ?"


def clear_column(n: int, column: int, limit: int) -> str:
    """Return the statement that empties some rows of an index column."""
    filled = f"SELECT id FROM t{n} WHERE g{column} IS NOT NULL LIMIT {limit}"
    return f"UPDATE t{n} SET g{column} = NULL WHERE id IN ({filled})"


def expired_keys(n: int, limit: int) -> str:
    """Return the query for keys of items that expired between two times."""
    return f"SELECT k FROM t{n} WHERE x IS NOT NULL AND x < ? AND x > ? ORDER BY x LIMIT {limit}"


def delete_rows(table: str, limit: int | None = None) -> str:
    """Return the statement that deletes all, or some, rows of a table."""
    some = "" if limit is None else f" WHERE rowid IN (SELECT rowid FROM {table} LIMIT {limit})"
    return f"DELETE FROM {table}{some}"


def drop_table(table: str) -> str:
    """Return the statement that drops a table."""
    return f"DROP TABLE IF EXISTS {table}"


def drop_index(name: str) -> str:
    """Return the statement that drops an index."""
    return f"DROP INDEX IF EXISTS {name}"


# -- copies of rows ---------------------------------------------------------------------------------------------------

COPY_COLUMNS = "(id INTEGER PRIMARY KEY, k BLOB NOT NULL, size INTEGER, item BLOB NOT NULL)"
CREATE_COPY = f"CREATE TABLE rows {COPY_COLUMNS}"  # in a file of its own
SCHEMA = """
CREATE TABLE catalog (n INTEGER PRIMARY KEY, name TEXT UNIQUE, definition BLOB NOT NULL);
CREATE TABLE counts (n INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes INTEGER NOT NULL, indexes BLOB NOT NULL);
CREATE TABLE job (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, n INTEGER NOT NULL, state BLOB NOT NULL);
CREATE TABLE token (token TEXT PRIMARY KEY, digest BLOB NOT NULL, at INTEGER NOT NULL, answer BLOB NOT NULL);
CREATE INDEX token_at ON token (at);
CREATE TABLE backup (arn TEXT PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL, details BLOB NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL);
"""
FIND_ANY_TABLE = "SELECT 1 FROM sqlite_schema LIMIT 1"
VERIFY_CHECKSUM = "SELECT verify_checksum(?)"
PAGE_OF_COPY = "SELECT id, k, size, item FROM rows WHERE id > ? ORDER BY id LIMIT ?"
COUNT_COPY = "SELECT count(*) FROM rows"
INTO_COPY = "INSERT INTO rows (k, size, item)"
ADD_TO_COPY = f"{INTO_COPY} VALUES (?, ?, ?)"
READ_SNAPSHOT = "SELECT 1 FROM live.catalog LIMIT 1"
NO_JOURNAL = "PRAGMA journal_mode=OFF"
SYNC_OFF = "PRAGMA synchronous=OFF"


def create_copy(n: int) -> str:
    """Return the statement that makes a table for a copy of rows."""
    return f"CREATE TABLE t{n} {COPY_COLUMNS}"


def fill_copy(n: int, query: str) -> str:
    """Return the statement that copies what a query for key, size and item finds."""
    return f"INSERT INTO t{n} (k, size, item) {query}"


def current_rows(n: int) -> str:
    """Return the query for the rows as they are."""
    return f"SELECT k, size, item FROM t{n}"


def past_rows(n: int) -> str:
    """Return the query for the rows as they were before a change: what changed since is as its first change found it.

    The parameter is, twice, the sequence number of the first change that is not part of it.
    """
    since = f"FROM c{n} WHERE seq >= ?"
    unchanged = f"SELECT k, size, item FROM t{n} WHERE k NOT IN (SELECT k {since})"
    first = f"SELECT min(seq) {since} GROUP BY k"
    return f"{unchanged} UNION ALL SELECT k, NULL, old FROM c{n} WHERE old IS NOT NULL AND seq IN ({first})"


# -- the change log of table n ----------------------------------------------------------------------------------------


def read_log(n: int) -> str:
    """Return the query for changes from one sequence number up to another."""
    return f"SELECT seq, at, old, new, actor FROM c{n} WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?"


def next_change(n: int) -> str:
    """Return the query for the first change from one sequence number up to another: its number and its time."""
    return f"SELECT seq, at FROM c{n} WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT 1"


def newest_change(n: int) -> str:
    """Return the query for the newest sequence number of a log."""
    return f"SELECT max(seq) FROM c{n}"


def newest_change_before(n: int) -> str:
    """Return the query for the newest sequence number of a log below another."""
    return f"SELECT seq FROM c{n} WHERE seq < ? ORDER BY seq DESC LIMIT 1"


def newest_of_oldest(n: int, limit: int) -> str:
    """Return the query for the newest of the oldest changes below a sequence number."""
    return f"SELECT max(seq) FROM (SELECT seq FROM c{n} WHERE seq < ? ORDER BY seq LIMIT {limit})"


def trim_log(n: int) -> str:
    """Return the statement that removes changes up to a sequence number."""
    return f"DELETE FROM c{n} WHERE seq <= ?"


# -- the catalog and its companions -----------------------------------------------------------------------------------

READ_FORMAT = "PRAGMA user_version"
COPY_DATABASE = "VACUUM INTO ?"
SYNC_NORMAL = "PRAGMA synchronous=NORMAL"
READ_ANYTHING = "SELECT count(*) FROM catalog"
CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
CHECKPOINT_AND_RESTART = "PRAGMA wal_checkpoint(RESTART)"
LOAD_TABLES = "SELECT n, name, definition FROM catalog"
SAVE_TABLE = "INSERT OR REPLACE INTO catalog (n, name, definition) VALUES (?, ?, ?)"
DELETE_TABLE = "DELETE FROM catalog WHERE n = ?"
HIGHEST_TABLE_NUMBER = (
    "SELECT max(CAST(substr(name, 2) AS INTEGER)) FROM sqlite_schema WHERE type = 'table' AND name GLOB '[tc][0-9]*'"
)
LOAD_COUNTS = "SELECT n, items, bytes, indexes FROM counts"
SAVE_COUNTS = "INSERT OR REPLACE INTO counts (n, items, bytes, indexes) VALUES (?, ?, ?, ?)"
DELETE_COUNTS = "DELETE FROM counts WHERE n = ?"
LOAD_JOBS = "SELECT id, kind, n, state FROM job ORDER BY id"
ADD_JOB = "INSERT INTO job (kind, n, state) VALUES (?, ?, ?)"
SAVE_JOB = "UPDATE job SET state = ? WHERE id = ?"
DELETE_JOB = "DELETE FROM job WHERE id = ?"
DELETE_JOBS = "DELETE FROM job WHERE n = ? AND kind = coalesce(?, kind)"
FIND_JOBS = "SELECT n FROM job WHERE kind = ?"
LOAD_JOB_STATES = "SELECT kind, state FROM job"
EXPIRE_TOKENS = "DELETE FROM token WHERE rowid IN (SELECT rowid FROM token WHERE at < ? ORDER BY at LIMIT ?)"
FIND_TOKEN = "SELECT digest, answer FROM token WHERE token = ? AND at >= ?"  # noqa: S105 - an idempotency token
ADD_TOKEN = "INSERT OR REPLACE INTO token (token, digest, at, answer) VALUES (?, ?, ?, ?)"  # noqa: S105
LOAD_BACKUPS = "SELECT arn, name, created, details FROM backup"
FIND_BACKUP = f"{LOAD_BACKUPS} WHERE arn = ?"
FIND_BACKUPS_UNTIL = f"{LOAD_BACKUPS} WHERE created <= ?"
SAVE_BACKUP = "INSERT OR REPLACE INTO backup (arn, name, created, details) VALUES (?, ?, ?, ?)"
DELETE_BACKUP = "DELETE FROM backup WHERE arn = ?"
FIND_META = "SELECT value FROM meta WHERE key = ?"
SAVE_META = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
DELETE_META = "DELETE FROM meta WHERE key = ?"
NEWEST_TRIMMED = "SELECT max(value) FROM meta WHERE key GLOB 'trimmed*'"


def set_format(version: int) -> str:
    """Return the statement that sets the number of the on-disk format."""
    return f"PRAGMA user_version={version}"


# -- the statements of the read and write paths -----------------------------------------------------------------------


class Statements:
    """The statements of one table with given index columns; made once, so that SQLite's statement cache holds them."""

    def __init__(self, n: int, index_columns: tuple[int, ...], *, expires: bool) -> None:
        self.n = n
        self.index_columns = index_columns
        self.columns = (*(("x",) if expires else ()), *(f"g{column}" for column in index_columns))
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
        """Return the names of the indexes that rows of this table are in; those of empty columns cost nothing."""
        return [f"t{self.n}{column}" for column in ("k", *self.columns)]

    @cached_property
    def page(self) -> tuple[str, str]:
        """Return the page of rows in key order: backward, forward."""
        text = f"SELECT size, item FROM t{self.n} WHERE k >= ? AND k < ? ORDER BY k"
        return f"{text} DESC LIMIT ?", f"{text} LIMIT ?"

    @cached_property
    def index_pages(self) -> dict[tuple[int, bool, bool], str]:
        """Return the pages of each column by (column, forward, whether a start position is given)."""
        return {
            (column, forward, started): self._index_page(column, forward, started)
            for column in self.index_columns
            for forward in (True, False)
            for started in (True, False)
        }

    def _index_page(self, column: int, forward: bool, started: bool) -> str:
        g, order = f"g{column}", "" if forward else " DESC"
        start = f" AND ({g}, k) {'>' if forward else '<'} (?, ?)" if started else ""
        return (
            f"SELECT size, item FROM t{self.n} INDEXED BY t{self.n}g{column} "
            f"WHERE {g} >= ? AND {g} < ?{start} AND {g} IS NOT NULL ORDER BY {g}{order}, k{order} LIMIT ?"
        )
