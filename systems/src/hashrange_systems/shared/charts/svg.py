"""Writes SVG as text: escaped attributes and texts, and colours that follow the page's light or dark theme."""

from __future__ import annotations

from html import escape

from hashrange_systems.shared.text import clean

MAX_TEXT_LENGTH = 300
COLOURS = {  # names in the style sheet, with fallbacks
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
    """Return an element; `_` within an attribute's name is written as `-`, and `_` at its end is dropped."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(format_value(value))}"' for key, value in attributes.items()
    )
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def format_value(value: str | float) -> str:
    """Format the value of an attribute; numbers get at most one decimal."""
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def escape_text(text: str) -> str:
    """Return a text escaped for the content of an element."""
    return escape(clean(text, MAX_TEXT_LENGTH))


def colour(name: str) -> str:
    """Return a CSS variable of the page, with a fallback colour."""
    return f"var(--{name},{COLOURS[name]})"


def draw(width: float, height: float, title: str, about: str, /, *content: str, **attributes: str | float) -> str:
    """Return an SVG image with a title and a description for screen readers."""
    return tag(
        "svg",
        tag("title", escape_text(title)),
        tag("desc", escape_text(about)) if about else "",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {format_value(width)} {format_value(height)}",
        role="img",
        aria_label=clean(f"{title}. {about}" if about else title, 2 * MAX_TEXT_LENGTH),
        **attributes,
    )
