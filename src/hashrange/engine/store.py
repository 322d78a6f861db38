"""The data directory and its SQLite file; the only module that knows SQLite.

On-disk format 3
    DIR/hashrange.db    one SQLite database in WAL mode, application_id 0x68617268, user_version = format
    DIR/hashrange.end   where its write-ahead log ends: `engine.log_end`
    DIR/hashrange.lock  held (flock) by the process that owns the directory; its text says which process that is
    DIR/backups/        one SQLite file per backup: rows (id, k, size, item); `.part` until the commit that records it

    catalog (n, name, definition)            one row per table; `name` is NULL once the table is deleted
    counts  (n, items, bytes, indexes)       exact counters, written with every commit that changes them
    t<n>    (id, k, size, x, g0 .. gm, item) the rows; see `engine.sql`
    c<n>    (seq, at, k, old, new, actor)    the change log of a table with a stream or point-in-time recovery
    job     (id, kind, n, state)             long work under way, resumed after a restart
    token   (token, digest, at, answer)      idempotency tokens of transactions
    backup  (arn, name, created, details)    the backups that ListBackups lists
    meta    (key, value)                     the sequence number last given, and other single facts

Every page of these files ends with a checksum of eight bytes, which SQLite's own VFS `cksmvfs` writes and compares when
it reads the page from a file. Files of format 2 are the same without checksums, and stay so.
An acknowledged write survives `kill -9` (it is in the WAL, which the operating system holds); with fsync it survives
power loss too. Checkpoints run on a thread of their own, so that no request waits for one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic, strftime
from typing import Any

import apsw

from hashrange.core.errors import CorruptFile, FileLost, LogIncomplete, NewerFormat, StorageError
from hashrange.engine import sql
from hashrange.engine.data_directory import (
    END_FILE,
    LOG_FILE,
    MAIN_FILE,
    OpenFiles,
    has_content,
    lock_directory,
    removed_on_failure,
    translate_os,
)
from hashrange.engine.log_end import (
    LogEnd,
    RecordedEnd,
    count_missing,
    describe_lost_database,
    find_logged_pages,
    find_record_problem,
    is_foreign,
    move_log_away,
    read_record,
    read_salt,
    write_empty_record,
)
from hashrange.engine.sqlite_file import (
    PARTIAL,
    Checkpointer,
    CopyFile,
    find_damaged_pages,
    has_checksums,
    open_file,
    translate,
    translated,
)

logger = logging.getLogger("hashrange")
FORMAT = 3
UNCHECKED_FORMAT = 2  # without checksums
SECONDS_BETWEEN_CHECKS = 0.5  # whether the files are still there: a system call or two
APPLICATION_ID = 0x68617268
CACHE_KIB = 16_000  # 40,000 is no faster with ten million items: cold memory takes as long as a read
CHECKPOINT_PAGES = 8_000  # 32 MB; at 2,000 a put took 1.5 times the processor time, most of it copying pages again
CUT_OFF = "{}/{} was cut off while it was open."
RECORD_PROBLEM = (
    "{}/{} was {}: whether the log lacks acknowledged writes could not be compared. It is written anew. Copies must "
    "contain all files of a directory."
)
BACKUPS = "backups"
MAX_SLICE_BYTES = 1_000_000

SqliteError = apsw.Error
NotUnique = apsw.ConstraintError
WriteRefused = apsw.ReadOnlyError


class Store:
    """An open database: one writing connection, and readers beside it where there is a file."""

    def __init__(self, directory: Path | None, *, fsync: bool = False, accept_loss: bool = False) -> None:
        self.directory = directory
        self.in_memory = directory is None
        self.fsync = fsync
        self.record_problem: str | None = None  # why the log could not be compared with its recorded end
        self.lost: FileLost | None = None  # why nothing can be written any more
        self._lock_file: int | None = None
        self._checkpointer: Checkpointer | None = None
        self._log_end: LogEnd | None = None
        self._files: OpenFiles | None = None
        self._next_check = 0.0
        if directory is not None:
            self._lock_file = lock_directory(directory)
        try:
            self.connection = self._open(accept_loss=accept_loss)
        except BaseException:
            self._release()
            raise
        self.execute: Callable[..., Any] = self.connection.execute  # rows are what SQLite says they are
        # The same on one cursor, for statements that are over at once: a third quicker. `.get` takes the only row.
        self.run: Callable[..., Any] = self.connection.cursor().execute

    def _open(self, *, accept_loss: bool) -> apsw.Connection:
        with translated(self.directory):
            if self.directory is None:
                connection = apsw.Connection(":memory:")
                self._check_format(connection)
                return connection
            path = self.directory / MAIN_FILE
            recorded, salt = read_record(self.directory), read_salt(self.directory)
            if (lost := describe_lost_database(self.directory)) is not None:
                raise CorruptFile(lost)
            problem = find_record_problem(self.directory) if has_content(path) else None
            if accept_loss and recorded is not None and salt is not None and is_foreign(recorded, salt):
                move_log_away(self.directory)
            connection = open_file(path, new=not path.exists())
            try:
                self._configure(connection)
                self._check_log(self.directory, None if accept_loss else recorded, salt)
                self._check_size(connection, path)
                version = self._check_format(connection)  # after the log: without it, the database may look new
                if problem is not None and version == FORMAT:  # an older hashrange wrote no record
                    self.record_problem = RECORD_PROBLEM.format(self.directory, END_FILE, problem)
                    logger.warning("%s", self.record_problem)
                if self._log_end is not None:
                    self._log_end.begin(fsync=self.fsync)
            except BaseException:
                connection.close()
                raise
            connection.execute("PRAGMA wal_autocheckpoint=0")
            connection.set_wal_hook(self._note_commit)
            self._files = OpenFiles(self.directory)
            return connection

    def _check_log(self, directory: Path, recorded: RecordedEnd | None, salt: int | None) -> None:
        """Compare the log with its recorded end."""
        with contextlib.suppress(OSError):  # a full disk must not keep anyone from reading
            self._log_end = LogEnd(directory)
        if self._log_end is None:
            return
        missing = count_missing(recorded, salt, self._log_end.frames)
        if recorded is not None and missing:
            self._report_missing(missing, is_power_loss=recorded.may_be_lost)

    def _check_size(self, connection: apsw.Connection, path: Path) -> None:
        """Refuse a file that lacks a part of a page which is not in the log either, or that has grown."""
        if self._log_end is None:
            return
        frames, page_size = self._log_end.frames, int(connection.execute("PRAGMA page_size").get)
        pages, size = int(connection.execute("PRAGMA page_count").get), path.stat().st_size
        absent = set(range(size // page_size + 1, pages + 1))
        if absent and frames:
            absent -= find_logged_pages(path.parent, frames, page_size)
        if absent or (size > pages * page_size and not frames):
            text = f"it has {size} bytes, and should have {pages} pages of {page_size}"
            raise translate(apsw.CorruptError(text), self.directory)

    def _configure(self, connection: apsw.Connection) -> None:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute(f"PRAGMA synchronous={'FULL' if self.fsync else 'NORMAL'}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA user_version").fetchall()  # reads the log

    def _report_missing(self, missing: int, *, is_power_loss: bool) -> None:
        """Refuse a log that lacks acknowledged writes; where that was to be expected, log it and go on."""
        if is_power_loss:
            logger.warning(
                "The machine was restarted, and the last writes before that are lost (%d pages of the log of %s): "
                "without --fsync an acknowledged write does not survive power loss.", missing, self.directory
            )  # fmt: skip
            return
        message = (
            f"The write-ahead log in {self.directory} is damaged, or was removed or replaced: it lacks {missing} pages "
            "of acknowledged writes. Nothing was changed. Put the log back, restore the directory from a copy or, to "
            f"continue without those writes, run: hashrange verify {shlex.quote(str(self.directory))} --accept-loss"
        )
        raise LogIncomplete(message)

    def _check_format(self, connection: apsw.Connection) -> int:
        """Return the format that the file has, 0 for a new one, which gets its tables."""
        found = version = int(connection.execute("PRAGMA user_version").get or 0)
        if version > FORMAT:
            message = (
                f"{self.directory} holds data of format {version}, written by a newer hashrange; this one reads up to "
                f"format {FORMAT}. Upgrade hashrange (pip install -U hashrange) or choose another directory."
            )
            raise NewerFormat(message)
        if version == FORMAT and not has_checksums():
            message = (
                f"{self.directory} has checksums, which the installed apsw {apsw.apsw_version()} cannot write: its "
                "extension cksumvfs is missing. Install apsw from PyPI (pip install -U apsw)."
            )
            raise StorageError(message)
        if version == 0:
            if connection.execute(sql.FIND_ANY_TABLE).fetchone():
                message = f"{self.directory}/{MAIN_FILE} is a SQLite database, but not one of hashrange's."
                raise CorruptFile(message)
            version = FORMAT if self.directory is None or has_checksums() else UNCHECKED_FORMAT
            connection.execute(
                f"BEGIN; {sql.SCHEMA} PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={version}; COMMIT"
            )
        elif version < UNCHECKED_FORMAT:  # format 1: rows in the order of their insertion, which are found all the same
            connection.execute(f"PRAGMA user_version={UNCHECKED_FORMAT}")
        return found

    def verify_pages(self, report: Callable[[int, int], None] = lambda done, total: None) -> list[int]:
        """Return the numbers of the pages of the database file that do not match their checksums."""
        assert self.directory is not None
        with translated(self.directory):
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if self._log_end is not None:
                self._log_end.note()  # that the log is empty: a kill from here on leaves nothing to miss
            return find_damaged_pages(self.directory / MAIN_FILE, report)

    def find_loss(self) -> FileLost | None:
        """Return why nothing can be written any more: a file was removed, replaced or cut off while it was open."""
        now = monotonic()
        if now <= self._next_check:
            return self.lost
        loss = None if self.lost or self.connection.in_transaction else self.describe_loss()
        if loss is not None:
            self.lost = FileLost(f"{loss} {self._save_readable(is_cut='cut off' in loss)}")
            logger.error("%s", self.lost)
        elif self.lost is None and self._log_end is not None and self._log_end.rewrite_if_lost():
            logger.warning("%s/%s was removed, replaced or cut off; it is written anew.", self.directory, END_FILE)
        self._next_check = now + SECONDS_BETWEEN_CHECKS if self.lost is None else 0.0
        return self.lost

    def _is_whole(self) -> bool:
        return self.lost is None and self.describe_loss() is None

    def describe_loss(self) -> str | None:
        """Return what happened to a file, if anything did."""
        if self._files is None:
            return None
        if (lost := self._files.find_lost()) is not None:
            return f"{lost} was removed or replaced while it was open."
        if self._files.is_cut():
            return CUT_OFF.format(self.directory, MAIN_FILE)
        if self._log_end is not None and self._log_end.is_log_cut():
            return CUT_OFF.format(self.directory, LOG_FILE)
        return None

    def _save_readable(self, *, is_cut: bool) -> str:
        """Save what was acknowledged since the loss, which only this process can still read; say where it is."""
        assert self.directory is not None
        target = self.directory / f"recovered-{strftime('%Y%m%d-%H%M%S')}" / MAIN_FILE
        try:
            target.parent.mkdir(parents=True)
            with removed_on_failure(target.parent):
                self.connection.execute("VACUUM INTO ?", (str(target),))
                write_empty_record(target.parent)
        except (OSError, apsw.Error) as failure:
            return f"Writes are refused; what it contained can only be read (saving it failed: {failure})."
        saved = "What could still be read" if is_cut else "All that was acknowledged"
        return f"Writes are refused. {saved} is saved: stop this process and open {target.parent}."

    def reader(self) -> apsw.Connection:
        """Return a second, reading connection with a snapshot of its own (of a file; memory has but one)."""
        if self.directory is None:
            return self.connection
        with translated(self.directory):
            connection = open_file(self.directory / MAIN_FILE)
            connection.execute("PRAGMA query_only=ON")
            return connection

    def begin_copy(self, name: str) -> CopyFile:
        """Start a file of rows in `backups`."""
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
        try:
            with contextlib.closing(open_file(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
                pages, page_size = (connection.execute(f"PRAGMA {what}").get for what in ("page_count", "page_size"))
                if path.stat().st_size != pages * page_size:  # SQLite reads what was cut off a page as zeros
                    raise apsw.CorruptError("it was cut off")
                return take_page(connection.execute(sql.PAGE_OF_COPY, (after, limit)))
        except apsw.Error as failure:
            raise CorruptFile(f"{path} is not a complete copy of a table, or is damaged ({failure}).") from failure

    def explain_copy_failure(self, failure: Exception) -> StorageError:
        """Return what kept a file of rows from being written."""
        assert self.directory is not None
        if isinstance(failure, OSError):
            return translate_os(failure, self.directory / BACKUPS)
        return translate(failure, self.directory) if isinstance(failure, apsw.Error) else StorageError(str(failure))

    def verify_copy(self, name: str) -> tuple[list[int], int]:
        """Return the damaged pages of such a file, and how many rows it has."""
        assert self.directory is not None
        path = self.directory / BACKUPS / name
        try:
            with contextlib.closing(open_file(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
                damaged = find_damaged_pages(path, lambda done, total: None)
                return damaged, 0 if damaged else int(connection.execute(sql.COUNT_COPY).get)
        except apsw.Error as failure:
            raise CorruptFile(f"{path} is not a complete copy of a table, or is damaged ({failure}).") from failure

    def has_copy(self, name: str) -> bool:
        """Return whether such a file is there and complete."""
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
            with contextlib.suppress(OSError):  # a partial file that cannot be removed does no harm
                if path.stem in recorded and not path.with_suffix("").exists():
                    path.rename(path.with_suffix(""))
                else:
                    path.unlink()

    def begin(self) -> None:
        """Start a write transaction."""
        if monotonic() > self._next_check and (lost := self.find_loss()) is not None:
            raise lost
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make everything since `begin` durable."""
        self.run("COMMIT")

    def rollback(self) -> None:
        """Roll back everything since `begin`; does nothing if SQLite has done so already."""
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
        if self._log_end is not None:
            self._log_end.note()
        if (
            self.directory is not None and pages >= CHECKPOINT_PAGES
        ):  # at every commit: passes that follow each other find little to copy and to sync
            if self._checkpointer is None and self._is_whole():  # it must not open another file
                self._checkpointer = Checkpointer(self.directory / MAIN_FILE, self._is_whole)
            if self._checkpointer is not None:
                self._checkpointer.wake()
        return 0

    def detach_after_fork(self) -> None:
        """In a forked process: give up the lock, which the process that opened the directory keeps."""
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def close(self) -> None:
        """Close the file and release the directory."""
        if self._checkpointer is not None:
            self._checkpointer.stop()
        self._next_check = 0.0
        if self.find_loss() is None:  # otherwise what is left of the files stays as it is
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)  # move the log into the database file
            if self._log_end is not None:
                self._log_end.clear()
        self.connection.close()
        self._release()

    def _release(self) -> None:
        if self._log_end is not None:
            self._log_end.close()
            self._log_end = None
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


def take_page(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows, whose last column is an item, as long as they are no more than a slice of work."""
    page: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        page.append(row)
        size += len(row[-1])
        if size >= MAX_SLICE_BYTES:
            break
    return page
