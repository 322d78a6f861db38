"""What a certificate or a registration that ends means: a warning before the end, an outage after it."""

from __future__ import annotations

from dataclasses import replace

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status


def evaluate_expiry(outcome: Outcome, days: int, warning_days: int, what: str, cause: Cause) -> Outcome:
    """Return the outcome with the days left: DEGRADED below the warning time, DOWN after the end."""
    if days < 0:
        return replace(outcome, status=Status.DOWN, cause=cause, message=f"{what} expired {count_days(-days)} ago")
    if days < warning_days:
        return replace(outcome, status=Status.DEGRADED, cause=cause, message=f"{what} expires in {count_days(days)}")
    return outcome


def count_days(days: int) -> str:
    """Format a number of days."""
    return "1 day" if days == 1 else f"{days} days"
