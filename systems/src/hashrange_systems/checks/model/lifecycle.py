"""When a check is disabled by itself (status FAILED): what it asks for cannot be done, now or ever again."""

from __future__ import annotations

from hashrange_systems.checks.model.fetched import Cause
from hashrange_systems.checks.model.kind import Reading
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.model.state import Phase, State

GONE = 410
PATIENCE_MS = 3 * 86_400_000


def find_reason_to_disable(reading: Reading, outcome: Outcome | None, state: State, at: int) -> str | None:
    """Return why the check should become FAILED, or None while it should go on."""
    if not reading.runnable:
        return "; ".join(str(fault) for fault in reading.faults)
    if outcome is None:
        return None
    if outcome.cause is Cause.REFUSED:
        return outcome.message or "the address is one that we do not visit"
    if state.phase is Phase.DOWN and is_hopeless(outcome) and at - (state.since or at) >= PATIENCE_MS:
        return "the page is gone for good" if outcome.http_status == GONE else "the host has not existed for days"
    return None


def is_hopeless(outcome: Outcome) -> bool:
    """Whether the failure is one that does not go away by waiting."""
    return outcome.http_status == GONE or outcome.cause is Cause.NAME
