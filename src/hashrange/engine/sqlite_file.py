"""SQLite files: how they are opened, with checksums, how logs are moved into them, what SQLite's failures become."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from hashrange.core.errors import NOTHING_WRITTEN, CorruptFile, DiskFull, ReadOnlyDirectory, StorageError, TooManyFiles
from hashrange.engine import sql
from hashrange.engine.data_directory import MAIN_FILE, NO_DESCRIPTORS, has_descriptor

CHECKSUM_VFS = "cksmvfs"
CHECKSUM_BYTES = 8
PARTIAL = ".part"
PAGES_PER_REPORT = 1_000
RESTART_PAGES = 32_000  # of the log
CHECKSUM_EXTENSION = Path(apsw.__file__).parent / "sqlite_extra_binaries" / "cksumvfs"
CHECK_DISK = "check that it is not full, not limited (ulimit -f) and not faulty, then try again."
WHAT_TO_DO = (
    "hashrange verify {} lists what is affected; restore the directory from a copy, or the tables from backups."
)


@cache
def has_checksums() -> bool:
    """Return whether SQLite can write checksums: apsw's wheels contain the extension, other builds may not."""
    connection = apsw.Connection(":memory:")
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(CHECKSUM_EXTENSION))
    except apsw.Error:
        return False
    finally:
        connection.close()
    return CHECKSUM_VFS in apsw.vfs_names()


def open_file(path: Path, *, new: bool = False, flags: int = 0) -> apsw.Connection:
    """Open a SQLite file; a new one gets checksums.

    Closing it, or the end of the process, leaves the log as it is: only `Store.close` may move it, which records that.
    """
    checked = has_checksums()
    flags = flags or apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags, vfs=CHECKSUM_VFS if checked else None)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.set_busy_timeout(10_000)
    if new and checked:
        connection.reserve_bytes("main", CHECKSUM_BYTES)
    return connection


def find_damaged_pages(path: Path, report: Callable[[int, int], None]) -> list[int]:
    """Return the numbers of the pages of a file that are missing or do not match their checksums, if it has any."""
    with contextlib.closing(open_file(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection, path.open("rb") as file:
        head = file.read(100)
        size = int.from_bytes(head[16:18], "big")
        if head[20] != CHECKSUM_BYTES or size & (size - 1):
            return []
        total = -(-path.stat().st_size // size)
        file.seek(0)
        damaged = []
        for number in range(1, total + 1):
            page = file.read(size)
            if len(page) < size or not connection.execute(sql.VERIFY_CHECKSUM, (page,)).get:
                damaged.append(number)
            if number % PAGES_PER_REPORT == 0 or number == total:
                report(number, total)
        return damaged + [total + 1] * (int.from_bytes(head[28:32], "big") > total)


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
    file = f"{where}/{MAIN_FILE}"
    extended = getattr(failure, "extendedresult", 0)
    if extended == apsw.SQLITE_IOERR_SHMSIZE:  # no room for the index of the log
        failure = apsw.FullError()
    elif extended == apsw.SQLITE_IOERR_DATA:
        failure = apsw.CorruptError("a page does not match its checksum")
    elif isinstance(failure, apsw.CantOpenError) and not has_descriptor():
        return TooManyFiles(NO_DESCRIPTORS.format(where))
    damaged = f"{file} is damaged ({failure}). {WHAT_TO_DO.format(where)}"
    causes: tuple[tuple[Any, type[StorageError], str], ...] = (
        (apsw.FullError, DiskFull, f"The disk that holds {where} is full. {NOTHING_WRITTEN}; free some space."),
        (apsw.ReadOnlyError, ReadOnlyDirectory, f"{where} cannot be written to. {NOTHING_WRITTEN}."),
        (apsw.CantOpenError, ReadOnlyDirectory, f"{file} cannot be opened: check its permissions."),
        (apsw.NotADBError, CorruptFile, f"{file} is not a hashrange database, or its first page is damaged."),
        (apsw.CorruptError, CorruptFile, damaged),
        (apsw.IOError, StorageError, f"The disk that holds {where} failed: {failure}. {NOTHING_WRITTEN}; {CHECK_DISK}"),
    )
    for cause, error, message in causes:
        if isinstance(failure, cause):
            return error(message)
    return StorageError(f"The database in {where} failed: {failure}. {NOTHING_WRITTEN}.")


class Checkpointer:
    """A thread that moves the write-ahead log into the database file while requests go on.

    A passive pass copies without holding anyone up, but under constant writes it never finds the log complete and so
    never lets it start over; when the log has grown long all the same, a restarting pass makes the writer wait shortly.
    """

    def __init__(self, path: Path, is_whole: Callable[[], bool]) -> None:
        # Opened here, not by the thread: SQLite would truncate the shared memory of the writer, and with it end the
        # process, if a connection were opened after the file has been replaced.
        self._connection = open_file(path)
        self._connection.set_busy_timeout(50)
        self._connection.execute(sql.SYNC_NORMAL)
        self._connection.execute(sql.READ_ANYTHING).fetchall()  # a connection that never read checkpoints nothing
        self._is_whole = is_whole
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
        connection = self._connection
        while True:
            self._due.wait()
            self._due.clear()
            if self._stopping:
                break
            if not self._is_whole():
                continue  # damage must not get into the database file
            with contextlib.suppress(apsw.Error):  # busy or full: the log stays, the next checkpoint tries again
                _busy, pages, _copied = connection.execute(sql.CHECKPOINT).fetchone() or (0, 0, 0)
                if pages > RESTART_PAGES:
                    connection.execute(sql.CHECKPOINT_AND_RESTART).fetchall()
        connection.close()


class CopyFile:
    """A file of rows being written: it gets its name after the commit that records it.

    Its own connection reads the database under a snapshot. It may be used from any thread.
    """

    def __init__(self, path: Path, source: Path) -> None:
        self.name = path.name
        self._path = path
        self._source = source
        self._partial = path.with_name(path.name + PARTIAL)
        self._partial.unlink(missing_ok=True)
        self._connection = open_file(self._partial, new=True)
        try:
            self._prepare()
        except apsw.Error:
            self.discard()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute(sql.NO_JOURNAL).fetchall()  # a file that was cut off is thrown away, never repaired
        execute(sql.SYNC_OFF)
        execute(sql.CREATE_COPY)

    def take_snapshot(self) -> None:
        """Let `select` read what is committed now, unless that was done already."""
        if self._connection.in_transaction:
            return
        execute = self._connection.execute
        if "live" not in self._connection.db_names():
            execute("ATTACH ? AS live", (str(self._source),))
        execute("BEGIN")
        execute(sql.READ_SNAPSHOT).fetchall()

    def select(self, query: str, parameters: tuple[object, ...]) -> None:
        """Add what a query for key, size and item finds in the snapshot; no request waits for it."""
        self._connection.execute(f"{sql.INTO_COPY} {query}", parameters)

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows of key, size and item."""
        self._connection.execute("BEGIN")
        self._connection.executemany(sql.ADD_TO_COPY, rows)

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
        """Make the `select` or `add` of another thread fail soon."""
        with contextlib.suppress(apsw.ConnectionClosedError):
            self._connection.interrupt()

    def discard(self) -> None:
        """Throw the file away."""
        self._connection.close()
        self._partial.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
