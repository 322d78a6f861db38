"""Plots: well-formed SVG, escaped, with a text for screen readers, and correct values."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.shared.charts.axis import (
    NARROW,
    WIDE,
    Percentiles,
    find_interval,
    find_step,
    find_time_ticks,
    find_top,
    format_milliseconds,
    nice_above,
)
from hashrange_systems.shared.charts.plot import (
    Bar,
    PricePoint,
    plot_days,
    plot_days_small,
    plot_prices,
    plot_sparkline,
    plot_times,
)

NOON = 1_768_478_400_000
HOUR = 3_600_000
SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("1")</script>&\x00\ud800\uffff'


def make_times(*medians):
    """Intervals of an hour from noon on; None is one without runs."""
    return [
        Percentiles(at=NOON + place * HOUR, runs=12 if p50 else 0, p50=p50, p95=p50 and p50 * 2, p99=p50 and p50 * 3)
        for place, p50 in enumerate(medians)
    ]


def plot(*medians, incidents=(), name="Shop"):
    text = plot_times(make_times(*medians), NOON, NOON + len(medians) * HOUR, HOUR, incidents, name=name)
    return ET.fromstring(text)


def titles(picture, kind):
    return [group.find(f"{SVG}title").text for group in picture.iter(f"{SVG}g") if group.get("class") == kind]


def lines(picture):
    """The lines of the percentiles, as lists of strokes, each a list of points."""
    paths = [path.get("d") for path in picture.iter(f"{SVG}path") if path.get("fill") == "none"]
    return [[read_points(stroke) for stroke in path.split("M")[1:]] for path in paths]


def read_points(stroke):
    return [tuple(map(float, point.split())) for point in stroke.split("L")]


def texts(picture):
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


def test_a_plot_is_a_picture_with_a_title_and_a_description():
    picture = plot(100, 200, 150, incidents=[(NOON, NOON + HOUR)])
    assert picture.get("role") == "img"
    assert picture.find(f"{SVG}title").text == "Response times of Shop"
    about = "Median from 100 ms to 200 ms, 99 % within 600 ms, 1 incident."
    assert picture.find(f"{SVG}desc").text == about
    assert picture.get("aria-label") == f"Response times of Shop. {about}"


def test_each_percentile_has_a_line_and_higher_is_slower():
    p99, p95, p50 = lines(plot(100, 200, 150))
    for ((first, second, third),) in (p99, p95, p50):
        assert first[0] < second[0] < third[0]
        assert second[1] < third[1] < first[1]
    assert all(high[1] < low[1] for high, low in zip(p99[0], p50[0], strict=True))


def test_intervals_without_runs_break_the_lines_and_are_shown():
    picture = plot(100, 100, None, None, 100, None)
    assert [[len(stroke) for stroke in line] for line in lines(picture)] == [[2, 2]] * 3
    assert titles(picture, "gap") == ["No data for 2 h", "No data for 1 h"]
    assert "no data for 3 h" in picture.find(f"{SVG}desc").text
    assert "no data" in texts(picture)


def test_a_single_interval_is_a_dash_as_wide_as_itself():
    ((low, high),) = lines(plot(None, 100, None))[2]
    assert low[1] == high[1]
    assert high[0] - low[0] == pytest.approx((880 - 58 - 12) / 3, abs=0.2)


def test_incidents_are_shaded_where_they_were():
    picture = plot(100, 100, 100, 100, incidents=[(NOON + HOUR, NOON + 2 * HOUR)])
    assert titles(picture, "incident") == ["Down from 2026-01-15 13:00:00 UTC for 1 h"]
    shade = next(group for group in picture.iter(f"{SVG}g") if group.get("class") == "incident").find(f"{SVG}rect")
    width = (880 - 58 - 12) / 4
    assert float(shade.get("x")) == pytest.approx(58 + width, abs=0.1)
    assert float(shade.get("width")) == pytest.approx(width, abs=0.1)


def test_a_short_incident_can_be_seen_and_one_outside_is_not_drawn():
    incidents = [(NOON, NOON + 1), (NOON - HOUR, NOON), (NOON + 2 * HOUR, NOON + 3 * HOUR)]
    picture = plot(100, 100, incidents=incidents)
    (group,) = [group for group in picture.iter(f"{SVG}g") if group.get("class") == "incident"]
    assert float(group.find(f"{SVG}rect").get("width")) >= 2


def test_an_incident_that_begins_before_and_ends_after_is_cut_to_the_period():
    picture = plot(100, 100, incidents=[(NOON - HOUR, NOON + 9 * HOUR)])
    assert titles(picture, "incident") == ["Down from 2026-01-15 12:00:00 UTC for 2 h"]


def test_a_period_without_runs_says_so():
    picture = plot(None, None)
    assert "No data in this period" in texts(picture)
    assert picture.find(f"{SVG}desc").text == "No data in this period."
    assert lines(picture) == []


def test_a_few_peaks_are_cut_off_so_that_the_rest_can_be_seen_and_it_is_said():
    picture = plot(*[100] * 30, 9000)
    assert "peaks up to 27 s are cut off · UTC" in texts(picture)
    assert min(y for line in lines(picture) for stroke in line for _, y in stroke) == 34
    assert not any("peaks" in text for text in texts(plot(100, 100, 200)))


def test_what_others_wrote_is_escaped():
    assert plot(100, name=NASTY).find(f"{SVG}title").text == 'Response times of <script>alert("1")</script>&'
    assert "<script" not in plot_times(make_times(100), NOON, NOON + HOUR, HOUR, name=NASTY)
    days = ET.fromstring(plot_days([Bar('"><script>', NASTY)], NASTY, name=NASTY))
    assert days.find(f".//{SVG}script") is None
    assert ET.fromstring(plot_sparkline([1], name=NASTY)) is not None


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 10**7)), max_size=30),
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 50)), max_size=5),
    st.text(),
)
def test_any_past_is_a_well_formed_picture_within_its_frame(medians, incidents, name):
    spans = [(NOON + low * HOUR, NOON + (low + length) * HOUR) for low, length in incidents]
    picture = plot(*medians, incidents=spans, name=name)
    for line in lines(picture):
        for x, y in (point for stroke in line for point in stroke):
            assert 57.9 <= x <= 880.1
            assert 33.9 <= y <= 252.1


def test_ticks_are_round_and_few():
    assert find_time_ticks(NOON, NOON + 24 * HOUR)[0] % (3 * HOUR) == 0
    for span in (HOUR // 6, HOUR, 24 * HOUR, 30 * 24 * HOUR, 400 * 24 * HOUR):
        assert 2 <= len(find_time_ticks(NOON + 7, NOON + 7 + span)) <= 8


@given(st.integers(0, 10**7))
def test_the_axis_ends_at_a_round_number_above(value):
    assert nice_above(value) >= max(value, 10)
    assert nice_above(value) <= max(10, value * 1.5)
    assert nice_above(value) % find_step(value) == 0


def test_the_top_is_the_greatest_unless_it_is_far_beyond_the_rest():
    assert find_top(make_times(100, 200)) == 600
    assert find_top(make_times(*[100] * 20, 5000)) == 450
    assert find_top([]) == 0
    assert find_top(make_times(*[100] * 19, 5000)) == 15_000, "of few, all are shown: the plot of a young check"


def test_the_legend_has_the_lines_that_are_drawn():
    assert [text for text in texts(plot(100, 200)) if text in {"median", "95 %", "99 %"}] == ["median", "95 %", "99 %"]
    assert {"median", "95 %", "99 %"}.isdisjoint(texts(plot(None, None)))
    single = [Percentiles(at=NOON + n * HOUR, runs=1, p50=100 + n, p95=100 + n, p99=100 + n) for n in range(3)]
    picture = ET.fromstring(plot_times(single, NOON, NOON + 3 * HOUR, HOUR))
    assert [text for text in texts(picture) if text in {"median", "95 %", "99 %"}] == ["median"]
    assert len(lines(picture)) == 1


def test_an_empty_plot_is_low():
    for size in (WIDE, NARROW):
        empty = ET.fromstring(plot_times(make_times(None), NOON, NOON + HOUR, HOUR, size=size))
        full = ET.fromstring(plot_times(make_times(100), NOON, NOON + HOUR, HOUR, size=size))
        height = [float(each.get("viewBox").split()[3]) for each in (empty, full)]
        assert height[0] < height[1] / 2
        assert empty.get("class") == full.get("class")


def test_times_are_told_as_people_do():
    assert [format_milliseconds(time) for time in (0, 999, 1000, 1340, 12_345)] == [
        "0 ms",
        "999 ms",
        "1 s",
        "1.34 s",
        "12.3 s",
    ]


def test_the_uptime_bar_has_a_day_for_each_with_its_colour_and_title():
    bars = [Bar("up", "14 Jan: 100 %"), Bar("down", "15 Jan: 50.000%"), Bar("none", "16 Jan: no data")]
    picture = ET.fromstring(plot_days(bars, "99.9%", name="Shop"))
    days = picture.findall(f"{SVG}rect")
    assert [day.get("class") for day in days] == ["up", "down", "none"]
    assert [day.find(f"{SVG}title").text for day in days] == [bar.text for bar in bars]
    assert len({day.get("fill") for day in days}) == 3
    assert picture.get("aria-label") == "Uptime of Shop. 99.9% in the last 3 days"


def test_the_small_uptime_bar_has_a_dash_for_each_day_in_its_colour():
    tones = ["up", "up", "down", "up", "none"]
    picture = ET.fromstring(plot_days_small([Bar(tone, "a day") for tone in tones], "99.9%", name="Shop"))
    found = {line.get("class"): line.get("d") for line in picture.findall(f"{SVG}path")}
    assert found == {"up": "M0 15h9M15 15h4", "down": "M10 15h4", "none": "M20 15h4"}
    assert picture.get("viewBox") == "0 0 24 30"
    assert picture.get("aria-label") == "Uptime of Shop. 99.9% in the last 5 days"
    worst = plot_days_small([Bar(tones[n % 2 + 1], "a day") for n in range(90)], "50%", name="Shop")
    assert len(worst) < 1500


def test_a_sparkline_breaks_at_gaps_and_ends_in_a_dot():
    picture = ET.fromstring(plot_sparkline([100, 200, None, 150]))
    assert picture.find(f"{SVG}path").get("d").count("M") == 2
    assert picture.find(f"{SVG}circle") is not None
    assert picture.get("aria-label") == "Response times. from 100 ms to 200 ms"


@pytest.mark.parametrize("values", [[], [None], [5], [7, 7, 7]])
def test_a_sparkline_of_little_is_still_a_picture(values):
    assert ET.fromstring(plot_sparkline(values)).get("role") == "img"


# ── young checks, narrow windows, prices ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("length", "delay", "interval"),
    [
        (10 * 60_000, 60_000, 60_000),
        (10 * 60_000, 300_000, 300_000),
        (24 * HOUR, 60_000, HOUR // 2),
        (7 * 24 * HOUR, 60_000, 3 * HOUR),
        (90 * 24 * HOUR, 60_000, 24 * HOUR),
    ],
)
def test_intervals_follow_the_age_of_a_check_and_its_delay(length, delay, interval):
    assert find_interval(NOON, NOON + length, delay) == interval


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_nothing_is_drawn_after_now_and_a_narrow_plot_has_fewer_ticks(size):
    now = NOON + 2 * HOUR + HOUR // 4  # the last interval has just begun
    text = plot_times(make_times(100, 120, 110), NOON, now, HOUR, [(NOON + HOUR, now + HOUR)], size=size)
    picture = ET.fromstring(text)
    ends = [float(box.get("x")) + float(box.get("width")) for box in picture.iter(f"{SVG}rect")]
    points = [x for line in lines(picture) for stroke in line for x, _ in stroke]
    assert max([*ends, *points]) <= size.end + 0.1
    assert len([text for text in picture.iter(f"{SVG}text") if text.get("data-at")]) <= size.time_ticks


def test_prices_are_steps_with_gaps_and_the_limit():
    prices = [PricePoint(NOON + place * HOUR, price) for place, price in enumerate([19_900, None, 18_500])]
    text = plot_prices(
        prices, NOON, NOON + 3 * HOUR, HOUR, 19_000, lambda minor: f"{minor / 100:.2f} USD", name="Camera"
    )
    picture = ET.fromstring(text)
    ((first, last),) = [line for line in lines(picture) if line]
    assert first[0][1] == first[1][1] < last[0][1]
    assert picture.find(f"{SVG}desc").text == "From 185.00 USD to 199.00 USD, last 185.00 USD, the limit is 190.00 USD."
    hints = [box.get("data-text") for box in picture.iter(f"{SVG}rect") if box.get("class") == "hint"]
    assert hints == ["199.00 USD", "185.00 USD"]
    assert "190.00" in texts(picture)


def test_a_search_without_prices_says_so():
    picture = ET.fromstring(plot_prices([], NOON, NOON + HOUR, HOUR, None, str))
    assert "No prices in this period" in texts(picture)
