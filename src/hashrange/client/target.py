"""Opens a database by the name that all commands use: a data directory, a URL, or AWS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.core.errors import HashrangeError

if TYPE_CHECKING:
    from hashrange.client.remote import Remote
    from hashrange.client.transport import Transport

AWS = "aws"


class TargetInvalid(HashrangeError):
    """A target that does not exist, or that cannot be understood."""


def is_remote(target: str) -> bool:
    """Return whether a target is a URL, `aws`, or `aws:PROFILE/REGION`, and not a directory."""
    return target == AWS or target.startswith((f"{AWS}:", "http://", "https://"))


def connect_target(target: str) -> Remote:
    """Connect to a remote target."""
    from hashrange.client.remote import connect

    if "://" in target:
        return connect(target)
    profile, _, region = target.partition(":")[2].partition("/")
    return connect(profile=profile or None, region=region or None)


@contextmanager
def open_target(target: str, *, create: bool = False) -> Iterator[Transport]:
    """Open a database, and close it afterwards: a data directory, a URL, `aws`, or `aws:PROFILE/REGION`.

    The directory must exist, unless `create` is given.
    """
    if not target:  # an unset variable of a script; the current directory would be opened
        raise TargetInvalid("The target is empty. Give a directory, a URL such as http://127.0.0.1:8000, or aws.")
    if is_remote(target) or "://" in target:
        with connect_target(target) as remote:
            yield remote
        return
    if Path(target).is_file():
        raise TargetInvalid(
            f"{target} is a file, not a data directory. Give a directory, a URL such as http://127.0.0.1:8000, or "
            "aws. `hashrange data import` reads files into a table."
        )
    if not create and not Path(target).is_dir():
        raise TargetInvalid(
            f"There is no directory {target}. `hashrange apply` creates it for a new database; for another one, give "
            "its directory, a URL such as http://127.0.0.1:8000, or aws."
        )
    from hashrange.client.database import open_database

    with open_database(target) as database:
        yield database
