"""`hashrange explain`: what each access pattern of a schema does, and the lint findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashrange.cli.command import fail

if TYPE_CHECKING:
    from hashrange.schema.compiler import Plan

HELP = """Show what the access patterns of a schema do: index, key condition, filter, condition, cost.

\b
  hashrange explain shop.schema                  every pattern in the module, and the lint findings
  hashrange explain shop.schema Orders           those of one Patterns class
  hashrange explain shop.schema Orders.late      one of them
  hashrange explain shop.schema --lint           the lint findings alone; fails when there is any

The module is found in the current directory or on Python's path. An invalid declaration is reported with its code."""


def explain(
    module: Annotated[str, typer.Argument(help="The module that declares the schema.")],
    name: Annotated[str, typer.Argument(help="A Patterns class in it, or one pattern: Orders, Orders.late.")] = "",
    lint: Annotated[
        bool, typer.Option("--lint", help="Show the lint findings alone, and fail when there is any.")
    ] = False,
) -> None:
    """Show what the access patterns of a schema do."""
    wanted, _, pattern = name.partition(".")
    found = find_patterns(module, wanted)
    if not found:
        known = ", ".join(each.__name__ for each in find_patterns(module, "")) if wanted else ""
        there = f": it has {known}" if known else ""
        raise fail(f"{module} declares no Patterns class{f' {wanted}' if wanted else ''}{there}")
    for patterns in found:
        if not lint:
            print_plans(patterns, pattern)
    lints = [str(found_lint) for patterns in found for found_lint in patterns.lint() if not pattern]
    for found_lint in dict.fromkeys(lints):
        typer.secho(found_lint, fg="yellow")
    if lint and lints:
        raise typer.Exit(1)


def find_patterns(name: str, wanted: str) -> list[Any]:
    """Import a module, from the current directory too, and return its Patterns classes or the one asked for."""
    from hashrange.hosting.schema_module import find_patterns, import_from_here

    return find_patterns(import_from_here(name), wanted)


def print_plans(patterns: Any, pattern: str) -> None:
    """Print the plans of a class."""
    plans: dict[str, Plan] = patterns.plans
    if pattern and pattern not in plans:
        raise fail(f"{patterns.__name__} has no pattern {pattern}: it has {', '.join(plans)}")
    typer.secho(f"{patterns.__name__}  ({', '.join(table.physical_name for table in patterns.tables())})", bold=True)
    for plan in plans.values():
        if pattern in {"", plan.name}:
            typer.echo(plan.explain())
    typer.echo()
