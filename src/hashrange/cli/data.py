"""`hashrange data`: exports, imports, copies and compares the items of tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from hashrange.cli.command import count_of, fail
from hashrange.cli.load import count_workers
from hashrange.cli.progress_display import CountDisplay
from hashrange.cli.provision import load_module
from hashrange.cli.target_option import TARGETS, TargetOption
from hashrange.client.target import open_target

if TYPE_CHECKING:
    from hashrange.provision import ItemDifference

MAX_SHOWN = 20
HELP = """Export, import, copy and compare the items of tables.

\b
  hashrange data export orders orders.jsonl.gz --target aws:live
  hashrange data import orders orders.jsonl.gz --target ./data
  hashrange data copy orders --target aws:live --to ./data --create
  hashrange data diff orders --target aws:live --to ./data"""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode="rich")

TableArgument: TypeAlias = Annotated[str, typer.Argument(help="The name of the table.")]
ToOption: TypeAlias = Annotated[
    str, typer.Option("--to", help="The other database: a data directory, a URL, aws.", metavar="DIRECTORY|URL|aws")
]
AsOption: TypeAlias = Annotated[str, typer.Option("--as", help="The table of the other database, if its name differs.")]
FormatOption: TypeAlias = Annotated[
    Literal["dynamodb", "json", "csv", "parquet"] | None,
    typer.Option("--format", help="The format, if it does not follow from the file's name."),
]

FORMATS = """[bold]Formats[/bold]

\b
  dynamodb  .jsonl .json   DynamoDB's JSON, {"Item": {...}} on each line, as DynamoDB exports it
  json      .ndjson        plain JSON on each line; sets become lists, binary values base64
  csv       .csv           a header with types, price:N; what fits no column is in the last one, as JSON
  parquet   .parquet       typed columns (pip install 'hashrange[parquet]'); the rest as in CSV
  .gz at the end of a name compresses the first three"""
EXPORT_HELP = f"""Write the items of a table to a file.

\b
  hashrange data export orders orders.jsonl.gz --target ./data
  hashrange data export orders orders.csv --target aws:live

An interrupted export continues: give the same command again.

{FORMATS}

{TARGETS}"""
IMPORT_HELP = f"""Put the items of files, or of the directory of an export, into a table.

\b
  hashrange data import orders orders.jsonl.gz --target ./data
  hashrange data import orders orders.csv --target aws --schema shop.schema     only items that the schema can read

All lines are checked first; if one is refused, nothing is imported, except with --skip-refused.
For millions of items into a data directory, `hashrange load` is faster.

{FORMATS}

{TARGETS}"""
COPY_HELP = f"""Copy the items of a table to another database, or to another table.

\b
  hashrange data copy orders --target aws:live --to ./data --create
  hashrange data copy orders --target ./data --to ./data --as orders-2

An interrupted copy continues: give the same command again. What is written to the table meanwhile may be missing.
`hashrange copy` copies a whole data directory, as a backup.

{TARGETS}"""
DIFF_HELP = f"""Compare the items of a table with those of another: exit code 0 if they are equal, 1 if they differ.

\b
  hashrange data diff orders --target aws:live --to ./data

{TARGETS}"""


@app.command("export", help=EXPORT_HELP)
def export_command(
    table: TableArgument,
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    target: TargetOption,
    form: FormatOption = None,
) -> None:
    """Write the items of a table to a file."""
    from hashrange.provision import export_items

    with open_target(target) as database, CountDisplay("Exporting") as display:
        count = export_items(database, table, file, form=form, report=display.update)
    typer.echo(f"{count_of(count, 'item')} of {table} exported to {file}")


@app.command("import", help=IMPORT_HELP)
def import_command(
    table: TableArgument,
    files: Annotated[list[Path], typer.Argument(help="Files, or the directory of an export.", exists=True)],
    target: TargetOption,
    form: FormatOption = None,
    schema: Annotated[str, typer.Option("--schema", help="Import only items that this module can read.")] = "",
    skip_refused: Annotated[bool, typer.Option("--skip-refused", help="Import the other lines anyway.")] = False,
) -> None:
    """Put the items of files into a table."""
    from hashrange.provision import LinesRefused, import_items

    declared = load_module(schema) if schema else []
    try:
        with open_target(target) as database, CountDisplay("Importing") as display:
            report = import_items(
                database,
                table,
                files,
                *declared,
                form=form,
                skip_refused=skip_refused,
                workers=count_workers(),
                report=display.update,
            )
    except LinesRefused as refused:
        for refusal in refused.report.refusals[:MAX_SHOWN]:
            typer.secho(str(refusal), fg="red", err=True)
        raise fail(
            f"{count_of(refused.report.refused, 'line')} refused, and nothing was imported. "
            "--skip-refused imports the others."
        ) from refused
    for refusal in report.refusals[:MAX_SHOWN]:
        typer.secho(str(refusal), fg="red", err=True)
    typer.echo(f"{count_of(report.stored, 'item')} imported into {table}, {count_of(report.refused, 'line')} refused")
    if report.refused:
        raise typer.Exit(1)


@app.command("copy", help=COPY_HELP)
def copy_command(
    table: TableArgument,
    target: TargetOption,
    to: ToOption,
    name: AsOption = "",
    create: Annotated[
        bool, typer.Option("--create", help="Create the other table like this one, and its directory.")
    ] = False,
) -> None:
    """Copy the items of a table."""
    from hashrange.provision import copy_items
    from hashrange.provision.item_transfer import require_table

    with open_target(target) as source, CountDisplay("Copying") as display:
        require_table(source, table)  # before a directory is created for its copy
        if to == target:
            count = copy_items(source, table, source, name or None, create=create, report=display.update)
        else:
            with open_target(to, create=create) as other:
                count = copy_items(source, table, other, name or None, create=create, report=display.update)
    typer.echo(f"{count_of(count, 'item')} of {table} copied to {name or table} at {to}")


@app.command("diff", help=DIFF_HELP)
def diff_command(table: TableArgument, target: TargetOption, to: ToOption, name: AsOption = "") -> None:
    """Compare the items of two tables."""
    from hashrange.provision import diff_items

    counts: dict[str, int] = {}
    shown: list[str] = []
    with (
        open_target(target) as first,
        open_target(to) as second,
        CountDisplay("Comparing") as display,
    ):
        for found in diff_items(first, table, second, name or None, report=display.update):
            counts[found.kind] = counts.get(found.kind, 0) + 1
            if len(shown) < MAX_SHOWN:
                shown.append(_format_difference(found))
    for line in shown:
        typer.echo(line)
    if counts:
        typer.echo(", ".join(f"{count:,} {kind}" for kind, count in counts.items()))
        raise typer.Exit(1)
    typer.echo("The items are equal.")


def _format_difference(found: ItemDifference) -> str:
    key = ", ".join(f"{name}={next(iter(value.values()))}" for name, value in found.key.items())
    what = f": {', '.join(found.attributes)}" if found.kind == "changed" else ""
    return f"{found.kind}: {key}{what}"
