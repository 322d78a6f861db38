"""Badges to embed in other pages: a label and a value on a coloured background, as standalone SVG. No I/O."""

from __future__ import annotations

import unicodedata

from hashrange_systems.shared.charts.svg import draw, escape_text, tag
from hashrange_systems.shared.text import clean

MAX_PART_LENGTH = 60
FONT = "Verdana,DejaVu Sans,Geneva,sans-serif"
NARROW = frozenset("fijlrtI.,:;'|!()[] ")
WIDE = frozenset("mwMWQO@%&")
COLOURS = {"up": "#1e7f43", "degraded": "#9a5b00", "pending": "#9a5b00", "down": "#b42318", "idle": "#5b6472"}
GROUND = "#3b4048"


def draw_badge(label: str, value: str, tone: str) -> str:
    """Return a badge; `tone` (up, degraded, pending, down, idle) chooses a colour with enough contrast."""
    label, value = clean(label, MAX_PART_LENGTH), clean(value, MAX_PART_LENGTH)
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
        draw_text(label, left / 2, left - 12),
        draw_text(value, left + right / 2, right - 12),
        width=left + right,
        height=20,
    )


def draw_text(text: str, x: float, length: float) -> str:
    """Return centred text, stretched to its length whatever the font."""
    if not text:
        return ""
    style: dict[str, str | float] = {"font_family": FONT, "font_size": 11, "fill": "#fff", "text_anchor": "middle"}
    return tag("text", escape_text(text), x=x, y=14, textLength=length, lengthAdjust="spacingAndGlyphs", **style)


def measure(text: str) -> int:
    """Return the approximate width of a text in the badge's font."""
    return round(sum(measure_sign(sign) for sign in text))


def measure_sign(sign: str) -> float:
    """Return the approximate width of a character."""
    if unicodedata.category(sign) == "Mn":
        return 0
    if unicodedata.east_asian_width(sign) in "WF":
        return 12
    return 4 if sign in NARROW else 10 if sign in WIDE else 6.9
