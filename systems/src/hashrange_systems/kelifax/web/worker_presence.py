"""What pages, `/health` and metrics say about the background work and the search index."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.web.dependencies import Deps
from hashrange_systems.shared.application.application_type import report_presence
from hashrange_systems.shared.web.metrics import describe_workers, make_gauge, make_metrics_response
from hashrange_systems.shared.work.presence import WorkState

MAX_NAMED = 10  # resources that could not be indexed
WHAT = "The background work (mails, searches, link checks)"

router = APIRouter(include_in_schema=False)


async def describe_absence(services: Application) -> list[str]:
    """Return sentences for pages: silence is not taken for health."""
    text = (await services.presence.read()).describe(WHAT)
    return [text] if text else []


async def report_health(services: Application) -> dict[str, object]:
    """Return what `/health` says, of the system and of its host."""
    report, search = await report_presence(services.presence), services.search
    if report["healthy"] and search.problem:
        report |= {"healthy": False, "status": search.problem}
    return {
        **report,
        "search": "index" if search.is_indexed else "scan",
        "searchLagMs": int(search.lag_s * 1000),
        "searchSkipped": search.skipped,
        "searchSkippedSlugs": search.skipped_slugs[:MAX_NAMED],
    }


@router.get("/health")
async def show_health(deps: Deps) -> Response:
    """Say whether the background work is done, and the search index is complete; 503 if no worker is there."""
    report = await report_health(deps.services)
    return JSONResponse(report, 503 if report["status"] == WorkState.INTERRUPTED.value else 200)


@router.get("/metrics")
async def show_metrics(deps: Deps) -> Response:
    """Return the metrics of Prometheus."""
    services = deps.services
    facets = await services.directory.facets()
    indexed = float(services.search.is_indexed)
    metrics = [
        *describe_workers("kelifax", await services.presence.read()),
        make_gauge("kelifax_resources", "Published resources, counted within the last hour.", facets.total),
        make_gauge("kelifax_search_indexed", "1 while the index answers searches, 0 while the scan does.", indexed),
        make_gauge("kelifax_search_documents", "Documents in the search index of this process.", services.search.size),
        make_gauge("kelifax_search_skipped", "Resources that could not be indexed.", services.search.skipped),
        make_gauge("kelifax_search_lag_seconds", "Since the stream was last read to its end.", services.search.lag_s),
    ]
    return make_metrics_response(metrics)
