"""`hashrange plan`, `apply` and `drift`: brings the tables of a database in line with their declaration."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from hashrange.cli.command import count_of, fail
from hashrange.cli.progress_display import ProgressDisplay
from hashrange.cli.target_option import TARGETS, TargetOption
from hashrange.client.target import open_target

if TYPE_CHECKING:
    from hashrange.client.transport import Transport
    from hashrange.provision import Declared, Difference, Progress, TablePlan
    from hashrange.schema.declare.table import Table

PLAN_HELP = f"""Show how the tables of a database differ from their declaration, and the steps that apply would take.

\b
  hashrange plan shop.schema --target ./data
  hashrange plan shop.schema --target http://127.0.0.1:8000
  hashrange plan checks --target aws:live           an installed system

Nothing is changed. A step that loses something says what, and is applied only with --allow-loss.
The exit code is 2 if something cannot be changed.

{TARGETS}"""
APPLY_HELP = f"""Bring the tables of a database in line with their declaration: create tables and indexes, set options.

\b
  hashrange apply shop.schema --target ./data
  hashrange apply shop.schema --target aws --allow-loss     also drop what is not declared

A data directory that does not exist is created. Indexes are created one at a time, with progress. Nothing is dropped
without --allow-loss.
After an interruption, apply again: it goes on where it stopped.

{TARGETS}"""
DRIFT_HELP = f"""Check that the tables of a database are as declared: exit code 0 if they are, 1 if they differ.

\b
  hashrange drift shop.schema --target aws:live

{TARGETS}"""

ABSENT = "absent"  # what a Difference says of something that is not there
COLORS = {"  + ": "green", "  - ": "yellow", "  x ": "red"}  # of the lines of a plan

ModuleArgument: TypeAlias = Annotated[str, typer.Argument(help="A module with a schema, or an installed system.")]


def plan(module: ModuleArgument, target: TargetOption) -> None:
    """Show how the tables of a database differ from their declaration."""
    from hashrange.provision import plan as make_plan

    with open_module(module, target) as (database, declared):
        changes = make_plan(database, *declared)
    _print_plan(changes, module, target)
    if changes.obstacles:
        raise fail("The lines with an x cannot be changed: apply refuses this plan.")


def drift(module: ModuleArgument, target: TargetOption) -> None:
    """Check that the tables of a database are as declared."""
    from hashrange.provision import drift as find_drift

    with open_module(module, target) as (database, declared):
        found = find_drift(database, *declared)
    for difference in found:
        subject = typer.style(f"{difference.table}: {difference.subject}", bold=True)
        typer.echo(f"{subject}: {format_difference(difference)}")
    if found:
        raise typer.Exit(1)
    typer.echo(f"The tables of {module} at {target} are as declared.")


def format_difference(difference: Difference) -> str:
    """Return what differs: missing, not declared, or declared otherwise."""
    declared, live = difference.declared, difference.live
    if live == ABSENT:
        details = "" if declared == "exists" else f" {declared}"
        return f"missing: declared{details}, but not in the database"
    if declared == ABSENT:
        return f"not declared: the database has {live}"
    return f"declared {declared}, exists {live}"


def apply(
    module: ModuleArgument,
    target: TargetOption,
    allow_loss: Annotated[bool, typer.Option("--allow-loss", help="Apply the steps that lose something, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before steps that lose something.")] = False,
) -> None:
    """Bring the tables of a database in line with their declaration."""
    from hashrange.provision import apply as apply_plan
    from hashrange.provision import plan as make_plan

    with open_module(module, target, create=True) as (database, declared):
        changes = make_plan(database, *declared)
        _print_plan(changes, module, target)
        if allow_loss and not yes and any(step.loses for step in changes.steps):
            _confirm()
        with StepDisplay() as display:
            applied = apply_plan(database, changes, allow_loss=allow_loss, report=display.update)
        left = len(changes.steps) - len(applied)
    typer.echo(
        f"{count_of(len(applied), 'step')} applied"
        + (f", {left:,} left: --allow-loss applies {'it' if left == 1 else 'them'}" if left else "")
    )
    if any(step.needs_backfill for step in applied):
        typer.secho(
            f"Next, so that the new index has the items that exist: {name_backfill(module, target)}", fg="yellow"
        )


def name_backfill(module: str, target: str) -> str:
    """Return the command that completes the items of a module's tables."""
    return f"hashrange backfill {shlex.join([module, '--target', target])}"


@contextmanager
def open_module(
    module: str, target: str, *, create: bool = False
) -> Iterator[tuple[Transport, list[Declared | Table]]]:
    """Load a declaration and open a target; `create` makes a data directory that does not exist."""
    from hashrange.provision.table_plan import require_tables

    declared = load_module(module)
    require_tables(declared)  # before a directory is created: a variable of a name may be missing
    with open_target(target, create=create) as database:
        yield database, declared


def load_module(module: str) -> list[Declared | Table]:
    """Return what a module or an installed system declares."""
    from hashrange.hosting.schema_module import load_declared

    return load_declared(module)


def _print_plan(changes: TablePlan, module: str, target: str) -> None:
    if not changes:
        typer.echo(f"The tables of {module} at {target} are as declared: nothing to do.")
        return
    for line in str(changes).splitlines():
        typer.secho(line, bold=not line.startswith(" "), fg=COLORS.get(line[:4]))
    safe = sum(1 for step in changes.steps if not step.loses)
    kept = len(changes.steps) - safe
    typer.echo(
        f"\n{count_of(safe, 'step')}"
        + (f", and {kept:,} that {'needs' if kept == 1 else 'need'} --allow-loss" if kept else "")
    )


def _confirm() -> None:
    if not sys.stdin.isatty():
        raise fail("The plan has steps that lose something. Check it, then add --yes.")
    typer.confirm("Apply all of it?", abort=True)


class StepDisplay(ProgressDisplay):
    """Shows a progress bar for the step that is being applied."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

        super().__init__(TextColumn("{task.fields[number]} {task.description}"), BarColumn(), TimeElapsedColumn())
        self._task = self.bar.add_task("", total=None, number="")

    def update(self, progress: Progress) -> None:
        """Show how far a step is."""
        self.bar.update(
            self._task,
            description=f"{progress.step.table}: {progress.step.action}",
            number=f"{progress.number}/{progress.steps}",
            completed=progress.done,
            total=progress.total or None,
        )
