"""`hashrange load`: bulk import of items from files into a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange.cli.command import count_of, option
from hashrange.cli.progress_display import ProgressDisplay
from hashrange.client.target import is_remote

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
  hashrange load items.jsonl --table music --target ./data
  hashrange load ./AWSDynamoDB/01700000000000-1a2b3c4d --table music --target ./data
  hashrange load items.jsonl.gz --table music --target ./data --create music.json

Each line is an item in DynamoDB's JSON, {"artist": {"S": "Nina Simone"}, ...}, or {"Item": {...}} as exports have it.
An item replaces an existing item with its key. If a line is invalid, nothing is loaded.
The directory must not be in use: stop the server first.

This is the fastest way, for millions of items. `hashrange data import` also writes to a server and to AWS, and reads
CSV, plain JSON and Parquet."""


def load(
    files: Annotated[list[Path], typer.Argument(help="Files, or the directory of an export.", exists=True)],
    table: Annotated[str, typer.Option("--table", help="The table to load into.")],
    target: Annotated[str, option("target", "The data directory; created if missing.", "data", metavar="DIRECTORY")],
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
    from hashrange.engine.context import EngineSettings
    from hashrange.engine.data_directory import require_single_database
    from hashrange.engine.engine import open_engine
    from hashrange.operations import OPERATIONS

    if is_remote(target):
        raise typer.BadParameter(f"--target {target} is not a data directory: hashrange data import writes to a server")
    data = Path(target)
    require_single_database(data)
    engine = open_engine(data, OPERATIONS, settings=EngineSettings(region=region))
    try:
        if create is not None:
            _create(engine, create, table)
        loaded = LoadedFiles(files, workers or count_workers(), is_new_table=create is not None)
        count = _load(engine, engine.catalog.locate(table), loaded, quiet=quiet)
    finally:
        engine.close()
    typer.echo(f"{count_of(count, 'item')} loaded into {table}")


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


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """What is loaded, with how many processes, and whether the table was created for it."""

    files: list[Path]
    workers: int
    is_new_table: bool


def _load(engine: Engine, table: Table, given: LoadedFiles, *, quiet: bool) -> int:
    from hashrange.core.errors import HashrangeError
    from hashrange.engine.bulk_load import load_files
    from hashrange.engine.import_files import ImportFiles

    with LoadDisplay(quiet=quiet) as display:
        try:
            return load_files(engine, table, ImportFiles(given.files), display.update, given.workers)
        except HashrangeError as error:
            left = engine.catalog.locate(table.name).item_count
            kept = f"{display.stored:,} items were stored; loading again is safe"
            error.add_note(f"({kept if left and display.stored else 'nothing was loaded'})")
            if given.is_new_table and not left:
                _delete(engine, table.name)
            raise


def _delete(engine: Engine, table: str) -> None:
    engine.call("UpdateTable", {"TableName": table, "DeletionProtectionEnabled": False})
    engine.call("DeleteTable", {"TableName": table})


class LoadDisplay(ProgressDisplay):
    """Shows a progress bar for each phase of a load, and counts the stored items."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        text, items = TextColumn("{task.description}"), TextColumn("{task.fields[items]}")
        super().__init__(text, BarColumn(), items, TimeRemainingColumn(), quiet=quiet)
        self._tasks: dict[Phase, TaskID] = {}
        self.stored = 0

    def update(self, phase: Phase, done: int, total: int) -> None:
        """Update the bar of a phase."""
        if phase not in self._tasks:
            for task in self._tasks.values():
                self.bar.update(task, visible=False)
            self._tasks[phase] = self.bar.add_task(PHASES[phase], total=total or None, items="")
        items = ""
        if phase == "storing":
            self.stored, items = done, f"{done:,} items"
        self.bar.update(self._tasks[phase], completed=done, items=items)


def count_workers() -> int:
    """Return how many worker processes to start: the number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, MAX_WORKERS)
