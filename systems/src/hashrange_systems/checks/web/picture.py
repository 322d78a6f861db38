"""What the page of a check shows, read from the services: its figures, plot, results, incidents and windows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from hashrange_systems.checks.model.maintenance import Once, Weekly
from hashrange_systems.checks.model.outcome import Outcome, read_choice, read_outcome
from hashrange_systems.checks.model.phrase import write_duration, write_moment
from hashrange_systems.checks.model.state import read_state
from hashrange_systems.checks.model.uptime import Rollup, Verdict
from hashrange_systems.checks.schema import AnyCheck, Failed, Run
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.moment import to_ms
from hashrange_systems.checks.service.reading import read_windows
from hashrange_systems.checks.web.plot import plot_times
from hashrange_systems.checks.web.services import Services
from hashrange_systems.checks.web.view import Row, State, count_days, make_row, name_check

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PERIODS = (("24 h", DAY_MS), ("7 days", 7 * DAY_MS), ("30 days", 30 * DAY_MS))
RANGES = {  # how long, and in which intervals
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
    Verdict.UP: State("up", "Up"),
    Verdict.DEGRADED: State("degraded", "Degraded"),
    Verdict.DOWN: State("down", "Down"),
    Verdict.PENDING: State("down", "Failed"),
    Verdict.RECOVERING: State("up", "Up"),
    Verdict.UNKNOWN: State("idle", "Unknown"),
    Verdict.PAUSED: State("idle", "Paused"),
}


@dataclass(frozen=True, slots=True)
class RunShown:
    """A run in the list of results."""

    at: datetime
    outcome: Outcome
    state: State


async def read_rows(history: History, checks: Sequence[AnyCheck], now: int) -> list[Row]:
    """Return checks as a list shows them."""
    room = asyncio.Semaphore(AT_ONCE)

    async def read(check: AnyCheck) -> Row:
        async with room:
            return make_row(check, await history.days(check, count_days(check, now)), now)

    return list(await asyncio.gather(*map(read, checks)))


async def read_picture(services: Services, check: AnyCheck, period: str) -> dict[str, Any]:
    """Return everything that the page of a check shows."""
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
        "runs": [show_run(run) for run in await services.db.runs(check.checkid).limit(MOST_RUNS)],
        "incidents": (await history.incidents(check.checkid))[:MOST_INCIDENTS],
        "windows": [tell_window(window) for window in read_windows(check)],
    }


async def read_period(history: History, check: AnyCheck, length: int, now: int) -> Rollup:
    """Return how a check spent the time up to now, from its beginning on."""
    start = max(now - length, to_ms(check.created_at) // DAY_MS * DAY_MS)
    return await history.summary(check, start, now)


async def draw_plot(history: History, check: AnyCheck, period: str, now: int) -> Markup:
    """Return the response times as an SVG, with the incidents shaded."""
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


def show_run(run: Run) -> RunShown:
    """Return a run as the list shows it."""
    outcome = read_outcome(dict(run.result))
    verdict = read_choice(Verdict, run.verdict) or Verdict(outcome.status.value)
    return RunShown(run.at, outcome, VERDICTS[verdict])


def tell_window(window: Once | Weekly) -> str:
    """Return a maintenance window in words."""
    if isinstance(window, Once):
        return f"{write_moment(window.start)} to {write_moment(window.end)}"
    days = ", ".join(DAYS[day] for day in sorted(set(window.days)))
    return f"{days} at {window.start} ({window.zone}) for {write_duration(window.minutes * 60_000)}"
