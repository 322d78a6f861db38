"""Which database a command works on, and how it ends when that cannot be had or the service refuses."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from hashrange import Transport
    from hashrange_systems.checks.assembly import Assembly
    from hashrange_systems.checks.schema import AnyCheck, User
    from hashrange_systems.checks.web.services import Services

T = TypeVar("T")

REFUSED, NO_DATABASE, NOT_UP = 1, 2, 3
USUAL_DATA = Path("data")
USUAL_URL = "http://127.0.0.1:8002/checks"

Data = Annotated[
    Path | None, typer.Option("--data", envvar="HASHRANGE_DATA", help="Data directory (./data).", show_envvar=False)
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        envvar="HASHRANGE_ENDPOINT",
        help="The DynamoDB of a running process instead: a URL, or aws.",
        metavar="URL|aws",
        show_envvar=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
CheckId = Annotated[str, typer.Argument(metavar="CHECK", help="The id of the check.")]
Owner = Annotated[str, typer.Option("--user", help="Whose: an e-mail address, or an id.")]


@dataclass(frozen=True, slots=True)
class Where:
    """The database that a command is for."""

    data: Path | None = None
    endpoint: str | None = None

    def find_files(self) -> Path | None:
        """Return the directory of the system's keys and secret: made for a database here, else where there is one."""
        directory = (self.data or USUAL_DATA) / "checks"
        if self.endpoint is not None and self.data is None:
            return directory if directory.is_dir() else None
        directory.mkdir(parents=True, exist_ok=True)
        return directory


def serve(where: Where, action: Callable[[Services], Awaitable[T]]) -> T:
    """Do something with the services; what cannot be done ends the command with a sentence and an exit code."""

    async def act() -> T:
        with open_assembly(where) as assembly:
            return await action(assembly.services)

    with ending_in_words(where):
        return asyncio.run(act())


@contextmanager
def ending_in_words(where: Where) -> Iterator[None]:
    """End the command in words and with an exit code when something cannot be done."""
    from hashrange import DirectoryInUse, HashrangeError, ResourceNotFoundException
    from hashrange_systems.checks.errors import ChecksError

    try:
        yield
    except ChecksError as error:
        raise refuse(str(error), REFUSED) from error
    except DirectoryInUse as error:
        hint = "If that is hashrange up or serve, work through it: --endpoint http://127.0.0.1:8000"
        raise refuse(f"{error}\n{hint}", NO_DATABASE) from error
    except ResourceNotFoundException as error:
        start = f"hashrange up --endpoint {where.endpoint}" if where.endpoint else "hashrange up"
        raise refuse(f"The tables are not there: {start} makes them.", NO_DATABASE) from error
    except HashrangeError as error:
        raise refuse(str(error), NO_DATABASE) from error


@contextmanager
def open_assembly(where: Where) -> Iterator[Assembly]:
    """Open the database and put the system together on it."""
    from hashrange import SystemClock
    from hashrange_systems.checks.assembly import Surroundings, assemble, open_tables
    from hashrange_systems.checks.settings import read_settings

    settings, clock = read_settings(os.environ), SystemClock()
    with open_database(where) as database:
        db = open_tables(database, clock, settings, where.find_files())
        assembly = assemble(db, clock, settings, Surroundings(base_url=settings.url or USUAL_URL))
        try:
            yield assembly
        finally:
            assembly.close()


@contextmanager
def open_database(where: Where) -> Iterator[Transport]:
    """Open the database; a directory of our own gets the tables that it lacks."""
    from hashrange import connect, create_tables
    from hashrange import open as open_directory
    from hashrange_systems.checks.schema import Checks

    if where.endpoint is None:
        with open_directory(where.data or USUAL_DATA) as database:
            create_tables(database, Checks)
            yield database
        return
    if where.endpoint != "aws" and not where.endpoint.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--endpoint {where.endpoint} is neither a URL, http://127.0.0.1:8000, nor aws")
    try:
        remote = connect(None if where.endpoint == "aws" else where.endpoint)
    except ImportError as missing:
        raise refuse(str(missing), NO_DATABASE) from missing
    with remote:
        yield remote


async def find_user(services: Services, name: str) -> User:
    """Return the user with this e-mail address or id."""
    return await (services.users.by_email(name) if "@" in name else services.users.find(name))


async def find_check(services: Services, checkid: str) -> AnyCheck:
    """Return a check, whoever it belongs to."""
    from hashrange_systems.checks.errors import NotThere
    from hashrange_systems.checks.service.identity import can_be_id

    check = await services.db.check(checkid).consistent() if can_be_id(checkid) else None
    if check is None:
        raise NotThere("check")
    return check


def refuse(text: str, code: int) -> typer.Exit:
    """Say why it cannot be done."""
    typer.echo(f"error: {text}", err=True)
    return typer.Exit(code)
