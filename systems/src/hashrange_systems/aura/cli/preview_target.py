"""Runs an action that looks at pages: without a database of its own, and so with nothing stored."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from hashrange_systems.shared.cli.database_target import DatabaseTarget, find_default_url

if TYPE_CHECKING:
    from hashrange_systems.aura.service.preview import Preview

T = TypeVar("T")

DEMO_ONLY = "It is a shop of the demo, whose names only hashrange up --demo knows: explain and try it on its pages."


def run_with_preview(action: Callable[[Preview], Awaitable[T]]) -> T:
    """Run an action with the preview of an empty database in memory; an error is printed and sets the exit code."""
    from hashrange import Host, SystemClock, create_tables
    from hashrange import open as open_in_memory
    from hashrange_systems.aura.application import APPLICATION, PATTERNS

    async def act() -> T:
        with open_in_memory() as database:
            create_tables(database, *PATTERNS)
            host = Host(
                database=database,
                clock=SystemClock(),
                directory=None,
                base_url=find_default_url("aura"),
                demo=False,
                own_ports=frozenset(),
                environment=os.environ,
            )
            application = APPLICATION.open(host, is_command=True)
            try:
                return await action(application.preview)
            finally:
                await application.runtime.close()

    with DatabaseTarget().exit_on_error():
        return asyncio.run(act())


async def say_where_demo_is(address: str, look: Awaitable[T]) -> T:
    """Return what a look at an address found; the error for a shop of the demo says who can reach it."""
    from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN
    from hashrange_systems.aura.errors import FetchRefused
    from hashrange_systems.aura.model.domain import fold_domain

    try:
        return await look
    except FetchRefused as error:
        if fold_domain(address) not in BY_DOMAIN:
            raise
        raise FetchRefused(f"{str(error).rstrip('.')}. {DEMO_ONLY}") from error
