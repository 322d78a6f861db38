"""`hashrange migrate`: the steps of a declared migration."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from hashrange.cli.command import count_of
from hashrange.cli.progress_display import CountDisplay
from hashrange.cli.target_option import TARGETS, TargetOption
from hashrange.client.target import open_target

if TYPE_CHECKING:
    from hashrange.client.local_keys import LocalKeys
    from hashrange.provision import Migration, MigrationReport, MigrationRun
    from hashrange.session.outage import Outage

MAX_SHOWN = 20
HELP = f"""Move the items of one declaration to another while programs write: the steps of a declared migration.

\b
  export HASHRANGE_TARGET=http://127.0.0.1:8000           or --target with each step
  hashrange migrate preview shop.migrations:by_customer   examples of each kind of change
  hashrange migrate copy    shop.migrations:by_customer   every item; goes on after an interruption
  hashrange migrate follow  shop.migrations:by_customer   what has changed since, until Ctrl-C
  hashrange migrate verify  shop.migrations:by_customer   compare; --repair writes what is missing
  hashrange migrate switch  shop.migrations:by_customer   the last changes, a verification, and done
  hashrange migrate back    shop.migrations:by_customer   return to the source
  hashrange migrate finish  shop.migrations:by_customer   end it; the source tables stay
  hashrange migrate status  shop.migrations:by_customer
  hashrange migrate move    shop.migrations:by_customer   copy and switch at once, while no program runs

--keys FILE opens and seals secret fields; a migration of such fields needs it with each step.

The argument names a module and the Migration in it. Before `switch`, stop the programs that write to the source; after
it, let those write that use the target. One process at a time opens a data directory: while programs write to it, serve
it, and give the URL of the server.

{TARGETS}"""

StepName: TypeAlias = Literal["preview", "copy", "follow", "verify", "switch", "back", "finish", "status", "move"]


def migrate(  # noqa: PLR0913, PLR0917 each option is a parameter
    step: Annotated[StepName, typer.Argument(help="What to do.")],
    migration: Annotated[str, typer.Argument(help="The module and the name of the migration in it: module:name.")],
    target: TargetOption,
    to: Annotated[
        str, typer.Option("--to", help="The database of the new tables, if it is another.", metavar="DIRECTORY|URL|aws")
    ] = "",
    repair: Annotated[bool, typer.Option("--repair", help="verify: write what the target lacks.")] = False,
    allow_loss: Annotated[
        bool,
        typer.Option("--allow-loss", help="verify --repair: also overwrite items that differ, delete surplus ones."),
    ] = False,
    keep_differences: Annotated[
        bool,
        typer.Option(
            "--keep-differences", help="switch, move: leave differing and surplus items of the target as they are."
        ),
    ] = False,
    leave_failed: Annotated[
        bool,
        typer.Option("--leave-failed", help="move: leave items that cannot be converted in the source."),
    ] = False,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="The key file of the secret fields, old and new.", metavar="FILE")
    ] = None,
    new_keys: Annotated[
        Path | None,
        typer.Option("--new-keys", help="The key file that seals the new items, if another.", metavar="FILE"),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="follow: apply what is there, then end.")] = False,
) -> None:
    """Do one step of a migration."""
    with ExitStack() as stack:
        declared = load_migration(migration)
        source = stack.enter_context(open_target(target))
        other = stack.enter_context(open_target(to)) if to and to != target else source
        run = declared.open(
            source,
            other,
            keys=_read_keys(keys),
            new_keys=_read_keys(new_keys),
            command=_name_command(migration, target, to, keys, new_keys),
        )
        report = None
        if step == "preview":
            with CountDisplay("Converting") as display:
                report = run.preview(report=display.update)
            _print_report(report, with_examples=True)
        elif step == "copy":
            was_complete = run.phase == "following"
            with CountDisplay("Copying") as display:
                report = run.copy(report=display.update)
            if not was_complete:
                _print_report(report)
        elif step == "follow":
            _follow(run, once=once)
        elif step == "verify":
            _verify(run, repair=repair, allow_loss=allow_loss)
        elif step == "switch":
            with CountDisplay("Comparing") as display:
                run.switch(keep_differences=keep_differences, report=display.update)
        elif step == "move":
            with CountDisplay("Moving") as display:
                report = run.move(keep_differences=keep_differences, leave_failed=leave_failed, report=display.update)
            _print_report(report)
        elif step != "status":
            {"back": run.back, "finish": run.finish}[step]()
        typer.echo(f"The migration {declared.name!r} is {run.phase}.")
        if report is not None and report.failed:
            raise typer.Exit(1)


def _read_keys(path: Path | None) -> LocalKeys | None:
    """Return the keys in a file; refuse one that is not there, which a keyring would create with a new key."""
    from hashrange.client.local_keys import LocalKeys
    from hashrange.core.errors import PlanError

    if path is None:
        return None
    if not path.is_file():
        raise PlanError(f"There is no key file {path}: name the one that the programs use.")
    return LocalKeys(path)


def _name_command(migration: str, target: str, to: str, keys: Path | None, new_keys: Path | None) -> str:
    """Return the command of a step, with {step} for its name."""
    options = {"--target": target, "--to": to, "--keys": keys, "--new-keys": new_keys}
    names = [migration, *(word for name, value in options.items() if value for word in (name, str(value)))]
    return f"hashrange migrate {{step}} {shlex.join(names).replace('{', '{{').replace('}', '}}')}"


def load_migration(name: str) -> Migration:
    """Import the migration that `module:name` names."""
    from hashrange.core.errors import PlanError
    from hashrange.hosting.schema_module import import_from_here
    from hashrange.provision import Migration

    module, _, attribute = name.partition(":")
    imported = import_from_here(module)
    found = getattr(imported, attribute, None) if attribute else None
    if isinstance(found, Migration):
        return found
    known = [f"{module}:{each}" for each, value in vars(imported).items() if isinstance(value, Migration)]
    raise PlanError(f"{name} is not a migration. {module} has: {', '.join(known) or 'none'}.")


def _follow(run: MigrationRun, *, once: bool) -> None:
    from hashrange.session.outage import Outage

    shown = set[str]()
    total = _apply_changes(run, shown)
    typer.echo(f"{count_of(total, 'change')} applied")
    outage, pause = Outage("migrate follow"), 1.0
    try:
        while not once:
            time.sleep(pause)
            count, pause = _follow_again(run, outage, shown)
            if count:
                total += count
                typer.echo(f"{count_of(total, 'change')} applied")
    except KeyboardInterrupt:
        typer.echo()
    if run.collisions:
        typer.secho(f"{count_of(len(run.collisions), 'collision')}: the target keeps what it had", fg="red", err=True)
        raise typer.Exit(2)


def _apply_changes(run: MigrationRun, shown: set[str]) -> int:
    """Follow once, show collisions that were not shown before, and return the number of changes."""
    with CountDisplay("Reading the source") as display:
        count = run.follow(report=display.update)
    found = [str(collision) for collision in run.collisions]
    for text in found:
        if text not in shown and len(shown) < MAX_SHOWN:
            shown.add(text)
            typer.secho(f"  {text}", fg="red")
    shown.intersection_update(found)
    return count


def _follow_again(run: MigrationRun, outage: Outage, shown: set[str]) -> tuple[int, float]:
    """Return the number of changes since the last time, and the seconds to wait; raise what is no outage."""
    from hashrange.core.errors import HashrangeError

    try:
        count = _apply_changes(run, shown)
    except HashrangeError as error:
        pause = outage.pause(error)
        if pause is None:
            raise
        return 0, pause
    outage.end()
    return count, 1.0


def _print_report(report: MigrationReport, *, with_examples: bool = False) -> None:
    typer.echo(count_of(report.items, "item") + (f" read, {report.written:,} written" if report.written else ""))
    for (source, outcome), count in report.outcomes.most_common():
        typer.echo(f"  {count:,} {source} -> {outcome}")
        for conversion in report.examples.get((source, outcome), ()) if with_examples else ():
            typer.echo(indent(str(conversion), " " * 6))
    if report.not_converted:
        typer.echo(
            f"  {count_of(report.not_converted, 'item')} not converted: the migration has no function for their class"
        )
    for failure in report.failures[:MAX_SHOWN]:
        typer.secho(f"  {failure}", fg="red")
    if report.failed:
        typer.secho(f"  {count_of(report.failed, 'item')} could not be converted", fg="red")
    _refuse_collisions(report)


def _refuse_collisions(report: MigrationReport) -> None:
    """Show items of which one would replace the other; exit code 2 if there are any."""
    for collision in report.collisions[:MAX_SHOWN]:
        typer.secho(f"  {collision}", fg="red")
    if report.collided:
        typer.secho(f"  {report.collided:,} items become what others become too", fg="red", err=True)
        raise typer.Exit(2)


def _verify(run: MigrationRun, *, repair: bool, allow_loss: bool) -> None:
    """Compare, and show what differs; exit code 1 if something still does."""
    with CountDisplay("Comparing") as display:
        report = run.verify(repair=repair, allow_loss=allow_loss, report=display.update)
    if report:
        typer.echo(f"{count_of(report.items, 'item')} compared: the target is the converted source.")
        return
    typer.secho(f"{count_of(report.items, 'item')} compared: {report.differences}", fg="yellow")
    _refuse_collisions(report)
    if repair and report.missing:
        typer.echo(f"{count_of(report.missing, 'missing item')} written")
    if allow_loss:
        typer.echo(
            f"{count_of(report.differing, 'differing item')} overwritten, {report.surplus:,} surplus ones deleted"
        )
    elif repair and (report.differing or report.surplus):
        typer.echo("Differing and surplus items were left as they are: --allow-loss overwrites and deletes them")
    if not repair and run.phase == "following" and run.follow() and run.changed:
        typer.echo(
            f"The comparison was made before {count_of(run.changed, 'change')} of the source had been followed. They "
            "are applied now, and the differences above may be gone: if a program still writes to the source, stop it; "
            "then verify again"
        )
    if report.failed or not (allow_loss or (repair and not report.differing and not report.surplus)):
        raise typer.Exit(1)
