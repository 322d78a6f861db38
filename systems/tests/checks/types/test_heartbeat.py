"""HEARTBEAT: jobs that call a URL; late is down, at the very moment, whatever the schedule."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.model.signals import (
    Schedule,
    Signal,
    Signals,
    evaluate_signals,
    find_deadline,
    read_signals,
    receive,
    write_signals,
)
from hashrange_systems.checks.registry import write_attributes
from hashrange_systems.shared.errors import InvalidInput

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
HOURLY = Schedule(period_ms=HOUR, cron=None, zone="UTC", grace_ms=10 * MINUTE)


def at(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def after(*signals):
    """The signals of a job: (kind, time) in order."""
    seen = Signals()
    for kind, when in signals:
        seen = receive(seen, Signal(kind), when)
    return seen


def test_before_the_first_signal_nothing_is_known():
    assert evaluate_signals(HOURLY, Signals(), 100 * DAY).status is Status.UNKNOWN


@given(st.integers(0, 10 * DAY), st.integers(0, 3 * HOUR))
def test_a_job_is_down_exactly_from_its_deadline_on(first, elapsed):
    signals = after(("success", first))
    outcome = evaluate_signals(HOURLY, signals, first + elapsed)
    assert (outcome.status is Status.DOWN) == (elapsed >= HOUR + 10 * MINUTE)
    if outcome.status is Status.UP:
        assert outcome.look_again_at == first + HOUR + 10 * MINUTE


def test_a_late_job_says_since_when_and_by_when():
    outcome = evaluate_signals(HOURLY, after(("success", 0)), 2 * HOUR)
    assert outcome.cause is Cause.LATE
    assert outcome.message == "no signal since 1970-01-01 00:00:00 UTC; it was expected by 1970-01-01 01:10:00 UTC"


def test_a_started_job_must_end_within_the_grace_time_and_its_duration_is_the_response_time():
    running = after(("success", 0), ("start", 50 * MINUTE))
    assert find_deadline(HOURLY, running) == 60 * MINUTE
    assert evaluate_signals(HOURLY, running, 59 * MINUTE).status is Status.UP
    stuck = evaluate_signals(HOURLY, running, 60 * MINUTE)
    assert (stuck.status, stuck.message) == (
        Status.DOWN,
        "started 1970-01-01 00:50:00 UTC and did not end within 10 min",
    )
    done = receive(running, Signal.SUCCESS, 53 * MINUTE)
    assert evaluate_signals(HOURLY, done, 54 * MINUTE, seen_until=0).response_time == 3 * MINUTE
    assert evaluate_signals(HOURLY, done, 55 * MINUTE, seen_until=54 * MINUTE).response_time is None


def test_a_failure_is_down_at_once_until_a_success():
    failed = receive(after(("success", 0)), Signal.FAIL, MINUTE, "exit status 3, disk full")
    outcome = evaluate_signals(HOURLY, failed, MINUTE)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.REPORTED)
    assert outcome.message == "the job reported a failure: exit status 3, disk full"
    started = receive(failed, Signal.START, 2 * MINUTE)
    assert evaluate_signals(HOURLY, started, 2 * MINUTE).status is Status.DOWN
    assert evaluate_signals(HOURLY, receive(started, Signal.SUCCESS, 3 * MINUTE), 3 * MINUTE).status is Status.UP


@pytest.mark.parametrize(
    ("last", "deadline"),
    [
        ("2026-03-27T03:40:00", "2026-03-30T02:00:00"),  # Friday 04:40 in Berlin: the next is Monday, in summer time
        ("2026-03-26T02:35:00", "2026-03-27T03:00:00"),
        ("2026-10-23T01:31:00", "2026-10-26T03:00:00"),  # back in winter time
    ],
)
def test_cron_times_are_those_of_their_zone(last, deadline):
    schedule = Schedule(period_ms=None, cron="30 3 * * 1-5", zone="Europe/Berlin", grace_ms=30 * MINUTE)
    assert schedule.find_deadline(at(last)) == at(deadline)


@given(st.lists(st.tuples(st.sampled_from(list(Signal)), st.integers(0, DAY)), max_size=8))
def test_signals_are_stored_without_loss(signals):
    seen = after(*((kind, when) for kind, when in signals))
    assert read_signals(write_signals(seen)) == seen
    assert seen.received == len(signals)


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"periodMs": HOUR, "cron": "* * * * *"},
        {"periodMs": 1},
        {"cron": "nonsense"},
        {"cron": "0 0 30 2 *"},
        {"cron": "* * * * *", "zone": "Moon/Base"},
        {"periodMs": HOUR, "graceMs": 0},
        {"cron": "* " * 200},
    ],
)
def test_a_schedule_that_cannot_be_is_refused(bad):
    with pytest.raises(InvalidInput):
        write_attributes("HEARTBEAT", bad)


def test_a_job_with_a_period_and_a_cron_expression_is_told_to_choose():
    with pytest.raises(InvalidInput, match="choose one of them"):
        write_attributes("HEARTBEAT", {"periodMs": HOUR, "cron": "* * * * *"})
