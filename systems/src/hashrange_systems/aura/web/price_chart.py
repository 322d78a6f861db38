"""Draws the history of a price: as a sparkline in lists, and as steps over time on the page of a product."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.aura.schema import Price
from hashrange_systems.shared.charts.plot import plot_sparkline
from hashrange_systems.shared.charts.svg import colour, draw, escape_text, tag
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.text import format_time

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 170, 8, 10, 10
STATES = {"SOLD": "bad-bar", "REMOVED": "soft", "RESERVED": "warn-bar", "LISTED": "p95"}


def draw_sparkline(prices: Sequence[Price], name: str) -> Markup:
    """Return the last prices as a small line."""
    known = [price.price_minor for price in prices if price.price_minor is not None]
    if len(known) < 2:
        return Markup("")
    about = f"from {format_price(min(known), prices[-1].currency)} to {format_price(max(known), prices[-1].currency)}"
    return Markup(plot_sparkline(known[-40:], title=f"Prices of {name}", about=about))  # noqa: S704 - it escapes


def describe_range(prices: Sequence[Price]) -> str:
    """Return the lowest and the highest price."""
    known = sorted(price.price_minor for price in prices if price.price_minor is not None)
    if not known:
        return ""
    lowest, highest = format_price(known[0], prices[-1].currency), format_price(known[-1], prices[-1].currency)
    return lowest if lowest == highest else f"{lowest} to {highest}"


def draw_history(prices: Sequence[Price], now: int, name: str) -> Markup:
    """Return all prices as steps over time, up to now; the page writes the labels, so that they do not shrink."""
    known = [price for price in prices if price.price_minor is not None]
    if not known:
        return Markup("")
    low, high = min(price.price_minor or 0 for price in known), max(price.price_minor or 0 for price in known)
    start = to_ms(prices[0].at)
    span = max(1, now - start)

    def x(at: int) -> float:
        return LEFT + (at - start) * (WIDTH - 2 * LEFT) / span

    def y(minor: int) -> float:
        room = HEIGHT - TOP - BOTTOM
        return TOP + room / 2 if low == high else HEIGHT - BOTTOM - (minor - low) * room / (high - low)

    points = [(x(to_ms(price.at)), y(price.price_minor or 0), price) for price in known]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    path += "".join(f"H{left:.1f}V{top:.1f}" for left, top, _ in points[1:]) + f"H{WIDTH - LEFT}"
    line = tag("path", d=path, fill="none", stroke=colour("p50"), stroke_width=2)
    dots = [draw_dot(left, top, price) for left, top, price in points]
    about = f"{len(prices)} records: {describe_range(prices)}"
    return Markup(draw(WIDTH, HEIGHT, f"Price history of {name}", about, line, *dots))  # noqa: S704 - it escapes


def draw_dot(left: float, top: float, price: Price) -> str:
    """Return the mark of one record, with a text for pointers."""
    text = f"{format_price(price.price_minor, price.currency)}, {price.state}, {format_time(to_ms(price.at))}"
    fill = colour(STATES.get(price.state, "p50"))
    return tag("circle", tag("title", escape_text(text)), cx=left, cy=top, r=4, fill=fill)
