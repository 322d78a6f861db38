"""The content of a check's page: figures, plot, results, incidents and maintenance windows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.history_schema import Run
from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.ebay import build_search_url
from hashrange_systems.checks.model.maintenance_window import Once, Weekly
from hashrange_systems.checks.model.outcome import Outcome, read_choice, read_outcome
from hashrange_systems.checks.model.signals import read_signals
from hashrange_systems.checks.model.state import read_state
from hashrange_systems.checks.model.uptime import Rollup, Verdict
from hashrange_systems.checks.registry import name_check, read_attributes
from hashrange_systems.checks.schema import AnyCheck, Failed
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.stored_options import read_delay, read_windows
from hashrange_systems.checks.web.check_view import Row, StateLabel, count_days, find_seen_until, is_overdue, make_row
from hashrange_systems.shared.charts.axis import find_interval
from hashrange_systems.shared.charts.plot import both_sizes, describe_interval, plot_prices, plot_times
from hashrange_systems.shared.epoch import DAY_MS, MINUTE_MS, from_ms, to_ms
from hashrange_systems.shared.money import Money
from hashrange_systems.shared.text import format_duration, format_time

PERIODS = (("24 h", DAY_MS), ("7 days", 7 * DAY_MS), ("30 days", 30 * DAY_MS))
RANGES = {"24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS, "90d": 90 * DAY_MS}
MAX_RUNS = 15
MAX_INCIDENTS = 15
MAX_SHADED = 300  # incidents in a plot
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CONCURRENCY = 16
VERDICTS = {
    Verdict.UP: StateLabel("up", "Up"),
    Verdict.DEGRADED: StateLabel("degraded", "Degraded"),
    Verdict.DOWN: StateLabel("down", "Down"),
    Verdict.PENDING: StateLabel("down", "Failed"),
    Verdict.FIRST_FAILURE: StateLabel("down", "Failed"),
    Verdict.RECOVERING: StateLabel("up", "Up"),
    Verdict.UNKNOWN: StateLabel("idle", "Unknown"),
    Verdict.PAUSED: StateLabel("idle", "Paused"),
}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list of results."""

    at: datetime
    outcome: Outcome
    state: StateLabel


async def read_rows(history: History, checks: Sequence[AnyCheck], now: int) -> list[Row]:
    """Return the rows of a list of checks."""
    room = asyncio.Semaphore(CONCURRENCY)

    async def read(check: AnyCheck) -> Row:
        async with room:
            return make_row(check, await history.days(check, count_days(check, now)), now)

    return list(await asyncio.gather(*map(read, checks)))


async def read_check_page(services: Application, check: AnyCheck, period: str) -> dict[str, Any]:
    """Return the template context of a check's page."""
    history, now = services.history, services.clock.millis()
    row, *_ = await read_rows(history, [check], now)
    state = read_state(check.state)
    found = await services.db.runs(check.checkid).page(MAX_RUNS)
    return {
        "row": row,
        "link": find_link(check),
        "seen_until": find_seen_until(check, now),
        "overdue": is_overdue(check, now),
        "flapping": state.flapping,
        "failed_reason": check.failed_reason if isinstance(check, Failed) else None,
        "periods": [(label, await read_period(history, check, length, now)) for label, length in PERIODS],
        "range": period,
        "ranges": list(RANGES),
        "plot": await draw_times(history, check, period, now),
        "prices": await draw_prices(history, check, period, now),
        "runs": [make_run_row(run) for run in found],
        "older": found.cursor,
        "expects_signals": check.signal_key is not None,
        "signals": read_signals(check.signals) if check.signal_key else None,
        "incidents": await history.incidents(check.checkid, most=MAX_INCIDENTS),
        "windows": [format_window(window) for window in read_windows(check)],
    }


def find_link(check: AnyCheck) -> str:
    """Return the URL that a check's page links to: of an eBay price, the search."""
    attributes = read_attributes(check.check_type, check.attributes).attributes
    return build_search_url(attributes) if isinstance(attributes, Ebay) else check.url


async def read_period(history: History, check: AnyCheck, length: int, now: int) -> Rollup:
    """Return the roll-up of the time up to now, at most from the creation of the check."""
    start = max(now - length, to_ms(check.created_at) // DAY_MS * DAY_MS)
    return await history.summary(check, start, now)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot as SVG, and the same values as a table: time and text."""

    picture: Markup
    rows: Sequence[tuple[datetime, str]]


def find_period(check: AnyCheck, period: str, now: int) -> tuple[int, int]:
    """Return the start and the interval of a plot that ends now: for a young check, since its creation."""
    start = max(now - RANGES[period], min(to_ms(check.created_at), now - MINUTE_MS))
    interval = find_interval(start, now, min(read_delay(check), DAY_MS))
    return start // interval * interval if interval == DAY_MS else start, interval


async def draw_times(history: History, check: AnyCheck, period: str, now: int) -> Plot:
    """Return the plot of response times, with the incidents."""
    start, interval = find_period(check, period, now)
    times = await history.response_times(check, start // interval * interval, now, interval)
    incidents = [
        (to_ms(each.started_at), to_ms(each.ended_at) if each.ended_at else find_seen_until(check, now))
        for each in await history.incidents(check.checkid, start, now, MAX_SHADED)
    ]
    name = name_check(check)
    picture = both_sizes(lambda size: plot_times(times, start, now, interval, incidents, name=name, size=size))
    rows = [(from_ms(max(each.at, start)), describe_interval(each)) for each in times if each.p50 is not None]
    return Plot(Markup(picture), rows[::-1])  # noqa: S704 - the plot escapes


async def draw_prices(history: History, check: AnyCheck, period: str, now: int) -> Plot | None:
    """Return the plot of the lowest prices; None for a check that has no prices."""
    attributes = read_attributes(check.check_type, check.attributes).attributes
    if not isinstance(attributes, Ebay):
        return None
    start, interval = find_period(check, period, now)
    prices = await history.prices(check, start // interval * interval, now, interval)

    def format_amount(minor: int) -> str:
        return str(Money(minor, attributes.currency))

    limits = start, now, interval, attributes.threshold, format_amount
    picture = both_sizes(lambda size: plot_prices(prices, *limits, name=name_check(check), size=size))
    rows = [(from_ms(max(each.at, start)), format_amount(each.price)) for each in prices if each.price is not None]
    return Plot(Markup(picture), rows[::-1])  # noqa: S704 - the plot escapes


def make_run_row(run: Run) -> RunRow:
    """Return the row of a run."""
    outcome = read_outcome(dict(run.result))
    verdict = read_choice(Verdict, run.verdict) or Verdict(outcome.status.value)
    return RunRow(run.at, outcome, VERDICTS[verdict])


def format_window(window: Once | Weekly) -> str:
    """Format a maintenance window."""
    if isinstance(window, Once):
        return f"{format_time(window.start)} to {format_time(window.end)}"
    days = ", ".join(DAYS[day] for day in sorted(set(window.days)))
    return f"{days} at {window.start} ({window.zone}) for {format_duration(window.minutes * 60_000)}"
