"""The data directory and its SQLite file; the only module that knows SQLite.

On-disk format 2
    DIR/hashrange.db    one SQLite database in WAL mode, application_id 0x68617268, user_version = format
    DIR/hashrange.lock  held (flock) by the process that owns the directory; its text says which process that is
    DIR/backups/        one SQLite file per backup: rows (id, k, size, item); `.part` until the commit that records it

    catalog (n, name, definition)            one row per table; `name` is NULL once the table is deleted
    counts  (n, items, bytes, indexes)       exact counters, written with every commit that changes them
    t<n>    (id, k, size, x, g0 .. gm, item) the rows; see `engine.sql`
    c<n>    (seq, at, k, old, new, actor)    the change log of a table with a stream or point-in-time recovery
    job     (id, kind, n, state)             long work under way, resumed after a restart
    token   (token, digest, at, answer)      idempotency tokens of transactions
    backup  (arn, name, created, details)    what ListBackups knows
    meta    (key, value)                     the sequence number last given, and other single facts

An acknowledged write survives `kill -9` (it is in the WAL, which the operating system holds); with fsync it survives
power loss too. Checkpoints run on a thread of their own, so that no request waits for one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw

from hashrange.core.errors import CorruptFile, DirectoryInUse, DiskFull, NewerFormat, ReadOnlyDirectory, StorageError
from hashrange.engine.sql import COPY_COLUMNS

FORMAT = 2
APPLICATION_ID = 0x68617268
CACHE_KIB = 16_000  # 40,000 is no faster with ten million items: cold memory takes as long as a read
CHECKPOINT_PAGES = 8_000  # 32 MB; at 2,000 a put took 1.5 times the processor time, most of it copying pages again
RESTART_PAGES = 32_000
MAIN_FILE = "hashrange.db"
LOCK_FILE = "hashrange.lock"
BACKUPS = "backups"
PARTIAL = ".part"
PAGE_BYTES = 1_000_000

SCHEMA = """
CREATE TABLE catalog (n INTEGER PRIMARY KEY, name TEXT UNIQUE, definition BLOB NOT NULL);
CREATE TABLE counts (n INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes INTEGER NOT NULL, indexes BLOB NOT NULL);
CREATE TABLE job (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, n INTEGER NOT NULL, state BLOB NOT NULL);
CREATE TABLE token (token TEXT PRIMARY KEY, digest BLOB NOT NULL, at INTEGER NOT NULL, answer BLOB NOT NULL);
CREATE INDEX token_at ON token (at);
CREATE TABLE backup (arn TEXT PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL, details BLOB NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL);
"""

SqliteError = apsw.Error
NotUnique = apsw.ConstraintError
WriteRefused = apsw.ReadOnlyError


class Store:
    """An open database: one writing connection, and readers beside it where there is a file."""

    def __init__(self, directory: Path | None, *, fsync: bool = False) -> None:
        self.directory = directory
        self.in_memory = directory is None
        self.fsync = fsync
        self._lock_file: int | None = None
        self._checkpointer: Checkpointer | None = None
        if directory is not None:
            self._lock_file = lock_directory(directory)
        try:
            self.connection = self._open()
        except BaseException:
            self._release()
            raise
        self.execute: Callable[..., Any] = self.connection.execute  # rows are what SQLite says they are
        # The same on one cursor, for statements that are over at once: a third quicker. `.get` takes the only row.
        self.run: Callable[..., Any] = self.connection.cursor().execute

    def _open(self) -> apsw.Connection:
        with translated(self.directory):
            connection = self._connect()
            self._check_format(connection)
            if self.directory is not None:
                connection.execute("PRAGMA wal_autocheckpoint=0")
                connection.set_wal_hook(self._note_commit)
            return connection

    def _connect(self) -> apsw.Connection:
        if self.directory is None:
            return apsw.Connection(":memory:")
        connection = apsw.Connection(str(self.directory / MAIN_FILE))
        connection.set_busy_timeout(10_000)
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute(f"PRAGMA synchronous={'FULL' if self.fsync else 'NORMAL'}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        connection.execute("PRAGMA temp_store=MEMORY")
        return connection

    def _check_format(self, connection: apsw.Connection) -> None:
        found = connection.execute("PRAGMA user_version").fetchone()
        version = int(found[0]) if found else 0
        if version > FORMAT:
            message = (
                f"{self.directory} holds data of format {version}, written by a newer hashrange; this one reads up to "
                f"format {FORMAT}. Upgrade hashrange (pip install -U hashrange) or choose another directory."
            )
            raise NewerFormat(message)
        if version == FORMAT:
            return
        if version == 0:
            if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
                message = f"{self.directory}/{MAIN_FILE} is a SQLite database, but not one of hashrange's."
                raise CorruptFile(message)
            connection.execute(
                f"BEGIN; {SCHEMA} PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={FORMAT}; COMMIT"
            )
        else:  # format 1: rows in the order of their insertion, which are found all the same
            connection.execute(f"PRAGMA user_version={FORMAT}")

    def reader(self) -> apsw.Connection:
        """Return a second, reading connection with a snapshot of its own (of a file; memory has but one)."""
        if self.directory is None:
            return self.connection
        with translated(self.directory):
            connection = apsw.Connection(str(self.directory / MAIN_FILE))
            connection.set_busy_timeout(10_000)
            connection.execute("PRAGMA query_only=ON")
            return connection

    def begin_copy(self, name: str) -> CopyFile:
        """Start a file of rows in `backups`, with a snapshot of what is committed now."""
        assert self.directory is not None
        folder = self.directory / BACKUPS
        with translated(self.directory):
            try:
                folder.mkdir(exist_ok=True)
                return CopyFile(folder / name, self.directory / MAIN_FILE)
            except OSError as failure:
                raise translate_os(failure, folder) from failure

    def read_copy(self, name: str, after: int, limit: int) -> list[tuple[Any, ...]]:
        """Return a page of the rows in such a file: id, key, size (None where it is to be measured), item."""
        assert self.directory is not None
        path = self.directory / BACKUPS / name
        query = "SELECT id, k, size, item FROM rows WHERE id > ? ORDER BY id LIMIT ?"
        try:
            with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
                return take_page(connection.execute(query, (after, limit)))
        except apsw.Error as failure:
            raise CorruptFile(f"{path} is not a complete copy of a table, or is damaged ({failure}).") from failure

    def has_copy(self, name: str) -> bool:
        """Tell whether such a file is there and complete."""
        return self.directory is not None and (self.directory / BACKUPS / name).exists()

    def remove_copy(self, name: str) -> None:
        """Remove such a file."""
        assert self.directory is not None
        (self.directory / BACKUPS / name).unlink(missing_ok=True)

    def list_copies(self) -> set[str]:
        """Return the names of such files."""
        return set() if self.directory is None else {path.name for path in (self.directory / BACKUPS).glob("*.db")}

    def clean_up_partial_copies(self, recorded: set[str]) -> None:
        """After a kill: rename partial files that a commit has recorded, and remove the others."""
        for path in [] if self.directory is None else (self.directory / BACKUPS).glob(f"*{PARTIAL}"):
            with contextlib.suppress(OSError):  # in nobody's way
                if path.stem in recorded and not path.with_suffix("").exists():
                    path.rename(path.with_suffix(""))
                else:
                    path.unlink()

    def begin(self) -> None:
        """Start a write transaction."""
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make everything since `begin` durable."""
        self.run("COMMIT")

    def rollback(self) -> None:
        """Forget everything since `begin`; harmless when SQLite has done so already."""
        if self.connection.in_transaction:
            self.execute("ROLLBACK")

    @contextlib.contextmanager
    def writes_refused(self) -> Iterator[None]:
        """Let every write inside the block raise WriteRefused; what the transaction wrote before stays."""
        self.execute("PRAGMA query_only=ON")
        try:
            yield
        finally:
            self.execute("PRAGMA query_only=OFF")

    @contextlib.contextmanager
    def sorting_on_disk(self) -> Iterator[None]:
        """Let SQLite sort in nameless files inside the block, where memory would grow with the table."""
        if self.in_memory:
            yield
            return
        self.execute("PRAGMA temp_store=FILE")
        try:
            yield
        finally:
            self.execute("PRAGMA temp_store=MEMORY")

    def translate(self, failure: apsw.Error) -> StorageError:
        """Return a failure of SQLite as an error that says what to do."""
        return translate(failure, self.directory)

    def _note_commit(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages >= CHECKPOINT_PAGES:  # at every commit: passes that follow each other find little to copy and to sync
            if self._checkpointer is None:
                self._checkpointer = Checkpointer(self)
            self._checkpointer.wake()
        return 0

    def close(self) -> None:
        """Close the file and give the directory free."""
        if self._checkpointer is not None:
            self._checkpointer.stop()
        self.connection.close()
        self._release()

    def _release(self) -> None:
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


class CopyFile:
    """A file of rows being written: it gets its name after the commit that records it.

    Its own connection reads the database under a snapshot taken when it was begun. It may be used from any thread.
    """

    def __init__(self, path: Path, source: Path) -> None:
        self._path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._partial.unlink(missing_ok=True)
        self._connection = apsw.Connection(str(self._partial))
        try:
            self._prepare(source)
        except apsw.Error:
            self.discard()
            raise

    def _prepare(self, source: Path) -> None:
        self._connection.set_busy_timeout(10_000)
        execute = self._connection.execute
        execute("PRAGMA journal_mode=OFF").fetchall()  # a file that was cut off is thrown away, never repaired
        execute("PRAGMA synchronous=OFF")
        execute(f"CREATE TABLE rows {COPY_COLUMNS}")
        execute("ATTACH ? AS live", (str(source),))
        execute("BEGIN")
        execute("SELECT 1 FROM live.catalog LIMIT 1").fetchall()

    def has_table(self, table: str) -> bool:
        """Tell whether the snapshot has a table (one that is not committed yet it has not)."""
        found = self._connection.execute("SELECT 1 FROM live.sqlite_schema WHERE name = ?", (table,))
        return found.fetchone() is not None

    def select(self, query: str, parameters: tuple[object, ...]) -> None:
        """Add what a query for key, size and item finds in the snapshot; nobody else waits for it."""
        self._connection.execute(f"INSERT INTO rows (k, size, item) {query}", parameters)

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows of key, size and item."""
        self._connection.executemany("INSERT INTO rows (k, size, item) VALUES (?, ?, ?)", rows)

    def finish(self) -> None:
        """Make the file durable."""
        self._connection.execute("COMMIT")
        self._connection.close()
        _sync(self._partial)

    def publish(self) -> None:
        """Give the file its name."""
        self._partial.replace(self._path)
        _sync(self._path.parent)

    def interrupt(self) -> None:
        """Let whatever another thread is adding fail soon."""
        with contextlib.suppress(apsw.ConnectionClosedError):
            self._connection.interrupt()

    def discard(self) -> None:
        """Throw the file away."""
        self._connection.close()
        self._partial.unlink(missing_ok=True)


def take_page(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows, whose last column is an item, as long as they are no more than a slice of work."""
    page: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        page.append(row)
        size += len(row[-1])
        if size >= PAGE_BYTES:
            break
    return page


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Checkpointer:
    """A thread that moves the write-ahead log into the database file while requests go on.

    A passive pass copies without holding anyone up, but under constant writes it never finds the log complete and so
    never lets it start over; when the log has grown long all the same, a restarting pass makes the writer wait shortly.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="hashrange-checkpoint", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Ask for a checkpoint soon."""
        self._due.set()

    def stop(self) -> None:
        """Finish and join the thread."""
        self._stopping = True
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        path = str(self._store.directory / MAIN_FILE) if self._store.directory else ""
        connection = apsw.Connection(path)
        connection.set_busy_timeout(50)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "SELECT count(*) FROM catalog"
        ).fetchall()  # a connection that never read checkpoints nothing
        while True:
            self._due.wait()
            self._due.clear()
            if self._stopping:
                break
            with contextlib.suppress(apsw.Error):  # busy or full: the log stays, the next wake tries again
                _busy, pages, _copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone() or (0, 0, 0)
                if pages > RESTART_PAGES:
                    connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        connection.close()


def lock_directory(directory: Path) -> int:
    """Create the directory, take its lock and return the lock's file descriptor, or say who has it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as failure:
        raise translate_os(failure, directory) from failure
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as failure:
        owner = os.pread(descriptor, 500, 0).decode(errors="replace").strip()
        os.close(descriptor)
        message = (
            f"{directory} is in use by {owner or 'another process'}. One process owns a data directory: stop that one, "
            "connect to it over the wire (hashrange serve), or choose another directory."
        )
        raise DirectoryInUse(message) from failure
    _sign_lock(descriptor)
    return descriptor


def _sign_lock(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # a full disk must not keep anyone from reading
        os.ftruncate(descriptor, 0)
        # The program and its command, never its options: they may hold a secret.
        program = " ".join([Path(sys.argv[0]).name, *(word for word in sys.argv[1:2] if word.isalpha())])
        os.pwrite(descriptor, f"process {os.getpid()} ({program})\n".encode(), 0)


def translate_os(failure: OSError, directory: Path) -> StorageError:
    """Return a failure of the file system as an error that says what to do."""
    if failure.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnlyDirectory(f"{directory} cannot be written to ({failure.strerror}); choose another directory.")
    if failure.errno == errno.ENOSPC:
        return DiskFull(f"The disk that holds {directory} is full; free some space.")
    return StorageError(f"{directory} cannot be used as a data directory: {failure.strerror}.")


@contextlib.contextmanager
def translated(directory: Path | None) -> Iterator[None]:
    """Turn SQLite's failures inside the block into StorageErrors."""
    try:
        yield
    except apsw.Error as failure:
        raise translate(failure, directory) from failure


def translate(failure: apsw.Error, directory: Path | None) -> StorageError:
    """Return a failure of SQLite as an error that says what happened and what to do."""
    where = directory or "memory"
    if getattr(failure, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:  # no room for the index of the log
        failure = apsw.FullError()
    kinds: tuple[tuple[Any, type[StorageError], str], ...] = (
        (apsw.FullError, DiskFull, f"The disk that holds {where} is full. Nothing was written; free some space."),
        (apsw.ReadOnlyError, ReadOnlyDirectory, f"{where} cannot be written to. Nothing was written."),
        (apsw.CantOpenError, ReadOnlyDirectory, f"{where}/{MAIN_FILE} cannot be opened: check its permissions."),
        (apsw.NotADBError, CorruptFile, f"{where}/{MAIN_FILE} is not a hashrange database."),
        (apsw.CorruptError, CorruptFile, f"{where}/{MAIN_FILE} is damaged ({failure}); restore it from a backup."),
    )
    for cause, error, message in kinds:
        if isinstance(failure, cause):
            return error(message)
    return StorageError(f"The database in {where} failed: {failure}. Nothing was written.")
