"""`hashrange backfill`: existing items get the index keys, defaults and versions of the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hashrange.cli.command import count_of
from hashrange.cli.progress_display import CountDisplay
from hashrange.cli.provision import ModuleArgument, open_module
from hashrange.cli.target_option import TARGETS, TargetOption

if TYPE_CHECKING:
    from hashrange.provision import BackfillReport
    from hashrange.provision.item_repair import Repair

MAX_SHOWN = 10  # items that could not be completed
HELP = f"""Complete the items of existing tables: index keys, defaults, versions and derived attributes.

\b
  hashrange backfill shop.schema --target ./data --dry-run     count, and show examples
  hashrange backfill shop.schema --target ./data
  hashrange backfill shop.schema --target aws --rate 500       at most 500 items in a second

Each item gets one conditional update, so what other programs change meanwhile is kept. After an interruption, run it
again: it goes on where it stopped. The progress is kept in the table hashrange-jobs of the target.

{TARGETS}"""


def backfill(
    module: ModuleArgument,
    target: TargetOption,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; count, and show examples.")] = False,
    rate: Annotated[float, typer.Option("--rate", help="Items to read in a second; 0 for no limit.", min=0)] = 0,
    segments: Annotated[int, typer.Option("--segments", help="Parts of a table to work on in parallel.")] = 4,
) -> None:
    """Complete the items of existing tables."""
    from hashrange.provision import backfill as run_backfill

    with open_module(module, target) as (database, declared), CountDisplay() as display:

        def show(found: BackfillReport) -> None:
            display.update(found.scanned, found.total, found.table)

        reports = run_backfill(
            database,
            *declared,
            dry_run=dry_run,
            segments=segments,
            max_rate=rate or None,
            report=show,
        )
    for report in reports:
        _print_report(report, dry_run=dry_run)
    if any(report.unreadable for report in reports):
        raise typer.Exit(1)


def _print_report(report: BackfillReport, *, dry_run: bool) -> None:
    verb = "to complete" if dry_run else "completed"
    typer.secho(report.table, bold=True)
    typer.echo(f"  {count_of(report.scanned, 'item')} read, {report.repaired:,} {verb}")
    for (model, attributes), count in report.repairs.most_common():
        typer.echo(f"  {count:,} {model}: {', '.join(attributes)}")
        for example in report.examples[model, attributes] if dry_run else ():
            typer.echo(f"      {_format_repair(example)}")
    if report.undeclared:
        typer.echo(f"  {count_of(report.undeclared, 'item')} without a declared class")
    if report.unreadable:
        typer.secho(f"  {count_of(report.unreadable, 'item')} could not be completed:", fg="red")
        for failure in report.failures[:MAX_SHOWN]:
            typer.echo(f"      {failure}")


def _format_repair(repair: Repair) -> str:
    def text(values: dict[str, dict[str, object]]) -> str:
        return ", ".join(f"{attr}={_format_value(value)}" for attr, value in sorted(values.items()))

    removed = f", without {', '.join(repair.removes)}" if repair.removes else ""
    return f"{text(repair.key)}: {text(repair.sets)}{removed}"


def _format_value(value: dict[str, object]) -> str:
    [(tag, content)] = value.items()
    return str(content) if tag == "N" else repr(content)
