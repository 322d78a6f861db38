"""Thresholds for the response time of any check: a warning above one, an outage above the other."""

from __future__ import annotations

from dataclasses import replace

from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status


def evaluate_time(attributes: Attributes, outcome: Outcome) -> Outcome:
    """Return the outcome after the thresholds; they do not improve it, and an earlier warning keeps its reason."""
    time = outcome.response_time
    if time is None or not outcome.healthy:
        return outcome
    if attributes.too_slow_ms is not None and time > attributes.too_slow_ms:
        message = f"took {time} ms, allowed are {attributes.too_slow_ms}"
        return replace(outcome, status=Status.DOWN, cause=Cause.SLOW, message=message)
    if attributes.slow_ms is not None and time > attributes.slow_ms and outcome.status is Status.UP:
        message = f"took {time} ms, slow is above {attributes.slow_ms}"
        return replace(outcome, status=Status.DEGRADED, cause=Cause.SLOW, message=message)
    return outcome
