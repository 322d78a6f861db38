"""Which messages are sent, and that none is sent twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.alert import AlertHistory, AlertInput, Rules, decide, forget_incident
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.state import State, StatePolicy, interrupt
from systems.tests.checks.model.timeline import MINUTE, START, Timeline

NERVOUS = StatePolicy(failure_threshold=1, success_threshold=1, flap_count=4, flap_window_ms=10 * MINUTE)
lives = st.text("udw?DUan", max_size=60)


def make_timeline(letters, **rules):
    return Timeline(rules=Rules(**rules)).run(letters).topics()


def tell_prices(prices, threshold=1000, **rules):
    life = Timeline(rules=Rules(threshold=threshold, **rules))
    for price in prices:
        available = None if price is None else price <= threshold
        life.step(Outcome(status=Status.UP, price=price, available=available))
    return life.topics()


def test_messages_are_sent_on_changes_only():
    assert make_timeline("uuudddddddduuuu") == [("DOWN", 5), ("UP", 12)]


def test_nothing_is_said_of_failures_that_retries_refute():
    assert make_timeline("uddudduddu") == []


def test_a_user_may_not_want_to_hear_of_the_end():
    assert make_timeline("uddduu", resolved=False) == [("DOWN", 3)]


def test_reminders_come_once_for_each_interval_of_the_outage():
    topics = make_timeline("uddd" + "d" * 25, reminder_ms=10 * MINUTE)
    assert topics == [("DOWN", 3), ("REMINDER", 13), ("REMINDER", 23)]


def test_reminders_that_were_missed_are_not_made_up_for():
    life = Timeline(rules=Rules(reminder_ms=10 * MINUTE)).run("uddd")
    life.minute += 45
    assert life.run("dd").topics()[1:] == [("REMINDER", 49)]
    assert life.messages[-1].key == f"c1#REMINDER#{START + MINUTE}#4"


def test_reminders_are_never_more_often_than_every_five_minutes():
    assert make_timeline("uddd" + "d" * 11, reminder_ms=1) == [("DOWN", 3), ("REMINDER", 8), ("REMINDER", 13)]


def test_nothing_is_repeated_while_we_cannot_see():
    assert make_timeline("uddd" + "?" * 30, reminder_ms=5 * MINUTE) == [("DOWN", 3)]


def test_nothing_is_sent_within_maintenance():
    assert make_timeline("uDDDDDD", reminder_ms=5 * MINUTE) == []
    assert make_timeline("uddd" + "D" * 30, reminder_ms=5 * MINUTE) == [("DOWN", 3)]
    assert make_timeline("uA") == []


def test_the_end_of_an_incident_within_maintenance_is_told_after_it():
    assert make_timeline("udddUUUuu") == [("DOWN", 3), ("UP", 8)]


def test_a_warning_is_told_when_it_begins_and_ends():
    assert make_timeline("uwwwu") == [("WARNING", 1), ("RESTORED", 4)]
    assert make_timeline("uwwwu", warnings=False) == []


def test_while_a_check_flaps_only_that_is_told():
    life = Timeline(NERVOUS).run("udududududu" + "u" * 12)
    assert life.topics() == [("DOWN", 1), ("UP", 2), ("DOWN", 3), ("FLAPPING", 4), ("STEADY", 20)]


def test_a_check_that_stops_flapping_while_down_says_so_and_its_end_is_told():
    life = Timeline(NERVOUS).run("ududud" + "d" * 12 + "u")
    assert life.topics()[3:] == [("FLAPPING", 4), ("STEADY", 15), ("UP", 18)]
    steady = life.messages[4]
    assert steady.incident is not None
    assert steady.incident.ended_at is None


def test_pausing_ends_an_announced_incident_without_a_word():
    life = Timeline().run("uddd")
    state, events = interrupt(life.state, life.state.last_at + 1)
    given = AlertInput(check_id="c1", state=state, events=events, outcome=Outcome(status=Status.UNKNOWN), at=START)
    assert decide(Rules(), life.history, given) == (AlertHistory(), ())
    assert forget_incident(life.history) == AlertHistory()


def test_the_end_of_an_incident_that_was_never_announced_is_not_told():
    life = Timeline().run("uddd")
    life.history = AlertHistory()
    assert life.run("uu").topics() == [("DOWN", 3)]


def test_stock_is_told_when_it_comes_and_again_only_after_it_went():
    assert make_timeline("nnaaa?uaanna") == [("AVAILABLE", 2), ("AVAILABLE", 11)]
    assert make_timeline("nana", gone=True) == [("AVAILABLE", 1), ("GONE", 2), ("AVAILABLE", 3)]


def test_a_price_below_the_threshold_is_told_once_not_on_every_run():
    assert tell_prices([1500, 1000, 900, 800, 990]) == [("AVAILABLE", 1)]


def test_a_price_around_the_threshold_is_told_once_because_of_hysteresis():
    assert tell_prices([1500, 1000, 1001, 1000, 1020, 999]) == [("AVAILABLE", 1)]


def test_a_price_clearly_above_the_threshold_makes_the_next_crossing_news():
    assert tell_prices([1000, 1021, 1000], gone=True) == [("AVAILABLE", 0), ("GONE", 1), ("AVAILABLE", 2)]


def test_a_price_that_is_unknown_crosses_nothing():
    assert tell_prices([1000, None, None, 1000]) == [("AVAILABLE", 0)]


def test_no_offers_at_all_is_clearly_gone():
    life = Timeline(rules=Rules(threshold=1000)).run("ana")
    assert life.topics() == [("AVAILABLE", 0), ("AVAILABLE", 2)]


@given(lives)
def test_no_two_messages_have_the_same_key(letters):
    life = Timeline(NERVOUS, rules=Rules(reminder_ms=5 * MINUTE, gone=True)).run(letters)
    keys = [message.key for message in life.messages]
    assert len(keys) == len(set(keys))


@given(lives, st.data())
def test_a_step_done_again_after_a_crash_makes_the_same_messages(letters, data):
    rules = Rules(reminder_ms=5 * MINUTE, gone=True)
    cut = data.draw(st.integers(0, len(letters)))
    saved = Timeline(NERVOUS, rules=rules).run(letters[:cut])
    once, again = (
        Timeline(NERVOUS, rules, saved.state, saved.history, saved.minute).run(letters[cut:]) for _ in range(2)
    )
    assert once.messages == again.messages


@given(lives)
def test_the_end_is_told_only_of_what_was_announced(letters):
    life = Timeline(NERVOUS).run(letters)
    announced = set()
    for message in life.messages:
        if message.topic in ("DOWN", "STEADY") and message.incident:
            announced.add(message.incident.started_at)
        if message.topic == "UP":
            assert message.incident.started_at in announced


@pytest.mark.parametrize("letters", ["uddd", "udd?d"])
def test_the_key_of_a_message_names_check_topic_and_incident(letters):
    (message,) = Timeline().run(letters).messages
    assert message.key == f"c1#DOWN#{START + MINUTE}"


def test_a_new_state_says_nothing():
    given = AlertInput(check_id="c1", state=State(), events=(), outcome=Outcome(status=Status.UNKNOWN), at=START)
    assert decide(Rules(reminder_ms=MINUTE), AlertHistory(), given) == (AlertHistory(), ())
