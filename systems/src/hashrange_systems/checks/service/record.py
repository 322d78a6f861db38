"""Writes what a run led to: the check's state, the run, its incident and its alerts, all of them or none.

Nothing is written for who has lost the lease. A database that cannot write at the moment is asked until it does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Taken, Write
from hashrange_systems.checks.model.alert import write_memory
from hashrange_systems.checks.model.outcome import write_outcome
from hashrange_systems.checks.model.state import write_state
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import ActiveUser, Alert, Channel, Check, Checks, Scheduled
from hashrange_systems.checks.service.channels import MOST_CHANNELS
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.service.patience import Sleep, insist
from hashrange_systems.checks.service.step import Step, make_alert, make_incidents, make_run

Writes = list[Write[Any]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A check that is ours to run, and the slot that it is run for; `early` when that slot is still to come."""

    check: Scheduled
    slot: int
    early: bool = False


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes steps."""

    db: Checks
    clock: Clock
    sleep: Sleep = asyncio.sleep

    async def finish(self, claim: Claim, step: Step, user: ActiveUser, next_run_at: int) -> Check | None:
        """End a run, for the check to be run again then; return the check, or None when it was no longer ours."""
        check = claim.check
        alerts = await self._queue(check, step)
        finish = self.db.finish_run(
            check,
            next_run_at=from_ms(next_run_at),
            last_executed_at=from_ms(step.at - step.at % 1000),  # in whole seconds, as it always was
            last_result=write_outcome(step.outcome),  # type: ignore[arg-type]  # the model writes a Result
            state=write_state(step.state),
            told=write_memory(step.memory),
            slot=None,
        )
        active: Writes = [self.db.is_active(user)] if alerts else []  # who is suspended meanwhile is not written to
        return await self._write([finish, *self._history(claim, step, user), *active], alerts)

    async def disable(self, claim: Claim, step: Step, user: ActiveUser, reason: str) -> Check | None:
        """End a run and all further ones; return the check, or None when it was no longer ours."""
        check = claim.check
        alerts = await self._queue(check, step)
        fail = self.db.fail_run(
            check,
            lease=check.next_run_at,
            updated_at=from_ms(step.at),
            failed_reason=reason,
            last_executed_at=from_ms(step.at - step.at % 1000),
            last_result=write_outcome(step.outcome),  # type: ignore[arg-type]  # the model writes a Result
            state=write_state(step.state),
            told=write_memory(step.memory),
        )
        active: Writes = [self.db.is_active(user)] if alerts else []
        return await self._write([fail, *self._history(claim, step, user), *active], alerts)

    def _history(self, claim: Claim, step: Step, user: ActiveUser) -> Writes:
        run = make_run(claim.check, step, read_tier(user.tier).result_days, claim.slot)
        return [self.db.put(run), *(self.db.put(incident) for incident in make_incidents(claim.check, step.events))]

    async def _queue(self, check: Check, step: Step) -> dict[str, Write[Any]]:
        """Return the alerts to write by their ids: one for each message and each channel that is to have it."""
        if not step.messages:
            return {}
        channels = await insist(lambda: self.db.channels(check.userid), self.sleep)
        chosen = [channel for channel in channels if wants_alerts(check, channel)][:MOST_CHANNELS]
        now = self.clock.millis()
        alerts = [make_alert(check, message, channel, now) for message in step.messages for channel in chosen]
        return {alert.message_id: self.db.create(alert) for alert in alerts}

    async def _write(self, writes: Writes, alerts: dict[str, Write[Any]]) -> Check | None:
        while True:
            try:
                outcomes = await insist(lambda: self.db.transact_all([*writes, *alerts.values()]), self.sleep)
            except Taken as taken:
                if not isinstance(taken.current, Alert):
                    raise
                del alerts[taken.current.message_id]  # it is queued already, or even sent
            except Conflict:
                return None
            else:
                check: Check = outcomes[0]
                return check


def wants_alerts(check: Check, channel: Channel) -> bool:
    """Whether a channel is to be told of a check: it is verified, and chosen or all are."""
    return channel.verified_at is not None and (check.channels is None or channel.channel_id in check.channels)
