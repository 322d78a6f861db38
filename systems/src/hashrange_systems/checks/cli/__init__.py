"""The commands of the checks system, `hashrange checks ...`: for operators, without signing in.

Shared parts are in `target` (which database), `tables` (output for people) and `json_output` (output for programs).
"""

from __future__ import annotations

import typer

from hashrange_systems.checks.cli import check_commands as check
from hashrange_systems.checks.cli import history_commands as history
from hashrange_systems.checks.cli import import_command as imports
from hashrange_systems.checks.cli import key_commands as key
from hashrange_systems.checks.cli import migrate_command as migration
from hashrange_systems.checks.cli import policy_commands as policy
from hashrange_systems.checks.cli import user_commands as user
from hashrange_systems.checks.cli import worker_command as work

HELP = """Website checks: users, checks, their history, and a worker.

[bold]Examples[/bold]

\b
  hashrange checks user add ann@example.com --tier PRO
  hashrange checks add https://example.com --user ann@example.com --every 5m
  hashrange checks list                       all checks, in ./data
  hashrange checks run 5f0c9a1e               look now
  hashrange checks history 5f0c9a1e --hours 6
  hashrange checks report --user ann@example.com --month 2026-01
  hashrange checks worker --target aws      another worker

[bold]Which database[/bold]

\b
  --target DIR                      a directory that no other process uses; --data DIR creates it
  --target http://127.0.0.1:8000    what a running hashrange up or serve has
  --target aws                      DynamoDB at AWS

[bold]Exit codes[/bold]

0 success, 1 refused or not found, 2 wrong usage or no database, 3 the page that was run is not up."""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.add_typer(user.app, name="user")
app.add_typer(key.app, name="key")
app.add_typer(policy.app, name="policy")
app.command("add", help=check.ADD_HELP)(check.add)
app.command("import", help=imports.IMPORT_HELP)(imports.import_checks)
app.command("list")(check.list_checks)
app.command("show")(check.show)
app.command("run")(check.run)
app.command("pause")(check.pause)
app.command("resume")(check.resume)
app.command("delete")(check.delete)
app.command("history", help=history.HISTORY_HELP)(history.history)
app.command("report", help=history.REPORT_HELP)(history.report)
app.command("migrate", help=migration.HELP)(migration.migrate)
app.command("worker", help=work.HELP)(work.worker)
