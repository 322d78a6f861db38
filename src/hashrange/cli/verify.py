"""`hashrange verify`: looks for damage in a data directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange.cli.command import fail
from hashrange.cli.progress_display import CountDisplay

if TYPE_CHECKING:
    from hashrange.engine.verification import Verification, VerifyPhase

EXIT_DAMAGED = 1
PHASES: dict[VerifyPhase, str] = {"pages": "Pages", "items": "Items", "backups": "Backups"}
HELP = """Look for damage in a data directory: its log, the checksums of its pages, its items and indexes, its backups.

[bold]Examples[/bold]

\b
  hashrange verify ./data
  hashrange verify ./data --accept-loss     continue without the writes that a damaged log has lost

The exit code is 0 when nothing is damaged, 1 when something is, and 2 when the directory cannot be verified.
The directory must not be in use: stop the server first."""


def verify(
    data: Annotated[Path, typer.Argument(help="The data directory.", envvar="HASHRANGE_DATA")],
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Accept that a damaged or removed log has lost its last writes.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Look for damage in a data directory."""
    from hashrange.core.errors import StorageError
    from hashrange.engine.data_directory import find_databases

    is_damaged = False
    try:
        for directory in find_databases(data):
            result = _verify(directory, accept_loss=accept_loss, quiet=quiet)
            for finding in result.findings:
                typer.secho(f"damaged: {finding}", fg="red", err=True)
            typer.echo(summarise(directory, result))
            is_damaged |= bool(result.findings)
    except StorageError as error:
        raise fail(str(error)) from error
    if is_damaged:
        raise typer.Exit(EXIT_DAMAGED)


def _verify(data: Path, *, accept_loss: bool, quiet: bool) -> Verification:
    from hashrange.engine.verification import verify_directory

    with CountDisplay(quiet=quiet) as display:
        return verify_directory(
            data, lambda phase, done, total: display.update(done, total, PHASES[phase]), accept_loss=accept_loss
        )


def summarise(data: Path, result: Verification) -> str:
    """Return the result in a sentence or two."""
    parts = [(result.pages, "page"), (result.tables, "table"), (result.items, "item"), (result.backups, "backup")]
    seen = ", ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in parts)
    text = f"{data}: {seen}. "
    if result.findings:
        return text + "Restore the directory from a copy, or the affected tables from backups."
    if result.has_checksums:
        return text + "No damage found."
    return text + (
        "No damage found. The pages have no checksums, because an older hashrange made this directory: not all damage "
        "can be found. `hashrange copy` makes a copy that has them."
    )
