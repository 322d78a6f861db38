"""Prometheus metrics of the caller's checks: `/api/metrics` with an API key as bearer token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastapi import APIRouter
from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.responses import Response

from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.state import find_open_incident, read_state
from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.schema import AnyCheck
from hashrange_systems.checks.web.api.api_authentication import Caller, Deps
from hashrange_systems.checks.web.check_view import is_overdue, read_last
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.web.metrics import make_metrics_response
from hashrange_systems.shared.work.presence import Monitoring, WorkState

LABELS = ("check", "name", "type", "group")
GAUGES = {
    "hashrange_check_up": "1 if it is up or degraded, 0 if it is down; absent while that is not known.",
    "hashrange_check_degraded": "1 if the last run had a warning.",
    "hashrange_check_active": "1 if the check is run, 0 if it is paused or disabled.",
    "hashrange_check_incident_open": "1 while an incident is confirmed and not over.",
    "hashrange_check_last_run_timestamp_seconds": "When it was run last.",
    "hashrange_check_response_seconds": "The response time of the last run, or the duration of a job.",
    "hashrange_check_certificate_days": "Days until the certificate expires.",
    "hashrange_check_domain_days": "Days until the registration of the domain expires.",
    "hashrange_check_price": "The lowest price, in the smallest unit of its currency.",
}

router = APIRouter(tags=["metrics"])


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def read_metrics(deps: Deps, caller: Caller) -> Response:
    """Return the state of your checks in the text format of Prometheus."""
    checks = await deps.services.checks.list_by_user(caller.userid)
    monitoring = await deps.services.presence.read()
    return make_metrics_response(describe_checks(checks, deps.services.clock.millis(), monitoring))


def describe_checks(checks: Sequence[AnyCheck], now: int, monitoring: Monitoring) -> Iterator[Metric]:
    """Yield each gauge with the values of all checks that have one."""
    values = [(label_check(check), measure_check(check, is_current(check, now, monitoring))) for check in checks]
    for name, text in GAUGES.items():
        gauge = GaugeMetricFamily(name, text, labels=LABELS)
        for labels, measured in values:
            if (value := measured.get(name)) is not None:
                gauge.add_metric(labels, value)
        yield gauge


def label_check(check: AnyCheck) -> list[str]:
    """Return the labels of a check."""
    return [check.checkid, name_check(check), check.check_type, check.group or ""]


def is_current(check: AnyCheck, now: int, monitoring: Monitoring) -> bool:
    """Return whether the last result of a check says something about now: it is run, and not overdue."""
    interrupted = monitoring.state is WorkState.INTERRUPTED and monitoring.since is not None
    return check.status == "ACTIVE" and not interrupted and not is_overdue(check, now)


def measure_check(check: AnyCheck, current: bool) -> dict[str, float | None]:
    """Return the values of a check by gauge; whether it is up, only if its last result is current."""
    outcome = read_last(check) or Outcome(status=Status.UNKNOWN)
    known = current and outcome.status is not Status.UNKNOWN
    last = check.last_executed_at
    return {
        "hashrange_check_up": float(outcome.healthy) if known else None,
        "hashrange_check_degraded": float(outcome.status is Status.DEGRADED) if known else None,
        "hashrange_check_active": float(check.status == "ACTIVE"),
        "hashrange_check_incident_open": float(find_open_incident(read_state(check.state)) is not None),
        "hashrange_check_last_run_timestamp_seconds": None if last is None else to_ms(last) / 1000,
        "hashrange_check_response_seconds": None if outcome.answer_time is None else outcome.answer_time / 1000,
        "hashrange_check_certificate_days": outcome.certificate_days,
        "hashrange_check_domain_days": outcome.domain_days,
        "hashrange_check_price": outcome.price,
    }
