"""The secret that cursors, sessions and links are signed with: made once, kept in a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from hashrange import HashrangeError

SIZE = 32


class SecretUnsafe(HashrangeError):
    """A file with a secret that cannot be used, or that others can read."""


def keep_secret(path: Path) -> bytes:
    """Return the secret in the file; the first time, make it. Processes that begin at once agree on one."""
    try:
        if not path.exists():
            _make(path)
        status, content = path.stat(), path.read_bytes()
    except OSError as error:
        raise SecretUnsafe(f"{path} cannot be used for the secret: {error.strerror}.") from error
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise SecretUnsafe(f"{path} has mode {mode:04o}: others can read or change the secret in it. chmod 600 {path}")
    if len(content) != SIZE:
        raise SecretUnsafe(f"{path} is damaged. Remove it: what was signed with it, links and sign-ins, ends then.")
    return content


def _make(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - its mode
        file.write(secrets.token_bytes(SIZE))
    try:
        with suppress(FileExistsError):  # somebody else was quicker: theirs is the one
            path.hardlink_to(draft)  # all of it is there, or none
    finally:
        draft.unlink()
