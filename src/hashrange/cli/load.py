"""`hashrange load`: bulk import of items from files into a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from hashrange.cli.command import fail

if TYPE_CHECKING:
    from rich.progress import TaskID

    from hashrange.engine.bulk_load import Phase
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table

MAX_WORKERS = 8
PHASES: dict[Phase, str] = {"reading": "Reading", "storing": "Storing", "indexing": "Building the indexes"}
HELP = """Load items from files into a table: JSON lines, or the files of a DynamoDB export, plain or gzipped.

[bold]Examples[/bold]

\b
  hashrange load items.jsonl --table music --data ./data
  hashrange load ./AWSDynamoDB/01700000000000-1a2b3c4d --table music --data ./data
  hashrange load items.jsonl.gz --table music --data ./data --create music.json

Each line is an item in DynamoDB's JSON, {"artist": {"S": "Nina Simone"}, ...}, or {"Item": {...}} as exports have it.
An item replaces an existing item with its key. If a line is invalid, nothing is loaded.
The directory must not be in use: stop the server first."""


def load(
    files: Annotated[list[Path], typer.Argument(help="Files, or the directory of an export.", exists=True)],
    table: Annotated[str, typer.Option("--table", help="The table to load into.")],
    data: Annotated[Path, typer.Option("--data", help="The data directory.", envvar="HASHRANGE_DATA")],
    create: Annotated[
        Path | None, typer.Option("--create", help="Create the table first, from this CreateTable JSON.", exists=True)
    ] = None,
    region: Annotated[
        str,
        typer.Option("--region", help="Region named in ARNs, for a new directory.", envvar="HASHRANGE_REGION"),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", help="Processes that read the files; default: the number of cores, at most 8.", min=1
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Load items from files into a table."""
    from hashrange.core.errors import HashrangeError
    from hashrange.engine.context import EngineSettings
    from hashrange.engine.engine import open_engine
    from hashrange.operations import OPERATIONS

    try:
        engine = open_engine(data, OPERATIONS, settings=EngineSettings(region=region))
        try:
            if create is not None:
                _create(engine, create, table)
            count = _load(engine, engine.catalog.locate(table), files, workers or count_workers(), quiet=quiet)
        finally:
            engine.close()
    except HashrangeError as error:
        raise fail(" ".join([str(error), *getattr(error, "__notes__", ())])) from error
    typer.echo(f"{count:,} {'item' if count == 1 else 'items'} loaded into {table}")


def _create(engine: Engine, definition: Path, table: str) -> None:
    import orjson

    from hashrange.engine.import_files import BadLine

    try:
        request = orjson.loads(definition.read_bytes())
    except orjson.JSONDecodeError as error:
        raise BadLine(f"{definition} is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise BadLine(f"{definition} is not a CreateTable request: expected a JSON object")
    engine.call("CreateTable", {**request, "TableName": table})


def _load(engine: Engine, table: Table, files: list[Path], workers: int, *, quiet: bool) -> int:
    from hashrange.core.errors import HashrangeError
    from hashrange.engine.bulk_load import load_files
    from hashrange.engine.import_files import ImportFiles

    with ProgressDisplay(quiet=quiet) as display:
        try:
            return load_files(engine, table, ImportFiles(files), display.update, workers)
        except HashrangeError as error:
            left = engine.catalog.locate(table.name).item_count
            kept = f"{display.stored:,} items were stored; loading again is safe"
            error.add_note(f"({kept if left and display.stored else 'nothing was loaded'})")
            raise


class ProgressDisplay:
    """Shows a progress bar for each phase of a load, and counts the stored items."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        text, items = TextColumn("{task.description}"), TextColumn("{task.fields[items]}")
        self._bar = Progress(text, BarColumn(), items, TimeRemainingColumn(), disable=quiet, transient=True)
        self._tasks: dict[Phase, TaskID] = {}
        self.stored = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, phase: Phase, done: int, total: int) -> None:
        """Update the bar of a phase."""
        if phase not in self._tasks:
            for task in self._tasks.values():
                self._bar.update(task, visible=False)
            self._tasks[phase] = self._bar.add_task(PHASES[phase], total=total or None, items="")
        items = ""
        if phase == "storing":
            self.stored, items = done, f"{done:,} items"
        self._bar.update(self._tasks[phase], completed=done, items=items)


def count_workers() -> int:
    """Return how many worker processes to start: the number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, MAX_WORKERS)
