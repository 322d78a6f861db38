"""Plots as SVG text: percentiles of response times, the uptime bar, a sparkline. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hashrange_systems.shared.charts.axis import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Frame,
    Percentiles,
    draw_clock,
    draw_values,
    find_top,
    format_milliseconds,
    nice_above,
)
from hashrange_systems.shared.charts.svg import colour, draw, escape_text, tag
from hashrange_systems.shared.text import format_duration, format_time

FONT = "system-ui,sans-serif"
TONES = {"up": "good-bar", "dent": "warn-bar", "down": "bad-bar", "paused": "idle-bar", "none": "idle-bar"}

Point = tuple[float, float]
Span = tuple[int, int]  # start and end
Curve = Callable[[Percentiles], int | None]
CURVES: tuple[tuple[str, Curve], ...] = (
    ("p99", lambda times: times.p99),
    ("p95", lambda times: times.p95),
    ("p50", lambda times: times.p50),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One day of the uptime bar."""

    tone: str
    text: str


# ── response times ───────────────────────────────────────────────────────────────────────────────────────────────────
def plot_times(
    times: Sequence[Percentiles],
    start: int,
    end: int,
    interval_ms: int,
    incidents: Iterable[Span] = (),
    *,
    name: str = "",
) -> str:
    """Return the plot of response times; intervals without runs are shown as gaps, incidents are shaded.

    An ongoing incident ends with the period.
    """
    known = [each for each in times if each.p50 is not None]
    shaded = [(max(low, start), min(high, end)) for low, high in incidents if low < end and high > start]
    greatest = max((each.p99 or 0 for each in known), default=0)
    shown = find_top(known)
    frame = Frame(start=start, end=end, top=nice_above(shown), interval_ms=interval_ms)
    gaps = list(find_gaps(times, frame)) if known else []
    return draw(
        WIDTH,
        HEIGHT,
        f"Response times of {name}" if name else "Response times",
        describe(known, shaded, gaps),
        draw_values(frame) if known else "",
        draw_clock(frame),
        *(draw_gap(frame, gap) for gap in gaps),
        *(draw_incident(frame, span) for span in shaded),
        *draw_curves(frame, known),
        *(draw_hint(frame, each) for each in known),
        draw_legend(cut=greatest if greatest > frame.top else None, incidents=bool(shaded), gaps=bool(gaps)),
        "" if known else draw_nothing(),
        font_family=FONT,
        font_size=11,
    )


def find_gaps(times: Sequence[Percentiles], frame: Frame) -> Iterator[Span]:
    """Yield the spans without runs; adjacent ones are merged."""
    low = None
    for each in times:
        if each.p50 is None and low is None:
            low = each.at
        elif each.p50 is not None and low is not None:
            yield low, each.at
            low = None
    if low is not None:
        yield low, frame.end


def split_runs(frame: Frame, known: Sequence[Percentiles]) -> Iterator[list[Percentiles]]:
    """Yield groups of adjacent intervals."""
    run = list(known[:1])
    for before, each in pairwise(known):
        if each.at - before.at > frame.interval_ms:
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def draw_curves(frame: Frame, known: Sequence[Percentiles]) -> Iterator[str]:
    """Yield the bands between the percentiles, and the lines over them."""
    runs = list(split_runs(frame, known))
    for (name, upper), (_, lower), opacity in zip(CURVES, CURVES[1:], ("0.12", "0.2"), strict=False):
        for run in runs:
            outline = trace(frame, run, upper) + trace(frame, run, lower)[::-1]
            yield tag("path", d=join_points(outline) + "Z", fill=colour(name), fill_opacity=opacity)
    for name, curve in CURVES:
        line = "".join(join_points(trace(frame, run, curve)) for run in runs)
        width = 2 if name == "p50" else 1
        if line:
            yield tag("path", d=line, fill="none", stroke=colour(name), stroke_width=width, stroke_linejoin="round")


def trace(frame: Frame, run: Sequence[Percentiles], curve: Curve) -> list[Point]:
    """Return the points of a curve; a single interval becomes a dash of its width."""
    if len(run) > 1:
        return [(frame.middle(each), frame.y(curve(each) or 0)) for each in run]
    at, y = run[0].at, frame.y(curve(run[0]) or 0)
    return [(frame.x(at), y), (max(frame.x(at + frame.interval_ms), frame.x(at) + 2), y)]


def draw_incident(frame: Frame, span: Span) -> str:
    """Return a shaded span for an incident, with a mark on the axis that is visible even if it was short."""
    low, high = frame.x(span[0]), frame.x(span[1])
    width = max(high - low, 2)
    hint = f"Down from {format_time(span[0])} for {format_duration(span[1] - span[0])}"
    shade = tag("rect", x=low, y=TOP, width=width, height=HEIGHT - TOP - BOTTOM, fill=colour("bad-bar"), opacity="0.16")
    mark = tag("rect", x=low, y=HEIGHT - BOTTOM, width=width, height=4, fill=colour("bad-bar"))
    return tag("g", tag("title", escape_text(hint)), shade, mark, class_="incident")


def draw_gap(frame: Frame, span: Span) -> str:
    """Return a shaded span without measurements."""
    low, high = frame.x(span[0]), frame.x(span[1])
    box = tag(
        "rect", x=low, y=TOP, width=high - low, height=HEIGHT - TOP - BOTTOM, fill=colour("idle-bar"), opacity="0.35"
    )
    return tag("g", tag("title", escape_text(f"No runs for {format_duration(span[1] - span[0])}")), box, class_="gap")


def draw_hint(frame: Frame, times: Percentiles) -> str:
    """Return the tooltip of an interval."""
    low, high = frame.x(times.at), frame.x(times.at + frame.interval_ms)
    told = ", ".join(f"{name} {format_milliseconds(curve(times) or 0)}" for name, curve in reversed(CURVES))
    hint = f"{format_time(times.at)}: {told} ({times.runs} run{'s' if times.runs != 1 else ''})"
    box = {"x": low, "y": TOP, "width": high - low, "height": HEIGHT - TOP - BOTTOM}
    return tag("rect", tag("title", escape_text(hint)), **box, fill="transparent")


def draw_legend(*, cut: int | None, incidents: bool, gaps: bool) -> str:
    """Return the legend."""
    entries = [("median", "p50", 1.0), ("95 %", "p95", 1.0), ("99 %", "p99", 1.0)]
    entries += [("down", "bad-bar", 0.4)] if incidents else []
    entries += [("no runs", "idle-bar", 0.7)] if gaps else []
    parts, x = [], LEFT
    for label, name, opacity in entries:
        parts.append(tag("rect", x=x, y=8, width=12, height=8, rx=2, fill=colour(name), opacity=f"{opacity}"))
        parts.append(tag("text", escape_text(label), x=x + 17, y=16, fill=colour("soft")))
        x += 32 + 6.5 * len(label)
    note = f"peaks up to {format_milliseconds(cut)} are cut off · UTC" if cut is not None else "UTC"
    parts.append(tag("text", escape_text(note), x=WIDTH - RIGHT, y=16, text_anchor="end", fill=colour("soft")))
    return "".join(parts)


def draw_nothing() -> str:
    """Return the text for a period without runs."""
    middle = {"x": WIDTH / 2, "y": (HEIGHT + TOP - BOTTOM) / 2}
    return tag("text", "No runs in this period", **middle, text_anchor="middle", fill=colour("soft"), font_size=14)


def describe(known: Sequence[Percentiles], incidents: Sequence[Span], gaps: Sequence[Span]) -> str:
    """Return a text alternative of the plot."""
    if not known:
        return "No runs in this period."
    medians = [each.p50 or 0 for each in known]
    words = [f"Median from {format_milliseconds(min(medians))} to {format_milliseconds(max(medians))}"]
    words.append(f"99 % within {format_milliseconds(max(each.p99 or 0 for each in known))}")
    if incidents:
        words.append(f"{len(incidents)} incident{'s' if len(incidents) != 1 else ''}")
    if gaps:
        words.append(f"no runs for {format_duration(sum(high - low for low, high in gaps))}")
    return ", ".join(words) + "."


# ── uptime bar ───────────────────────────────────────────────────────────────────────────────────────────────────────
def plot_days(bars: Sequence[Bar], uptime: str, *, name: str = "") -> str:
    """Return the bar of days, each with its colour and tooltip."""
    days = [
        tag(
            "rect",
            tag("title", escape_text(bar.text)),
            class_=bar.tone,
            x=place * 5,
            width=4,
            height=30,
            rx=1,
            fill=colour(TONES.get(bar.tone, "idle-bar")),
            opacity="0.45" if bar.tone == "none" else "1",
        )
        for place, bar in enumerate(bars)
    ]
    title = f"Uptime of {name}" if name else "Uptime"
    width = max(1, len(bars) * 5 - 1)
    about = f"{uptime} in the last {len(bars)} days"
    return draw(width, 30, title, about, *days, class_="bars", preserveAspectRatio="none")


# ── sparkline ────────────────────────────────────────────────────────────────────────────────────────────────────────
def plot_sparkline(values: Sequence[int | None], *, name: str = "", width: float = 120, height: float = 28) -> str:
    """Return a small line without axes; None is a gap."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0), max(known, default=0)
    step = (width - 4) / max(1, len(values) - 1)
    points = [
        None if value is None else (2 + place * step, height - 3 - (value - low) / max(1, high - low) * (height - 6))
        for place, value in enumerate(values)
    ]
    last = next((point for point in reversed(points) if point), None)
    dot = tag("circle", cx=last[0], cy=last[1], r=2, fill=colour("p50")) if last else ""
    line = tag("path", d=join_points(points), fill="none", stroke=colour("p50"), stroke_width=1.5) if known else ""
    about = f"from {format_milliseconds(low)} to {format_milliseconds(high)}" if known else "no runs"
    title = f"Response times of {name}" if name else "Response times"
    return draw(width, height, title, about, line, dot, width=width, height=height, stroke_linejoin="round")


def join_points(points: Sequence[Point | None]) -> str:
    """Return an SVG path through the points; None interrupts it."""
    path, drawing = [], False
    for point in points:
        if point is not None:
            path.append(f"{'L' if drawing else 'M'}{point[0]:.1f} {point[1]:.1f}")
        drawing = point is not None
    return "".join(path)
