"""The commands of the registered systems, `hashrange <system> ...`: imported when one of them is called."""

from __future__ import annotations

from typing import Any

import typer.main
from typer.core import TyperCommand, TyperGroup

from hashrange.cli.command import fail
from hashrange.core.errors import HashrangeError


class SystemGroup(TyperGroup):
    """The commands of hashrange and, after them, those of each registered system that has a module `cli`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *find_summaries()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; for a system only what the list of all commands shows, so that nothing is imported."""
        if cmd_name not in self.commands and (summary := find_summaries().get(cmd_name)) is not None:
            return TyperCommand(cmd_name, help=summary, rich_help_panel="Systems")
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called."""
        if args[0] not in self.commands and (commands := load_commands(args[0])) is not None:
            return args[0], commands, args[1:]
        return super().resolve_command(ctx, args)


def find_summaries() -> dict[str, str]:
    """Return the systems that have commands, each with one line; a package that does not import says so there."""
    from hashrange.hosting.discovery import find_commands, find_entry_points, find_summary

    summaries = {}
    try:
        registered = find_entry_points()
    except HashrangeError as error:
        raise fail(str(error)) from error
    for name, entry in registered.items():
        try:
            if find_commands(entry):
                summaries[name] = find_summary(entry)
        except Exception as error:  # noqa: BLE001 a package of somebody else must not break the help of all commands
            summaries[name] = f"(cannot be imported: {type(error).__name__}: {error})"
    return summaries


def load_commands(name: str) -> TyperGroup | None:
    """Import the commands of a system; return None if it is not registered or has none."""
    from hashrange.hosting.discovery import find_commands, find_entry_points, load_module

    try:
        entry = find_entry_points().get(name)
        module = None if entry is None else find_commands(entry)
        if entry is None or module is None:
            return None
        package = entry.dist.name if entry.dist else module
        return typer.main.get_group(load_module(module, f"pip install --upgrade {package}").app)
    except HashrangeError as error:
        raise fail(str(error)) from error
