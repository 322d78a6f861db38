"""Axes of the response-time plot: coordinates, ticks and labels. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, floor, log10

from hashrange_systems.shared.charts.svg import colour, escape_text, tag
from hashrange_systems.shared.epoch import from_ms

WIDTH, HEIGHT = 880.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 12.0, 34.0, 28.0
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
TIME_STEPS = (
    *(minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * DAY for days in (1, 2, 7, 14, 30, 60, 90, 180, 365)),
)
MOST_TIME_TICKS = 8
MOST_VALUE_TICKS = 5
PEAK = 4  # times the usual value; higher peaks are cut off so that the rest stays visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Response times of the runs in an interval that starts at `at`, in milliseconds; None without runs."""

    at: int
    runs: int
    p50: int | None
    p95: int | None
    p99: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The coordinate system of the plot."""

    start: int
    end: int
    top: int  # the largest duration shown
    interval_ms: int

    def x(self, at: float) -> float:
        """Return the x coordinate of a time."""
        share = (min(max(at, self.start), self.end) - self.start) / max(1, self.end - self.start)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, duration: float) -> float:
        """Return the y coordinate of a duration; larger ones are drawn at the top."""
        return HEIGHT - BOTTOM - min(duration / self.top, 1) * (HEIGHT - TOP - BOTTOM)

    def middle(self, times: Percentiles) -> float:
        """Return the x coordinate of the middle of an interval."""
        return self.x(times.at + self.interval_ms / 2)


def find_top(known: Sequence[Percentiles]) -> int:
    """Return the largest time to show; if a few peaks are far above the rest, a value somewhat above the rest."""
    greatest = sorted(each.p99 or 0 for each in known) or [0]
    usual = greatest[floor((len(greatest) - 1) * 0.9)]
    return greatest[-1] if greatest[-1] <= PEAK * usual else ceil(usual * 1.5)


def nice_above(value: int) -> int:
    """Return the next round number, for the end of the axis."""
    return max(10, ceil(value / find_step(value)) * find_step(value))


def find_step(value: int) -> int:
    """Return the distance between ticks for an axis of this length: 1, 2 or 5 times a power of ten."""
    rough = max(value, 10) / MOST_VALUE_TICKS
    power = 10 ** floor(log10(rough))
    return next(int(factor * power) for factor in (1, 2, 5, 10) if factor * power >= rough) or 1


def draw_values(frame: Frame) -> str:
    """Return the grid lines and labels of the y axis."""
    lines = []
    for value in range(0, frame.top + 1, find_step(frame.top)):
        y = frame.y(value)
        lines.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, stroke=colour("line")))
        lines.append(
            tag(
                "text",
                escape_text(format_milliseconds(value)),
                x=LEFT - 8,
                y=y + 4,
                text_anchor="end",
                fill=colour("soft"),
            )
        )
    return "".join(lines)


def draw_clock(frame: Frame) -> str:
    """Return the ticks and labels of the x axis."""
    foot = HEIGHT - BOTTOM
    lines = [tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=foot, y2=foot, stroke=colour("line"))]
    for at in find_time_ticks(frame.start, frame.end):
        x = frame.x(at)
        label = escape_text(format_tick(from_ms(at), frame.end - frame.start))
        lines.append(tag("line", x1=x, x2=x, y1=foot, y2=foot + 4, stroke=colour("soft")))
        lines.append(tag("text", label, x=x, y=foot + 18, text_anchor="middle", fill=colour("soft")))
    return "".join(lines)


def find_time_ticks(start: int, end: int) -> list[int]:
    """Return the round times to label."""
    step = next((step for step in TIME_STEPS if (end - start) / step <= MOST_TIME_TICKS), TIME_STEPS[-1])
    margin = (end - start) * 0.02
    return [at for at in range(-(-start // step) * step, end + 1, step) if start + margin <= at <= end - margin]


def format_tick(at: datetime, span: int) -> str:
    """Return the label of a tick: the time of day within two days, else the date."""
    midnight = at.hour == at.minute == 0
    return f"{at.day} {at:%b}" if span > 2 * DAY or midnight else f"{at:%H:%M}"


def format_milliseconds(millis: int) -> str:
    """Format a response time: 950 ms, 1.34 s."""
    return f"{millis} ms" if millis < 1000 else f"{millis / 1000:.3g} s"
