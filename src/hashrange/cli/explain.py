"""`hashrange explain`: what each access pattern of a schema does, and what the lint has to say about it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hashrange.schema.compiler import Plan

HELP = """Show what the access patterns of a schema do: index, key condition, filter, condition, cost.

\b
  hashrange explain shop.schema                  every pattern in the module, and the lint
  hashrange explain shop.schema Orders           those of one Patterns class
  hashrange explain shop.schema Orders.late      one of them
  hashrange explain shop.schema --lint           the lint alone; fails when there is any

The module is imported from here or from where Python finds it. A declaration that cannot work says so with its code."""


def explain(
    module: Annotated[str, typer.Argument(help="The module that declares the schema.")],
    name: Annotated[str, typer.Argument(help="A Patterns class in it, or one pattern: Orders, Orders.late.")] = "",
    lint: Annotated[bool, typer.Option("--lint", help="Show the lint alone, and fail when there is any.")] = False,
) -> None:
    """Show what the access patterns of a schema do."""
    wanted, _, pattern = name.partition(".")
    found = find_patterns(load(module), wanted)
    if not found:
        raise refuse(f"{module} declares no Patterns class{f' {wanted}' if wanted else ''}")
    for patterns in found:
        if not lint:
            show(patterns, pattern)
    remarks = [str(remark) for patterns in found for remark in patterns.lint() if not pattern]
    for remark in dict.fromkeys(remarks):
        typer.secho(remark, fg="yellow")
    if lint and remarks:
        raise typer.Exit(1)


def load(module: str) -> Any:
    """Import a module, from the current directory too."""
    from hashrange.core.errors import DeclarationError

    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(module)
    except DeclarationError as fault:
        raise refuse(str(fault)) from fault
    except ModuleNotFoundError as missing:
        raise refuse(f"there is no module {missing.name!r} here or where Python looks") from missing


def find_patterns(module: Any, wanted: str) -> list[Any]:
    """Return the Patterns classes that a module declares, or the one asked for."""
    declared = [value for value in vars(module).values() if isinstance(value, type) and getattr(value, "plans", None)]
    return [cls for cls in declared if cls.__name__ == wanted or (not wanted and cls.__module__ == module.__name__)]


def show(patterns: Any, pattern: str) -> None:
    """Print the plans of a class."""
    plans: dict[str, Plan] = patterns.plans
    if pattern and pattern not in plans:
        raise refuse(f"{patterns.__name__} has no pattern {pattern}: it has {', '.join(plans)}")
    typer.secho(f"{patterns.__name__}  ({', '.join(table.physical_name for table in patterns.tables())})", bold=True)
    for plan in plans.values():
        if pattern in {"", plan.name}:
            typer.echo(plan.explain())
    typer.echo()


def refuse(text: str) -> typer.Exit:
    """Say what is wrong; return what ends the command."""
    typer.secho(text, fg="red", err=True)
    return typer.Exit(2)
