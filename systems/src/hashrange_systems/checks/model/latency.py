"""Response times of many runs in little room: counts in geometric buckets, which merge by adding.

Neighbouring bounds differ by 4 %, so that a percentile, read from the middle of its bucket, is within 2 % of the truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

GROWTH = math.log(1.04)

Latency = Mapping[int, int]


def count_times(times_ms: Iterable[int]) -> dict[int, int]:
    """Return how many of the times fall into each bucket."""
    return dict(sorted(Counter(find_bucket(time) for time in times_ms).items()))


def merge_counts(one: Latency, other: Latency) -> dict[int, int]:
    """Return the counts of both together."""
    return {bucket: one.get(bucket, 0) + other.get(bucket, 0) for bucket in sorted({*one, *other})}


def find_bucket(time_ms: int) -> int:
    """Return the number of the bucket that holds a time; the first holds everything up to a millisecond."""
    return math.ceil(math.log(time_ms) / GROWTH) if time_ms > 1 else 0


def middle_of(bucket: int) -> int:
    """Return the time that stands for a bucket."""
    return round(math.exp((bucket - 0.5) * GROWTH)) if bucket else 1


def find_percentile(counts: Latency, percent: int) -> int | None:
    """Return the time within which so many percent of the runs answered; None without runs."""
    rank = math.ceil(sum(counts.values()) * percent / 100)
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0:
            return middle_of(bucket)
    return None
