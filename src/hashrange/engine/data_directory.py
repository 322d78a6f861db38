"""The data directory as files: who owns it, and whether its files are still the ones that were opened.

What is in the files is known to `engine.store`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from hashrange.core.errors import DirectoryInUse, DiskFull, ReadOnlyDirectory, StorageError, TooManyFiles

MAIN_FILE = "hashrange.db"
LOG_FILE = "hashrange.db-wal"
INDEX_FILE = "hashrange.db-shm"
LOCK_FILE = "hashrange.lock"
END_FILE = "hashrange.end"
DATABASES = "databases"  # the folder of databases by access key and region: databases/KEY/REGION
NO_DESCRIPTORS = (
    "The process has no file descriptor left for {}. Raise the limit (ulimit -n) or close connections, and try again."
)


def find_databases(directory: Path) -> list[Path]:
    """Return the directories of all databases in a data directory: its own, and those of access keys and regions."""
    names = MAIN_FILE, END_FILE  # one whose database file is lost too
    patterns = [f"{folder}{name}" for folder in ("", f"{DATABASES}/*/*/") for name in names]
    found = list(dict.fromkeys(path.parent for pattern in patterns for path in sorted(directory.glob(pattern))))
    if not found:
        raise StorageError(f"{directory} is not a data directory: there is no {MAIN_FILE} in it.")
    return found


def require_single_database(directory: Path) -> None:
    """Refuse the directory of a server with a database for each access key and region: opening it would add another."""
    if (directory / MAIN_FILE).exists() or not any(directory.glob(f"{DATABASES}/*/*/{MAIN_FILE}")):
        return
    found = ", ".join(str(each) for each in find_databases(directory))
    raise StorageError(f"{directory} has a database for each access key and region. Give one of them: {found}.")


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
    if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(f"The disk that holds {directory} is full; free some space.")
    if failure.errno in (errno.EMFILE, errno.ENFILE):
        return TooManyFiles(NO_DESCRIPTORS.format(directory))
    return StorageError(f"{directory} cannot be used as a data directory: {failure.strerror}.")


@contextlib.contextmanager
def removed_on_failure(directory: Path) -> Iterator[None]:
    """Remove a new directory again if the block fails to fill it."""
    try:
        yield
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


class OpenFiles:
    """The files of an open database, to notice when one of them is removed, replaced or cut off."""

    def __init__(self, directory: Path) -> None:
        self._main = directory / MAIN_FILE
        self._size = self._main.stat().st_size
        paths = [directory / name for name in (MAIN_FILE, LOG_FILE, LOCK_FILE)]
        self._identities = {path: identify(path) for path in paths}

    def find_lost(self) -> Path | None:
        """Return a file that is no longer the one that was opened."""
        return next((path for path, identity in self._identities.items() if identify(path) != identity), None)

    def is_cut(self) -> bool:
        """Return whether the database file has become shorter, which SQLite never lets it."""
        try:
            size = self._main.stat().st_size
        except OSError:
            return False
        is_shorter, self._size = size < self._size, max(size, self._size)
        return is_shorter


def identify(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, which identify it whatever its name; None if it does not exist."""
    try:
        found = path.stat()
    except OSError as failure:
        return (0, 0) if failure.errno in (errno.EMFILE, errno.ENFILE) else None
    return found.st_dev, found.st_ino


def has_content(path: Path) -> bool:
    """Return whether there is such a file, and something in it."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def has_descriptor() -> bool:
    """Return whether the process may open another file."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    return True
