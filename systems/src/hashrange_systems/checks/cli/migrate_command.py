"""`hashrange checks migrate`: moves what older releases have stored elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hashrange_systems.shared.cli.database_target import REFUSED, fail

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.shared.cli.system_commands import Runner

HELP = """Move what an older release has stored elsewhere: the history of checks, out of the table CHECK.

[bold]Examples[/bold]

\b
  hashrange checks migrate
  hashrange checks migrate --target aws

hashrange up and every command do that by themselves, once for a database. Use this one when a process of the older
release has gone on writing since, or after you have repaired an item that could not be moved: those are named, and the
exit code is 1. It can be interrupted and repeated."""


def migrate(runner: Runner[Application]) -> None:
    """Move the history of checks."""
    from hashrange import SystemClock
    from hashrange_systems.checks.history_migration import move_history
    from hashrange_systems.checks.schema import Checks

    target = runner.target
    with target.exit_on_error(), target.open(Checks) as opened:
        move = move_history(opened, SystemClock(), print_progress, again=True)
    typer.echo(f"{move.moved:,} items moved")
    if move.left:
        raise fail("\n".join([f"{len(move.left)} stay where they were:", *move.left]), REFUSED)


def print_progress(moved: int, total: int) -> None:
    """Print how far it is."""
    typer.echo(f"{moved:,} of about {total:,} items", err=True)
