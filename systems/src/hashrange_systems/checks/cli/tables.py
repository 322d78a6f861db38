"""The tables that the commands print: with colours on a terminal, else plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hashrange_systems.shared.cli.output import print_table

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
    from hashrange_systems.checks.schema import AnyCheck, ApiKey, User
    from hashrange_systems.checks.service.history import Day, ReportRow

COLOURS = {
    "UP": "green",
    "DOWN": "bold red",
    "DEGRADED": "yellow",
    "PENDING": "yellow",
    "RECOVERING": "yellow",
    "UNKNOWN": "magenta",
    "PAUSED": "dim",
    "FAILED": "red",
    "SUSPENDED": "red",
    "CLOSING": "red",
}


RIGHT = frozenset({"ms", "checks", "uptime", "down", "incidents", "p50", "p95", "HTTP"})


def colour(word: str) -> Text:
    """Return a status with its colour."""
    return Text(word, style=COLOURS.get(word, ""))


def find_state(check: AnyCheck) -> str:
    """Return the state of a check in one word: its last result, or why it is not run."""
    if check.status != "ACTIVE":
        return check.status
    return str((check.last_result or {}).get("status", "NEW"))


def print_users(users: Iterable[User]) -> None:
    """Print users as a table."""
    rows = [
        (
            user.userid,
            user.email,
            user.tier,
            colour(user.status),
            f"{'?' if user.check_count is None else user.check_count}/{user.check_limit}",
            format_time(user.created_at),
        )
        for user in users
    ]
    print_table(
        "Users", ("id", "e-mail", "tier", "status", "checks", "since"), rows, empty="There are no users.", right=RIGHT
    )


def print_keys(keys: Iterable[ApiKey]) -> None:
    """Print API keys as a table."""
    rows = [(key.key_id, key.name, format_time(key.created_at), format_time(key.last_used_at)) for key in keys]
    print_table("API keys", ("id", "name", "made", "last used"), rows, empty="There are no keys.", right=RIGHT)


def print_checks(checks: Iterable[AnyCheck]) -> None:
    """Print checks as a table."""
    rows = [
        (
            check.checkid,
            check.name or "",
            colour(find_state(check)),
            format_number((check.last_result or {}).get("responseTime")),
            format_delay(check.delay_ms),
            format_time(check.last_executed_at),
            check.url,
        )
        for check in checks
    ]
    print_table(
        "Checks",
        ("id", "name", "state", "ms", "every", "last run", "address"),
        rows,
        empty="There are no checks.",
        right=RIGHT,
    )


def print_check(check: AnyCheck, days: Sequence[Day], uptime: str) -> None:
    """Print the details of a check."""
    facts: list[tuple[str, str | Text]] = [
        ("id", check.checkid),
        ("name", check.name or ""),
        ("address", check.url),
        ("type", check.check_type),
        ("owner", check.userid),
        ("status", colour(check.status)),
        ("every", format_delay(check.delay_ms)),
        *((f"  {name}", str(value)) for name, value in check.attributes.items()),
        ("found", colour(find_state(check))),
        ("  ", str((check.last_result or {}).get("message", ""))),
        ("last run", format_time(check.last_executed_at)),
        ("next run", format_time(getattr(check, "next_run_at", None))),
        ("disabled", getattr(check, "failed_reason", None) or ""),
        (f"{len(days)} days", draw_days(days)),
        ("uptime", uptime),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts:
        if str(value):
            table.add_row(name, value if isinstance(value, Text) else Text(value))
    Console().print(table)


def draw_days(days: Iterable[Day]) -> Text:
    """Return a bar for each day, coloured by its uptime."""
    bars = Text()
    for day in days:
        rollup = day.rollup
        style = "red" if rollup.down else "yellow" if rollup.degraded else "green" if rollup.up else "dim"
        bars.append("█" if rollup.down + rollup.degraded + rollup.up else "░", style=style)
    return bars


def print_runs(runs: Iterable[Run]) -> None:
    """Print runs as a table."""
    rows = [
        (
            format_time(run.at),
            colour(run.verdict or str(run.result.get("status", ""))),
            format_number(run.result.get("responseTime")),
            format_number(run.result.get("httpStatus")),
            run.result.get("message", ""),
        )
        for run in runs
    ]
    print_table("Runs", ("at", "verdict", "ms", "HTTP", "message"), rows, empty="There were no runs.", right=RIGHT)


def print_incidents(incidents: Iterable[Ongoing | Ended]) -> None:
    """Print incidents as a table."""
    rows = [
        (
            format_time(incident.started_at),
            Text("ongoing", style="bold red") if incident.ended_at is None else format_time(incident.ended_at),
            incident.cause or "",
            incident.evidence,
        )
        for incident in incidents
    ]
    print_table("Incidents", ("from", "to", "cause", "evidence"), rows, empty="There were no incidents.", right=RIGHT)


def print_report(title: str, report: Iterable[ReportRow]) -> None:
    """Print a report as a table."""
    from hashrange_systems.checks.model.uptime import format_uptime

    rows = [
        (
            row.check.name or row.check.url,
            Text(format_uptime(row.uptime), style="red" if row.rollup.down else "green"),
            format_delay(row.rollup.down) if row.rollup.down else "",
            str(len(row.incidents) or ""),
            format_number(row.times.p50),
            format_number(row.times.p95),
        )
        for row in report
    ]
    print_table(
        title, ("check", "uptime", "down", "incidents", "p50", "p95"), rows, empty="There are no checks.", right=RIGHT
    )


def format_time(moment: datetime | None) -> str:
    """Format a time for people, in UTC."""
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


def format_number(value: object) -> str:
    """Format a number; empty for None."""
    return "" if value is None else f"{value}"


def format_delay(millis: int) -> str:
    """Format a duration."""
    seconds = millis // 1000
    parts = ((seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or f"{millis} ms"
