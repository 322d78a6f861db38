"""Accepted HTTP statuses as people write them: `200-299,301`."""

from __future__ import annotations

import re
from functools import lru_cache

PART = re.compile(r"\s*([1-5]\d\d)(?:\s*-\s*([1-5]\d\d))?\s*", re.ASCII)
MAX_TEXT_LENGTH = 200


class NotStatusRanges(ValueError):
    """The text is not a list of statuses and ranges of statuses."""


@lru_cache(maxsize=256)
def parse_ranges(text: str) -> tuple[range, ...]:
    """Parse ranges of statuses, both ends inclusive."""
    if len(text) > MAX_TEXT_LENGTH:
        raise NotStatusRanges(f"must be at most {MAX_TEXT_LENGTH} characters")
    return tuple(parse_part(part) for part in text.split(","))


def parse_part(part: str) -> range:
    """Parse one range, `301` or `200-299`."""
    match = PART.fullmatch(part)
    if not match:
        raise NotStatusRanges(f"must list statuses from 100 to 599 such as 200-299,301; {part.strip()[:20]!r} is none")
    low, high = int(match[1]), int(match[2] or match[1])
    if high < low:
        raise NotStatusRanges(f"must have the lower status first; {part.strip()} has not")
    return range(low, high + 1)


def accepts(text: str, status: int) -> bool:
    """Return whether the ranges contain a status."""
    return any(status in accepted for accepted in parse_ranges(text))
