"""Health and metrics, for machines: 503 while no worker is alive or something is stuck. Neither names a shop."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client.core import Metric
from starlette.responses import JSONResponse, Response

from hashrange_systems.aura.service.damaged_shops import COMMAND
from hashrange_systems.aura.service.health import HealthReport
from hashrange_systems.aura.web.dependencies import Deps
from hashrange_systems.shared.web.metrics import describe_workers, make_gauge, make_metrics_response

router = APIRouter(include_in_schema=False)


@router.get("/health")
async def read_health(deps: Deps) -> Response:
    """Return whether the background work is done; 503 if it is not."""
    report = await deps.services.health.report()
    body = {
        "status": "ok" if report.healthy else "unhealthy",
        "problems": list(report.problems),
        "workers": len(report.workers),
        "lateMs": report.monitoring.late_ms,
        "dueCrawls": report.due_crawls,
        "dueScrapes": report.due_scrapes,
        "stuck": report.stuck,
        "damagedShops": report.damaged,
    }
    return JSONResponse(body, 200 if report.healthy else 503)


@router.get("/metrics")
async def read_metrics(deps: Deps) -> Response:
    """Return the metrics in the text format of Prometheus."""
    return make_metrics_response(list_metrics(await deps.services.health.report()))


def list_metrics(report: HealthReport) -> list[Metric]:
    """Return the metrics of a report."""
    return [
        *describe_workers("aura", report.monitoring),
        make_gauge("aura_healthy", "1 while a worker is alive and nothing is stuck.", float(report.healthy)),
        make_gauge("aura_due_crawls", "Shops that wait for a crawl.", report.due_crawls),
        make_gauge("aura_due_scrapes", "Shops that wait for a scrape.", report.due_scrapes),
        make_gauge("aura_stuck", "Crawls and scrapes whose worker has vanished.", report.stuck),
        make_gauge("aura_damaged_shops", f"Shops that are not worked on: {COMMAND} names them.", report.damaged),
    ]
