"""`hashrange checks import`: adds the checks of Uptime Kuma or Gatus from their files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.checks.cli.argument import Owner, find_user
from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.service.imports import ImportReport
    from hashrange_systems.shared.cli.system_commands import Runner

IMPORT_HELP = """Add the checks of another monitor from its file.

[bold]Examples[/bold]

\b
  hashrange checks import Uptime_Kuma_Backup.json --user ann@example.com --dry-run
  hashrange checks import gatus/config.yaml --user ann@example.com

The file is the backup of Uptime Kuma (Settings, Backup), or the configuration of Gatus. What has no counterpart is
listed with the reason. A job that reported to the other monitor gets another URL here."""


def import_checks(
    runner: Runner[Application],
    file: Annotated[Path, typer.Argument(help="The file.", exists=True, dir_okay=False)],
    user: Owner,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be added.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add the checks of another monitor."""
    from hashrange_systems.checks.model.import_file import MAX_IMPORT_BYTES
    from hashrange_systems.shared.cli.output import print_json

    with file.open("rb") as opened:
        content = opened.read(MAX_IMPORT_BYTES + 1)

    async def act(services: Application) -> ImportReport:
        userid = (await find_user(services, user)).userid
        return await services.imports.run(userid, content, only_try=dry_run)

    report = runner.run(act)
    if as_json:
        print_json({"source": report.source, "rows": [asdict(row) for row in report.rows]})
        return
    for row in report.rows:
        typer.echo(f"{row.outcome:14}  {row.check_type:12}  {row.name}{f'  ({row.text})' if row.text else ''}")
    typer.echo(f"{report.source}: {report.added} of {len(report.rows)} {'would be added' if dry_run else 'added'}")
