"""Checks as hashrange hosts it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hashrange_systems.checks.application import APPLICATION, Application, move_former_history
from hashrange_systems.checks.demo.demo_data import Demo
from hashrange_systems.checks.web.app import make_app
from hashrange_systems.shared.application.application_type import make_system
from hashrange_systems.shared.text import format_iso_time

log = logging.getLogger(__name__)


async def fill_demo(services: Application) -> None:
    """Write the demo data, and serve the pages that its checks request."""
    site = services.demo_site
    assert site is not None
    await site.start()
    await Demo(db=services.db, clock=services.clock, site=site.url, secure_site=site.secure_url).fill()
    log.info("the demo checks look at %s", site.url)


async def report_health(services: Application) -> Mapping[str, object]:
    """Return whether a worker of any process is there, and how late it is."""
    monitoring = await services.presence.read()
    since = None if monitoring.since is None else format_iso_time(monitoring.since)
    return {
        "healthy": monitoring.healthy,
        "monitoring": monitoring.state.value,
        "workers": len(monitoring.workers),
        "lastSeen": since,
        "lateSeconds": round(monitoring.late_ms / 1000, 1),
    }


SYSTEM = make_system(
    APPLICATION,
    title="Website checks",
    summary="Watches websites and eBay prices, keeps their history, and tells you when something changes.",
    make_app=make_app,
    fill_demo=fill_demo,
    report_health=report_health,
    prepare=move_former_history,
)
