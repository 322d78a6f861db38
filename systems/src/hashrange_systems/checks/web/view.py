"""How a check looks to a person: its state in a word, its days as bars, its times in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from hashrange_systems.checks.model.kind import KINDS
from hashrange_systems.checks.model.maintenance import is_under_maintenance
from hashrange_systems.checks.model.outcome import Outcome, Status, read_outcome
from hashrange_systems.checks.model.phrase import write_duration
from hashrange_systems.checks.model.state import Phase, read_state
from hashrange_systems.checks.model.uptime import Rollup, find_uptime, format_uptime, merge_rollups
from hashrange_systems.checks.schema import AnyCheck, Failed, Paused, Scheduled, Shelved
from hashrange_systems.checks.service.history import Day
from hashrange_systems.checks.service.moment import to_ms
from hashrange_systems.checks.service.reading import read_windows

BAR_DAYS = 90
DENT = 0.99  # a day with more uptime than this has a dent, with less it was down
TONES = {
    Phase.UP: ("up", "Up"),
    Phase.PENDING: ("pending", "Confirming"),
    Phase.DOWN: ("down", "Down"),
    Phase.RECOVERING: ("pending", "Recovering"),
    Phase.NEW: ("idle", "Waiting"),
}


@dataclass(frozen=True, slots=True)
class State:
    """How a check is, in a word and a tone of colour."""

    tone: str
    word: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One day of the uptime bar."""

    tone: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A check in the list."""

    check: AnyCheck
    name: str
    state: State
    outcome: Outcome | None
    bars: Sequence[Bar]
    uptime: str
    next_run: datetime | None


def name_check(check: AnyCheck) -> str:
    """Return what to call a check: its name, or the address without the scheme."""
    if check.name:
        return check.name
    query = check.attributes.get("query")
    if check.check_type == "EBAY" and isinstance(query, str):
        return f"eBay: {query}"
    return strip_scheme(check.url)


def strip_scheme(url: str) -> str:
    """Return an address as people write it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return (parts.netloc + parts.path).rstrip("/") or url


def can_follow(url: str) -> bool:
    """Whether an address may be a link: another system may have written anything."""
    return url.startswith(("http://", "https://"))


def tell_state(check: AnyCheck, now: int) -> State:
    """Return how a check is."""
    if isinstance(check, Paused):
        return State("idle", "Paused")
    if isinstance(check, Failed):
        return State("down", "Disabled")
    if isinstance(check, Shelved):
        return State("idle", "Suspended")
    if check.status != "ACTIVE" or check.check_type not in KINDS:
        return State("idle", "Not ours")
    if is_under_maintenance(read_windows(check), now):
        return State("idle", "Maintenance")
    return tell_phase(check)


def tell_phase(check: AnyCheck) -> State:
    """Return how the target of a running check is."""
    state, outcome = read_state(check.state), read_last(check)
    if outcome is not None and outcome.status is Status.UNKNOWN:
        return State("idle", "Unknown")
    if state.phase is Phase.UP and state.degraded:
        return State("degraded", "Degraded")
    if state.phase is Phase.NEW and outcome is not None:  # one that the original system ran
        return State(outcome.status.value.lower(), outcome.status.value.capitalize())
    return State(*TONES[state.phase])


def read_last(check: AnyCheck) -> Outcome | None:
    """Return what the last run found."""
    return None if check.last_result is None else read_outcome(check.last_result)


def make_row(check: AnyCheck, days: Sequence[Day], now: int) -> Row:
    """Return a check as the list shows it."""
    return Row(
        check=check,
        name=name_check(check),
        state=tell_state(check, now),
        outcome=read_last(check),
        bars=make_bars(days, now),
        uptime=sum_uptime(days),
        next_run=check.next_run_at if isinstance(check, Scheduled) else None,
    )


def count_days(check: AnyCheck, now: int) -> int:
    """Return how many of the days of the bar a check has lived through, today included."""
    first, last = to_ms(check.created_at) // 86_400_000, now // 86_400_000
    return max(1, min(BAR_DAYS, last - first + 1))


def make_bars(days: Sequence[Day], now: int) -> list[Bar]:
    """Return the bar, with empty days before the first that is known."""
    first = days[0].day if days else from_days(now // 86_400_000 + 1)
    missing = BAR_DAYS - len(days)
    before = [Bar("none", f"{first - timedelta(days=back):%d %b}: no data") for back in range(missing, 0, -1)]
    return before + [make_bar(day) for day in days]


def from_days(number: int) -> date:
    """Return the day so many days after the epoch."""
    return date(1970, 1, 1) + timedelta(days=number)


def make_bar(day: Day) -> Bar:
    """Return one day, with what is to be said of it."""
    uptime = find_uptime(day.rollup)
    label = f"{day.day:%d %b}"
    if uptime is None:
        idle = day.rollup.paused or day.rollup.maintenance
        return Bar("paused" if idle else "none", f"{label}: {'paused' if idle else 'no data'}")
    if not day.rollup.down:
        return Bar("up", f"{label}: 100 %")
    down = f"{label}: {format_uptime(uptime)}, down for {write_duration(day.rollup.down)}"
    return Bar("dent" if uptime >= DENT else "down", down)


def sum_uptime(days: Iterable[Day]) -> str:
    """Return the uptime of all the days together, short: 100 % is only what was never down."""
    total = Rollup()
    for day in days:
        total = merge_rollups(total, day.rollup)
    return shorten_uptime(total)


def shorten_uptime(rollup: Rollup) -> str:
    """Return the uptime of a period in percent, without needless digits."""
    uptime = find_uptime(rollup)
    return "100%" if uptime == 1 else format_uptime(uptime, 2) if uptime is not None else "n/a"


def tally_states(states: Iterable[State]) -> Mapping[str, tuple[str, int]]:
    """Return how many checks are in each state, with its tone; what is bad comes first."""
    counts = Counter((state.tone, state.word) for state in states)
    order = ("down", "pending", "degraded", "up", "idle")
    ordered = sorted(counts.items(), key=lambda each: (order.index(each[0][0]), each[0][1]))
    return {word: (tone, count) for (tone, word), count in ordered}


def tell_until(at: datetime, now: int) -> str:
    """Return how far away a moment is, in its greatest unit."""
    ahead = to_ms(at) - now
    if abs(ahead) < 1000:
        return "now"
    number, unit, *_ = write_duration(abs(ahead)).split()
    return f"in {number} {unit}" if ahead > 0 else f"{number} {unit} ago"


def tell_delay(delay_ms: int) -> str:
    """Return how often a check runs."""
    return f"every {write_duration(delay_ms)}"
