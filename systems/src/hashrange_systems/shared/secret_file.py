"""The files with the secrets of a system, in its directory.

`secret` signs cursors, sessions and links; it is created once, and only its owner can read it. `keys.json` encrypts.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from hashrange import HashrangeError, LocalKeys

SIZE = 32


class SecretFileInvalid(HashrangeError):
    """A secret file that is damaged, or that others can read."""


def find_secret(configured: bytes | None, directory: Path | None) -> bytes | None:
    """Return the configured secret, else that of the directory; None, a random one, without either."""
    return configured or (load_or_create_secret(directory / "secret") if directory else None)


def find_keys(configured: Path | None, directory: Path | None) -> LocalKeys:
    """Return the keys of the configured file, else those of the directory, else new ones in memory."""
    path = configured or (directory / "keys.json" if directory else None)
    return LocalKeys(path) if path else LocalKeys.generate()


def load_or_create_secret(path: Path) -> bytes:
    """Return the secret in the file; create it if missing. Processes that start together get the same secret."""
    try:
        if not path.exists():
            _make(path)
        status, content = path.stat(), path.read_bytes()
    except OSError as error:
        raise SecretFileInvalid(f"{path} cannot be used for the secret: {error.strerror}.") from error
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise SecretFileInvalid(
            f"{path} has mode {mode:04o}: others can read or change the secret in it. "
            f"chmod 600 {shlex.quote(str(path))}"
        )
    if len(content) != SIZE:
        raise SecretFileInvalid(
            f"{path} is damaged. Remove it: what was signed with it, links and sign-ins, ends then."
        )
    return content


def _make(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - its mode
        file.write(secrets.token_bytes(SIZE))
    try:
        with suppress(FileExistsError):  # another process was faster: its secret is used
            path.hardlink_to(draft)  # atomic
    finally:
        draft.unlink()
