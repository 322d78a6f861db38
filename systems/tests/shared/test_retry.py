"""The backoff of all systems: doubling, bounded, and spread; and conflicts that end."""

import asyncio

import pytest

from hashrange import Conflict
from hashrange_systems.shared.errors import EditConflict
from hashrange_systems.shared.work.retry import MAX_CONFLICTS, Backoff, jitter, retry_on_conflict


def test_pauses_double_up_to_the_maximum():
    pauses = Backoff(15, 3600)
    assert [pauses.find_pause(attempt, lambda: 1.0) for attempt in (1, 2, 3, 8, 9, 10**9)] == [
        15,
        30,
        60,
        1920,
        3600,
        3600,
    ]


def test_a_pause_is_shortened_at_random_by_up_to_a_half():
    assert Backoff(2, 10).find_pause(1, lambda: 0.0) == 1
    assert {1 <= Backoff(2, 10).find_pause(1) <= 2 for _ in range(100)} == {True}
    assert (jitter(10, 0.1, lambda: 0.0), jitter(10, 0.1, lambda: 1.0)) == (9, 10)


def test_what_conflicts_is_repeated_and_given_up_with_the_name_of_what_was_edited():
    attempts = []

    async def conflict():
        attempts.append(1)
        raise Conflict("changed", current=None)

    with pytest.raises(EditConflict, match="shelf"):
        asyncio.run(retry_on_conflict(conflict, "shelf"))
    assert len(attempts) == MAX_CONFLICTS
