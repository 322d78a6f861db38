"""Runs: a due check is claimed, probed and finished. What it leads to is `step`'s to say and `record`'s to write.

A claim moves the check to the end of a lease and notes the slot that it is for. Only who holds the lease can finish, so
no slot is recorded twice; a worker that dies leaves a lease that ends, so none is lost.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from hashrange import Clock, Conflict
from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.kind import read_attributes
from hashrange_systems.checks.model.lifecycle import find_reason_to_disable
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.model.schedule import next_slot, retry_slot
from hashrange_systems.checks.model.state import Event, State, is_confirming
from hashrange_systems.checks.schema import ActiveUser, Check, Checks, Due, Scheduled
from hashrange_systems.checks.service.moment import from_ms, to_ms
from hashrange_systems.checks.service.patience import Sleep, insist
from hashrange_systems.checks.service.reading import read_delay
from hashrange_systems.checks.service.record import Claim, Recorder
from hashrange_systems.checks.service.step import Step, find_moment, give_up, take_step

LEASE_MS = 60_000  # longer than any probe takes, and no longer than two of the shortest delays


class Probe(Protocol):
    """What looks at a target."""

    async def probe(self, url: str, attributes: Attributes) -> Outcome:
        """Return the outcome of looking once; raise nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run led to; `disabled` says why the check has become FAILED."""

    check: Check
    outcome: Outcome
    events: tuple[Event, ...]
    disabled: str | None = None


@dataclass(slots=True)
class Runs:
    """Claims, probes and finishes; any number of them may work on one database."""

    db: Checks
    clock: Clock
    prober: Probe
    lease_ms: int = LEASE_MS
    sleep: Sleep = asyncio.sleep
    _recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self._recorder = Recorder(self.db, self.clock, self.sleep)

    async def claim(self, due: Due | Scheduled) -> Claim | None:
        """Take a check for the time of a lease; None when it is being run, another worker was faster, or it is gone.

        A slot whose worker died is taken up again as the slot that it was.
        """
        now = self.clock.millis()
        if isinstance(due, Scheduled) and due.slot is not None and to_ms(due.next_run_at) > now:
            return None
        lease = from_ms(now + self.lease_ms)
        try:
            check = await insist(lambda: self.db.claim_run(due, next_run_at=lease, slot=due.next_run_at), self.sleep)
        except Conflict:
            return None
        slot = check.slot or due.next_run_at
        return Claim(check, to_ms(slot), early=slot > due.next_run_at)

    async def release(self, claim: Claim) -> None:
        """Give a check back that was not run, for its slot to be taken at once."""
        await self._move(claim, claim.slot)

    async def perform(self, claim: Claim, *, shift: bool = True) -> Finished | None:
        """Probe a claimed check and write what came of it; None when it is not to be run, or no longer ours.

        A run by hand (`shift=False`) leaves a slot that is still to come where it is.
        """
        check = claim.check
        user = await insist(lambda: self.db.user(check.userid), self.sleep)
        if not isinstance(user, ActiveUser):
            await self._skip(claim)
            return None
        reading = read_attributes(check.check_type, check.attributes)
        at = find_moment(check, self.clock.millis())
        if reading.attributes is None:
            reason = find_reason_to_disable(reading, None, State(), at) or "the check cannot be run"
            return await self._disable(claim, None, user, reason, at)
        outcome = await self.prober.probe(check.url, reading.attributes)
        step = take_step(check, reading.attributes, outcome, at)
        hopeless = find_reason_to_disable(reading, outcome, step.state, at)
        if hopeless is not None:
            return await self._disable(claim, outcome, user, hopeless, at)
        found = await self._recorder.finish(claim, step, user, self._find_next(claim, step, shift=shift))
        return None if found is None else Finished(found, outcome, step.events)

    async def _disable(
        self, claim: Claim, outcome: Outcome | None, user: ActiveUser, reason: str, at: int
    ) -> Finished | None:
        """Take a check out of the schedule that asks for what cannot be done."""
        step = give_up(claim.check, outcome, reason, at)
        found = await self._recorder.disable(claim, step, user, reason)
        return None if found is None else Finished(found, step.outcome, step.events, reason)

    async def _skip(self, claim: Claim) -> None:
        """Pass over a slot of a check whose user is suspended or gone; taking it out of the schedule is not for us."""
        check = claim.check
        after = next_slot(check.checkid, read_delay(check), slot=claim.slot, now=self.clock.millis())
        await self._move(claim, claim.slot if claim.early else after)

    async def _move(self, claim: Claim, slot: int) -> None:
        try:
            await insist(lambda: self.db.move_slot(claim.check, next_run_at=from_ms(slot), slot=None), self.sleep)
        except Conflict:
            return  # it was finished after all, or is another worker's, or is gone

    def _find_next(self, claim: Claim, step: Step, *, shift: bool) -> int:
        check, now = claim.check, self.clock.millis()
        if claim.early or (not shift and claim.slot > now):
            return claim.slot
        choose = retry_slot if is_confirming(step.state) else next_slot
        return choose(check.checkid, read_delay(check), slot=claim.slot, now=now)
