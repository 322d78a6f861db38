"""Unschedules an active check: paused by its owner, or because its owner is suspended.

Both end an open incident as interrupted and add a PAUSED sample to the history, in one transaction: the time until the
next run is neither up nor down. A run recorded since the check was read is a conflict.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hashrange_systems.checks.field_types import Record
from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
from hashrange_systems.checks.model.alert import forget_incident, read_alert_history, write_alert_history
from hashrange_systems.checks.model.state import interrupt, read_state, write_state
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.model.uptime import Verdict
from hashrange_systems.checks.schema import Active, Checks, SuspendedUser
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.run_outcome import make_incidents, run_time
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.shared.epoch import from_ms


async def pause_check(db: Checks, check: Active, tier: str, now: int) -> None:
    """Pause a check."""
    state, alert_history, beside = _stop(check, tier, now)
    pause = db.pause(check, updated_at=from_ms(now), seen=check.state, state=state, alert_history=alert_history)
    await commit(db, [pause, *map(db.put, beside)])


async def suspend_schedule(db: Checks, user: SuspendedUser, check: Active, now: int) -> None:
    """Unschedule a check of a user who is still suspended."""
    state, alert_history, beside = _stop(check, user.tier, now)
    suspend_check = db.suspend_check(
        check, suspended_at=from_ms(now), seen=check.state, state=state, alert_history=alert_history
    )
    await commit(db, [suspend_check, db.is_suspended(user), *map(db.put, beside)])


def _stop(check: Active, tier: str, now: int) -> tuple[Record, Record, list[Run | Ongoing | Ended]]:
    """Return the state and alert history of an unscheduled check, and the items to write with them."""
    at = run_time(check, now)
    state, events = interrupt(read_state(check.state), at)
    alert_history = write_alert_history(forget_incident(read_alert_history(check.alert_history)))
    sample = Run(
        checkid=check.checkid,
        at=from_ms(at),
        result={},
        verdict=Verdict.PAUSED.value,
        delay_ms=read_delay(check),
        expires_at=from_ms(at) + timedelta(days=read_tier(tier).result_days),
    )
    return write_state(replace(state, last_at=at)), alert_history, [sample, *make_incidents(check, events)]
