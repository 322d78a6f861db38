"""Commands for tables of the original: migrate, repair."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.aura.cli.argument import FAILED
from hashrange_systems.shared.cli.database_target import AsJson, DatabaseTarget

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.aura.service.repair import RepairReport
    from hashrange_systems.aura.service.table_migration import MigrationSummary
    from hashrange_systems.shared.cli.system_commands import Runner

MIGRATE_HELP = """Move a table of the original (seed 001 with keys PK and SK, or seed 000) to the table of aura.

[bold]Examples[/bold]

\b
  hashrange aura migrate --from old-table --target http://127.0.0.1:8000 --preview
  hashrange aura migrate --from old-table --target http://127.0.0.1:8000
  DYNAMODB_TABLE_NAME=aura-2 hashrange aura migrate --from aura-historia-data --target aws

It adds what the table of aura lacks, and replaces and deletes nothing there; the source is only read. Interrupted, it
goes on where it stopped; run again, it adds what is missing. Items that cannot be read are reported, and the others are
moved; exit code 1, unless [bold]--skip-unreadable[/bold] is given. Stop the original's programs first: what they write
afterwards is not moved. The new table must have another name if both are in one database; a seed-000 table can also be
used in place, after [bold]hashrange aura repair[/bold]."""
REPAIR_HELP = """Complete a table that the original's programs filled: core names, countries, types, every index key.

[bold]Example[/bold]  hashrange aura repair --target http://127.0.0.1:8000

Interrupted, it goes on where it stopped; running it again changes nothing."""


def migrate(
    runner: Runner[Application],
    source: Annotated[str, typer.Option("--from", help="The table of the original.", metavar="TABLE")],
    from_endpoint: Annotated[
        str | None,
        typer.Option("--from-endpoint", help="Where that table is, if elsewhere: a URL, or aws.", metavar="URL|aws"),
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Convert everything, write nothing.")] = False,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Exit code 0 although some items could not be read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Move a table of the original."""
    target = runner.target
    os.environ["AURA_SOURCE_TABLE"] = source  # the declarations of the source read it
    with target.exit_on_error():
        summary = _migrate(target, source, from_endpoint, preview=preview)
    if summary is None:
        return
    repaired = runner.run(_repair)
    _print_summary(summary, repaired, as_json=as_json)
    if summary.unreadable and not skip_unreadable:
        raise typer.Exit(FAILED)


def _migrate(
    target: DatabaseTarget, source: str, from_endpoint: str | None, *, preview: bool
) -> MigrationSummary | None:
    from contextlib import ExitStack

    from hashrange_systems.aura.service.table_migration import TableMigration

    with ExitStack() as stack:
        database = stack.enter_context(target.open())
        origin = database
        if from_endpoint is not None:
            origin = stack.enter_context(DatabaseTarget(None, from_endpoint).open())
        work = TableMigration(source=origin, target=database, source_name=source, same_database=from_endpoint is None)
        if preview:
            _print_preview(work)
            return None
        return work.run()


def _print_preview(work: object) -> None:
    from hashrange_systems.aura.service.table_migration import TableMigration
    from hashrange_systems.shared.cli.output import print_table

    assert isinstance(work, TableMigration)
    report = work.preview()
    rows = [(before, after, str(count)) for (before, after), count in sorted(report.outcomes.items())]
    print_table("What the items become", ("from", "to", "items"), rows, empty="The table is empty.", right=("items",))
    for failure in report.failures:
        typer.echo(f"cannot be converted: {failure}", err=True)


def _print_summary(summary: MigrationSummary, repaired: RepairReport, *, as_json: bool) -> None:
    from dataclasses import asdict

    from hashrange_systems.shared.cli.output import print_json

    if as_json:
        print_json({**asdict(summary), "repair": asdict(repaired)})
        return
    typer.echo(
        f"{summary.layout}: {summary.items} items read, {summary.added} added, {summary.kept} were there and are kept"
    )
    if summary.mended:
        typer.echo(f"{summary.mended} items had attributes of a wrong type, which were left out")
    if summary.undeclared:
        typer.echo(f"{summary.undeclared} items of other programs were left out")
    for failure in summary.failures:
        typer.echo(f"cannot be read: {failure}", err=True)
    if summary.unreadable:
        typer.echo(
            f"{summary.unreadable} items could not be read, and the others were moved: mend them in the source and run "
            "the command again, or leave them out with --skip-unreadable",
            err=True,
        )
    _print_repair(repaired)


async def _repair(services: Application) -> RepairReport:
    from hashrange_systems.aura.service.repair import Repair

    return await Repair(services.db, services.work, services.clock, services.registry).run()


def repair(runner: Runner[Application], as_json: AsJson = False) -> None:
    """Complete a table that the original's programs filled."""
    from dataclasses import asdict

    from hashrange_systems.shared.cli.output import print_json

    report = runner.run(_repair)
    if as_json:
        print_json(asdict(report))
    else:
        _print_repair(report)
    if report.unreadable:
        raise typer.Exit(FAILED)


def _print_repair(report: RepairReport) -> None:
    typer.echo(
        f"{report.scanned} items looked at, {report.completed} completed, {report.indexed} index keys derived, "
        f"countries: {', '.join(report.countries) or 'none'}"
    )
    if report.unreadable:
        typer.echo(f"{report.unreadable} items cannot be read: hashrange backfill names them", err=True)
