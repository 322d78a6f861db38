"""Where the write-ahead log ends: recorded after each commit, and compared when the directory is opened.

SQLite reads a log up to the first damaged frame and silently ignores the rest; a log that was removed is an empty one.
Therefore DIR/hashrange.end holds a copy of the header of SQLite's index of the log: 48 bytes with the number of frames,
the salt of the log and a checksum; zeros when a log is not needed. After it: 1 with fsync, else 0, and the boot.
The copy goes from one memory-mapped file to another (0.3 us), so it survives a kill as the log does.
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

from hashrange.engine.data_directory import INDEX_FILE, LOG_FILE, has_descriptor

END_FILE = "hashrange.end"
SIZE = 4096
HEADER = struct.Struct("=10I8x")  # of the index, native: 4 is the number of frames
SALT = slice(32, 36)  # its first half, which grows by one when the log starts over; big-endian
COPIED = 48
BOOT = slice(COPIED, COPIED + 64)
PAGE_SIZE = slice(14, 16)  # native
MAX_RESTARTS = 16  # between two records; in truth one or two
LOG_HEADER = 32
FRAME_HEADER = 24
LOG_MAGIC = 0x377F0682  # its last bit tells the byte order of checksums
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
        self._record = _map_record(directory / END_FILE)

    def begin(self, *, fsync: bool) -> None:
        """Begin to record, in place of what was recorded before."""
        self._record[BOOT] = (b"%d%s" % (fsync, _find_boot())).ljust(64, b"\0")
        self.note()

    @property
    def frames(self) -> int:
        """Return how many frames of the log SQLite has accepted."""
        return int(HEADER.unpack(self._index[:COPIED])[4])

    def is_log_cut(self) -> bool:
        """Return whether the log lacks frames that SQLite wrote: it is too short or, written to since, has no header.

        SQLite writes the header of a log before its index tells of a frame, and changes the index first to start over.
        """
        before = self._index[:COPIED]
        frames = int(HEADER.unpack(before)[4])
        if not frames or _sum(before[:40], "=") != struct.unpack("=2I", before[40:]):
            return False
        needed = LOG_HEADER + frames * (FRAME_HEADER + int.from_bytes(before[PAGE_SIZE], sys.byteorder))
        try:
            is_short = self._log.stat().st_size < needed
        except OSError:
            return False
        is_other = read_salt(self._log.parent) != int.from_bytes(before[SALT], "big")
        return (is_short or is_other) and self._index[SALT] == before[SALT] and has_descriptor()

    def note(self) -> None:
        """Record the end after a commit."""
        self._record[:COPIED] = self._index[:COPIED]

    def clear(self) -> None:
        """Record that no log is needed, before SQLite moves all of it into the database file."""
        self._record[:COPIED] = bytes(COPIED)

    def close(self) -> None:
        """Release the files, after SQLite has closed its own."""
        self._record.close()
        self._index.close()
        os.close(self._index_file)


def _map_record(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(descriptor).st_size != SIZE:
            os.pwrite(descriptor, bytes(SIZE), 0)  # real blocks: a full disk must not be noticed at a later write
            os.ftruncate(descriptor, SIZE)
        return mmap.mmap(descriptor, SIZE)
    finally:
        os.close(descriptor)


def _find_boot() -> bytes:
    with contextlib.suppress(OSError):
        return BOOT_ID.read_bytes().strip()
    return b""


def read_record(directory: Path) -> RecordedEnd | None:
    """Return what was recorded; None when nothing was, or the record itself is damaged."""
    try:
        content = (directory / END_FILE).read_bytes()
    except OSError:
        return None
    header, boot = content[:COPIED], content[BOOT].rstrip(b"\0")
    if len(header) < COPIED or _sum(header[:40], "=") != struct.unpack("=2I", header[40:]):
        return None
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


def set_log_aside(directory: Path) -> None:
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
