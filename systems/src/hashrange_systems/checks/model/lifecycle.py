"""When a check is disabled automatically (status FAILED): it cannot work, now or later."""

from __future__ import annotations

from hashrange_systems.checks.model.attributes import ParsedAttributes
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.model.state import Phase, State
from hashrange_systems.shared.epoch import DAY_MS

GONE = 410
DISABLE_AFTER_MS = 3 * DAY_MS


def find_reason_to_disable(reading: ParsedAttributes, outcome: Outcome | None, state: State, at: int) -> str | None:
    """Return why the check must be disabled; None if it must not."""
    if not reading.runnable:
        return "; ".join(str(error) for error in reading.errors)
    if outcome is None:
        return None
    if state.refused_since is not None and at - state.refused_since >= DISABLE_AFTER_MS:
        return outcome.message or "a forbidden address"
    if state.phase is Phase.DOWN and is_permanent(outcome) and at - (state.since or at) >= DISABLE_AFTER_MS:
        return "the page is gone for good" if outcome.http_status == GONE else "the host has not existed for days"
    return None


def is_permanent(outcome: Outcome) -> bool:
    """Return whether a failure is permanent."""
    return outcome.http_status == GONE or outcome.cause is Cause.NAME
