"""Plots as SVG text: percentiles of response times, the uptime bar, a sparkline. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from hashrange_systems.shared.charts.axis import (
    NARROW,
    WIDE,
    Frame,
    Percentiles,
    Size,
    draw_clock,
    draw_values,
    find_step,
    find_top,
    format_milliseconds,
    nice_above,
    shrink,
)
from hashrange_systems.shared.charts.svg import colour, draw, escape_text, tag
from hashrange_systems.shared.text import format_duration, format_time

FONT = "system-ui,sans-serif"
TONES = {"up": "good-bar", "impaired": "warn-bar", "down": "bad-bar", "paused": "idle-bar", "none": "idle-bar"}

Point = tuple[float, float]
Span = tuple[int, int]  # start and end
Curve = Callable[[Percentiles], int | None]
CURVES: tuple[tuple[str, Curve], ...] = (
    ("p99", lambda times: times.p99),
    ("p95", lambda times: times.p95),
    ("p50", lambda times: times.p50),
)

LABELS = {"p99": "99 %", "p95": "95 %", "p50": "median"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One day of the uptime bar."""

    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class PricePoint:
    """The lowest price of an interval, in the smallest unit; None if none is known."""

    at: int
    price: int | None


# ── response times ───────────────────────────────────────────────────────────────────────────────────────────────────
def plot_times(
    times: Sequence[Percentiles],
    start: int,
    end: int,
    interval_ms: int,
    incidents: Iterable[Span] = (),
    *,
    name: str = "",
    size: Size = WIDE,
) -> str:
    """Return the plot of response times; intervals without runs are shown as gaps, incidents are shaded.

    An ongoing incident ends with the period.
    """
    known = [each for each in times if each.p50 is not None]
    size, curves = shrink(size, empty=not known), find_curves(known)
    shaded = [(max(low, start), min(high, end)) for low, high in incidents if low < end and high > start]
    greatest = max((each.p99 or 0 for each in known), default=0)
    frame = Frame(start=start, end=end, top=nice_above(find_top(known)), interval_ms=interval_ms, size=size)
    gaps = list(find_gaps([(each.at, each.p50) for each in times], frame)) if known else []
    return draw_plot(
        frame,
        f"Response times of {name}" if name else "Response times",
        describe(known, shaded, gaps),
        draw_values(frame) if known else "",
        *(draw_gap(frame, gap) for gap in gaps),
        *(draw_incident(frame, span) for span in shaded),
        *draw_curves(frame, known, curves),
        *(draw_hint(frame, each.at, describe_interval(each)) for each in known),
        draw_legend(
            frame,
            [(LABELS[name], name, 1.0) for name, _ in reversed(curves)]
            + ([("down", "bad-bar", 0.4)] if shaded else [])
            + ([("no data", "idle-bar", 0.7)] if gaps else []),
            f"peaks up to {format_milliseconds(greatest)} are cut off ·" if greatest > frame.top else "",
        ),
        "" if known else draw_nothing(frame, "No data in this period"),
    )


def draw_plot(frame: Frame, title: str, about: str, *content: str) -> str:
    """Return a plot with its time axis; a script of the page explores it with pointer and keyboard."""
    size = frame.size
    look: dict[str, str | float] = {"font_family": FONT, "font_size": size.font_size}
    look["class_"] = "narrow" if size.is_narrow else "wide"
    return draw(size.width, size.height, title, about, draw_clock(frame), *content, **look)


def both_sizes(plot: Callable[[Size], str]) -> str:
    """Return a plot for wide and for narrow windows; the style sheet shows one of them."""
    return plot(WIDE) + plot(NARROW)


def find_gaps(values: Iterable[tuple[int, int | None]], frame: Frame) -> Iterator[Span]:
    """Yield the spans without values; adjacent ones are merged."""
    low = None
    for at, value in values:
        if value is None and low is None:
            low = at
        elif value is not None and low is not None:
            yield low, at
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


def find_curves(known: Sequence[Percentiles]) -> list[tuple[str, Curve]]:
    """Return the curves to draw: not one that is the same as the next below it, as if each interval has one run."""
    if not known:
        return []
    differing = [upper for upper, lower in pairwise(CURVES) if any(upper[1](each) != lower[1](each) for each in known)]
    return [*differing, CURVES[-1]]


def draw_curves(frame: Frame, known: Sequence[Percentiles], curves: Sequence[tuple[str, Curve]]) -> Iterator[str]:
    """Yield the bands between the percentiles, and the lines over them."""
    runs = list(split_runs(frame, known))
    for (name, upper), (_, lower), opacity in zip(curves, curves[1:], ("0.12", "0.2"), strict=False):
        for run in runs:
            outline = trace(frame, run, upper) + trace(frame, run, lower)[::-1]
            yield tag("path", d=join_points(outline) + "Z", fill=colour(name), fill_opacity=opacity)
    for name, curve in curves:
        line = "".join(join_points(trace(frame, run, curve)) for run in runs)
        width = 2 if name == "p50" else 1
        if line:
            yield tag("path", d=line, fill="none", stroke=colour(name), stroke_width=width, stroke_linejoin="round")


def trace(frame: Frame, run: Sequence[Percentiles], curve: Curve) -> list[Point]:
    """Return the points of a curve; a single interval becomes a dash of its width."""
    if len(run) > 1:
        return [(frame.middle(each.at), frame.y(curve(each) or 0)) for each in run]
    at, y = run[0].at, frame.y(curve(run[0]) or 0)
    return [(frame.x(at), y), (max(frame.x(at + frame.interval_ms), frame.x(at) + 2), y)]


def draw_incident(frame: Frame, span: Span) -> str:
    """Return a shaded span for an incident, with a mark on the axis that is visible even if it was short."""
    low, high, size = frame.x(span[0]), frame.x(span[1]), frame.size
    width = max(high - low, 2)
    hint = f"Down from {format_time(span[0])} for {format_duration(span[1] - span[0])}"
    shade = tag(
        "rect", x=low, y=size.top, width=width, height=size.foot - size.top, fill=colour("bad-bar"), opacity="0.16"
    )
    mark = tag("rect", x=low, y=size.foot, width=width, height=4, fill=colour("bad-bar"))
    return tag("g", tag("title", escape_text(hint)), shade, mark, class_="incident")


def draw_gap(frame: Frame, span: Span) -> str:
    """Return a shaded span without measurements."""
    low, high, size = frame.x(span[0]), frame.x(span[1]), frame.size
    box = {"x": low, "y": size.top, "width": high - low, "height": size.foot - size.top}
    shade = tag("rect", **box, fill=colour("idle-bar"), opacity="0.35")
    return tag("g", tag("title", escape_text(f"No data for {format_duration(span[1] - span[0])}")), shade, class_="gap")


def describe_interval(times: Percentiles) -> str:
    """Return the values of an interval."""
    values = ", ".join(f"{name} {format_milliseconds(curve(times) or 0)}" for name, curve in reversed(CURVES))
    return f"{values} ({times.runs} run{'s' if times.runs != 1 else ''})"


def draw_hint(frame: Frame, at: int, text: str) -> str:
    """Return the tooltip of an interval; the script of the page shows it for keys and touches, too."""
    low, high, size = frame.x(at), frame.x(at + frame.interval_ms), frame.size
    box = {"x": low, "y": size.top, "width": max(high - low, 1), "height": size.foot - size.top}
    title = tag("title", escape_text(f"{format_time(at)}: {text}"))
    return tag("rect", title, **box, fill="transparent", class_="hint", data_at=str(at), data_text=text)


def draw_legend(frame: Frame, entries: Iterable[tuple[str, str, float]], note: str) -> str:
    """Return the legend: what the colours are, and a note with the time zone, below it if the plot is narrow."""
    parts, x = [], 4.0 if frame.size.is_narrow else frame.size.left
    for label, name, opacity in entries:
        parts.append(tag("rect", x=x, y=8, width=12, height=8, rx=2, fill=colour(name), opacity=f"{opacity}"))
        parts.append(tag("text", escape_text(label), x=x + 17, y=16, fill=colour("soft")))
        x += 32 + 6.5 * len(label)
    below = frame.size.is_narrow
    zone = tag("tspan", "UTC", class_="zone")
    position = {"x": 4.0, "y": 34.0} if below else {"x": frame.size.end, "y": 16.0, "text_anchor": "end"}
    return "".join(parts) + tag("text", f"{escape_text(note)} " if note else "", zone, fill=colour("soft"), **position)


def draw_nothing(frame: Frame, text: str) -> str:
    """Return the text for a period without values."""
    middle = {"x": frame.size.width / 2, "y": (frame.size.top + frame.size.foot) / 2}
    return tag("text", escape_text(text), **middle, text_anchor="middle", fill=colour("soft"), font_size=14)


def describe(known: Sequence[Percentiles], incidents: Sequence[Span], gaps: Sequence[Span]) -> str:
    """Return a text alternative of the plot."""
    if not known:
        return "No data in this period."
    medians = [each.p50 or 0 for each in known]
    words = [f"Median from {format_milliseconds(min(medians))} to {format_milliseconds(max(medians))}"]
    words.append(f"99 % within {format_milliseconds(max(each.p99 or 0 for each in known))}")
    if incidents:
        words.append(f"{len(incidents)} incident{'s' if len(incidents) != 1 else ''}")
    if gaps:
        words.append(f"no data for {format_duration(sum(high - low for low, high in gaps))}")
    return ", ".join(words) + "."


# ── prices ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def plot_prices(
    prices: Sequence[PricePoint],
    start: int,
    end: int,
    interval_ms: int,
    threshold: int | None,
    format_price: Callable[[int], str],
    *,
    name: str = "",
    size: Size = WIDE,
) -> str:
    """Return the plot of the lowest prices, in steps, with the threshold; gaps are intervals without a known price."""
    known = [(each.at, each.price) for each in prices if each.price is not None]
    size = shrink(size, empty=not known)
    low, top = find_bounds([price for _, price in known] + ([threshold] if threshold is not None else []))
    frame = Frame(
        start=start,
        end=end,
        low=low,
        top=top,
        interval_ms=interval_ms,
        size=size,
        format=lambda minor: format_price(minor).partition(" ")[0],
    )
    limit = "" if threshold is None else draw_threshold(frame, threshold)
    title = f"Lowest prices of {name}" if name else "Lowest prices"
    return draw_plot(
        frame,
        title,
        describe_prices([price for _, price in known], threshold, format_price),
        draw_values(frame) if known else "",
        limit if known else "",
        tag("path", d=trace_steps(frame, prices), fill="none", stroke=colour("p50"), stroke_width=2) if known else "",
        *(draw_hint(frame, at, format_price(price)) for at, price in known),
        draw_legend(
            frame,
            [("lowest price", "p50", 1.0), *([("limit", "good-bar", 1.0)] if threshold is not None else [])]
            if known
            else [],
            "",
        ),
        "" if known else draw_nothing(frame, "No prices in this period"),
    )


def find_bounds(values: Sequence[int]) -> Span:
    """Return round ends of an axis that shows these values with some space around them."""
    if not values:
        return 0, 10
    margin = max((max(values) - min(values)) // 8, max(values) // 50, 1)
    step = find_step(max(values) - min(values) + 2 * margin)
    return max(0, (min(values) - margin) // step * step), -(-(max(values) + margin) // step) * step


def trace_steps(frame: Frame, prices: Sequence[PricePoint]) -> str:
    """Return the path of the prices: level within an interval, interrupted where none is known."""
    points: list[Point | None] = []
    for each in prices:
        if each.price is None:
            points.append(None)
        else:
            y = frame.y(each.price)
            points += [(frame.x(each.at), y), (frame.x(each.at + frame.interval_ms), y)]
    return join_points(points)


def draw_threshold(frame: Frame, threshold: int) -> str:
    """Return the line of the threshold."""
    y = frame.y(threshold)
    line = {"x1": frame.size.left, "x2": frame.size.end, "y1": y, "y2": y}
    return tag("line", **line, stroke=colour("good-bar"), stroke_width=1.5, stroke_dasharray="5 4", class_="limit")


def describe_prices(known: Sequence[int], threshold: int | None, format_price: Callable[[int], str]) -> str:
    """Return a text alternative of the plot."""
    if not known:
        return "No prices in this period."
    limit = "" if threshold is None else f", the limit is {format_price(threshold)}"
    return f"From {format_price(min(known))} to {format_price(max(known))}, last {format_price(known[-1])}{limit}."


# ── uptime bar ───────────────────────────────────────────────────────────────────────────────────────────────────────
def plot_days(bars: Sequence[Bar], uptime: str, *, name: str = "") -> str:
    """Return the bar of days, each with its colour and tooltip."""
    days = [
        tag(
            "rect",
            tag("title", escape_text(bar.text)),
            class_=bar.tone,
            x=position * 5,
            width=4,
            height=30,
            rx=1,
            fill=colour(TONES.get(bar.tone, "idle-bar")),
            opacity="0.45" if bar.tone == "none" else "1",
        )
        for position, bar in enumerate(bars)
    ]
    return draw_days(bars, uptime, name, days)


def plot_days_small(bars: Sequence[Bar], uptime: str, *, name: str = "") -> str:
    """Return the bar of days for pages with many: a dashed line for each colour, without tooltips, in a tenth of it."""
    runs: dict[str, list[str]] = {}
    for tone, days in groupby(enumerate(bars), key=lambda each: each[1].tone):
        first, *more = [position for position, _ in days]
        runs.setdefault(tone, []).append(f"M{first * 5} 15h{len(more) * 5 + 4}")
    return draw_days(bars, uptime, name, [tag("path", class_=tone, d="".join(run)) for tone, run in runs.items()])


def draw_days(bars: Sequence[Bar], uptime: str, name: str, content: Sequence[str]) -> str:
    """Return the picture of a bar of days."""
    title = f"Uptime of {name}" if name else "Uptime"
    width = max(1, len(bars) * 5 - 1)
    about = f"{uptime} in the last {len(bars)} days"
    return draw(width, 30, title, about, *content, class_="bars", preserveAspectRatio="none")


# ── sparkline ────────────────────────────────────────────────────────────────────────────────────────────────────────
def plot_sparkline(
    values: Sequence[int | None],
    *,
    name: str = "",
    title: str = "",
    about: str = "",
    width: float = 120,
    height: float = 28,
) -> str:
    """Return a small line without axes; None is a gap. Without `title` and `about`, the values are response times."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0), max(known, default=0)
    step = (width - 4) / max(1, len(values) - 1)
    points = [
        None if value is None else (2 + position * step, height - 3 - (value - low) / max(1, high - low) * (height - 6))
        for position, value in enumerate(values)
    ]
    last = next((point for point in reversed(points) if point), None)
    dot = tag("circle", cx=last[0], cy=last[1], r=2, fill=colour("p50")) if last else ""
    line = tag("path", d=join_points(points), fill="none", stroke=colour("p50"), stroke_width=1.5) if known else ""
    times = f"from {format_milliseconds(low)} to {format_milliseconds(high)}" if known else "no data"
    title, about = title or (f"Response times of {name}" if name else "Response times"), about or times
    return draw(width, height, title, about, line, dot, width=width, height=height, stroke_linejoin="round")


def join_points(points: Sequence[Point | None]) -> str:
    """Return an SVG path through the points; None interrupts it."""
    path, drawing = [], False
    for point in points:
        if point is not None:
            path.append(f"{'L' if drawing else 'M'}{point[0]:.1f} {point[1]:.1f}")
        drawing = point is not None
    return "".join(path)
