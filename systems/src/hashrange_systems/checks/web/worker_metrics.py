"""Prometheus metrics of the workers, for the operator: no sign-in, and nothing about users or their checks."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from hashrange_systems.checks.web.dependencies import Deps
from hashrange_systems.shared.web.metrics import describe_workers, make_metrics_response

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
async def show_metrics(deps: Deps) -> Response:
    """Return how many workers are present, when one was last seen, and how late they are."""
    return make_metrics_response(describe_workers("checks", await deps.services.presence.read()))
