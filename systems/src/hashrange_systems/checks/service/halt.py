"""Takes an active check out of the schedule: paused by its owner, or shelved because its owner is suspended.

Either ends an open incident as interrupted and leaves a PAUSED sample in the history, all in one transaction: the time
until the next run is then neither up nor down. A run recorded since the check was read makes it a conflict.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hashrange_systems.checks.model.alert import forget_incident, read_memory, write_memory
from hashrange_systems.checks.model.state import interrupt, read_state, write_state
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.model.uptime import Verdict
from hashrange_systems.checks.schema import Active, Checks, Ended, Ongoing, Record, Run, SuspendedUser
from hashrange_systems.checks.service.conflict import commit
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.service.reading import read_delay
from hashrange_systems.checks.service.step import find_moment, make_incidents


async def pause_check(db: Checks, check: Active, tier: str, now: int) -> None:
    """Pause a check."""
    state, told, beside = _stop(check, tier, now)
    pause = db.pause(check, updated_at=from_ms(now), seen=check.state, state=state, told=told)
    await commit(db, [pause, *map(db.put, beside)])


async def shelve_check(db: Checks, user: SuspendedUser, check: Active, now: int) -> None:
    """Shelve a check of a user who is still suspended."""
    state, told, beside = _stop(check, user.tier, now)
    shelve = db.shelve(check, shelved_at=from_ms(now), seen=check.state, state=state, told=told)
    await commit(db, [shelve, db.is_suspended(user), *map(db.put, beside)])


def _stop(check: Active, tier: str, now: int) -> tuple[Record, Record, list[Run | Ongoing | Ended]]:
    """Return the state and memory of a check that stands still, and the items to be written with them."""
    at = find_moment(check, now)
    state, events = interrupt(read_state(check.state), at)
    told = write_memory(forget_incident(read_memory(check.told)))
    sample = Run(
        checkid=check.checkid,
        at=from_ms(at),
        result={},
        verdict=Verdict.PAUSED.value,
        delay_ms=read_delay(check),
        expires_at=from_ms(at) + timedelta(days=read_tier(tier).result_days),
    )
    return write_state(replace(state, last_at=at)), told, [sample, *make_incidents(check, events)]
