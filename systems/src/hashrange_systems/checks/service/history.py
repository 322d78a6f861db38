"""The history of checks: runs, uptime, incidents and response times of any period. Times are milliseconds.

Past days are read from stored roll-ups, if any; the rest is computed from the runs, today from where it was read last.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import reduce

from hashrange import Clock, Taken
from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
from hashrange_systems.checks.history_schema import RollupItem as StoredRollup
from hashrange_systems.checks.model.latency import Latency, count_times, find_percentile
from hashrange_systems.checks.model.maintenance_window import Span
from hashrange_systems.checks.model.outcome import read_outcome
from hashrange_systems.checks.model.state import is_confirming, read_state
from hashrange_systems.checks.model.tier import Tier, read_tier
from hashrange_systems.checks.model.uptime import (
    UNCONFIRMED,
    Rollup,
    Sample,
    Verdict,
    find_uptime,
    merge_rollups,
    read_rollup,
    split_days,
    summarise,
    write_rollup,
)
from hashrange_systems.checks.schema import AnyCheck, Check, Checks, User
from hashrange_systems.checks.service.rollup_progress import Progress, RollupProgress, find_final_until
from hashrange_systems.checks.service.stored_options import read_delay, read_windows
from hashrange_systems.shared.charts.axis import Percentiles
from hashrange_systems.shared.charts.plot import PricePoint
from hashrange_systems.shared.epoch import DAY_MS, EPOCH, from_ms, to_ms

RUNS_AT_ONCE = 500
INCIDENTS_AT_ONCE = 200
PAGE = 25


@dataclass(frozen=True, slots=True)
class Day:
    """The roll-up of a day."""

    day: date
    rollup: Rollup


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One check in a monthly report."""

    check: AnyCheck
    rollup: Rollup
    uptime: Fraction | None
    incidents: tuple[Ongoing | Ended, ...]
    times: Percentiles


@dataclass(frozen=True, slots=True)
class History:
    """Reads the history of checks, and stores roll-ups."""

    db: Checks
    clock: Clock
    progress: RollupProgress = field(default_factory=RollupProgress)

    async def runs(self, checkid: str, start: int, end: int) -> list[Run]:
        """Return the runs of a period, oldest first; the end is exclusive."""
        if start >= end:
            return []
        query, found = self.db.runs_between(checkid, at=(from_ms(start), from_ms(end - 1))), list[Run]()
        cursor, more = None, True
        while more:
            await asyncio.sleep(0)  # an embedded database answers at once: other tasks have their turn here
            page = await query.page(RUNS_AT_ONCE, after=cursor)
            found += page
            cursor, more = page.cursor, page.cursor is not None
        return found

    async def summary(self, check: Check, start: int, end: int) -> Rollup:
        """Return the roll-up of a period; the future is not counted."""
        end = min(end, self.clock.millis())
        stored = await self._stored(check.checkid, start, end)
        known = [stored[span] for span in split_days(start, end) if span in stored]
        live = join_neighbours(span for span in split_days(start, end) if span not in stored)
        computed = [await self._compute_rollup(check, *span) for span in live]
        return hide_downtime(check, reduce(merge_rollups, [*known, *computed], Rollup()))

    async def days(self, check: Check, count: int) -> list[Day]:
        """Return the last `count` days, oldest first, including today."""
        now = self.clock.millis()
        end = now - now % DAY_MS + DAY_MS
        spans = list(split_days(end - count * DAY_MS, end))
        stored = await self._stored(check.checkid, spans[0][0], now)  # today is never stored
        today = spans[-1][0]
        known = self.progress.find(check, today)
        final_until = min(max(known.until, find_final_until(check, now)), now)
        missing = [span for span in spans[:-1] if span not in stored]
        computed = await self._compute_rollups(check, [*missing, (known.until, final_until), (final_until, now)])
        final_rollup = merge_rollups(known.rollup, computed[known.until, final_until])
        self.progress.keep(check, today, Progress(final_until, final_rollup))
        found = stored | computed | {spans[-1]: merge_rollups(final_rollup, computed[final_until, now])}
        return [Day(from_ms(span[0]).date(), hide_downtime(check, found[span])) for span in spans]

    async def response_times(self, check: Check, start: int, end: int, interval_ms: int) -> list[Percentiles]:
        """Return the percentiles of each interval of a period; intervals of a day or more are read from roll-ups."""
        end = min(end, self.clock.millis())
        starts = range(start, end, interval_ms)
        if interval_ms >= DAY_MS:
            rollups = [await self.summary(check, at, min(at + interval_ms, end)) for at in starts]
            return [make_percentiles(at, rollup.latency) for at, rollup in zip(starts, rollups, strict=True)]
        times: dict[int, list[int]] = {at: [] for at in starts}
        for run in await self.runs(check.checkid, start, end):
            if (time := read_outcome(dict(run.result)).answer_time) is not None:
                times[start + (to_ms(run.at) - start) // interval_ms * interval_ms].append(time)
        return [make_percentiles(at, count_times(found)) for at, found in times.items()]

    async def prices(self, check: Check, start: int, end: int, interval_ms: int) -> list[PricePoint]:
        """Return the lowest price of each interval of a period, from the runs."""
        end = min(end, self.clock.millis())
        lowest: dict[int, int | None] = dict.fromkeys(range(start, end, interval_ms))
        for run in await self.runs(check.checkid, start, end):
            price = read_outcome(dict(run.result)).price
            at = start + (to_ms(run.at) - start) // interval_ms * interval_ms
            known = lowest[at]
            if price is not None:
                lowest[at] = price if known is None else min(known, price)
        return [PricePoint(at, price) for at, price in lowest.items()]

    async def incidents(
        self, checkid: str, start: int = 0, end: int | None = None, most: int | None = None
    ) -> list[Ongoing | Ended]:
        """Return the incidents that overlap a period, latest first, at most so many; those before it are not read.

        A page that fails every other minute has thousands of them.
        """
        query, found = self.db.incidents(checkid), list[Ongoing | Ended]()
        cursor, more = None, True
        while more:
            await asyncio.sleep(0)
            page = await query.page(min(INCIDENTS_AT_ONCE, most or INCIDENTS_AT_ONCE), after=cursor)
            within = [each for each in page if each.ended_at is None or to_ms(each.ended_at) > start]
            found += [each for each in within if end is None or to_ms(each.started_at) < end]
            cursor, enough = page.cursor, most is not None and len(found) >= most
            more = cursor is not None and len(within) == len(page) and not enough
        return found[:most]

    async def report(self, user: User, month: date) -> list[ReportRow]:
        """Return the monthly report of a user, ordered by check id."""
        start = find_span(month.replace(day=1))[0]
        end = find_span((month.replace(day=1) + timedelta(days=31)).replace(day=1))[0]
        return [await self._report(check, start, end) for check in await self.db.checks_of(user.userid)]

    async def _report(self, check: AnyCheck, start: int, end: int) -> ReportRow:
        rollup = await self.summary(check, start, end)
        return ReportRow(
            check=check,
            rollup=rollup,
            uptime=find_uptime(rollup),
            incidents=tuple(await self.incidents(check.checkid, start, end)),
            times=make_percentiles(start, rollup.latency),
        )

    # ── days that are final ───────────────────────────────────────────────────────────────────────────────────────────
    async def finalise_days(self, check: Check) -> int:
        """Store missing roll-ups of past days; return how many. Stored ones are never changed.

        A day is final once there is a later run and no verdict of it is unconfirmed.
        """
        state = read_state(check.state)
        user = await self.db.user(check.userid)
        if user is None or state.last_at is None or is_confirming(state):
            return 0
        end = min(state.last_at, self.clock.millis())
        end -= end % DAY_MS
        tier = read_tier(user.tier)
        start = max(to_ms(check.created_at), end - tier.result_days * DAY_MS)
        start -= start % DAY_MS
        stored = await self._stored(check.checkid, start, end)
        missing = [span for span in split_days(start, end) if span not in stored]
        return sum([await self._store_rollup(check, span, tier) for span in missing])

    async def _store_rollup(self, check: Check, span: Span, tier: Tier) -> bool:
        rollup = await self._compute_rollup(check, *span)
        expires_at = from_ms(span[1]) + timedelta(days=tier.rollup_days)
        day = from_ms(span[0]).date()
        item = StoredRollup(checkid=check.checkid, day=day, rollup=write_rollup(rollup), expires_at=expires_at)
        try:
            await self.db.create(item)
        except Taken:
            return False  # another worker was faster
        return True

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def _stored(self, checkid: str, start: int, end: int) -> dict[Span, Rollup]:
        """Return the stored roll-ups of the days of a period, by span."""
        first, last = -(-start // DAY_MS), end // DAY_MS
        if first >= last:
            return {}
        await asyncio.sleep(0)
        found = await self.db.rollups(checkid, day=(find_day(first), find_day(last - 1)))
        return {find_span(each.day): read_rollup(each.rollup) for each in found}

    async def _compute_rollup(self, check: Check, start: int, end: int) -> Rollup:
        return (await self._compute_rollups(check, [(start, end)]))[start, end]

    async def _compute_rollups(self, check: Check, spans: Sequence[Span]) -> dict[Span, Rollup]:
        """Return the roll-up of each span from the runs; those of neighbours are read at once."""
        found = dict.fromkeys(spans, Rollup())
        for start, end in join_neighbours(span for span in spans if span[0] < span[1]):
            samples = await self._samples(check, start, end)
            windows = [span for window in read_windows(check) for span in window.spans(start, end)]
            for low, high in spans:
                if start <= low < high <= end:
                    found[low, high] = summarise(find_samples(samples, low, high), low, high, windows)
        return found

    async def _samples(self, check: Check, start: int, end: int) -> Sequence[Sample]:
        """Return the samples of a period, the one before it, and those after it that confirm its last verdict."""
        young = to_ms(check.created_at) >= start
        before = None if young else await self.db.runs_until(check.checkid, at=from_ms(start - 1)).first()
        within = await self.runs(check.checkid, start, end)
        samples = [read_sample(run, check) for run in ([before] if before else []) + within]
        if is_unconfirmed(samples):
            async for sample in self._following(check, end):
                samples.append(sample)
                if is_clear(sample):
                    break
        return samples

    async def _following(self, check: Check, start: int) -> AsyncIterator[Sample]:
        """Yield the samples from a time on, in small pages."""
        query, cursor, more = self.db.runs_from(check.checkid, at=from_ms(start)), None, True
        while more:
            page = await query.page(PAGE, after=cursor)
            for run in page:
                yield read_sample(run, check)
            cursor, more = page.cursor, page.cursor is not None


def hide_downtime(check: Check, rollup: Rollup) -> Rollup:
    """Return the roll-up; of a check that has never succeeded without downtime, because it has no uptime."""
    if not read_state(check.state).never_up:
        return rollup
    return replace(rollup, down=0, unknown=rollup.unknown + rollup.down)


def read_sample(run: Run, check: Check) -> Sample:
    """Return the sample of a stored run; without a verdict, its status counts."""
    outcome = read_outcome(dict(run.result))
    known = run.verdict in Verdict.__members__
    return Sample(
        at=to_ms(run.at),
        verdict=Verdict(run.verdict) if known and run.verdict else Verdict(outcome.status.value),
        delay_ms=run.delay_ms or read_delay(check),
        response_time=outcome.answer_time,
    )


def find_samples(samples: Sequence[Sample], start: int, end: int) -> Sequence[Sample]:
    """Return the samples of a period, the one before it, and those after it that confirm its last verdict."""
    first = max(0, bisect_left(samples, start, key=find_time) - 1)
    last = bisect_left(samples, end, key=find_time)
    if is_unconfirmed(samples[first:last]):
        confirmed = (number for number in range(last, len(samples)) if is_clear(samples[number]))
        last = next(confirmed, len(samples) - 1) + 1
    return samples[first:last]


def find_time(sample: Sample) -> int:
    """Return when a sample was taken."""
    return sample.at


def is_clear(sample: Sample) -> bool:
    """Return whether a sample confirms or refutes what is not confirmed."""
    return sample.verdict not in UNCONFIRMED and sample.verdict is not Verdict.UNKNOWN


def is_unconfirmed(samples: Sequence[Sample]) -> bool:
    """Return whether the last verdict is not yet confirmed."""
    clear = (sample for sample in reversed(samples) if sample.verdict is not Verdict.UNKNOWN)
    last = next(clear, None)
    return last is not None and last.verdict in UNCONFIRMED


def make_percentiles(at: int, latency: Latency) -> Percentiles:
    """Return the percentiles of a histogram."""
    p50, p95, p99 = (find_percentile(latency, percent) for percent in (50, 95, 99))
    return Percentiles(at=at, runs=sum(latency.values()), p50=p50, p95=p95, p99=p99)


def join_neighbours(spans: Iterable[Span]) -> list[Span]:
    """Merge adjacent spans."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def find_day(number: int) -> date:
    """Return a date from days since the epoch."""
    return (EPOCH + timedelta(days=number)).date()


def find_span(day: date) -> Span:
    """Return start and end of a day."""
    start = to_ms(datetime(day.year, day.month, day.day, tzinfo=EPOCH.tzinfo))
    return start, start + DAY_MS
