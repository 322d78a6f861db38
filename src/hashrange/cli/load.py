"""`hashrange load`: many items from files into a table, quickly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table

CANNOT_LOAD = 2
HELP = """Load items from files into a table: JSON lines, or the files of a DynamoDB export, plain or gzipped.

[bold]Examples[/bold]

\b
  hashrange load items.jsonl --table music --data ./data
  hashrange load ./AWSDynamoDB/01700000000000-1a2b3c4d --table music --data ./data
  hashrange load items.jsonl.gz --table music --data ./data --create music.json

Each line is an item in DynamoDB's JSON, {"artist": {"S": "Nina Simone"}, ...}, or {"Item": {...}} as exports have it.
Items with a key that is there already replace it. The directory must not be in use: stop the server first."""


def load(
    files: Annotated[list[Path], typer.Argument(help="Files, or the directory of an export.", exists=True)],
    table: Annotated[str, typer.Option("--table", help="The table to load into.")],
    data: Annotated[Path, typer.Option("--data", help="The data directory.", envvar="HASHRANGE_DATA")],
    create: Annotated[
        Path | None, typer.Option("--create", help="Make the table first, from this CreateTable JSON.", exists=True)
    ] = None,
    region: Annotated[
        str,
        typer.Option("--region", help="Region named in ARNs, for a new directory.", envvar="HASHRANGE_REGION"),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Load items from files into a table."""
    from hashrange.core.errors import HashrangeError
    from hashrange.engine.engine import Settings, open_engine
    from hashrange.operations import OPERATIONS

    try:
        engine = open_engine(data, OPERATIONS, settings=Settings(region=region))
        try:
            if create is not None:
                _create(engine, create, table)
            count = _load(engine, engine.catalog.locate(table), files, quiet=quiet)
        finally:
            engine.close()
    except HashrangeError as error:
        typer.secho(f"Error: {error}", fg="red", err=True)
        raise typer.Exit(CANNOT_LOAD) from error
    typer.echo(f"{count:,} {'item' if count == 1 else 'items'} loaded into {table}")


def _create(engine: Engine, definition: Path, table: str) -> None:
    import orjson

    from hashrange.engine.lines import BadLine

    try:
        request = orjson.loads(definition.read_bytes())
    except orjson.JSONDecodeError as error:
        raise BadLine(f"{definition} is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise BadLine(f"{definition} is not a CreateTable request: expected a JSON object")
    engine.call("CreateTable", {**request, "TableName": table})


def _load(engine: Engine, table: Table, files: list[Path], *, quiet: bool) -> int:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from hashrange.core.errors import HashrangeError
    from hashrange.engine.bulk import load_items
    from hashrange.engine.lines import BadLine, Lines

    shown = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[items]:,} items"),
        TimeRemainingColumn(),
    )
    with Progress(*shown, disable=quiet, transient=True) as progress:
        task = progress.add_task(f"Loading {table.name}", total=None, items=0)
        lines = Lines(files, lambda position: progress.update(task, completed=position))
        progress.update(task, total=lines.size)
        loaded = 0

        def show(count: int) -> None:
            nonlocal loaded
            loaded = count
            progress.update(task, items=count)

        try:
            return load_items(engine, table, lines, show)
        except HashrangeError as error:
            left = engine.catalog.locate(table.name).item_count
            kept = f"the first {loaded:,} items were loaded" if left and loaded else "nothing was loaded"
            raise BadLine(f"{lines.where}: {error} ({kept})") from error
