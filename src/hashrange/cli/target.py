"""The database that a command works on: a data directory, an endpoint, or DynamoDB at AWS, in one word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from hashrange.core.errors import HashrangeError

if TYPE_CHECKING:
    from hashrange.client.transport import Transport

TARGETS = """[bold]Targets[/bold]

\b
  ./data                      a data directory that no server has open
  http://127.0.0.1:8000       hashrange serve, or another server of the protocol
  aws                         DynamoDB, with the credentials and the region that the AWS CLI would use
  aws:PROFILE                 ... of a profile of ~/.aws/config
  aws:PROFILE/eu-west-1       ... in another region; aws:/eu-west-1 without a profile"""

TargetOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--target",
        help="The database: a data directory, a URL, aws, or aws:PROFILE/REGION.",
        envvar="HASHRANGE_TARGET",
        metavar="DIRECTORY|URL|aws",
    ),
]


class TargetInvalid(HashrangeError):
    """A target that does not exist, or that cannot be understood."""


@contextmanager
def open_target(target: str, *, create: bool = False) -> Iterator[Transport]:
    """Open the database of a target, and close it afterwards; `create` makes a data directory that does not exist."""
    import hashrange

    if not target:  # an unset variable of a script; the current directory would be opened
        raise TargetInvalid("The target is empty. Give a directory, a URL such as http://127.0.0.1:8000, or aws.")
    if target == "aws" or target.startswith("aws:"):
        profile, _, region = target.partition(":")[2].partition("/")
        with hashrange.connect(profile=profile or None, region=region or None) as remote:
            yield remote
    elif "://" in target:
        with hashrange.connect(target) as remote:
            yield remote
    else:
        if Path(target).is_file():
            raise TargetInvalid(
                f"{target} is a file, not a data directory. Give a directory, a URL such as http://127.0.0.1:8000, or "
                "aws. `hashrange data import` reads files into a table."
            )
        if not create and not Path(target).is_dir():
            raise TargetInvalid(
                f"There is no directory {target}. `hashrange apply` creates it for a new database; for another "
                "one, give its directory, a URL such as http://127.0.0.1:8000, or aws."
            )
        with hashrange.open(target) as database:
            yield database
