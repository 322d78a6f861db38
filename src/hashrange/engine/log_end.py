"""Where the write-ahead log ends: recorded after each commit, and compared when the directory is opened.

SQLite reads a log up to the first damaged frame and silently ignores the rest; a log that was removed is an empty one.
Therefore DIR/hashrange.end holds a copy of the header of SQLite's index of the log: 48 bytes with the number of frames,
the salt of the log and a checksum; zeros when a log is not needed. After it: 1 with fsync, else 0, and the boot.
The record is written with `pwrite` (0.7 us), and survives a kill as the log does. It is not memory-mapped: a process
that writes to a mapped file which was cut off is killed by the operating system (SIGBUS).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import time
from pathlib import Path

from msgspec import Struct

from hashrange.engine.data_directory import (
    END_FILE,
    INDEX_FILE,
    LOG_FILE,
    MAIN_FILE,
    has_content,
    has_descriptor,
    identify,
)

SIZE = 4096
HEADER = struct.Struct("=10I8x")  # of the index, native: 4 is the number of frames
SALT = slice(32, 36)  # its first half, which grows by one when the log starts over; big-endian
COPIED = 48
BOOT = slice(COPIED, COPIED + 64)
PAGE_SIZE = slice(14, 16)  # native
MAX_RESTARTS = 16  # between two records; in practice one or two
LOG_HEADER = 32
FRAME_HEADER = 24
FRAME_SALT = slice(8, 12)  # its first half
LOG_MAGIC = 0x377F0682  # its last bit is the byte order of checksums
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class RecordedEnd(Struct, frozen=True):
    """What the record says: the log of this salt had at least so many frames."""

    salt: int
    frames: int
    fsync: bool
    same_boot: bool

    @property
    def may_be_lost(self) -> bool:
        """Whether power loss explains a shorter log: the machine was restarted, and nothing was synced."""
        return not (self.fsync or self.same_boot)


class LogEnd:
    """The record of an open database."""

    def __init__(self, directory: Path) -> None:
        # Closing a descriptor of the index would drop SQLite's locks on it: it stays open until SQLite is closed.
        self._log = directory / LOG_FILE
        self._index_file = os.open(directory / INDEX_FILE, os.O_RDONLY)
        self._index = mmap.mmap(self._index_file, COPIED, access=mmap.ACCESS_READ)
        self._is_fsync = False
        self._seen = b"", 0  # salt and frames at the last look
        self._file = directory / END_FILE
        self._record = _open_record(self._file)
        self._identity = identify(self._file)

    def begin(self, *, fsync: bool) -> None:
        """Begin to record, in place of what was recorded before."""
        self._is_fsync = fsync
        self._write(_write_boot(fsync=fsync), BOOT.start)
        self.note()

    def rewrite_if_lost(self) -> bool:
        """Write the record anew if its file was removed, replaced or cut off; return whether that was necessary."""
        if identify(self._file) == self._identity and self._file.stat().st_size == SIZE:
            return False
        try:
            record = _open_record(self._file)
        except OSError:
            return False  # tried again at the next look
        os.close(self._record)
        self._record, self._identity = record, identify(self._file)
        self.begin(fsync=self._is_fsync)
        return True

    @property
    def frames(self) -> int:
        """Return how many frames of the log SQLite has accepted."""
        return int(HEADER.unpack(self._index[:COPIED])[4])

    def is_log_cut(self) -> bool:
        """Return whether the log lacks frames that SQLite wrote: it is too short or, written to since, has a gap.

        The gap contains the header, or the last frame of an earlier look. SQLite writes the header of a log before its
        index mentions a frame, and changes the index first to start over.
        """
        before = self._index[:COPIED]
        frames = int(HEADER.unpack(before)[4])
        if not frames or _sum(before[:40], "=") != struct.unpack("=2I", before[40:]):
            return False
        (salt, seen), self._seen = self._seen, (before[SALT], frames)
        frame_size = FRAME_HEADER + int.from_bytes(before[PAGE_SIZE], sys.byteorder)
        try:
            is_short = self._log.stat().st_size < LOG_HEADER + frames * frame_size
            with self._log.open("rb") as log:
                log.seek(LOG_HEADER + (seen - 1) * frame_size if salt == before[SALT] else LOG_HEADER)
                has_gap = log.read(FRAME_HEADER)[FRAME_SALT] != before[SALT]
        except OSError:
            return False
        is_other = read_salt(self._log.parent) != int.from_bytes(before[SALT], "big")
        return (is_short or is_other or has_gap) and self._index[SALT] == before[SALT] and has_descriptor()

    def note(self) -> None:
        """Record the end after a commit."""
        try:  # noqa: SIM105 contextlib.suppress takes a third of the time of the write
            os.pwrite(self._record, self._index[:COPIED], 0)
        except OSError:
            pass  # a file that was cut off, on a full disk; the next verification reports it

    def clear(self) -> None:
        """Record that no log is needed, before SQLite moves all of it into the database file."""
        self._write(bytes(COPIED), 0)

    def _write(self, content: bytes, start: int) -> None:
        with contextlib.suppress(OSError):  # as in `note`
            os.pwrite(self._record, content, start)

    def close(self) -> None:
        """Release the files, after SQLite has closed its own."""
        os.close(self._record)
        self._index.close()
        os.close(self._index_file)


def _open_record(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(descriptor).st_size != SIZE:
            os.pwrite(descriptor, bytes(SIZE), 0)  # real blocks: a full disk must not be noticed at a later write
            os.ftruncate(descriptor, SIZE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_empty_record(directory: Path) -> None:
    """Record, beside a database file that was just written, that it needs no log."""
    (directory / END_FILE).write_bytes((bytes(COPIED) + _write_boot(fsync=False)).ljust(SIZE, b"\0"))


def _write_boot(*, fsync: bool) -> bytes:
    return (b"%d%s" % (fsync, _find_boot())).ljust(64, b"\0")


def _find_boot() -> bytes:
    with contextlib.suppress(OSError):
        return BOOT_ID.read_bytes().strip()
    return b""


def find_record_problem(directory: Path) -> str | None:
    """Return what is wrong with the record of a database that was opened before, if anything is."""
    content = _read_content(directory)
    if content is None:
        return "missing" if not (directory / END_FILE).exists() else "not readable"
    return None if _is_readable(content) else "damaged"


def describe_lost_database(directory: Path) -> str | None:
    """Return what to do where there is no database file, or an empty one, although there was one; else None."""
    path, record = directory / MAIN_FILE, directory / END_FILE
    if has_content(path):
        return None
    state = "empty" if path.exists() else "missing"
    if read_salt(directory) is not None:  # SQLite would remove the log
        return f"{path} is {state}, but its log is there. Put it back, or restore a copy of both."
    if any(_read_content(directory) or b""):  # zeros: nothing was ever opened
        return (
            f"{path} is {state}, but {record.name} beside it shows that there was a database. Put the file back, or "
            f"restore the directory from a copy. To begin with an empty database, remove {record}."
        )
    return None


def _read_content(directory: Path) -> bytes | None:
    try:
        return (directory / END_FILE).read_bytes()
    except OSError:
        return None


def _is_readable(content: bytes) -> bool:
    header = content[:COPIED]
    return len(header) == COPIED and _sum(header[:40], "=") == struct.unpack("=2I", header[40:])


def read_record(directory: Path) -> RecordedEnd | None:
    """Return what was recorded; None when nothing was, or the record itself is damaged."""
    content = _read_content(directory)
    if content is None or not _is_readable(content):
        return None
    header, boot = content[:COPIED], content[BOOT].rstrip(b"\0")
    frames, fsync = int(HEADER.unpack(header)[4]), boot[:1] == b"1"
    salt = int.from_bytes(header[SALT], "big")
    return RecordedEnd(salt, frames, fsync, boot[1:] == _find_boot()) if frames else None


def read_salt(directory: Path) -> int | None:
    """Return the salt of the log; None when there is no log, or its header is damaged."""
    try:
        with (directory / LOG_FILE).open("rb") as log:
            header = log.read(LOG_HEADER)
    except OSError:
        return None
    if len(header) < LOG_HEADER:
        return None
    magic, salt = int.from_bytes(header[:4], "big"), int.from_bytes(header[16:20], "big")
    order = ">" if magic & 1 else "<"
    is_whole = magic & ~1 == LOG_MAGIC and _sum(header[:24], order) == struct.unpack(">2I", header[24:])
    return salt if is_whole else None


def find_logged_pages(directory: Path, frames: int, page_size: int) -> set[int]:
    """Return the numbers of the pages of which the first frames of the log hold a version."""
    with (directory / LOG_FILE).open("rb", buffering=0) as log:
        starts = (LOG_HEADER + number * (FRAME_HEADER + page_size) for number in range(frames))
        return {int.from_bytes(os.pread(log.fileno(), 4, start), "big") for start in starts}


def count_missing(recorded: RecordedEnd | None, salt: int | None, frames: int) -> int:
    """Return how many recorded frames a log of this salt lacks, of which SQLite accepted so many."""
    if recorded is None:
        return 0
    if salt == recorded.salt:
        return max(0, recorded.frames - frames)
    return recorded.frames if salt is None or is_foreign(recorded, salt) else 0


def is_foreign(recorded: RecordedEnd, salt: int) -> bool:
    """Return whether a log belongs to another database, or to another time: it is neither the recorded one nor next.

    A log starts over, with the next salt, when all of it is in the database file.
    """
    return (salt - recorded.salt) % 2**32 > MAX_RESTARTS


def move_log_away(directory: Path) -> None:
    """Rename a log that must not be read, with its index."""
    log = directory / LOG_FILE
    log.replace(log.with_name(f"{LOG_FILE}-{time.strftime('%Y%m%d-%H%M%S')}"))
    (directory / INDEX_FILE).unlink(missing_ok=True)


def _sum(content: bytes, order: str) -> tuple[int, int]:
    """Return SQLite's checksum of a multiple of eight bytes."""
    first = second = 0
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
