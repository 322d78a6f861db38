"""The schedule: fixed rate on a grid, nothing replayed, nothing shifted, whatever the clock does."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hashrange.schema.declare.field_kind import KINDS
from hashrange.schema.declare.key_format import find_format
from hashrange_systems.checks.model.delay import MAX_DELAY_MS
from hashrange_systems.checks.model.schedule import (
    due_shard,
    first_due_time,
    is_too_far_ahead,
    next_due_time,
    retry_due_time,
)

NOW = 1_800_000_000_000
ids = st.text(min_size=1, max_size=12)
delays = st.integers(30_000, MAX_DELAY_MS)
moments = st.integers(NOW - 10**10, NOW + 10**10)


def test_trap_7_the_first_run_is_at_once():
    assert first_due_time(NOW) == NOW


@given(ids, delays, moments)
def test_after_the_first_run_the_check_finds_its_own_place(check_id, delay, now):
    second = next_due_time(check_id, delay, due_at=first_due_time(now), now=now)
    assert delay // 2 <= second - now <= delay * 3 // 2 + 1


@given(ids, delays, moments, st.integers(0, 20_000))
def test_trap_7_the_rate_is_fixed_however_long_a_run_takes(check_id, delay, now, lateness):
    due_at = next_due_time(check_id, delay, due_at=now, now=now)
    assert next_due_time(check_id, delay, due_at=due_at, now=due_at + lateness) == due_at + delay


@given(ids, delays, moments, st.integers(0, 10**9))
def test_trap_7_missed_slots_are_skipped_not_replayed(check_id, delay, now, outage):
    due_at = next_due_time(check_id, delay, due_at=now, now=now)
    woken = due_at + outage
    following = next_due_time(check_id, delay, due_at=due_at, now=woken)
    assert woken < following <= woken + delay
    assert (following - due_at) % delay == 0


@given(ids, delays, moments, st.integers(0, 10**9))
def test_a_clock_that_jumps_backwards_runs_no_slot_twice(check_id, delay, now, jump):
    due_at = next_due_time(check_id, delay, due_at=now, now=now)
    assert next_due_time(check_id, delay, due_at=due_at, now=due_at - jump) == due_at + delay


@given(ids, delays, moments)
def test_a_slot_stored_in_whole_seconds_is_still_the_same_slot(check_id, delay, now):
    due_at = next_due_time(check_id, delay, due_at=now, now=now)
    stored = due_at // 1000 * 1000
    assert next_due_time(check_id, delay, due_at=stored, now=stored) == due_at + delay


@given(ids, delays, moments, st.data())
def test_trap_7_running_now_never_shifts_the_slot(check_id, delay, now, data):
    due_at = next_due_time(check_id, delay, due_at=now, now=now)
    by_hand = data.draw(st.integers(due_at - delay, due_at - 1))
    assert next_due_time(check_id, delay, due_at=due_at - delay, now=by_hand) == due_at


@given(ids, delays, moments, st.integers(0, 10**6))
def test_a_retry_comes_before_the_next_slot_and_does_not_shift_it(check_id, delay, now, lateness):
    due_at = next_due_time(check_id, delay, due_at=now, now=now)
    ran = due_at + lateness % (delay // 2)
    regular = next_due_time(check_id, delay, due_at=due_at, now=ran)
    retry = retry_due_time(check_id, delay, due_at=due_at, now=ran)
    assert ran < retry <= regular
    assert retry == regular or next_due_time(check_id, delay, due_at=retry, now=retry) == regular


def test_a_failing_check_is_looked_at_again_soon():
    delay = 300_000
    due_at = next_due_time("abcdef", delay, due_at=NOW, now=NOW)
    assert retry_due_time("abcdef", delay, due_at=due_at, now=due_at + 200) == due_at + 200 + 30_000


@given(ids, delays, moments, st.integers(0, 10**9))
def test_a_slot_set_by_a_wrong_clock_is_noticed(check_id, delay, now, lateness):
    due_at = next_due_time(check_id, delay, due_at=now, now=now + lateness)
    assert not is_too_far_ahead(delay, due_at=due_at, now=now + lateness)
    assert is_too_far_ahead(delay, due_at=due_at + 10 * delay, now=now + lateness)


def test_a_fleet_created_at_the_same_moment_spreads_over_the_delay():
    due_times = [next_due_time(f"check-{n}", 60_000, due_at=NOW, now=NOW) for n in range(6000)]
    per_second = Counter(due_at // 1000 % 60 for due_at in due_times)
    assert len(per_second) == 60
    assert max(per_second.values()) < 2 * 100


def test_the_shards_of_the_due_index_share_the_checks():
    per_shard = Counter(due_shard(f"check-{n}") for n in range(8000))
    assert set(per_shard) == set("01234567")
    assert max(per_shard.values()) < 1.2 * 1000


@given(ids)
def test_the_shard_is_the_one_that_the_schema_writes(check_id):
    shard = find_format("shard8")
    assert shard is not None
    assert due_shard(check_id) == shard.write(check_id, KINDS[str].codec, 1024)
