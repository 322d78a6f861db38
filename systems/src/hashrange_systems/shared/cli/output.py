"""Output of commands: JSON for programs, tables for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.text import Text


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def to_json_types(value: Any) -> Any:
    """Return stored values with JSON types: stored numbers are Decimals."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: to_json_types(each) for name, each in value.items()}
    return [to_json_types(each) for each in value] if isinstance(value, list) else value


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    empty: str,
    right: Collection[str] = (),
) -> None:
    """Print a table, or the text `empty` without rows; `right` names the right-aligned columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found = list(rows)
    console = Console()
    if not found:
        console.print(empty, style="dim")
        return
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in found:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    console.print(table)
