"""What pages, `/health` and metrics say about the background work and the search index."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from hashrange_systems.kelifax.services import Services
from hashrange_systems.kelifax.web.dependencies import Deps
from hashrange_systems.shared.presence import WorkState
from hashrange_systems.shared.web.metrics import describe_workers, make_gauge, make_metrics_response

WHAT = "The background work (mails, searches, link checks)"

router = APIRouter(include_in_schema=False)


async def describe_absence(services: Services) -> list[str]:
    """Return sentences for pages: silence is not taken for health."""
    text = (await services.presence.read()).describe(WHAT)
    return [text] if text else []


@router.get("/health")
async def show_health(deps: Deps) -> Response:
    """Say whether the background work is done, and the search index follows; 503 if no worker is there."""
    monitoring = await deps.services.presence.read()
    broken = monitoring.state is WorkState.INTERRUPTED
    search = deps.services.search
    work = "ok" if monitoring.healthy else monitoring.state.value
    report = {
        "status": "search behind" if search.is_behind and monitoring.healthy else work,
        "workers": len(monitoring.workers),
        "lateMs": monitoring.late_ms,
        "search": "index" if search.is_indexed else "scan",
        "searchLagMs": int(search.lag_s * 1000),
        "searchSkipped": search.skipped,
    }
    return JSONResponse(report, 503 if broken else 200)


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
