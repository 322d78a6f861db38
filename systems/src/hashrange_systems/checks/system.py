"""The checks system as the host runs it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hashrange import Host, System
from hashrange_systems.checks.application import Deployment, agree, build_application, open_tables
from hashrange_systems.checks.demo.demo_data import Demo
from hashrange_systems.checks.demo.demo_site import DemoSite
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.settings import read_settings
from hashrange_systems.checks.web.app import make_app
from hashrange_systems.shared.fetching.own_address import find_endpoint
from hashrange_systems.shared.text import format_iso_time

if TYPE_CHECKING:
    from starlette.types import ASGIApp

log = logging.getLogger(__name__)


class RunningChecks:
    """The running system."""

    def __init__(self, host: Host) -> None:
        self.settings = read_settings(host.environment)
        self.site = DemoSite(host.clock, self.settings.demo_port) if host.demo else None
        base_url = self.settings.url or host.base_url
        deployment = Deployment(
            base_url=base_url,
            own_ports=host.own_ports,
            endpoint=find_endpoint(host.database),
            site=self.site,
        )
        db = open_tables(host.database, host.clock, self.settings, host.directory)
        self.application = build_application(db, host.clock, self.settings, deployment)
        kept = host.directory is not None or self.settings.keys is not None
        agree(self.application, self.settings, keys_kept=kept, demo=host.demo)
        self._app = make_app(self.application.services, base_url)
        if "EMAIL" not in self.application.services.senders:
            log.warning("no e-mails are sent: set CHECKS_SMTP_URL")

    @property
    def app(self) -> ASGIApp:
        """The pages and the API."""
        return self._app

    async def work(self) -> None:
        """Work until cancelled: presence, and checks and alerts unless other processes do that."""
        await self.application.work()

    async def report_health(self) -> Mapping[str, object]:
        """Return whether a worker of any process is there, and how late it is."""
        monitoring = await self.application.services.presence.read()
        since = None if monitoring.since is None else format_iso_time(monitoring.since)
        return {
            "healthy": monitoring.healthy,
            "monitoring": monitoring.state.value,
            "workers": len(monitoring.workers),
            "lastSeen": since,
            "lateSeconds": round(monitoring.late_ms / 1000, 1),
        }

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
