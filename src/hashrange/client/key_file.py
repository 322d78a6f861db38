"""The file of local keys: JSON, readable by its owner only, always replaced as a whole.

    {"version": 1, "current": "5f0c9a1e", "keys": {"5f0c9a1e": "<32 bytes in base64>"}}

Changes hold the lock (flock) of its directory, so that no key is lost. `client.local_keys` encrypts.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shlex
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hashrange.client.keyring import KEY_SIZE
from hashrange.core.errors import UnsafeKeyFile

VERSION = 1


class KeySet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys by id, and the id of the one that encrypts; its repr never shows keys."""

    version: int
    current: str
    keys: dict[str, bytes]

    def __repr__(self) -> str:
        return f"KeySet(current={self.current!r}, ids={sorted(self.keys)})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("current", self.current), ("ids", sorted(self.keys))]


def generate_key(known: KeySet | None = None) -> KeySet:
    """Return the known keys plus a new one, which becomes the current."""
    keys = known.keys if known else {}
    name = secrets.token_hex(4)
    while name in keys:
        name = secrets.token_hex(4)
    return KeySet(VERSION, name, {**keys, name: secrets.token_bytes(KEY_SIZE)})


def read_key_file(path: Path) -> KeySet | None:
    """Return the keys of the file, None when there is no file; raise UnsafeKeyFile if others could change it."""
    with _explain(path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:  # noqa: PTH123 - what is checked must be what is read
            _check_private(path, os.fstat(descriptor))
            content = file.read()
    return _parse(path, content)


def make_key_file(path: Path) -> KeySet:
    """Create the file with a first key, unless another process has; return its keys."""
    path = path.resolve()
    with _lock(path) as directory:
        return read_key_file(path) or _write(path, generate_key(), directory)


def add_key(path: Path) -> KeySet:
    """Add a new current key to the file, creating it if necessary; return its keys."""
    path = path.resolve()
    with _lock(path) as directory:
        return _write(path, generate_key(read_key_file(path)), directory)


def _check_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeKeyFile(f"{path} is not a file.")
    if status.st_uid not in {0, os.geteuid()}:
        raise UnsafeKeyFile(f"{path} belongs to another user, who can read the keys in it.")
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise UnsafeKeyFile(
            f"{path} has mode {mode:04o}: others can read or change the keys in it. chmod 600 {shlex.quote(str(path))}"
        )


def _parse(path: Path, content: bytes) -> KeySet:
    with suppress(msgspec.MsgspecError):  # its error is not chained: it may quote the file
        keys = msgspec.json.decode(content, type=KeySet)
        if keys.version > VERSION:
            raise UnsafeKeyFile(f"{path} was written by a newer hashrange: upgrade this one.")
        if keys.current in keys.keys and all(len(key) == KEY_SIZE for key in keys.keys.values()):
            return keys
    raise UnsafeKeyFile(f"{path} is not a key file, or is damaged. Restore it: without it nothing can be decrypted.")


@contextmanager
def _lock(path: Path) -> Iterator[int]:
    """Hold the lock of the file's directory, created if necessary; yield the directory's descriptor."""
    with _explain(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield directory
        finally:
            os.close(directory)


def _write(path: Path, keys: KeySet, directory: int) -> KeySet:
    """Replace the file atomically, and flush it to disk before anything is encrypted with the keys."""
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # O_EXCL, mode 0600
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - it is open already
            file.write(msgspec.json.format(msgspec.json.encode(keys), indent=2) + b"\n")
            file.flush()
            os.fsync(descriptor)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    os.fsync(directory)
    return keys


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as refusal:
        raise UnsafeKeyFile(f"{path} cannot be used as a key file: {refusal.strerror}.") from refusal
