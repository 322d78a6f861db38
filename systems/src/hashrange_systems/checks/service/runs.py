"""Claims, probes and finishes due checks. `run_outcome` computes the result, `run_recorder` writes it.

A claim moves the check to the end of a lease and stores the due time that it is for. Only the holder of the lease can
finish, so no run is recorded twice; if a worker dies, the lease ends and the run is repeated.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Protocol

from hashrange import Clock, Conflict
from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.lifecycle import find_reason_to_disable
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.model.response_time import evaluate_time
from hashrange_systems.checks.model.schedule import next_due_time, retry_due_time
from hashrange_systems.checks.model.state import Event, State, is_confirming
from hashrange_systems.checks.registry import CHECK_TYPES, read_attributes
from hashrange_systems.checks.schema import ActiveUser, Check, Checks, Due, Scheduled
from hashrange_systems.checks.service.run_outcome import RunOutcome, disable_outcome, evaluate_run, run_time
from hashrange_systems.checks.service.run_recorder import Claim, Recorder
from hashrange_systems.checks.service.stored_options import read_delay
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.work.presence import Presence
from hashrange_systems.shared.work.retry import Sleep, retry_transient

LEASE_MS = 60_000  # longer than any probe takes, and no longer than two of the shortest delays


class Probe(Protocol):
    """Probes a target."""

    async def probe(self, url: str, attributes: Attributes, tenant: str) -> Outcome:
        """Return the outcome of one probe of a tenant's check; raise nothing."""
        ...


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of a run; `disabled` is the reason if the check became FAILED."""

    check: Check
    outcome: Outcome
    events: tuple[Event, ...]
    disabled: str | None = None


@dataclass(slots=True)
class Runs:
    """Claims, probes and finishes; any number of processes may share a database."""

    db: Checks
    clock: Clock
    prober: Probe
    lease_ms: int = LEASE_MS
    sleep: Sleep = asyncio.sleep
    presence: Presence[Any] | None = None  # says when no worker was there
    _recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self._recorder = Recorder(self.db, self.clock, self.sleep)

    async def claim(self, due: Due | Scheduled) -> Claim | None:
        """Claim a check for the time of a lease; None if it is running, another worker was faster, or it was deleted.

        A run whose worker died keeps its due time.
        """
        now = self.clock.millis()
        if isinstance(due, Scheduled) and due.due_at is not None and to_ms(due.next_run_at) > now:
            return None
        lease = from_ms(now + self.lease_ms)
        try:
            check = await retry_transient(
                lambda: self.db.claim_run(due, next_run_at=lease, due_at=due.next_run_at), self.sleep
            )
        except Conflict:
            return None
        due_at = check.due_at or due.next_run_at
        return Claim(check, to_ms(due_at), early=due_at > due.next_run_at)

    async def release(self, claim: Claim) -> None:
        """Release a claimed check that was not run, so that it is due again at once."""
        await self._move(claim, claim.due_at)

    async def postpone(self, claim: Claim, pause_ms: int) -> None:
        """Put off a claimed check that got no permit; it keeps its due time, so that its lateness is known."""
        again = from_ms(self.clock.millis() + pause_ms)
        try:
            await retry_transient(
                lambda: self.db.reschedule(claim.check, next_run_at=again, due_at=from_ms(claim.due_at)), self.sleep
            )
        except Conflict:
            return  # the lease was lost

    async def perform(self, claim: Claim, *, shift: bool = True) -> RunReport | None:
        """Probe a claimed check and write the result; None if it must not run, or the lease was lost.

        A manual run (`shift=False`) keeps a due time in the future.
        """
        check = claim.check
        user = await retry_transient(lambda: self.db.user(check.userid), self.sleep)
        if not isinstance(user, ActiveUser):
            await self._skip(claim)
            return None
        reading = read_attributes(check.check_type, check.attributes)
        at = run_time(check, self.clock.millis())
        if reading.attributes is None:
            reason = find_reason_to_disable(reading, None, State(), at) or "the check cannot be run"
            return await self._disable(claim, None, user, reason, at)
        outcome = await self._look(check, reading.attributes)
        run_outcome = evaluate_run(check, reading.attributes, outcome, at)
        defect = find_reason_to_disable(reading, outcome, run_outcome.state, at)
        if defect is not None:
            return await self._disable(claim, outcome, user, defect, at)
        found = await self._recorder.finish(claim, run_outcome, user, self._find_next(claim, run_outcome, shift=shift))
        return None if found is None else RunReport(found, outcome, run_outcome.events)

    async def _look(self, check: Scheduled, attributes: Attributes) -> Outcome:
        """Return the outcome: of a probe, or for a type that requests nothing, of what the check has stored."""
        check_type, now = CHECK_TYPES[check.check_type], self.clock.millis()
        if check_type.observe is None:
            return await self.prober.probe(check.url, attributes, check.userid)
        outcome = check_type.observe(check, attributes, now)
        if outcome.cause is Cause.LATE and check_type.observe_gap is not None and self.presence is not None:
            gap = await self.presence.find_last_gap()
            outcome = (check_type.observe_gap(check, attributes, now, gap) if gap else None) or outcome
        return evaluate_time(attributes, outcome)

    async def _disable(
        self, claim: Claim, outcome: Outcome | None, user: ActiveUser, reason: str, at: int
    ) -> RunReport | None:
        """Disable a check that cannot work."""
        run_outcome = disable_outcome(claim.check, outcome, reason, at)
        found = await self._recorder.disable(claim, run_outcome, user, reason)
        return None if found is None else RunReport(found, run_outcome.outcome, run_outcome.events, reason)

    async def _skip(self, claim: Claim) -> None:
        """Skip a run of a check whose user is suspended or deleted."""
        check = claim.check
        after = next_due_time(check.checkid, read_delay(check), due_at=claim.due_at, now=self.clock.millis())
        await self._move(claim, claim.due_at if claim.early else after)

    async def _move(self, claim: Claim, due_at: int) -> None:
        try:
            await retry_transient(
                lambda: self.db.reschedule(claim.check, next_run_at=from_ms(due_at), due_at=None), self.sleep
            )
        except Conflict:
            return  # it was finished, claimed by another worker, or deleted

    def _find_next(self, claim: Claim, run_outcome: RunOutcome, *, shift: bool) -> int:
        check, now = claim.check, self.clock.millis()
        if claim.early or (not shift and claim.due_at > now):
            return claim.due_at
        choose = retry_due_time if is_confirming(run_outcome.state) else next_due_time
        regular = choose(check.checkid, read_delay(check), due_at=claim.due_at, now=now)
        again = run_outcome.outcome.look_again_at
        return regular if again is None else min(regular, max(again, now))
