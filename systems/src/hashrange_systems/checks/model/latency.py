"""Histogram of response times: counts in geometric buckets, which merge by adding.

Adjacent bounds differ by 4 %, so that a percentile, the middle of its bucket, is within 2 % of the exact value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

GROWTH = math.log(1.04)

Latency = Mapping[int, int]


def count_times(times_ms: Iterable[int]) -> dict[int, int]:
    """Return the number of times in each bucket."""
    return dict(sorted(Counter(find_bucket(time) for time in times_ms).items()))


def merge_counts(one: Latency, other: Latency) -> dict[int, int]:
    """Return the sum of both histograms."""
    return {bucket: one.get(bucket, 0) + other.get(bucket, 0) for bucket in sorted({*one, *other})}


def find_bucket(time_ms: int) -> int:
    """Return the bucket of a time; the first holds everything up to a millisecond."""
    return math.ceil(math.log(time_ms) / GROWTH) if time_ms > 1 else 0


def middle_of(bucket: int) -> int:
    """Return the middle of a bucket."""
    return round(math.exp((bucket - 0.5) * GROWTH)) if bucket else 1


def find_percentile(counts: Latency, percent: int) -> int | None:
    """Return a percentile; None without runs."""
    rank = math.ceil(sum(counts.values()) * percent / 100)
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0:
            return middle_of(bucket)
    return None
