"""From outcomes to incidents."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.alert import read_alert_history, write_alert_history
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.lifecycle import DISABLE_AFTER_MS, find_reason_to_disable
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.state import (
    EventType,
    Phase,
    State,
    StatePolicy,
    advance,
    interrupt,
    is_confirming,
    make_policy,
    read_state,
    write_state,
)
from hashrange_systems.checks.registry import read_attributes
from systems.tests.checks.model.timeline import MINUTE, OUTCOMES, START, Timeline, minute_of

lives = st.text("udw?DU", max_size=40)


def phase_after(letters, **policy):
    return Timeline(StatePolicy(**policy)).run(letters).state.phase


def test_failures_are_pending_until_enough_of_them_come_in_a_row():
    assert [phase_after("udddd"[:n]) for n in range(6)] == [
        Phase.NEW,
        Phase.UP,
        Phase.PENDING,
        Phase.PENDING,
        Phase.DOWN,
        Phase.DOWN,
    ]


def test_without_retries_the_first_failure_is_down():
    assert make_policy(0, 60_000).failure_threshold == 1
    assert phase_after("ud", failure_threshold=1) is Phase.DOWN


def test_a_failure_that_a_retry_refutes_opens_nothing():
    life = Timeline().run("uddudduddu")
    assert life.events == []
    assert life.state.phase is Phase.UP


def test_an_incident_starts_with_the_first_failure_and_says_what_went_wrong():
    life = Timeline().run("uuddd")
    (opened,) = life.events
    assert (opened.type, minute_of(opened.at)) == (EventType.OPENED, 4)
    assert minute_of(opened.incident.started_at) == minute_of(life.state.since) == 2
    assert (opened.incident.cause, opened.incident.evidence) == (Cause.STATUS, "HTTP 500: answered 500")
    assert opened.incident.ended_at is None


def test_an_incident_ends_with_the_first_success_once_it_is_believed():
    life = Timeline().run("udddduu")
    assert life.list_events() == [("OPENED", 3), ("CLOSED", 6)]
    assert minute_of(life.events[1].incident.ended_at) == 5
    assert (life.state.phase, life.state.incident) == (Phase.UP, None)


def test_a_success_among_failures_does_not_end_the_incident():
    life = Timeline().run("udddudud")
    assert life.list_events() == [("OPENED", 3)]
    assert life.state.phase is Phase.DOWN


def test_unknown_neither_opens_nor_closes_an_incident():
    assert Timeline().run("u?????").events == []
    assert Timeline().run("uddd????").list_events() == [("OPENED", 3)]
    assert phase_after("uddd????") is Phase.DOWN


def test_unknown_does_not_interrupt_a_row_of_failures_or_successes():
    assert Timeline().run("ud?d?du?u").list_events() == [("OPENED", 5), ("CLOSED", 8)]


def test_a_check_whose_first_run_failed_is_up_since_it_answered():
    assert minute_of(Timeline().run("dduu").state.since) == 2


def test_a_check_never_seen_well_can_go_down():
    assert Timeline().run("ddd").list_events() == [("OPENED", 2)]


def test_maintenance_freezes_everything():
    assert Timeline().run("uDDDDDu").events == []
    assert Timeline().run("udddUUUU").list_events() == [("OPENED", 3)]
    assert Timeline().run("udddUUUUuu").list_events() == [("OPENED", 3), ("CLOSED", 9)]


def test_a_target_still_down_after_maintenance_is_an_incident_from_then_on():
    life = Timeline().run("uDDDddd")
    assert minute_of(life.events[0].incident.started_at) == 4


def test_a_warning_is_no_incident():
    assert Timeline().run("uwwu").list_events() == [("DEGRADED", 1), ("RESTORED", 3)]
    assert Timeline().run("udddww").list_events() == [("OPENED", 3), ("CLOSED", 5), ("DEGRADED", 5)]


def test_too_many_changes_are_flapping_and_quiet_makes_it_steady():
    life = Timeline(StatePolicy(failure_threshold=1, success_threshold=1, flap_count=4, flap_window_ms=10 * MINUTE))
    life.run("ududuuuuuuuuuuuuuu")
    assert life.list_events() == [
        ("OPENED", 1),
        ("CLOSED", 2),
        ("OPENED", 3),
        ("CLOSED", 4),
        ("FLAPPING", 4),
        ("STEADY", 14),
    ]


def test_changes_far_apart_are_not_flapping():
    life = Timeline(StatePolicy(failure_threshold=1, success_threshold=1, flap_count=4, flap_window_ms=10 * MINUTE))
    life.run("uduuuuuuuuuu" * 5)
    assert not life.state.flapping


def test_the_same_delivery_again_changes_nothing():
    life = Timeline().run("uddd")
    again, events = advance(life.state, OUTCOMES["d"], life.state.last_at, life.policy)
    assert (again, events) == (life.state, ())


def test_a_clock_that_jumps_backwards_neither_hides_an_outage_nor_ends_it_before_it_began():
    life = Timeline(StatePolicy(failure_threshold=2, success_threshold=1)).run("u")
    for seconds, letter in enumerate("dduu"):
        life.step(OUTCOMES[letter], at=START - 3_600_000 + seconds * 1000)
    opened, closed = life.events
    assert opened.incident.started_at < closed.incident.ended_at
    assert life.state.last_at > START


def test_pausing_ends_the_incident_without_saying_that_the_target_is_well():
    life = Timeline().run("uddd")
    state, (closed,) = interrupt(life.state, life.state.last_at + 5)
    assert closed.incident.interrupted
    assert closed.incident.ended_at == life.state.last_at + 5
    assert state == State(last_at=life.state.last_at)


@pytest.mark.parametrize("letters", ["", "u", "udd"])
def test_pausing_without_an_incident_is_silent(letters):
    assert interrupt(Timeline().run(letters).state, START)[1] == ()


def test_a_change_not_yet_believed_is_looked_at_again_soon():
    assert [is_confirming(Timeline().run(letters).state) for letters in ("u", "ud", "uddd", "udddu")] == [
        False,
        True,
        False,
        True,
    ]


@given(lives)
def test_incidents_open_and_close_in_turns_and_never_overlap(letters):
    life = Timeline(StatePolicy(failure_threshold=2, success_threshold=2)).run(letters)
    turns = [event for event in life.events if event.type in (EventType.OPENED, EventType.CLOSED)]
    expected = [EventType.OPENED, EventType.CLOSED] * len(turns)
    assert [event.type for event in turns] == expected[: len(turns)]
    ends = [
        time
        for event in turns
        if event.incident.ended_at
        for time in (event.incident.started_at, event.incident.ended_at)
    ]
    assert ends == sorted(set(ends))


@given(lives, lives)
def test_a_state_stored_between_any_two_runs_goes_on_as_if_it_had_not_been(before, after):
    life = Timeline(StatePolicy(failure_threshold=2)).run(before)
    state, history = read_state(write_state(life.state)), read_alert_history(write_alert_history(life.history))
    assert (state, history) == (life.state, life.history)
    stored = Timeline(life.policy, state=state, history=history, minute=life.minute).run(after)
    assert stored.state == life.run(after).state


def test_a_stored_state_is_small_however_long_the_evidence():
    policy = StatePolicy(failure_threshold=1, success_threshold=1)
    state = State()
    for n in range(500):
        outcome = Outcome(status=Status.UP if n % 2 else Status.DOWN, message="x" * 100_000)
        state, _ = advance(state, outcome, START + n, policy)
    assert len(json.dumps(write_state(state))) < 700


@pytest.mark.parametrize("stored", [None, {}, {"phase": "BROKEN", "flips": "x", "incident": 5, "lastAt": "now"}])
def test_a_state_that_cannot_be_read_is_that_of_a_new_check(stored):
    assert read_state(stored) == State()


def reason_after(outcome, elapsed_ms=0, phase=Phase.DOWN):
    state = State(phase=phase, since=START)
    return find_reason_to_disable(read_attributes("AVAILABILITY", {}), outcome, state, START + elapsed_ms)


def test_trap_5_a_check_that_cannot_be_run_is_disabled():
    reading = read_attributes("EBAY", {})
    assert find_reason_to_disable(reading, None, State(), START) == "threshold is required"


def test_a_refused_address_is_given_three_days():
    refused = Outcome(status=Status.UNKNOWN, cause=Cause.REFUSED, message="private address")
    reading, state = read_attributes("AVAILABILITY", {}), State(refused_since=START)
    assert find_reason_to_disable(reading, refused, state, START + DISABLE_AFTER_MS - 1) is None
    assert find_reason_to_disable(reading, refused, state, START + DISABLE_AFTER_MS) == "private address"
    assert read_state(write_state(state)) == state


def test_trap_5_a_page_gone_or_a_host_that_does_not_exist_is_given_three_days():
    for outcome in (
        Outcome(status=Status.DOWN, http_status=410, cause=Cause.STATUS),
        Outcome(status=Status.DOWN, cause=Cause.NAME),
    ):
        assert reason_after(outcome, DISABLE_AFTER_MS - 1) is None
        assert reason_after(outcome, DISABLE_AFTER_MS)


def test_trap_5_a_target_that_is_down_is_no_reason_to_disable_its_check():
    assert reason_after(OUTCOMES["d"], 100 * DISABLE_AFTER_MS) is None
    assert reason_after(OUTCOMES["u"], 100 * DISABLE_AFTER_MS, Phase.UP) is None
