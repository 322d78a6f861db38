"""Writes the result of a run in one transaction: the check's state, the run, its incident and its alerts.

Nothing is written after the lease was lost. Transient errors of the database are retried.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Taken, Write
from hashrange_systems.checks.model.alert import write_alert_history
from hashrange_systems.checks.model.outcome import write_outcome
from hashrange_systems.checks.model.state import write_state
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import ActiveUser, Alert, AlertTarget, Check, Checks, Scheduled
from hashrange_systems.checks.service.channels import MAX_CHANNELS
from hashrange_systems.checks.service.run_outcome import RunOutcome, make_alert, make_incidents, make_run
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.work.retry import Sleep, retry_transient

Writes = list[Write[Any]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed check and its due time; `early` if that is in the future."""

    check: Scheduled
    due_at: int
    early: bool = False


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes the results of runs."""

    db: Checks
    clock: Clock
    sleep: Sleep = asyncio.sleep

    async def finish(self, claim: Claim, run_outcome: RunOutcome, user: ActiveUser, next_run_at: int) -> Check | None:
        """Finish a run and schedule the next; return the check, or None if the lease was lost."""
        check = claim.check
        alerts = await self._queue(check, run_outcome)
        finish = self.db.finish_run(
            check,
            next_run_at=from_ms(next_run_at),
            last_executed_at=from_ms(run_outcome.at - run_outcome.at % 1000),  # whole seconds, for the original system
            last_result=write_outcome(run_outcome.outcome),  # type: ignore[arg-type]  # the model writes a Result
            state=write_state(run_outcome.state),
            alert_history=write_alert_history(run_outcome.alert_history),
            due_at=None,
        )
        active: Writes = [self.db.is_active(user)] if alerts else []  # no alerts to suspended users
        return await self._write([finish, *self._history(claim, run_outcome, user), *active], alerts)

    async def disable(self, claim: Claim, run_outcome: RunOutcome, user: ActiveUser, reason: str) -> Check | None:
        """Finish a run and disable the check; return the check, or None if the lease was lost."""
        check = claim.check
        alerts = await self._queue(check, run_outcome)
        fail = self.db.fail_run(
            check,
            lease=check.next_run_at,
            updated_at=from_ms(run_outcome.at),
            failed_reason=reason,
            last_executed_at=from_ms(run_outcome.at - run_outcome.at % 1000),
            last_result=write_outcome(run_outcome.outcome),  # type: ignore[arg-type]  # the model writes a Result
            state=write_state(run_outcome.state),
            alert_history=write_alert_history(run_outcome.alert_history),
        )
        active: Writes = [self.db.is_active(user)] if alerts else []
        return await self._write([fail, *self._history(claim, run_outcome, user), *active], alerts)

    def _history(self, claim: Claim, run_outcome: RunOutcome, user: ActiveUser) -> Writes:
        run = make_run(claim.check, run_outcome, read_tier(user.tier).result_days, claim.due_at)
        return [
            self.db.put(run),
            *(self.db.put(incident) for incident in make_incidents(claim.check, run_outcome.events)),
        ]

    async def _queue(self, check: Check, run_outcome: RunOutcome) -> dict[str, Write[Any]]:
        """Return the alerts to write, by id: one for each message and channel."""
        if not run_outcome.messages:
            return {}
        channels = await retry_transient(lambda: self.db.alert_targets(check.userid), self.sleep)
        chosen = [channel for channel in channels if wants_alerts(check, channel)][:MAX_CHANNELS]
        now = self.clock.millis()
        alerts = [make_alert(check, message, channel, now) for message in run_outcome.messages for channel in chosen]
        return {alert.message_id: self.db.create(alert) for alert in alerts}

    async def _write(self, writes: Writes, alerts: dict[str, Write[Any]]) -> Check | None:
        while True:
            try:
                outcomes = await retry_transient(lambda: self.db.transact_all([*writes, *alerts.values()]), self.sleep)
            except Taken as taken:
                if not isinstance(taken.current, Alert):
                    raise
                del alerts[taken.current.message_id]  # already queued or sent
            except Conflict:
                return None
            else:
                check: Check = outcomes[0]
                return check


def wants_alerts(check: Check, channel: AlertTarget) -> bool:
    """Return whether a channel receives the alerts of a check: it is verified, and chosen or all are."""
    return channel.verified_at is not None and (check.channels is None or channel.channel_id in check.channels)
