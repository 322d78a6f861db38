"""`hashrange copy`: copies a data directory, even while a server uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HELP = """Copy a data directory into a new one, even while a server uses it.

[bold]Example[/bold]

\b
  hashrange copy ./data ./copy

Each database in it has the state of one moment, is as small as possible, and has checksums.
Finished backups are copied too.
Do not copy the files of a running server with other tools: they miss the log, or write pages without checksums.

This copies all tables, as a backup. `hashrange data copy` copies the items of one table, also from and to a server or
AWS."""


def copy(
    data: Annotated[Path, typer.Argument(help="The data directory.")],
    target: Annotated[Path, typer.Argument(help="The new directory; it must not exist, or be empty.")],
) -> None:
    """Copy a data directory into a new one, even while a server uses it."""
    from hashrange.engine.directory_copy import copy_directory

    copy_directory(data, target)
    typer.echo(f"{data} was copied to {target}")
