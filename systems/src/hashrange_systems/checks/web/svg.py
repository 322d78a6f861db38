"""SVG as text: elements with escaped attributes and texts, and colours that follow the page's light or dark look."""

from __future__ import annotations

from html import escape

from hashrange_systems.checks.model.phrase import clean

LONGEST_TEXT = 300
COLOURS = {  # of the pages' style sheet, and what to show without it
    "ink": "#15181e",
    "soft": "#586172",
    "line": "#e0e4ea",
    "good-bar": "#2fae66",
    "warn-bar": "#eda52f",
    "bad-bar": "#e0493d",
    "idle-bar": "#d5dae2",
    "p50": "#2457d6",
    "p95": "#8b6fe8",
    "p99": "#d6629b",
}


def tag(name: str, *content: str, **attributes: str | float) -> str:
    """Return an element; `_` in the name of an attribute stands for `-`, and a `_` at its end for nothing."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(show(value))}"' for key, value in attributes.items()
    )
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def show(value: str | float) -> str:
    """Return a value as an attribute has it: numbers with at most one digit after the point."""
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def say(text: str) -> str:
    """Return any text as it may stand in an element."""
    return escape(clean(text, LONGEST_TEXT))


def colour(name: str) -> str:
    """Return a colour of the pages, which the page decides about."""
    return f"var(--{name},{COLOURS[name]})"


def draw(width: float, height: float, title: str, about: str, /, *content: str, **attributes: str | float) -> str:
    """Return a picture that is read aloud as its title and what it is about."""
    return tag(
        "svg",
        tag("title", say(title)),
        tag("desc", say(about)) if about else "",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {show(width)} {show(height)}",
        role="img",
        aria_label=clean(f"{title}. {about}" if about else title, 2 * LONGEST_TEXT),
        **attributes,
    )
