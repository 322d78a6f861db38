"""The badge with the uptime of a status page."""

from __future__ import annotations

from fractions import Fraction

from hashrange_systems.checks.model.uptime import format_uptime
from hashrange_systems.shared.charts.badge import draw_badge


def draw_uptime_badge(uptime: Fraction | None, days: int) -> str:
    """Return a badge with the uptime of `days` days."""
    if uptime is None:
        return draw_badge(f"uptime {days} d", "no data", "idle")
    tone = "up" if uptime >= Fraction(999, 1000) else "degraded" if uptime >= Fraction(99, 100) else "down"
    return draw_badge(f"uptime {days} d", "100%" if uptime == 1 else format_uptime(uptime, 2), tone)
