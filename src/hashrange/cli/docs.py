"""`hashrange docs`: the reference of the operations, generated from their modules."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

HELP = """Generate the reference of the operations from the code.

\b
  hashrange docs                                          print it
  hashrange docs --write docs/reference/operations.md     write it
  hashrange docs --check docs/reference/operations.md     fail if it is out of date"""


def docs(
    write: Annotated[Path | None, typer.Option("--write", help="Write it to this file.")] = None,
    check: Annotated[Path | None, typer.Option("--check", help="Fail if this file is out of date.")] = None,
) -> None:
    """Generate the reference of the operations."""
    text = "\n".join(describe_operations()) + "\n"
    if write is not None:
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(text)
    elif check is None:
        typer.echo(text, nl=False)
    elif not check.exists() or check.read_text() != text:
        typer.secho(f"{check} is out of date: run hashrange docs --write {shlex.quote(str(check))}", fg="red", err=True)
        raise typer.Exit(1)


def describe_operations() -> Iterator[str]:
    """Yield the lines of the page."""
    from hashrange.engine.shape import OPERATION_NAMES
    from hashrange.operations import OPERATIONS

    served = sorted(OPERATIONS)
    left = sorted(set(OPERATION_NAMES) - set(served))
    yield "# Operations"
    yield ""
    yield f"hashrange serves {len(served)} of the {len(OPERATION_NAMES)} operations of DynamoDB and DynamoDB Streams."
    yield "The others raise `UnknownOperationException`:"
    yield f"{', '.join(left)}."
    yield ""
    yield (
        "An operation marked *writes* is durable when its response is sent. "
        "Parameters that are not listed are ignored, as DynamoDB does."
    )
    for name in served:
        yield ""
        yield from _describe(name)


def _describe(name: str) -> Iterator[str]:
    from hashrange.engine.shape.request_shape import find_input
    from hashrange.operations import OPERATIONS

    operation = OPERATIONS[name]
    text = (sys.modules[operation.run.__module__].__doc__ or "").strip()
    _, _, summary = text.partition(": ")
    summary = summary or text
    shape = find_input(name)
    members = [f"**{member}**" if member in shape.required else member for member in shape.members]
    yield f"## {name}"
    yield ""
    yield summary[0].upper() + summary[1:]
    yield ""
    yield f"{'Writes. ' if operation.writes else ''}Parameters: {', '.join(members) if members else 'none'}."
