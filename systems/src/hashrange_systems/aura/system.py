"""Aura as hashrange hosts it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hashrange_systems.aura.application import APPLICATION, Application, move_former_accounts
from hashrange_systems.aura.demo.demo_data import Demo
from hashrange_systems.aura.web.app import make_app
from hashrange_systems.shared.application.application_type import make_system

log = logging.getLogger(__name__)


async def fill_demo(services: Application) -> None:
    """Serve the demo shops, and write the demo data."""
    demo_server = services.demo_server
    assert demo_server is not None
    await demo_server.start()
    await Demo(services, demo_server).fill()
    log.info("the demo shops are served on port %s", demo_server.port)


async def report_health(services: Application) -> Mapping[str, object]:
    """Return what the workers do, for `/health` of the host."""
    report = await services.health.report()
    return {"healthy": report.healthy, "workers": len(report.workers), "problems": list(report.problems)}


SYSTEM = make_system(
    APPLICATION,
    title="Antique shops",
    summary="Crawls antique shops, reads their products and prices, keeps their history, and reports what changed.",
    make_app=make_app,
    fill_demo=fill_demo,
    report_health=report_health,
    prepare=move_former_accounts,
)
