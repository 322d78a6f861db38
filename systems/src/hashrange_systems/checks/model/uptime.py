"""Time-weighted uptime. A run counts until the next one, at most for 2.5 delays: after that the time is unobserved.

Unconfirmed failures are no downtime; confirmed ones count from the first on. Unknown, paused, unobserved and
maintenance time is separate and never counted. Roll-ups are milliseconds and histograms, so days add up to months
exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hashrange_systems.checks.model.latency import Latency, count_times, merge_counts
from hashrange_systems.checks.model.maintenance_window import Span
from hashrange_systems.checks.model.outcome import Outcome, Status, drop_absent, read_whole
from hashrange_systems.checks.model.state import Phase, State
from hashrange_systems.shared.epoch import DAY_MS


class Verdict(StrEnum):
    """The state of the time after a run or a pause."""

    UP = "UP"
    DEGRADED = "DEGRADED"
    DOWN = "DOWN"
    PENDING = "PENDING"
    FIRST_FAILURE = "FIRST_FAILURE"  # not confirmed, of a check that has not been up yet
    RECOVERING = "RECOVERING"
    UNKNOWN = "UNKNOWN"
    PAUSED = "PAUSED"


UNCONFIRMED = {  # their value if no run follows
    Verdict.PENDING: Verdict.UP,
    Verdict.FIRST_FAILURE: Verdict.UNKNOWN,
    Verdict.RECOVERING: Verdict.DOWN,
}
CONFIRMED = {Verdict.UP: Verdict.UP, Verdict.DEGRADED: Verdict.UP, Verdict.DOWN: Verdict.DOWN}
TALLIES = {
    Verdict.UP: "up",
    Verdict.DEGRADED: "degraded",
    Verdict.DOWN: "down",
    Verdict.UNKNOWN: "unknown",
    Verdict.PAUSED: "paused",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A run or a pause: its verdict, and the delay to the next run."""

    at: int
    verdict: Verdict
    delay_ms: int
    response_time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """Milliseconds of a period in each state, and the histogram of response times."""

    up: int = 0
    degraded: int = 0
    down: int = 0
    unknown: int = 0
    paused: int = 0
    unobserved: int = 0
    maintenance: int = 0
    runs: int = 0
    latency: Latency = field(default_factory=dict)


DURATIONS = tuple(each.name for each in fields(Rollup) if each.name not in {"runs", "latency"})
STORED_NAMES = {name: name for name in (*DURATIONS, "runs")} | {"unobserved": "blind"}


def find_verdict(state: State, outcome: Outcome, *, maintenance: bool = False) -> Verdict:
    """Return the verdict of a run from the state after it."""
    if maintenance or outcome.status is Status.UNKNOWN or state.phase is Phase.NEW:
        return Verdict.UNKNOWN
    if state.phase is Phase.UP and state.degraded:
        return Verdict.DEGRADED
    if state.phase is Phase.PENDING and state.since is None:
        return Verdict.FIRST_FAILURE
    return Verdict(state.phase.value)


def resolve_pending(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples with each unconfirmed verdict replaced by the confirmed one."""
    resolved: list[Sample] = []
    confirmed: Verdict | None = None
    for sample in reversed(samples):
        if sample.verdict in UNCONFIRMED:
            resolved.append(replace(sample, verdict=confirmed or UNCONFIRMED[sample.verdict]))
            continue
        if sample.verdict is not Verdict.UNKNOWN:
            confirmed = CONFIRMED.get(sample.verdict)
        resolved.append(sample)
    return resolved[::-1]


def summarise(samples: Sequence[Sample], start: int, end: int, windows: Iterable[Span] = ()) -> Rollup:
    """Return the roll-up of a period. The samples are in order; those before and after the period decide its edges."""
    maintained = join_spans(windows)
    tally = dict.fromkeys(DURATIONS, 0)
    for name, begin, finish in make_spans(resolve_pending(samples), end):
        low, high = max(begin, start), min(finish, end)
        if low < high:
            maintenance = sum(overlap(low, high, span) for span in maintained)
            tally["maintenance"] += maintenance
            tally[name] += high - low - maintenance
    within = [sample for sample in samples if start <= sample.at < end and sample.verdict is not Verdict.PAUSED]
    times = (sample.response_time for sample in within if sample.response_time is not None)
    return Rollup(**tally, runs=len(within), latency=count_times(times))


def make_spans(samples: Sequence[Sample], end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the state of each span of time, from the first sample to the end."""
    ends = [sample.at for sample in samples[1:]] + [end]
    for sample, finish in zip(samples, ends, strict=False):
        seen = finish if sample.verdict is Verdict.PAUSED else min(finish, sample.at + sample.delay_ms * 5 // 2)
        yield TALLIES[sample.verdict], sample.at, seen
        yield "unobserved", seen, finish


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
    """Return how much of a period is within a span."""
    return max(0, min(high, span[1]) - max(low, span[0]))


def merge_rollups(one: Rollup, other: Rollup) -> Rollup:
    """Return the sum of both roll-ups."""
    sums = {name: getattr(one, name) + getattr(other, name) for name in STORED_NAMES}
    return Rollup(**sums, latency=merge_counts(one.latency, other.latency))


def find_uptime(rollup: Rollup) -> Fraction | None:
    """Return the exact share of up in the known time; None if no time is known."""
    up = rollup.up + rollup.degraded
    return Fraction(up, up + rollup.down) if up + rollup.down else None


NO_UPTIME = "—"


def format_uptime(uptime: Fraction | None, digits: int = 3) -> str:
    """Format the share in percent, rounded down: 100 only without downtime."""
    if uptime is None:
        return NO_UPTIME
    scaled = int(uptime * 100 * 10**digits)
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}}%"


def split_days(start: int, end: int) -> Iterator[Span]:
    """Yield the UTC days of a period; the first and last may be partial."""
    while start < end:
        midnight = (start // DAY_MS + 1) * DAY_MS
        yield start, min(midnight, end)
        start = midnight


def write_rollup(rollup: Rollup) -> dict[str, Any]:
    """Return a roll-up as it is stored."""
    latency = {str(bucket): count for bucket, count in rollup.latency.items()}
    counts = {stored: getattr(rollup, name) or None for name, stored in STORED_NAMES.items()}
    return drop_absent(counts | {"latency": latency or None})


def read_rollup(stored: Mapping[str, object]) -> Rollup:
    """Read a stored roll-up; missing values are zero."""
    latency = stored.get("latency")
    buckets = latency if isinstance(latency, Mapping) else {}
    counts = {int(bucket): read_whole(count) or 0 for bucket, count in buckets.items()}
    return Rollup(**{name: read_whole(stored.get(key)) or 0 for name, key in STORED_NAMES.items()}, latency=counts)
