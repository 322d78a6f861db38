"""The content of a check's page: figures, plot, results, incidents and maintenance windows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from hashrange_systems.checks.model.maintenance_window import Once, Weekly
from hashrange_systems.checks.model.outcome import Outcome, read_choice, read_outcome
from hashrange_systems.checks.model.state import read_state
from hashrange_systems.checks.model.uptime import Rollup, Verdict
from hashrange_systems.checks.schema import AnyCheck, Failed, Run
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.stored_options import read_windows
from hashrange_systems.checks.services import Services
from hashrange_systems.checks.web.check_view import Row, StateLabel, count_days, make_row, name_check
from hashrange_systems.shared.charts.plot import plot_times
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.text import format_duration, format_time

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PERIODS = (("24 h", DAY_MS), ("7 days", 7 * DAY_MS), ("30 days", 30 * DAY_MS))
RANGES = {  # length and interval
    "24h": (DAY_MS, HOUR_MS // 2),
    "7d": (7 * DAY_MS, 3 * HOUR_MS),
    "30d": (30 * DAY_MS, 12 * HOUR_MS),
    "90d": (90 * DAY_MS, DAY_MS),
}
MOST_RUNS = 15
MOST_INCIDENTS = 15
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
AT_ONCE = 16
VERDICTS = {
    Verdict.UP: StateLabel("up", "Up"),
    Verdict.DEGRADED: StateLabel("degraded", "Degraded"),
    Verdict.DOWN: StateLabel("down", "Down"),
    Verdict.PENDING: StateLabel("down", "Failed"),
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
    room = asyncio.Semaphore(AT_ONCE)

    async def read(check: AnyCheck) -> Row:
        async with room:
            return make_row(check, await history.days(check, count_days(check, now)), now)

    return list(await asyncio.gather(*map(read, checks)))


async def read_check_page(services: Services, check: AnyCheck, period: str) -> dict[str, Any]:
    """Return the template context of a check's page."""
    history, now = services.history, services.clock.millis()
    row, *_ = await read_rows(history, [check], now)
    state = read_state(check.state)
    return {
        "row": row,
        "flapping": state.flapping,
        "failed_reason": check.failed_reason if isinstance(check, Failed) else None,
        "periods": [(label, await read_period(history, check, length, now)) for label, length in PERIODS],
        "range": period,
        "ranges": list(RANGES),
        "plot": await draw_plot(history, check, period, now),
        "runs": [make_run_row(run) for run in await services.db.runs(check.checkid).limit(MOST_RUNS)],
        "incidents": (await history.incidents(check.checkid))[:MOST_INCIDENTS],
        "windows": [format_window(window) for window in read_windows(check)],
    }


async def read_period(history: History, check: AnyCheck, length: int, now: int) -> Rollup:
    """Return the roll-up of the time up to now, at most from the creation of the check."""
    start = max(now - length, to_ms(check.created_at) // DAY_MS * DAY_MS)
    return await history.summary(check, start, now)


async def draw_plot(history: History, check: AnyCheck, period: str, now: int) -> Markup:
    """Return the plot of response times, with the incidents."""
    length, interval = RANGES[period]
    end = now - now % interval + interval
    start = end - length
    born = to_ms(check.created_at) // interval * interval
    times = await history.response_times(check, min(max(start, born), end - interval), end, interval)
    incidents = [
        (to_ms(each.started_at), to_ms(each.ended_at) if each.ended_at else end)
        for each in await history.incidents(check.checkid, start, end)
    ]
    first = max(start, times[0].at) if times and end - born < length else start
    return Markup(plot_times(times, first, end, interval, incidents, name=name_check(check)))  # noqa: S704 - it escapes


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
