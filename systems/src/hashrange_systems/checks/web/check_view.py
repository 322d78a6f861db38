"""How pages present a check: its state, its days as bars, its times. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from hashrange_systems.checks.model.maintenance_window import is_under_maintenance
from hashrange_systems.checks.model.outcome import Outcome, Status, read_outcome
from hashrange_systems.checks.model.state import Phase, read_state
from hashrange_systems.checks.model.uptime import NO_UPTIME, Rollup, find_uptime, format_uptime, merge_rollups
from hashrange_systems.checks.registry import CHECK_TYPES, name_check
from hashrange_systems.checks.schema import Active, AnyCheck, Failed, Paused, Scheduled, SuspendedCheck
from hashrange_systems.checks.service.history import Day
from hashrange_systems.checks.service.stored_options import read_delay, read_windows
from hashrange_systems.shared.charts.plot import Bar
from hashrange_systems.shared.epoch import DAY_MS, to_ms
from hashrange_systems.shared.text import format_duration

BAR_DAYS = 90
OVERDUE = "Overdue"
OVERDUE_MS = 90_000  # longer than a run, and the lease of one whose worker died
IMPAIRED = 0.99  # uptime of a day below which its bar is shown as down
TONES = {
    Phase.UP: ("up", "Up"),
    Phase.PENDING: ("pending", "Confirming"),
    Phase.DOWN: ("down", "Down"),
    Phase.RECOVERING: ("pending", "Recovering"),
    Phase.NEW: ("idle", "Waiting"),
}


@dataclass(frozen=True, slots=True)
class StateLabel:
    """The state of a check as a word and a colour."""

    tone: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A check in the list."""

    check: AnyCheck
    name: str
    state: StateLabel
    outcome: Outcome | None
    bars: Sequence[Bar]
    uptime: str
    next_run: datetime | None


def can_follow(url: str) -> bool:
    """Return whether a URL may be a link: another system may have written anything."""
    return url.startswith(("http://", "https://"))


def describe_state(check: AnyCheck, now: int) -> StateLabel:
    """Return the state of a check."""
    if isinstance(check, Paused):
        return StateLabel("idle", "Paused")
    if isinstance(check, Failed):
        return StateLabel("idle", "Disabled")
    if isinstance(check, SuspendedCheck):
        return StateLabel("idle", "Suspended")
    if check.status != "ACTIVE" or check.check_type not in CHECK_TYPES:
        return StateLabel("idle", "Not ours")
    if is_under_maintenance(read_windows(check), now):
        return StateLabel("idle", "Maintenance")
    if is_overdue(check, now):
        return StateLabel("idle", OVERDUE)
    return describe_phase(check)


def is_overdue(check: AnyCheck, now: int) -> bool:
    """Return whether a check has not been run for so long after its due time that its last result says nothing.

    A run that was claimed has a due time and a lease: one that is put off, or fails, again and again is overdue, too.
    """
    due_at = find_due_time(check)
    return due_at is not None and now - due_at > max(OVERDUE_MS, read_delay(check) // 2)


def find_due_time(check: AnyCheck) -> int | None:
    """Return when an active check is or was due; one that another system wrote, without a schedule, after its delay."""
    if isinstance(check, Scheduled):
        return to_ms(min(check.next_run_at, check.due_at or check.next_run_at))
    if not isinstance(check, Active) or isinstance(check, SuspendedCheck) or check.last_executed_at is None:
        return None
    return to_ms(check.last_executed_at) + read_delay(check)


def find_seen_until(check: AnyCheck, now: int) -> int:
    """Return until when something is known about a check: now, or of an overdue one its last run."""
    last_at = read_state(check.state).last_at
    return last_at if last_at is not None and is_overdue(check, now) else now


def describe_phase(check: AnyCheck) -> StateLabel:
    """Return the state of the target of an active check."""
    state, outcome = read_state(check.state), read_last(check)
    if outcome is not None and outcome.status is Status.UNKNOWN:
        return StateLabel("idle", "Unknown")
    if state.phase is Phase.UP and state.degraded:
        return StateLabel("degraded", "Degraded")
    if state.phase is Phase.NEW and outcome is not None:  # run by the original system
        return StateLabel(outcome.status.value.lower(), outcome.status.value.capitalize())
    return StateLabel(*TONES[state.phase])


def read_last(check: AnyCheck) -> Outcome | None:
    """Return the outcome of the last run."""
    return None if check.last_result is None else read_outcome(check.last_result)


def make_row(check: AnyCheck, days: Sequence[Day], now: int) -> Row:
    """Return the row of a check."""
    return Row(
        check=check,
        name=name_check(check),
        state=describe_state(check, now),
        outcome=read_last(check),
        bars=make_bars(days, now),
        uptime=sum_uptime(days),
        next_run=check.next_run_at if isinstance(check, Scheduled) else None,
    )


def count_days(check: AnyCheck, now: int) -> int:
    """Return how many days of the bar the check exists, including today."""
    first, last = to_ms(check.created_at) // DAY_MS, now // DAY_MS
    return max(1, min(BAR_DAYS, last - first + 1))


def make_bars(days: Sequence[Day], now: int) -> list[Bar]:
    """Return the bars of all days, empty ones before the first known day."""
    first = days[0].day if days else from_days(now // DAY_MS + 1)
    missing = BAR_DAYS - len(days)
    before = [Bar("none", f"{first - timedelta(days=back):%d %b}: no data") for back in range(missing, 0, -1)]
    return before + [make_bar(day) for day in days]


def from_days(number: int) -> date:
    """Return a date from days since the epoch."""
    return date(1970, 1, 1) + timedelta(days=number)


def make_bar(day: Day) -> Bar:
    """Return the bar of a day with its tooltip."""
    uptime = find_uptime(day.rollup)
    label = f"{day.day:%d %b}"
    if uptime is None:
        idle = day.rollup.paused or day.rollup.maintenance
        return Bar("paused" if idle else "none", f"{label}: {'paused' if idle else 'no data'}")
    if not day.rollup.down:
        return Bar("up", f"{label}: 100 %")
    down = f"{label}: {format_uptime(uptime)}, down for {format_duration(day.rollup.down)}"
    return Bar("impaired" if uptime >= IMPAIRED else "down", down)


def sum_uptime(days: Iterable[Day]) -> str:
    """Format the uptime of all days together; it is 100 % only without any downtime."""
    total = Rollup()
    for day in days:
        total = merge_rollups(total, day.rollup)
    return shorten_uptime(total)


def shorten_uptime(rollup: Rollup) -> str:
    """Format the uptime of a period in percent."""
    uptime = find_uptime(rollup)
    return "100%" if uptime == 1 else format_uptime(uptime, 2) if uptime is not None else NO_UPTIME


def tally_states(states: Iterable[StateLabel]) -> Mapping[str, tuple[str, int]]:
    """Return the number of checks in each state, worst state first."""
    counts = Counter((state.tone, state.word) for state in states)
    order = ("down", "pending", "degraded", "up", "idle")
    ordered = sorted(counts.items(), key=lambda each: (order.index(each[0][0]), each[0][1]))
    return {word: (tone, count) for (tone, word), count in ordered}


def format_until(at: datetime, now: int) -> str:
    """Format the distance to a time in its largest unit."""
    ahead = to_ms(at) - now
    if abs(ahead) < 1000:
        return "now"
    number, unit, *_ = format_duration(abs(ahead)).split()
    return f"in {number} {unit}" if ahead > 0 else f"{number} {unit} ago"


def format_interval(delay_ms: int) -> str:
    """Format the delay between runs."""
    return f"every {format_duration(delay_ms)}"
