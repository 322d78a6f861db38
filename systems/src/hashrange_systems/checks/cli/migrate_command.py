"""`hashrange checks migrate`: moves what older releases have stored elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hashrange_systems.shared.cli.database_target import REFUSED, fail

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.shared.cli.system_commands import Runner

PRINTED_EACH = 10_000  # items
HELP = """Move what an older release has stored elsewhere: the history of checks, out of the table CHECK.

[bold]Examples[/bold]

\b
  hashrange checks migrate
  hashrange checks migrate --target aws

On a directory, hashrange up and every command do that by themselves. On another database end all processes of the
older release, then run this; also when such a process has gone on writing since, or when you have repaired an item
that could not be moved: those are named, and the exit code is 1. It can be interrupted and repeated."""


def migrate(runner: Runner[Application]) -> None:
    """Move the history of checks."""
    from hashrange import SystemClock
    from hashrange_systems.checks.history_migration import move_history
    from hashrange_systems.checks.schema import Checks

    target = runner.target
    with target.exit_on_error(), target.open(Checks) as opened:
        move = move_history(opened, SystemClock(), ProgressPrinter().report, again=True)
    typer.echo(f"{move.moved:,} items moved")
    if move.left:
        raise fail("\n".join([f"{len(move.left)} stay where they were:", *move.left]), REFUSED)


class ProgressPrinter:
    """Prints how far it is, every ten thousand items."""

    def __init__(self) -> None:
        self.printed = 0

    def report(self, moved: int, total: int) -> None:
        """Print it, if it is much further than the last time."""
        if moved >= self.printed + PRINTED_EACH:
            self.printed = moved
            typer.echo(f"{moved:,} of about {total:,} items", err=True)
