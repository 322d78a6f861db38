"""Runs an action of a command with the services of aura, on the database of the command."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hashrange_systems.shared.cli.database_target import DatabaseTarget, find_default_url

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.aura.services import Services

T = TypeVar("T")

FAILED = 1  # exit code

ShopName = Annotated[str, typer.Argument(metavar="SHOP", help="The domain of the shop, or its URL.")]
PageUrl = Annotated[str, typer.Argument(metavar="URL", help="The URL of the page.")]
Country = Annotated[str | None, typer.Option("--country", help="ISO code: DE, FR, GB ...")]


def run_with_services(target: DatabaseTarget, action: Callable[[Services], Awaitable[T]]) -> T:
    """Run an action with the services; an error is printed and sets the exit code."""
    return target.run(open_application, action)


@asynccontextmanager
async def open_application(target: DatabaseTarget) -> AsyncIterator[Application]:
    """Open the database and build the application."""
    from hashrange import SystemClock
    from hashrange_systems.aura.application import Deployment, build_application, open_tables
    from hashrange_systems.aura.schema import Aura
    from hashrange_systems.aura.settings import read_settings
    from hashrange_systems.aura.work_schema import Work, checkpoints
    from hashrange_systems.shared.fetching.own_address import find_endpoint

    settings, clock = read_settings(os.environ), SystemClock()
    with target.open(Aura, Work, checkpoints) as database:
        tables = open_tables(database, clock, settings, target.find_directory("aura"))
        base_url = settings.url or find_default_url("aura")
        deployment = Deployment(base_url=base_url, endpoint=find_endpoint(database))
        application = build_application(tables, clock, settings, deployment)
        try:
            yield application
        finally:
            application.close()
