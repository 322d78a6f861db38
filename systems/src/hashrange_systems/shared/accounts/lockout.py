"""How long a lock after wrong passwords or codes still lasts."""

from __future__ import annotations

from datetime import datetime

from hashrange_systems.shared.epoch import to_ms


def find_wait_s(locked_until: datetime | None, now: int, longest_ms: int) -> int:
    """Return for how many seconds a lock lasts; 0 without one.

    A lock that ends later than any lock may was written by a clock that was wrong, and does not count.
    """
    left = 0 if locked_until is None else to_ms(locked_until) - now
    return -(-left // 1000) if 0 < left <= longest_ms else 0
