"""The directory as the host runs it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hashrange import Host, System
from hashrange_systems.kelifax.application import PATTERNS, Deployment, build_application
from hashrange_systems.kelifax.demo.demo_data import ADMIN, PASSWORD, Demo
from hashrange_systems.kelifax.settings import read_settings
from hashrange_systems.kelifax.web.app import make_app
from hashrange_systems.kelifax.web.worker_presence import report_health
from hashrange_systems.shared.fetching.own_address import find_endpoint

if TYPE_CHECKING:
    from starlette.types import ASGIApp

log = logging.getLogger(__name__)


class RunningKelifax:
    """The running system."""

    def __init__(self, host: Host) -> None:
        self.settings = read_settings(host.environment)
        base_url = self.settings.url or host.base_url
        deployment = Deployment(
            base_url=base_url,
            own_ports=host.own_ports,
            endpoint=find_endpoint(host.database),
            directory=host.directory,
            demo_admin=(ADMIN, PASSWORD) if host.demo else None,
        )
        self.application = build_application(host.database, host.clock, self.settings, deployment)
        self._app = make_app(self.application.services, base_url)

    @property
    def app(self) -> ASGIApp:
        """The pages and the API."""
        return self._app

    async def work(self) -> None:
        """Do the background work until cancelled; without it, only keep the search index of this process up to date."""
        worker = self.application.worker
        if self.settings.works:
            await worker.work()
        else:
            await asyncio.gather(worker.follow_search(), self.application.services.presence.write_forever())

    async def report_health(self) -> Mapping[str, object]:
        """Return whether a worker of any process is there, how late it is, and whether the search is complete."""
        return await report_health(self.application.services)

    async def fill_demo(self) -> None:
        """Write the demo data."""
        await Demo(self.application.services).fill()
        log.info("the demo admin signs in as %s with the password %r", ADMIN, PASSWORD)

    async def close(self) -> None:
        """Release processes and files."""
        await self.application.close()


SYSTEM = System(
    name="kelifax",
    title="Resource directory",
    summary="A public directory that takes submissions, moderates them, lists and searches them.",
    patterns=PATTERNS,
    start=RunningKelifax,
)
