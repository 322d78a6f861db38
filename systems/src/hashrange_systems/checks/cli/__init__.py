"""The commands of checks, `hashrange checks ...`: for operators, without signing in.

Shared parts are in `argument`, `tables` (output for people) and `json_output` (output for programs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange_systems.checks.cli import check_commands as check
from hashrange_systems.checks.cli import history_commands as history
from hashrange_systems.checks.cli import import_command as imports
from hashrange_systems.checks.cli import key_commands as key
from hashrange_systems.checks.cli import migrate_command as migration
from hashrange_systems.checks.cli import policy_commands as policy
from hashrange_systems.checks.cli import user_commands as user
from hashrange_systems.shared.cli.system_commands import EXIT_CODES, add_worker_commands, make_cli

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.shared.application.application_type import ApplicationType

EXAMPLES = """\
  hashrange checks user add ann@example.com --tier PRO
  hashrange checks add https://example.com --user ann@example.com --every 5m
  hashrange checks list                       all checks, in ./data
  hashrange checks run 5f0c9a1e               look now
  hashrange checks history 5f0c9a1e --hours 6
  hashrange checks report --user ann@example.com --month 2026-01
  hashrange checks worker --target aws      another worker"""
WORKER_HELP = """Run the checks that are due and send the alerts that wait, until Ctrl-C.

[bold]Examples[/bold]

\b
  hashrange checks worker --target http://127.0.0.1:8000    help a running hashrange up
  CHECKS_WORKERS=300 hashrange checks worker --target aws   300 checks at the same time

Any number may work on one database: no check is run twice, and when one is killed the others take over.
Which addresses may be checked is stored in the database: hashrange checks policy. A worker that cannot decrypt what
the database holds does not start: give it the file keys.json of the others, with CHECKS_KEYS."""


def load() -> ApplicationType[Application]:
    """Import the application."""
    from hashrange_systems.checks.application import APPLICATION

    return APPLICATION


def describe_worker(services: Application) -> str:
    """Return what a worker does."""
    at_once = services.runtime.settings.workers
    return f"working, {at_once} checks at a time" if at_once else "CHECKS_WORKERS is 0: no check is run here"


app = make_cli(
    "checks",
    "Website checks: users, checks, their history, and a worker.",
    EXAMPLES,
    load,
    exit_codes=f"{EXIT_CODES}, 3 the page that was run is not up",
)
users = app.add_group("user", "Users: add, list, suspend, resume, delete.")
users.command("add", help=user.ADD_HELP)(user.add)
users.command("list")(user.list_users)
users.command("suspend")(user.suspend)
users.command("resume")(user.resume)
users.command("reset-two-factor")(user.reset_two_factor)
users.command("delete")(user.delete)
keys = app.add_group("key", "API keys: add, list, revoke.")
keys.command("add")(key.add)
keys.command("list")(key.list_keys)
keys.command("revoke")(key.revoke)
addresses = app.add_group("policy", policy.HELP)
addresses.command("show")(policy.show)
addresses.command("set")(policy.change)
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
add_worker_commands(app, WORKER_HELP, describe_worker)
