"""`hashrange checks history` and `report`."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.checks.cli.argument import CheckId, Owner, find_check, find_user
from hashrange_systems.shared.cli.database_target import REFUSED, AsJson, fail
from hashrange_systems.shared.epoch import HOUR_MS

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
    from hashrange_systems.checks.model.uptime import Rollup
    from hashrange_systems.shared.cli.system_commands import Runner

HISTORY_HELP = """Show the runs and incidents of a check, and how the time was spent.

[bold]Examples[/bold]

\b
  hashrange checks history 5f0c9a1e              the last 24 hours
  hashrange checks history 5f0c9a1e --hours 2
  hashrange checks history 5f0c9a1e --json | jq .uptimePercent"""
REPORT_HELP = """Show the monthly report of a user.

[bold]Examples[/bold]

\b
  hashrange checks report --user ann@example.com                   this month
  hashrange checks report --user ann@example.com --month 2026-01
  hashrange checks report --user ann@example.com --pdf january.pdf --month 2026-01
  hashrange checks report --user ann@example.com --json"""


def history(
    runner: Runner[Application],
    checkid: CheckId,
    hours: Annotated[int, typer.Option("--hours", help="How far back.", min=1, max=24 * 365)] = 24,
    as_json: AsJson = False,
) -> None:
    """Show the runs and incidents of a check."""
    from hashrange_systems.checks.cli.json_output import incident_json, run_json
    from hashrange_systems.checks.cli.tables import print_incidents, print_runs
    from hashrange_systems.checks.model.uptime import find_uptime, format_uptime
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Application) -> tuple[list[Run], list[Ongoing | Ended], Rollup]:
        check = await find_check(services, checkid)
        end = services.clock.millis()
        start = end - hours * HOUR_MS
        runs = await services.history.runs(checkid, start, end + 1)
        incidents = await services.history.incidents(checkid, start, end)
        return runs, incidents, await services.history.summary(check, start, end)

    runs, incidents, rollup = runner.run(find)
    uptime = find_uptime(rollup)
    if as_json:
        percent = None if uptime is None else float(uptime * 100)
        shown = {"runs": [run_json(run) for run in runs], "incidents": [incident_json(each) for each in incidents]}
        print_json({"uptimePercent": percent, **shown})
        return
    print_runs(runs)
    print_incidents(incidents)
    typer.secho(f"uptime {format_uptime(uptime)} in the last {hours} h, {len(runs)} runs", bold=True)


def read_month(text: str | None) -> date:
    """Parse a month such as 2026-01; without one, return the current month."""
    if text is None:
        return datetime.now(UTC).date().replace(day=1)
    try:
        return datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC).date()
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a month: write 2026-01") from error


def report(
    runner: Runner[Application],
    user: Owner,
    month: Annotated[str | None, typer.Option("--month", help="The month, 2026-01 (this one).")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write it to this file, for a spreadsheet.")] = None,
    pdf: Annotated[Path | None, typer.Option("--pdf", help="Write it to this file, to be printed.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the monthly report of a user."""
    from hashrange_systems.checks.cli.json_output import report_json
    from hashrange_systems.checks.cli.tables import print_report
    from hashrange_systems.checks.web.monthly_report import Report, write_report_csv
    from hashrange_systems.checks.web.reports import write_report_pdf
    from hashrange_systems.shared.cli.output import print_json

    chosen = read_month(month)

    async def find(services: Application) -> Report:
        owner = await find_user(services, user)
        rows = await services.history.report(owner, chosen)
        return Report(owner=owner.email, month=chosen, rows=rows, made_at=services.clock.millis())

    found = runner.run(find)
    if csv is not None:
        write_file(csv, write_report_csv(found))
    if pdf is not None:
        with runner.target.exit_on_error():
            write_file(pdf, write_report_pdf(found))
    if as_json:
        print_json([report_json(row) for row in found.rows])
    elif csv is None and pdf is None:
        print_report(f"{found.owner}, {chosen:%B %Y}", found.rows)


def write_file(path: Path, content: bytes) -> None:
    """Write a file and print its path."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise fail(f"{path} cannot be written: {error.strerror}.", REFUSED) from error
    typer.echo(f"written  {path}", err=True)
