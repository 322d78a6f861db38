"""Runs an action of a command with the services of the checks system, on the database of the command."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hashrange_systems.shared.cli.database_target import DatabaseTarget, find_default_url

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.schema import AnyCheck, User
    from hashrange_systems.checks.services import Services

T = TypeVar("T")

NOT_UP = 3  # exit code

CheckId = Annotated[str, typer.Argument(metavar="CHECK", help="The id of the check.")]
Owner = Annotated[str, typer.Option("--user", help="Whose: an e-mail address, or an id.")]


def run_with_services(target: DatabaseTarget, action: Callable[[Services], Awaitable[T]]) -> T:
    """Run an action with the services; an error is printed and sets the exit code."""
    return target.run(open_application, action)


@asynccontextmanager
async def open_application(target: DatabaseTarget, *, works: bool = False) -> AsyncIterator[Application]:
    """Open the database and build the application; one that works must agree with the others of its database."""
    from hashrange import SystemClock
    from hashrange_systems.checks.application import Deployment, agree, build_application, open_tables
    from hashrange_systems.checks.schema import Checks
    from hashrange_systems.checks.settings import read_settings
    from hashrange_systems.shared.fetching.own_address import find_endpoint

    settings, clock = read_settings(os.environ), SystemClock()
    with target.open(Checks) as database:
        directory = target.find_directory("checks")
        db = open_tables(database, clock, settings, directory)
        base_url = settings.url or find_default_url("checks")
        deployment = Deployment(base_url=base_url, endpoint=find_endpoint(database))
        application = build_application(db, clock, settings, deployment)
        try:
            if not works:
                application.outbound.apply(application.services.deployment.load_policy() or settings.allow or ())
            else:
                agree(application, settings, keys_kept=directory is not None or settings.keys is not None)
            yield application
        finally:
            application.close()


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
