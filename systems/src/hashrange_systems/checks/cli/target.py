"""Which database a command uses, and the exit code when it is not available or the system refuses."""

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
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.schema import AnyCheck, User
    from hashrange_systems.checks.services import Services

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
class DatabaseTarget:
    """The database that a command uses."""

    data: Path | None = None
    endpoint: str | None = None

    def find_directory(self) -> Path | None:
        """Return the directory of the system's keys and secret; for a local database it is created."""
        directory = (self.data or USUAL_DATA) / "checks"
        if self.endpoint is not None and self.data is None:
            return directory if directory.is_dir() else None
        directory.mkdir(parents=True, exist_ok=True)
        return directory


def serve(target: DatabaseTarget, action: Callable[[Services], Awaitable[T]]) -> T:
    """Run an action with the services; an error is printed and sets the exit code."""

    async def act() -> T:
        with open_application(target) as application:
            return await action(application.services)

    with exit_on_error(target):
        return asyncio.run(act())


@contextmanager
def exit_on_error(target: DatabaseTarget) -> Iterator[None]:
    """Print an error of the block in one sentence, and exit with its code."""
    from hashrange import DirectoryInUse, HashrangeError, ResourceNotFoundException
    from hashrange_systems.shared.errors import ApplicationError

    try:
        yield
    except ApplicationError as error:
        raise refuse(str(error), REFUSED) from error
    except DirectoryInUse as error:
        hint = "If that is hashrange up or serve, work through it: --endpoint http://127.0.0.1:8000"
        raise refuse(f"{error}\n{hint}", NO_DATABASE) from error
    except ResourceNotFoundException as error:
        start = f"hashrange up --endpoint {target.endpoint}" if target.endpoint else "hashrange up"
        raise refuse(f"The tables are not there: {start} makes them.", NO_DATABASE) from error
    except HashrangeError as error:
        raise refuse(str(error), NO_DATABASE) from error


@contextmanager
def open_application(target: DatabaseTarget) -> Iterator[Application]:
    """Open the database and build the application."""
    from hashrange import SystemClock
    from hashrange_systems.checks.application import Deployment, build_application, open_tables
    from hashrange_systems.checks.settings import read_settings

    settings, clock = read_settings(os.environ), SystemClock()
    with open_database(target) as database:
        db = open_tables(database, clock, settings, target.find_directory())
        application = build_application(db, clock, settings, Deployment(base_url=settings.url or USUAL_URL))
        try:
            yield application
        finally:
            application.close()


@contextmanager
def open_database(target: DatabaseTarget) -> Iterator[Transport]:
    """Open the database; missing tables are created in a local one."""
    from hashrange import connect, create_tables
    from hashrange import open as open_directory
    from hashrange_systems.checks.schema import Checks

    if target.endpoint is None:
        with open_directory(target.data or USUAL_DATA) as database:
            create_tables(database, Checks)
            yield database
        return
    if target.endpoint != "aws" and not target.endpoint.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--endpoint {target.endpoint} is neither a URL, http://127.0.0.1:8000, nor aws")
    try:
        remote = connect(None if target.endpoint == "aws" else target.endpoint)
    except ImportError as missing:
        raise refuse(str(missing), NO_DATABASE) from missing
    with remote:
        yield remote


async def find_user(services: Services, name: str) -> User:
    """Return the user with this e-mail address or id."""
    return await (services.users.by_email(name) if "@" in name else services.users.find(name))


async def find_check(services: Services, checkid: str) -> AnyCheck:
    """Return a check of any user."""
    from hashrange_systems.shared.errors import ResourceMissing
    from hashrange_systems.shared.identifier import is_valid_id

    check = await services.db.check(checkid).consistent() if is_valid_id(checkid) else None
    if check is None:
        raise ResourceMissing("check")
    return check


def refuse(text: str, code: int) -> typer.Exit:
    """Print an error; return the exit."""
    typer.echo(f"error: {text}", err=True)
    return typer.Exit(code)
