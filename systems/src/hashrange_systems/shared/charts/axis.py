"""Axes of a plot over time: sizes, coordinates, ticks and labels. No I/O.

Labels of times are UTC; each has its time as `data-at`, from which a script of the page makes the reader's local time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil, floor, log10

from hashrange_systems.shared.charts.svg import colour, escape_text, tag
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, MINUTE_MS, from_ms

TIME_STEPS = (
    *(minutes * MINUTE_MS for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * HOUR_MS for hours in (1, 2, 3, 6, 12)),
    *(days * DAY_MS for days in (1, 2, 7, 14, 30, 60, 90, 180, 365)),
)
MAX_VALUE_TICKS = 5
FEW = 20  # intervals, of which all values are shown
PEAK = 4  # times the usual value; higher peaks are cut off so that the rest stays visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a plot and its margins, and how many times fit below it."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    time_ticks: int
    font_size: int

    @property
    def is_narrow(self) -> bool:
        """Whether it is for narrow windows."""
        return self.width < WIDE.width

    @property
    def end(self) -> float:
        """The right end of the axes."""
        return self.width - self.right

    @property
    def foot(self) -> float:
        """The lower end of the axes."""
        return self.height - self.bottom


WIDE = Size(width=880, height=280, left=58, right=12, top=34, bottom=28, time_ticks=8, font_size=11)
NARROW = Size(width=330, height=260, left=54, right=10, top=52, bottom=28, time_ticks=4, font_size=12)
EMPTY_HEIGHT = 110


def shrink(size: Size, *, empty: bool) -> Size:
    """Return the size of a plot: that of an empty one is low."""
    return replace(size, height=EMPTY_HEIGHT) if empty else size


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Response times of the runs in an interval that starts at `at`, in milliseconds; None without runs."""

    at: int
    runs: int
    p50: int | None
    p95: int | None
    p99: int | None


def format_milliseconds(millis: int) -> str:
    """Format a response time: 950 ms, 1.34 s."""
    return f"{millis} ms" if millis < 1000 else f"{millis / 1000:.3g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The coordinate system of a plot; `top` and `low` are the largest and smallest values shown."""

    start: int
    end: int
    top: int
    interval_ms: int
    low: int = 0
    size: Size = WIDE
    format: Callable[[int], str] = format_milliseconds

    def x(self, at: float) -> float:
        """Return the x coordinate of a time."""
        share = (min(max(at, self.start), self.end) - self.start) / max(1, self.end - self.start)
        return self.size.left + share * (self.size.end - self.size.left)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value; larger ones are drawn at the top."""
        share = min(max((value - self.low) / max(1, self.top - self.low), 0), 1)
        return self.size.foot - share * (self.size.foot - self.size.top)

    def middle(self, at: int) -> float:
        """Return the x coordinate of the middle of the interval at a time, as far as it is shown."""
        return (self.x(at) + self.x(at + self.interval_ms)) / 2


def find_top(known: Sequence[Percentiles]) -> int:
    """Return the largest time to show; if a few of many are far above the rest, a value somewhat above the rest."""
    greatest = sorted(each.p99 or 0 for each in known) or [0]
    if len(greatest) <= FEW:
        return greatest[-1]
    usual = greatest[floor((len(greatest) - 1) * 0.9)]
    return greatest[-1] if greatest[-1] <= PEAK * usual else ceil(usual * 1.5)


def nice_above(value: int) -> int:
    """Return the next round number, for the end of the axis."""
    return max(10, ceil(value / find_step(value)) * find_step(value))


def find_step(value: int) -> int:
    """Return the distance between ticks for an axis of this length: 1, 2 or 5 times a power of ten."""
    rough = max(value, 10) / MAX_VALUE_TICKS
    power = 10 ** floor(log10(rough))
    return next(int(factor * power) for factor in (1, 2, 5, 10) if factor * power >= rough) or 1


def draw_values(frame: Frame) -> str:
    """Return the grid lines and labels of the y axis."""
    lines, size = [], frame.size
    step = find_step(frame.top - frame.low)
    for value in range(-(-frame.low // step) * step, frame.top + 1, step):
        y = frame.y(value)
        label = escape_text(frame.format(value))
        lines.append(tag("line", x1=size.left, x2=size.end, y1=y, y2=y, stroke=colour("line")))
        lines.append(tag("text", label, x=size.left - 8, y=y + 4, text_anchor="end", fill=colour("soft")))
    return "".join(lines)


def draw_clock(frame: Frame) -> str:
    """Return the ticks and labels of the x axis."""
    size, foot = frame.size, frame.size.foot
    lines = [tag("line", x1=size.left, x2=size.end, y1=foot, y2=foot, stroke=colour("line"))]
    for at in find_time_ticks(frame.start, frame.end, size.time_ticks):
        x = frame.x(at)
        label = escape_text(format_tick(from_ms(at), frame.end - frame.start))
        about = {"data_at": str(at), "data_show": "date" if shows_date(frame.end - frame.start) else "time"}
        lines.append(tag("line", x1=x, x2=x, y1=foot, y2=foot + 4, stroke=colour("soft")))
        lines.append(tag("text", label, x=x, y=foot + 18, text_anchor="middle", fill=colour("soft"), **about))
    return "".join(lines)


def find_time_ticks(start: int, end: int, most: int = WIDE.time_ticks) -> list[int]:
    """Return the round times to label."""
    step = next((step for step in TIME_STEPS if (end - start) / step <= most), TIME_STEPS[-1])
    margin = (end - start) * 0.02
    return [at for at in range(-(-start // step) * step, end + 1, step) if start + margin <= at <= end - margin]


def shows_date(span: int) -> bool:
    """Return whether the labels of a period are dates, not times of day."""
    return span > 2 * DAY_MS


def format_tick(at: datetime, span: int) -> str:
    """Return the label of a tick: the time of day within two days, else the date."""
    midnight = at.hour == at.minute == 0
    return f"{at.day} {at:%b}" if shows_date(span) or midnight else f"{at:%H:%M}"


def find_interval(start: int, end: int, shortest_ms: int, most: int = 60) -> int:
    """Return the round interval that divides a period into at most so many, not shorter than `shortest_ms`."""
    wanted = max(shortest_ms, -(-(end - start) // most))
    return next((step for step in TIME_STEPS if step >= wanted and step <= DAY_MS), DAY_MS)
