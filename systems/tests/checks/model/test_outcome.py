"""Outcomes: the evaluation of a response, and the stored map."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.attributes import Availability
from hashrange_systems.checks.model.availability import evaluate_availability
from hashrange_systems.checks.model.fetch_result import Cause, NoResponse, PageResponse, PhaseTimes
from hashrange_systems.checks.model.outcome import Outcome, Status, read_outcome, write_outcome
from hashrange_systems.shared.epoch import DAY_MS

NOW = 1_800_000_000_000
whole = st.none() | st.integers(0, 10**9)
outcomes = st.builds(
    Outcome,
    status=st.sampled_from(Status),
    message=st.text(max_size=400)
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: len(text.encode()) < 300),
    cause=st.none() | st.sampled_from(Cause),
    response_time=whole,
    http_status=whole,
    keyword_found=st.none() | st.booleans(),
    certificate_days=st.none() | st.integers(-5000, 5000),
    phases=st.builds(PhaseTimes, dns=whole, connect=whole, tls=whole, first_byte=whole),
    available=st.none() | st.booleans(),
    price=whole,
    shipping=whole,
    shipping_known=st.none() | st.booleans(),
    currency=st.none() | st.just("EUR"),
    link=st.none() | st.just("https://ebay.com/itm/1"),
)


def evaluate(response=None, /, *, now=NOW, **attributes):
    return evaluate_availability(
        Availability(**attributes), response or PageResponse(status=200, body="Example Domain"), now
    )


def test_the_seeds_example_result_is_read_and_written_as_it_is():
    stored = {"status": "UP", "responseTime": 250, "keywordFound": True}
    assert read_outcome(stored) == Outcome(status=Status.UP, response_time=250, keyword_found=True)
    assert write_outcome(read_outcome(stored)) == stored


def test_a_result_of_another_system_is_read_as_far_as_it_goes():
    stored = {"status": "Fine", "responseTime": Decimal(250), "keywordFound": "yes", "page": "<html>", "phases": 5}
    assert read_outcome(stored) == Outcome(status=Status.UNKNOWN, response_time=250)


@given(outcomes)
def test_an_outcome_survives_being_stored(outcome):
    assert read_outcome(write_outcome(outcome)) == outcome


def test_trap_13_a_stored_result_stays_small_whatever_the_page_said():
    outcome = Outcome(status=Status.DOWN, message="ü" * 500_000, link="https://e.com/" + "a" * 500_000)
    written = write_outcome(outcome)
    assert len(json.dumps(written, ensure_ascii=False).encode()) < 1000
    assert written["message"].endswith("…")
    assert len(written["message"].encode()) <= 300


def test_a_message_with_half_a_character_can_be_stored():
    assert write_outcome(Outcome(status=Status.DOWN, message="a\ud800b"))["message"].encode()


def test_an_answer_within_the_accepted_ranges_is_up():
    response = PageResponse(status=204, elapsed_ms=120, phases=PhaseTimes(dns=1, connect=2, first_byte=90))
    assert evaluate(response) == Outcome(status=Status.UP, http_status=204, response_time=120, phases=response.phases)


@pytest.mark.parametrize(
    ("ranges", "status", "expected"),
    [
        ("200-299", 199, Status.DOWN),
        ("200-299", 200, Status.UP),
        ("200-299", 299, Status.UP),
        ("200-299", 300, Status.DOWN),
        ("200-299,301", 301, Status.UP),
        (" 200 - 299 , 404 ", 404, Status.UP),
        ("200-299,301", 500, Status.DOWN),
    ],
)
def test_accepted_statuses_include_both_ends(ranges, status, expected):
    assert evaluate(PageResponse(status=status), accepted_status=ranges).status is expected


def test_a_status_not_accepted_is_down_and_says_what_came():
    outcome = evaluate(PageResponse(status=500))
    assert (outcome.status, outcome.cause, outcome.message) == (
        Status.DOWN,
        Cause.STATUS,
        "answered 500, accepted are 200-299",
    )


@pytest.mark.parametrize("cause", [Cause.NAME, Cause.CONNECT, Cause.TLS, Cause.TIMEOUT, Cause.PROTOCOL])
def test_a_target_that_does_not_answer_is_down(cause):
    outcome = evaluate(NoResponse(cause=cause, message="no", elapsed_ms=5))
    assert (outcome.status, outcome.cause, outcome.response_time) == (Status.DOWN, cause, 5)


@pytest.mark.parametrize("cause", [Cause.OURS, Cause.REFUSED])
def test_what_we_could_not_ask_is_unknown_not_down(cause):
    assert evaluate(NoResponse(cause=cause, message="no")).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("attributes", "status", "found"),
    [
        ({"keyword": "Example"}, Status.UP, True),
        ({"keyword": "example"}, Status.DOWN, False),
        ({"keyword": "Example", "invert": True}, Status.DOWN, True),
        ({"keyword": "Error", "invert": True}, Status.UP, False),
        ({"regex": r"Ex\w+ D"}, Status.UP, True),
        ({"regex": r"^Domain"}, Status.DOWN, False),
        ({"regex": "err(or)?", "invert": True}, Status.UP, False),
    ],
)
def test_the_keyword_or_regex_must_be_there_or_absent(attributes, status, found):
    outcome = evaluate(**attributes)
    assert (outcome.status, outcome.keyword_found) == (status, found)


def test_the_text_is_not_looked_for_on_an_error_page():
    assert evaluate(PageResponse(status=500, body="Example"), keyword="Example").keyword_found is None


@pytest.mark.parametrize("invert", [False, True])
def test_a_text_missing_from_a_page_cut_short_is_unknown(invert):
    outcome = evaluate(PageResponse(status=200, body="Exam", cut=True), keyword="Example", invert=invert)
    assert outcome.status is Status.UNKNOWN


def test_a_text_found_in_a_page_cut_short_was_there():
    assert evaluate(PageResponse(status=200, body="Example", cut=True), keyword="Example").status is Status.UP


@pytest.mark.parametrize(
    ("body", "cut", "available"),
    [("Sold out!", False, False), ("Buy now", False, True), ("Buy now", True, None), ("Sold out", True, False)],
)
def test_the_original_reading_of_availability_is_whether_the_text_for_sold_out_is_absent(body, cut, available):
    outcome = evaluate(PageResponse(status=200, body=body, cut=cut), sold_out_text="Sold out")
    assert (outcome.status, outcome.available) == (Status.UP, available)


def test_a_page_that_is_down_says_nothing_about_stock():
    assert evaluate(PageResponse(status=503, body=""), sold_out_text="Sold out").available is None


@pytest.mark.parametrize(
    ("days", "status", "message"),
    [
        (14, Status.UP, ""),
        (13, Status.DEGRADED, "the certificate expires in 13 days"),
        (0, Status.DEGRADED, "the certificate expires in 0 days"),
        (-2, Status.DEGRADED, "the certificate expired 2 days ago"),
    ],
)
def test_a_certificate_that_expires_soon_is_a_warning_not_an_outage(days, status, message):
    outcome = evaluate(PageResponse(status=200, certificate_not_after=NOW + days * DAY_MS))
    assert (outcome.status, outcome.message, outcome.certificate_days) == (status, message, days)


def test_a_failing_page_stays_down_whatever_its_certificate():
    assert evaluate(PageResponse(status=500, certificate_not_after=NOW)).status is Status.DOWN


@pytest.mark.parametrize(
    ("cause", "time"), [(None, 90), (Cause.STATUS, 90), (Cause.SLOW, 90), (Cause.CONNECT, None), (Cause.TIMEOUT, None)]
)
def test_only_a_response_has_a_response_time(cause, time):
    assert Outcome(status=Status.DOWN, cause=cause, response_time=90).answer_time == time
