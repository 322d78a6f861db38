"""When a check is due: at once when new, then at a fixed rate with its own offset, so that checks spread over time.

Due times are multiples of `delay` milliseconds, shifted by a hash of the check's id. So they do not depend on earlier
runs: missed ones are skipped, manual runs and retries shift nothing. Times are milliseconds since the epoch.
"""

from __future__ import annotations

import hashlib

SHARDS = 8
MIN_RETRY_MS = 5_000
MAX_RETRY_MS = 60_000


def first_due_time(now: int) -> int:
    """Return when a new or resumed check is due: at once."""
    return now


def next_due_time(check_id: str, delay_ms: int, *, due_at: int, now: int) -> int:
    """Return the due time after this one: in the future, and later than this one even if the clock went backwards."""
    phase = find_phase(check_id, delay_ms)
    served = round_to_grid(due_at, phase, delay_ms)
    return floor_to_grid(max(served, now), phase, delay_ms) + delay_ms


def retry_due_time(check_id: str, delay_ms: int, *, due_at: int, now: int) -> int:
    """Return when to retry a failing check: soon, unless that is close to the next regular due time."""
    soon = max(due_at, now) + min(max(delay_ms // 10, MIN_RETRY_MS), MAX_RETRY_MS)
    regular = next_due_time(check_id, delay_ms, due_at=due_at, now=now)
    return soon if soon < regular - delay_ms // 2 else regular


def is_too_far_ahead(delay_ms: int, *, due_at: int, now: int) -> bool:
    """Return whether a due time is so far ahead that it was set with a wrong clock, and must be replaced."""
    return due_at > now + 2 * delay_ms


def due_shard(check_id: str, shards: int = SHARDS) -> str:
    """Return the shard of a check in the due index, as the template `{checkid:shard8}` computes it."""
    return str(int(hashlib.sha256(check_id.encode()).hexdigest(), 16) % shards)


def find_phase(check_id: str, delay_ms: int) -> int:
    """Return the offset of a check within its delay."""
    digest = hashlib.blake2b(check_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest) % delay_ms


def floor_to_grid(at: int, phase: int, delay_ms: int) -> int:
    """Return the last regular due time at or before a time."""
    return at - (at - phase) % delay_ms


def round_to_grid(at: int, phase: int, delay_ms: int) -> int:
    """Return the regular due time nearest to a time."""
    return floor_to_grid(at + delay_ms // 2, phase, delay_ms)
