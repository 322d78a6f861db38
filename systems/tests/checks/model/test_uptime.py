"""Time-weighted uptime, against an oracle that looks at every single second."""

import math
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange_systems.checks.model.latency import count_times, find_percentile, merge_counts
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.state import Phase, State
from hashrange_systems.checks.model.uptime import (
    DURATIONS,
    Rollup,
    Sample,
    Verdict,
    find_uptime,
    find_verdict,
    format_uptime,
    merge_rollups,
    read_rollup,
    split_days,
    summarise,
    write_rollup,
)
from hashrange_systems.shared.epoch import DAY_MS
from systems.tests.checks.model.timeline import OUTCOMES

LETTERS = {
    "u": Verdict.UP,
    "w": Verdict.DEGRADED,
    "d": Verdict.DOWN,
    "p": Verdict.PENDING,
    "f": Verdict.FIRST_FAILURE,
    "r": Verdict.RECOVERING,
    "?": Verdict.UNKNOWN,
    "s": Verdict.PAUSED,
}


def make_samples(letters, *, every=60_000, delay=60_000, start=0):
    return [
        Sample(at=start + n * every, verdict=LETTERS[letter], delay_ms=delay, response_time=100)
        for n, letter in enumerate(letters)
    ]


def minutes(letters):
    rollup = summarise(make_samples(letters), 0, len(letters) * 60_000)
    return {name: getattr(rollup, name) / 60_000 for name in DURATIONS if getattr(rollup, name)}


@st.composite
def histories(draw):
    """Samples, a period that need not contain them, and maintenance; all on whole seconds."""
    gaps = draw(st.lists(st.integers(1, 60), max_size=25))
    at, samples = draw(st.integers(0, 50)), []
    for gap in gaps:
        verdict, delay = draw(st.sampled_from(Verdict)), draw(st.sampled_from([4, 10, 16]))
        samples.append(Sample(at=at * 1000, verdict=verdict, delay_ms=delay * 1000))
        at += gap
    start = draw(st.integers(0, 300))
    end = start + draw(st.integers(0, 500))
    starts = draw(st.lists(st.integers(0, 600), max_size=4))
    windows = [(opens * 1000, (opens + draw(st.integers(1, 80))) * 1000) for opens in starts]
    return samples, start * 1000, end * 1000, windows


def look_at_second(samples, at, windows):
    """The oracle: what the second that begins there counts as, by asking nothing but the rules in words."""
    before = [n for n, sample in enumerate(samples) if sample.at <= at]
    if not before:
        return None
    if any(opens <= at < closes for opens, closes in windows):
        return "maintenance"
    last = samples[before[-1]]
    if last.verdict is Verdict.PAUSED:
        return "paused"
    if (at - last.at) >= 2.5 * last.delay_ms:
        return "unobserved"
    if last.verdict in (Verdict.PENDING, Verdict.FIRST_FAILURE, Verdict.RECOVERING):
        return find_out(samples[before[-1] + 1 :], last.verdict)
    return last.verdict.value.lower()


def find_out(later, verdict):
    """What an unconfirmed verdict turned out to be: what the next clear one says, before any pause."""
    for sample in later:
        if sample.verdict in (Verdict.UP, Verdict.DEGRADED):
            return "up"
        if sample.verdict is Verdict.DOWN:
            return "down"
        if sample.verdict is Verdict.PAUSED:
            break
    return {Verdict.PENDING: "up", Verdict.FIRST_FAILURE: "unknown", Verdict.RECOVERING: "down"}[verdict]


@given(histories())
def test_uptime_agrees_with_an_oracle_that_looks_at_every_second(history):
    samples, start, end, windows = history
    seconds = [look_at_second(samples, at, windows) for at in range(start, end, 1000)]
    rollup = summarise(samples, start, end, windows)
    assert {name: getattr(rollup, name) for name in DURATIONS} == {
        name: seconds.count(name) * 1000 for name in DURATIONS
    }


@given(histories(), st.data())
def test_rollups_of_parts_merge_into_that_of_the_whole_in_any_grouping(history, data):
    samples, start, end, windows = history
    cuts = sorted({start, end, *data.draw(st.lists(st.integers(start, end), max_size=5))})
    parts = [summarise(samples, low, high, windows) for low, high in pairwise(cuts)]
    whole = summarise(samples, start, end, windows)
    assert reduce(merge_rollups, parts, Rollup()) == whole
    assert reduce(lambda later, part: merge_rollups(part, later), parts[::-1], Rollup()) == whole


@settings(max_examples=20)
@given(st.text("ud?w", min_size=1, max_size=60), st.integers(1, 20_000_000), st.integers(0, 10**9))
def test_daily_rollups_give_the_same_uptime_as_the_whole_period(letters, every, start):
    samples = make_samples(letters, every=every, delay=every, start=start)
    end = start + len(letters) * every
    days = [summarise(samples, low, high) for low, high in split_days(start, end)]
    assert find_uptime(reduce(merge_rollups, days)) == find_uptime(summarise(samples, start, end))


def test_retries_that_refute_a_failure_are_not_downtime():
    assert minutes("uuppuu") == {"up": 6}


def test_failures_that_are_confirmed_are_downtime_from_the_first_on():
    assert minutes("uuppdduu") == {"up": 4, "down": 4}
    assert minutes("up?du") == {"up": 2, "unknown": 1, "down": 2}


def test_an_end_that_is_confirmed_counts_from_the_first_success_on():
    assert minutes("uddrruu") == {"up": 5, "down": 2}
    assert minutes("uddrdduu") == {"up": 3, "down": 5}


def test_a_failure_whose_confirmation_falls_on_the_next_day_belongs_to_both():
    samples = make_samples("uppd", start=DAY_MS - 120_000)
    before, after = summarise(samples, 0, DAY_MS), summarise(samples, DAY_MS, DAY_MS + 120_000)
    assert (before.up, before.down, after.down) == (60_000, 60_000, 120_000)


def test_unknown_and_paused_time_is_apart_and_not_counted():
    assert minutes("uu??ssuu") == {"up": 4, "unknown": 2, "paused": 2}
    assert find_uptime(summarise(make_samples("u?sd"), 0, 240_000)) == Fraction(1, 2)


def test_our_own_outage_is_not_the_targets():
    samples = [*make_samples("dd"), *make_samples("uu", start=3_600_000)]
    rollup = summarise(samples, 0, 3_720_000)
    assert rollup.down == 60_000 + 150_000
    assert rollup.unobserved == 3_600_000 - rollup.down
    assert rollup.up == 120_000


def test_a_pause_is_never_our_outage_however_long():
    assert summarise(make_samples("us"), 0, 100 * DAY_MS).paused == 100 * DAY_MS - 60_000


def test_maintenance_is_not_counted_even_where_windows_overlap():
    rollup = summarise(make_samples("dddddd"), 0, 360_000, [(60_000, 180_000), (120_000, 240_000)])
    assert (rollup.down, rollup.maintenance) == (180_000, 180_000)


def test_the_time_before_the_first_run_is_no_time_of_the_check():
    assert summarise(make_samples("u", start=120_000), 0, 180_000) == Rollup(
        up=60_000, runs=1, latency=count_times([100])
    )


def test_nothing_known_has_no_uptime():
    assert find_uptime(Rollup()) is None
    assert find_uptime(Rollup(unknown=5, unobserved=5)) is None
    assert format_uptime(None) == "—"


@pytest.mark.parametrize(
    ("uptime", "text"),
    [
        (Fraction(1), "100.000%"),
        (Fraction(999_999_999, 10**9), "99.999%"),
        (Fraction(2, 3), "66.666%"),
        (Fraction(5, 100), "5.000%"),
        (Fraction(0), "0.000%"),
    ],
)
def test_uptime_is_shown_rounded_down_so_that_100_means_never_down(uptime, text):
    assert format_uptime(uptime) == text


@pytest.mark.parametrize(
    ("phase", "degraded", "letter", "verdict"),
    [
        (Phase.UP, False, "u", Verdict.UP),
        (Phase.UP, True, "w", Verdict.DEGRADED),
        (Phase.PENDING, True, "d", Verdict.PENDING),
        (Phase.DOWN, False, "d", Verdict.DOWN),
        (Phase.RECOVERING, False, "u", Verdict.RECOVERING),
        (Phase.DOWN, False, "?", Verdict.UNKNOWN),
        (Phase.NEW, False, "?", Verdict.UNKNOWN),
    ],
)
def test_the_verdict_of_a_run_is_what_is_believed_after_it(phase, degraded, letter, verdict):
    assert find_verdict(State(phase=phase, degraded=degraded, since=1), OUTCOMES[letter]) is verdict


def test_a_run_within_maintenance_says_nothing():
    assert find_verdict(State(phase=Phase.UP), Outcome(status=Status.UP), maintenance=True) is Verdict.UNKNOWN


@given(histories(), st.lists(st.integers(0, 60_000), max_size=20))
def test_a_rollup_survives_being_stored(history, times):
    samples, start, end, windows = history
    rollup = merge_rollups(summarise(samples, start, end, windows), Rollup(latency=count_times(times)))
    assert read_rollup(write_rollup(rollup)) == rollup


@given(st.lists(st.integers(1, 120_000), min_size=1, max_size=200), st.sampled_from([1, 50, 75, 90, 95, 99, 100]))
def test_percentiles_are_within_two_percent_of_the_exact_ones(times, percent):
    exact = sorted(times)[math.ceil(len(times) * percent / 100) - 1]
    found = find_percentile(count_times(times), percent)
    assert abs(found - exact) <= 0.02 * exact + 0.5


@given(st.lists(st.integers(0, 10_000)), st.lists(st.integers(0, 10_000)))
def test_response_times_of_two_days_merge_as_if_they_had_been_one(one, other):
    assert merge_counts(count_times(one), count_times(other)) == count_times(one + other)


def test_without_runs_there_is_no_percentile():
    assert find_percentile({}, 99) is None


def test_a_year_of_response_times_needs_few_buckets():
    assert len(count_times(range(120_000))) < 310


def test_a_check_that_never_succeeded_has_no_uptime():
    assert find_verdict(State(phase=Phase.PENDING), OUTCOMES["d"]) is Verdict.FIRST_FAILURE
    assert minutes("f") == {"unknown": 1}
    assert find_uptime(summarise(make_samples("ff"), 0, 120_000)) is None
    assert minutes("ffd") == {"down": 3}


def test_unobserved_time_is_stored_under_its_first_name():
    assert write_rollup(Rollup(unobserved=5, runs=1)) == {"blind": 5, "runs": 1}
    assert read_rollup({"blind": 5, "runs": 1}) == Rollup(unobserved=5, runs=1)
