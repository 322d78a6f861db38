"""When a check runs: at once when new, then at a fixed rate on a grid of its own, so that a fleet spreads over time.

A check's grid is every `delay` milliseconds, shifted by a hash of its id. So a slot is known without those before it:
missed slots are skipped, runs by hand and retries shift nothing. Times are milliseconds since the epoch.
"""

from __future__ import annotations

import hashlib

SHARDS = 8
SHORTEST_RETRY_MS = 5_000
LONGEST_RETRY_MS = 60_000


def first_slot(now: int) -> int:
    """Return when a new or resumed check runs: at once."""
    return now


def next_slot(check_id: str, delay_ms: int, *, slot: int, now: int) -> int:
    """Return the slot after the one just taken: in the future, and later than it even if the clock went backwards."""
    phase = find_phase(check_id, delay_ms)
    served = round_to_grid(slot, phase, delay_ms)
    return floor_to_grid(max(served, now), phase, delay_ms) + delay_ms


def retry_slot(check_id: str, delay_ms: int, *, slot: int, now: int) -> int:
    """Return when to look again at a failing check: soon, but only while that cannot be taken for the next slot."""
    soon = max(slot, now) + min(max(delay_ms // 10, SHORTEST_RETRY_MS), LONGEST_RETRY_MS)
    regular = next_slot(check_id, delay_ms, slot=slot, now=now)
    return soon if soon < regular - delay_ms // 2 else regular


def is_stranded(delay_ms: int, *, slot: int, now: int) -> bool:
    """Whether a slot is so far ahead that only a clock once wrong can have set it; the check then needs a new one."""
    return slot > now + 2 * delay_ms


def due_shard(check_id: str, shards: int = SHARDS) -> str:
    """Return the shard of the due index that holds the check: what a declared `{checkid:shard8}` says."""
    return str(int(hashlib.sha256(check_id.encode()).hexdigest(), 16) % shards)


def find_phase(check_id: str, delay_ms: int) -> int:
    """Return the check's own place within its delay, from 0 to just below it."""
    digest = hashlib.blake2b(check_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest) % delay_ms


def floor_to_grid(at: int, phase: int, delay_ms: int) -> int:
    """Return the last grid point at or before that time."""
    return at - (at - phase) % delay_ms


def round_to_grid(at: int, phase: int, delay_ms: int) -> int:
    """Return the nearest grid point: the one that a run at that time stands for."""
    return floor_to_grid(at + delay_ms // 2, phase, delay_ms)
