"""Conditions on JSON and headers, and thresholds for the response time."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.attributes import Availability
from hashrange_systems.checks.model.availability import evaluate_availability
from hashrange_systems.checks.model.condition import NotCondition, find_json, parse_conditions
from hashrange_systems.checks.model.fetch_result import Cause, PageResponse
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.response_time import evaluate_time
from hashrange_systems.checks.registry import write_attributes
from hashrange_systems.shared.errors import InvalidInput

BODY = json.dumps({"status": "ok", "queue": {"length": 7, "names": ["mail", "pdf"]}, "ready": True, "none": None})


def evaluate(*lines, body=BODY, cut=False, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = PageResponse(status=200, body=body, cut=cut, headers={"content-type": "application/json", **named})
    return evaluate_availability(Availability(conditions=lines), response, 0)


@pytest.mark.parametrize(
    "line",
    [
        "json status == ok",
        'json status == "ok"',
        "json $.status",
        "json status != down",
        "json queue.length < 10",
        "json queue.length == 7.0",
        "json queue.names.1 == pdf",
        "json queue.names contains mail",
        "json status contains o",
        "json ready == true",
        "json none == null",
        "header Content-Type contains json",
        "header content-type",
    ],
)
def test_a_condition_that_holds_changes_nothing(line):
    assert evaluate(line).status is Status.UP


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("json status == down", "json status == down: it is ok"),
        ("json queue.length >= 10", "json queue.length >= 10: it is 7"),
        ("json queue.names contains fax", 'json queue.names contains fax: it is ["mail","pdf"]'),
        ("json queue.age", "json queue.age: there is no queue.age"),
        ("json queue.names.2", "json queue.names.2: there is no queue.names.2"),
        ("json status < 5", "json status < 5: it is ok"),
        ("header x-cache == HIT", "header x-cache == HIT: there is no header x-cache"),
    ],
)
def test_a_condition_that_does_not_hold_is_an_outage_with_what_was_found(line, message):
    outcome = evaluate(line)
    assert (outcome.status, outcome.cause, outcome.message) == (Status.DOWN, Cause.CONDITION, message)


def test_after_warn_it_is_a_warning_and_an_outage_outweighs_it():
    warning = "warn json queue.length < 5"
    assert evaluate(warning).status is Status.DEGRADED
    assert evaluate(warning, "json status == down").status is Status.DOWN


def test_a_body_that_is_no_json_is_an_outage_and_one_that_was_cut_off_is_unknown():
    assert evaluate("json status", body="<html>").status is Status.DOWN
    assert evaluate("json status", cut=True).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"a": ' + "1" * 1_900_000 + "}", "a number that is too large"),
        ("[" * 2000 + "]" * 2000, "nested more deeply"),
    ],
)
def test_json_that_is_not_parsed_is_unknown_with_the_reason_and_no_outage(body, reason):
    outcome = evaluate("json a", body=body)
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.CONDITION)
    assert reason in outcome.message


@pytest.mark.parametrize(
    "line",
    ["status == ok", "json", "warn", "json a = 5", "json a ==", "header", "json " + "a." * 30, "json " + "a" * 400],
)
def test_what_is_no_condition_is_refused_with_its_form(line):
    with pytest.raises(NotCondition):
        parse_conditions((line,))
    with pytest.raises(InvalidInput):
        write_attributes("AVAILABILITY", {"conditions": [line]})


def test_conditions_may_be_written_as_lines():
    stored = write_attributes("AVAILABILITY", {"conditions": "json a\n\n  header b  \n"})
    assert stored == {"conditions": ("json a", "header b")}


@given(st.text(max_size=40), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_no_name_and_no_body_makes_it_crash(name, value):
    find_json(name, PageResponse(status=200, body=json.dumps(value)))
    find_json(name, PageResponse(status=200, body=name))


# ── response times ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("time", "status"), [(None, Status.UP), (500, Status.UP), (501, Status.DEGRADED), (2001, Status.DOWN)]
)
def test_slow_is_a_warning_and_too_slow_an_outage(time, status):
    outcome = evaluate_time(Availability(slow_ms=500, too_slow_ms=2000), Outcome(status=Status.UP, response_time=time))
    assert outcome.status is status
    assert (outcome.cause is Cause.SLOW) == (status is not Status.UP)


@pytest.mark.parametrize("status", [Status.DOWN, Status.UNKNOWN])
def test_a_threshold_never_changes_what_is_not_up(status):
    before = Outcome(status=status, response_time=10_000, message="gone")
    assert evaluate_time(Availability(slow_ms=1, too_slow_ms=2), before) is before


def test_a_warning_keeps_its_reason_when_it_is_slow_too():
    before = Outcome(status=Status.DEGRADED, cause=Cause.CERTIFICATE, response_time=600)
    assert evaluate_time(Availability(slow_ms=500), before) is before


def test_the_thresholds_must_be_in_order():
    with pytest.raises(InvalidInput, match="less than tooSlowMs"):
        write_attributes("TCP", {"slowMs": 500, "tooSlowMs": 500})
