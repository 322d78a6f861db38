"""Badges for pages elsewhere: a label and a word on a colour, as SVG that needs no style sheet. Pure."""

from __future__ import annotations

import unicodedata
from fractions import Fraction

from hashrange_systems.checks.model.phrase import clean
from hashrange_systems.checks.model.uptime import format_uptime
from hashrange_systems.checks.web.svg import draw, say, tag

LONGEST_PART = 60
FONT = "Verdana,DejaVu Sans,Geneva,sans-serif"
NARROW = frozenset("fijlrtI.,:;'|!()[] ")
WIDE = frozenset("mwMWQO@%&")
COLOURS = {"up": "#1e7f43", "degraded": "#9a5b00", "pending": "#9a5b00", "down": "#b42318", "idle": "#5b6472"}
GROUND = "#3b4048"


def draw_badge(label: str, value: str, tone: str) -> str:
    """Return a badge; tones are those of a check's state, and white on each of them can be read."""
    label, value = clean(label, LONGEST_PART), clean(value, LONGEST_PART)
    left, right = measure(label) + 12, measure(value) + 12
    return draw(
        left + right,
        20,
        f"{label}: {value}",
        "",
        tag("clipPath", tag("rect", width=left + right, height=20, rx=4), id="r"),
        tag(
            "g",
            tag("rect", width=left, height=20, fill=GROUND),
            tag("rect", x=left, width=right, height=20, fill=COLOURS.get(tone, COLOURS["idle"])),
            clip_path="url(#r)",
        ),
        write(label, left / 2, left - 12),
        write(value, left + right / 2, right - 12),
        width=left + right,
        height=20,
    )


def draw_uptime_badge(uptime: Fraction | None, days: int) -> str:
    """Return the badge that tells the uptime of so many days."""
    if uptime is None:
        return draw_badge(f"uptime {days} d", "no data", "idle")
    tone = "up" if uptime >= Fraction(999, 1000) else "degraded" if uptime >= Fraction(99, 100) else "down"
    return draw_badge(f"uptime {days} d", "100%" if uptime == 1 else format_uptime(uptime, 2), tone)


def write(text: str, x: float, length: float) -> str:
    """Return a text in the middle of its part, made to fit whatever the font."""
    if not text:
        return ""
    style: dict[str, str | float] = {"font_family": FONT, "font_size": 11, "fill": "#fff", "text_anchor": "middle"}
    return tag("text", say(text), x=x, y=14, textLength=length, lengthAdjust="spacingAndGlyphs", **style)


def measure(text: str) -> int:
    """Return about how wide a text is in the badge's font."""
    return round(sum(measure_sign(sign) for sign in text))


def measure_sign(sign: str) -> float:
    """Return about how wide a character is."""
    if unicodedata.category(sign) == "Mn":
        return 0
    if unicodedata.east_asian_width(sign) in "WF":
        return 12
    return 4 if sign in NARROW else 10 if sign in WIDE else 6.9
