"""The checks system as the host runs it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hashrange import Host, System
from hashrange_systems.checks.application import Deployment, build_application, open_tables
from hashrange_systems.checks.demo.demo_data import Demo
from hashrange_systems.checks.demo.demo_site import DemoSite
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.settings import read_settings
from hashrange_systems.checks.web.app import make_app

if TYPE_CHECKING:
    from starlette.types import ASGIApp

log = logging.getLogger(__name__)


class RunningChecks:
    """The running system."""

    def __init__(self, host: Host) -> None:
        self.settings = read_settings(host.environment)
        self.site = DemoSite(host.clock, self.settings.demo_port) if host.demo else None
        base_url = self.settings.url or host.base_url
        deployment = Deployment(base_url=base_url, own_ports=host.own_ports, site=self.site)
        db = open_tables(host.database, host.clock, self.settings, host.directory)
        self.application = build_application(db, host.clock, self.settings, deployment)
        self._app = make_app(self.application.services, base_url)
        if "EMAIL" not in self.application.services.senders:
            log.warning("no e-mails are sent: set CHECKS_SMTP_URL")

    @property
    def app(self) -> ASGIApp:
        """The pages and the API."""
        return self._app

    async def work(self) -> None:
        """Run checks and send alerts until cancelled; return at once if another process does."""
        if self.settings.works:
            await self.application.worker.work()

    async def fill_demo(self) -> None:
        """Write the demo data, and serve the pages that its checks request."""
        assert self.site is not None
        await self.site.start()
        services = self.application.services
        demo = Demo(db=services.db, clock=services.clock, site=self.site.url, secure_site=self.site.secure_url)
        await demo.fill()
        log.info("the demo checks look at %s", self.site.url)

    async def close(self) -> None:
        """Release ports, threads and files."""
        self.application.close()
        if self.site is not None:
            await self.site.close()


SYSTEM = System(
    name="checks",
    title="Website checks",
    summary="Watches websites and eBay prices, keeps their history, and tells you when something changes.",
    patterns=(Checks,),
    start=RunningChecks,
)
