"""Maintenance windows, once and weekly, across changes of the clocks."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from hashrange_systems.checks.model.maintenance_window import WINDOW, Once, Weekly, is_under_maintenance

HOUR = 3_600_000
BERLIN_SUNDAYS = Weekly(days=(6,), start="02:30", minutes=60, zone="Europe/Berlin")


def utc(*parts):
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1000  # type: ignore[misc]


def test_a_window_includes_its_start_and_excludes_its_end():
    windows = [Once(start=1000, end=2000)]
    assert [is_under_maintenance(windows, at) for at in (999, 1000, 1999, 2000)] == [False, True, True, False]


def test_without_windows_there_is_no_maintenance():
    assert not is_under_maintenance([], 0)


def test_a_weekly_window_is_at_the_local_time_in_summer_and_winter():
    winter, summer = utc(2026, 1, 11), utc(2026, 7, 12)
    assert list(BERLIN_SUNDAYS.spans(winter, winter + 24 * HOUR)) == [
        (utc(2026, 1, 11, 1, 30), utc(2026, 1, 11, 2, 30)),
    ]
    assert list(BERLIN_SUNDAYS.spans(summer, summer + 24 * HOUR)) == [
        (utc(2026, 7, 12, 0, 30), utc(2026, 7, 12, 1, 30)),
    ]


@pytest.mark.parametrize("day", [(2026, 3, 29), (2026, 10, 25)])
def test_a_weekly_window_lasts_its_minutes_when_the_clocks_change(day):
    midnight = utc(*day) - 2 * HOUR
    spans = list(BERLIN_SUNDAYS.spans(midnight, midnight + 26 * HOUR))
    assert [end - start for start, end in spans] == [HOUR]


def test_a_window_over_midnight_is_open_on_both_sides_of_it():
    window = Weekly(days=(0,), start="23:00", minutes=120)
    monday = utc(2026, 1, 12)
    assert is_under_maintenance([window], monday + 23 * HOUR)
    assert is_under_maintenance([window], monday + 24 * HOUR + HOUR - 1)
    assert not is_under_maintenance([window], monday + 25 * HOUR)


@pytest.mark.parametrize("window", [Once(start=1000, end=2000), BERLIN_SUNDAYS])
def test_a_window_survives_being_stored(window):
    assert WINDOW.validate_python(window.model_dump()) == window


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "ONCE", "start": 5, "end": 5},
        {"kind": "WEEKLY", "days": [7], "start": "02:30", "minutes": 5},
        {"kind": "WEEKLY", "days": [], "start": "02:30", "minutes": 5},
        {"kind": "WEEKLY", "days": [1], "start": "24:00", "minutes": 5},
        {"kind": "WEEKLY", "days": [1], "start": "02:30", "minutes": 0},
        {"kind": "WEEKLY", "days": [1], "start": "02:30", "minutes": 5, "zone": "Mars/Olympus"},
        {"kind": "WEEKLY", "days": [1], "start": "02:30", "minutes": 5, "zone": "../../etc/passwd"},
        {"kind": "NEVER"},
    ],
)
def test_a_window_that_makes_no_sense_is_refused(given):
    with pytest.raises(ValidationError):
        WINDOW.validate_python(given)
