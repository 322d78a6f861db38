"""Time-weighted uptime. A run speaks for the time until the next one, at most for 2.5 delays: then we were blind.

Failures not confirmed are no downtime; confirmed ones are from the first on. Unknown, paused, blind and maintained time
is kept apart and never counted. Roll-ups hold whole milliseconds and bucket counts, so days add up to months exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hashrange_systems.checks.model.latency import Latency, count_times, merge_counts
from hashrange_systems.checks.model.maintenance import Span
from hashrange_systems.checks.model.outcome import Outcome, Status, drop_absent, read_whole
from hashrange_systems.checks.model.state import Phase, State

DAY_MS = 86_400_000


class Verdict(StrEnum):
    """What one run, or a pause, says about the time after it."""

    UP = "UP"
    DEGRADED = "DEGRADED"
    DOWN = "DOWN"
    PENDING = "PENDING"
    RECOVERING = "RECOVERING"
    UNKNOWN = "UNKNOWN"
    PAUSED = "PAUSED"


UNSETTLED = {Verdict.PENDING: Verdict.UP, Verdict.RECOVERING: Verdict.DOWN}  # what they are if nothing follows
SETTLING = {Verdict.UP: Verdict.UP, Verdict.DEGRADED: Verdict.UP, Verdict.DOWN: Verdict.DOWN}
TALLIES = {
    Verdict.UP: "up",
    Verdict.DEGRADED: "degraded",
    Verdict.DOWN: "down",
    Verdict.UNKNOWN: "unknown",
    Verdict.PAUSED: "paused",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A run or a pause: what it says, and how long after it the next one was meant to come."""

    at: int
    verdict: Verdict
    delay_ms: int
    response_time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """How the milliseconds of a period were spent, and how fast its runs were answered."""

    up: int = 0
    degraded: int = 0
    down: int = 0
    unknown: int = 0
    paused: int = 0
    blind: int = 0
    maintenance: int = 0
    runs: int = 0
    latency: Latency = field(default_factory=dict)


DURATIONS = tuple(each.name for each in fields(Rollup) if each.name != "latency")


def give_verdict(state: State, outcome: Outcome, *, maintenance: bool = False) -> Verdict:
    """Return what a run says, from the state it led to."""
    if maintenance or outcome.status is Status.UNKNOWN or state.phase is Phase.NEW:
        return Verdict.UNKNOWN
    if state.phase is Phase.UP and state.degraded:
        return Verdict.DEGRADED
    return Verdict(state.phase.value)


def settle_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples with every verdict that was not yet believed replaced by what it turned out to be."""
    settled: list[Sample] = []
    turned_out: Verdict | None = None
    for sample in reversed(samples):
        if sample.verdict in UNSETTLED:
            settled.append(replace(sample, verdict=turned_out or UNSETTLED[sample.verdict]))
            continue
        if sample.verdict is not Verdict.UNKNOWN:
            turned_out = SETTLING.get(sample.verdict)
        settled.append(sample)
    return settled[::-1]


def summarise(samples: Sequence[Sample], start: int, end: int, windows: Iterable[Span] = ()) -> Rollup:
    """Return how the period was spent. The samples are in order; those before and after the period settle its edges."""
    maintained = join_spans(windows)
    tally = dict.fromkeys(DURATIONS, 0)
    for name, begin, finish in tell_spans(settle_samples(samples), end):
        low, high = max(begin, start), min(finish, end)
        if low < high:
            excused = sum(overlap(low, high, span) for span in maintained)
            tally["maintenance"] += excused
            tally[name] += high - low - excused
    within = [sample for sample in samples if start <= sample.at < end and sample.verdict is not Verdict.PAUSED]
    times = (sample.response_time for sample in within if sample.response_time is not None)
    return Rollup(**(tally | {"runs": len(within)}), latency=count_times(times))


def tell_spans(samples: Sequence[Sample], end: int) -> Iterator[tuple[str, int, int]]:
    """Yield what each stretch of time counts as, from the first sample to the end."""
    ends = [sample.at for sample in samples[1:]] + [end]
    for sample, finish in zip(samples, ends, strict=False):
        seen = finish if sample.verdict is Verdict.PAUSED else min(finish, sample.at + sample.delay_ms * 5 // 2)
        yield TALLIES[sample.verdict], sample.at, seen
        yield "blind", seen, finish


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, without overlaps."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def overlap(low: int, high: int, span: Span) -> int:
    """Return how much of a stretch lies within a span."""
    return max(0, min(high, span[1]) - max(low, span[0]))


def merge_rollups(one: Rollup, other: Rollup) -> Rollup:
    """Return the roll-up of both periods together."""
    sums = {name: getattr(one, name) + getattr(other, name) for name in DURATIONS}
    return Rollup(**sums, latency=merge_counts(one.latency, other.latency))


def find_uptime(rollup: Rollup) -> Fraction | None:
    """Return the share of the known time that was up, exactly; None when nothing is known."""
    up = rollup.up + rollup.degraded
    return Fraction(up, up + rollup.down) if up + rollup.down else None


def format_uptime(uptime: Fraction | None, digits: int = 3) -> str:
    """Return the share in percent, rounded down: 100 is only what was never down."""
    if uptime is None:
        return "n/a"
    scaled = int(uptime * 100 * 10**digits)
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}}%"


def split_days(start: int, end: int) -> Iterator[Span]:
    """Yield the UTC days of a period, the first and last cut to it."""
    while start < end:
        midnight = (start // DAY_MS + 1) * DAY_MS
        yield start, min(midnight, end)
        start = midnight


def write_rollup(rollup: Rollup) -> dict[str, Any]:
    """Return the map that is stored for a day."""
    latency = {str(bucket): count for bucket, count in rollup.latency.items()}
    return drop_absent({name: getattr(rollup, name) or None for name in DURATIONS} | {"latency": latency or None})


def read_rollup(stored: Mapping[str, object]) -> Rollup:
    """Read a stored roll-up; what is missing is zero."""
    latency = stored.get("latency")
    buckets = latency if isinstance(latency, Mapping) else {}
    counts = {int(bucket): read_whole(count) or 0 for bucket, count in buckets.items()}
    return Rollup(**{name: read_whole(stored.get(name)) or 0 for name in DURATIONS}, latency=counts)
