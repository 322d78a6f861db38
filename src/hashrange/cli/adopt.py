"""`hashrange adopt`: writes the declaration of a table that exists."""

from __future__ import annotations

from typing import Annotated

import typer

from hashrange.cli.target_option import TARGETS, TargetOption
from hashrange.client.target import open_target

HELP = f"""Write the declaration of a table that exists: classes, key templates, states, types, indexes, patterns.

\b
  hashrange adopt orders --target aws:live > schema.py
  hashrange adopt orders --target ./data --sample 10000 > schema.py

It reads a description of the table and a sample of its items, and changes nothing. Doubts are comments in the module.

{TARGETS}"""


def adopt(
    table: Annotated[str, typer.Argument(help="The name of the table.")],
    target: TargetOption,
    sample: Annotated[int, typer.Option(min=1, help="How many items are read.")] = 2000,
) -> None:
    """Write the declaration of a table that exists."""
    from hashrange.provision import adopt as adopt_table

    with open_target(target) as database:
        typer.echo(adopt_table(database, table, sample=sample), nl=False)
