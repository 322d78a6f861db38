"""Runs an action of a command with the services of the directory, on the database of the command."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hashrange_systems.shared.cli.database_target import DatabaseTarget, find_default_url

if TYPE_CHECKING:
    from hashrange_systems.kelifax.application import Application
    from hashrange_systems.kelifax.services import Services

T = TypeVar("T")


SlugArgument = Annotated[str, typer.Argument(metavar="SLUG", help="The slug of the resource.")]


def run_with_services(target: DatabaseTarget, action: Callable[[Services], Awaitable[T]]) -> T:
    """Run an action with the services; an error is printed and sets the exit code."""
    return target.run(open_application, action)


@asynccontextmanager
async def open_application(target: DatabaseTarget, *, create: bool = True) -> AsyncIterator[Application]:
    """Open the database and build the application; `create` makes missing tables of a local one."""
    from hashrange import SystemClock
    from hashrange_systems.kelifax.application import PATTERNS, Deployment, build_application
    from hashrange_systems.kelifax.settings import read_settings
    from hashrange_systems.shared.fetching.own_address import find_endpoint

    settings, clock = read_settings(os.environ), SystemClock()
    with target.open(*(PATTERNS if create else ())) as database:
        base_url = settings.url or find_default_url("kelifax")
        directory = target.find_directory("kelifax")
        deployment = Deployment(base_url=base_url, endpoint=find_endpoint(database), directory=directory)
        application = build_application(database, clock, settings, deployment)
        try:
            yield application
        finally:
            await application.close()
