"""The aura system as the host runs it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hashrange import Host, System
from hashrange_systems.aura.application import Deployment, build_application, open_tables
from hashrange_systems.aura.demo.demo_data import EMAIL, Demo
from hashrange_systems.aura.demo.demo_server import DemoResolver, DemoServer
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.settings import Settings, read_settings
from hashrange_systems.aura.web.app import make_app
from hashrange_systems.aura.web.run_now import RunNow
from hashrange_systems.aura.work_schema import Work
from hashrange_systems.shared.fetching.own_address import find_endpoint
from hashrange_systems.shared.fetching.resolver import SystemResolver

if TYPE_CHECKING:
    from starlette.types import ASGIApp

log = logging.getLogger(__name__)

DEMO_INTERVAL = timedelta(minutes=3)  # the prices of the demo change that often
DEMO_DELAY_S = 0.05
FREE_SHOP = "silber-lang.test"  # which the demo data do not have


class RunningAura:
    """The running system."""

    def __init__(self, host: Host) -> None:
        self.settings = read_settings(host.environment)
        self.demo_server = DemoServer(host.clock, self.settings.demo_port) if host.demo else None
        settings = apply_demo_pace(self.settings) if host.demo else self.settings
        base_url = self.settings.url or host.base_url
        deployment = Deployment(
            base_url=base_url,
            own_ports=host.own_ports,
            endpoint=find_endpoint(host.database),
            demo=host.demo,
            demo_email=EMAIL if host.demo else None,
            demo_shop=self.demo_server.find_url(FREE_SHOP) if self.demo_server else None,
            resolver=DemoResolver(SystemResolver()) if host.demo else None,
        )
        tables = open_tables(host.database, host.clock, settings, host.directory)
        self.application = build_application(tables, host.clock, settings, deployment)
        self.run_now = RunNow(self.application.services)
        self._app = make_app(self.application.services, base_url, self.run_now)
        if "EMAIL" not in self.application.services.senders:
            log.warning("no e-mails are sent: set AURA_SMTP_URL")

    @property
    def app(self) -> ASGIApp:
        """The pages and the API."""
        return self._app

    async def work(self) -> None:
        """Crawl, scrape and notify until cancelled; return at once if another process does."""
        if self.settings.works:
            await self.application.worker.work()

    async def fill_demo(self) -> None:
        """Write the demo data, and serve the demo shops."""
        assert self.demo_server is not None
        await self.demo_server.start()
        await Demo(self.application.services, self.demo_server).fill()
        log.info("the demo shops are served on port %s", self.demo_server.port)

    async def report_health(self) -> Mapping[str, object]:
        """Return what the workers do, for `/health` of the host."""
        report = await self.application.services.health.report()
        return {"healthy": report.healthy, "workers": len(report.workers), "problems": list(report.problems)}

    async def close(self) -> None:
        """Release ports, processes and files."""
        await self.run_now.close()
        self.application.close()
        if self.demo_server is not None:
            await self.demo_server.close()


def apply_demo_pace(settings: Settings) -> Settings:
    """Return the settings of the demo, whose shops are on this machine and change often."""
    return replace(settings, crawl_every=DEMO_INTERVAL, scrape_every=DEMO_INTERVAL, delay_s=DEMO_DELAY_S)


SYSTEM = System(
    name="aura",
    title="Antique shops",
    summary="Crawls antique shops, reads their products and prices, keeps their history, and reports what changed.",
    patterns=(Aura, Work),
    start=RunningAura,
)
