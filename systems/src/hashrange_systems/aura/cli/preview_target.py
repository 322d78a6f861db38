"""Runs an action that looks at pages and needs no database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from hashrange_systems.shared.cli.database_target import DatabaseTarget

if TYPE_CHECKING:
    from hashrange_systems.aura.service.preview import Preview

T = TypeVar("T")

DEMO_ONLY = "It is a shop of the demo, whose names only hashrange up --demo knows: explain and try it on its pages."


def run_with_preview(action: Callable[[Preview], Awaitable[T]]) -> T:
    """Run an action with the preview of this process; an error is printed and sets the exit code."""
    from hashrange import SystemClock
    from hashrange_systems.aura.application import Deployment, make_policy
    from hashrange_systems.aura.service.preview import Preview
    from hashrange_systems.aura.service.site import SiteTools, make_sandbox
    from hashrange_systems.aura.settings import read_settings
    from hashrange_systems.shared.fetching.fetcher import Fetcher

    settings = read_settings(os.environ)
    policy = make_policy(settings, Deployment(base_url=settings.url or ""))
    sandbox = make_sandbox()
    tools = SiteTools(
        fetcher=Fetcher(policy, user_agent=settings.user_agent, sandbox=sandbox),
        sandbox=sandbox,
        clock=SystemClock(),
        agent=settings.agent,
    )

    async def act() -> T:
        return await action(Preview(tools))

    try:
        with DatabaseTarget().exit_on_error():
            return asyncio.run(act())
    finally:
        sandbox.close()


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
