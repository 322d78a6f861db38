"""Unschedules an active check: paused by its owner, or because its owner is suspended.

Both end an open incident as interrupted and add a PAUSED sample to the history, in one transaction: the time until the
next run is neither up nor down. A run recorded since the check was read is a conflict.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hashrange_systems.checks.model.alert import forget_incident, read_alert_history, write_alert_history
from hashrange_systems.checks.model.state import interrupt, read_state, write_state
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.model.uptime import Verdict
from hashrange_systems.checks.schema import Active, Checks, Ended, Ongoing, Record, Run, SuspendedUser
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.checks.service.run_outcome import make_incidents, run_time
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.shared.epoch import from_ms


async def pause_check(db: Checks, check: Active, tier: str, now: int) -> None:
    """Pause a check."""
    state, told, beside = _stop(check, tier, now)
    pause = db.pause(check, updated_at=from_ms(now), seen=check.state, state=state, told=told)
    await commit(db, [pause, *map(db.put, beside)])


async def suspend_schedule(db: Checks, user: SuspendedUser, check: Active, now: int) -> None:
    """Unschedule a check of a user who is still suspended."""
    state, told, beside = _stop(check, user.tier, now)
    suspend_check = db.suspend_check(check, shelved_at=from_ms(now), seen=check.state, state=state, told=told)
    await commit(db, [suspend_check, db.is_suspended(user), *map(db.put, beside)])


def _stop(check: Active, tier: str, now: int) -> tuple[Record, Record, list[Run | Ongoing | Ended]]:
    """Return the state and alert history of an unscheduled check, and the items to write with them."""
    at = run_time(check, now)
    state, events = interrupt(read_state(check.state), at)
    told = write_alert_history(forget_incident(read_alert_history(check.told)))
    sample = Run(
        checkid=check.checkid,
        at=from_ms(at),
        result={},
        verdict=Verdict.PAUSED.value,
        delay_ms=read_delay(check),
        expires_at=from_ms(at) + timedelta(days=read_tier(tier).result_days),
    )
    return write_state(replace(state, last_at=at)), told, [sample, *make_incidents(check, events)]
