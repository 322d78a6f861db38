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
            hide_flag_types(commands, ctx)
            return args[0], commands, args[1:]
        found = super().resolve_command(ctx, args)
        hide_flag_types(found[1], ctx)
        return found

    def get_params(self, ctx: Any) -> Any:
        """Return the options of hashrange itself."""
        params = super().get_params(ctx)
        for param in params:
            hide_flag_type(param)
        return params

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of hashrange that it does not handle itself is printed in one sentence."""
        try:
            return super().invoke(ctx)
        except HashrangeError as error:
            raise fail(" ".join([str(error), *getattr(error, "__notes__", ())])) from error
        except ModuleNotFoundError as missing:
            remedy = find_remedy(str(ctx.invoked_subcommand), missing)
            if remedy is None:
                raise
            raise fail(remedy) from missing


def find_remedy(system: str, missing: ModuleNotFoundError) -> str | None:
    """Return what to install when a command of a system imports a library that its extra would have installed."""
    from hashrange.hosting.discovery import group_entry_points, name_remedy

    library = str(missing.name).partition(".")[0]
    for entry in group_entry_points().get(system, ()):
        if library != entry.module.partition(".")[0]:
            return f"{library} is not installed: {name_remedy(entry)}"
    return None


def hide_flag_types(command: Any, ctx: Any) -> None:
    """Let the help of a command and its subcommands show no type beside an option that takes no value."""
    for param in (*command.params, command.get_help_option(ctx)):
        hide_flag_type(param)
    for each in getattr(command, "commands", {}).values():
        hide_flag_types(each, ctx)


def hide_flag_type(param: Any) -> None:
    """Let the help show no type beside an option, if it takes no value."""
    if getattr(param, "is_flag", False):
        param.metavar = ""


def find_summaries() -> dict[str, str]:
    """Return the systems that have commands, each with one line; a package that does not import says so there."""
    from hashrange.hosting.discovery import choose_entry_point, find_commands, find_summary, group_entry_points

    summaries = {}
    for name, registered in group_entry_points().items():
        try:
            entry = choose_entry_point(name, registered)
            if find_commands(entry):
                summaries[name] = find_summary(entry)
        except HashrangeError as error:
            summaries[name] = f"({error})"
        except Exception as error:  # noqa: BLE001 a package of somebody else must not break the help of all commands
            summaries[name] = f"(cannot be imported: {type(error).__name__}: {error})"
    return summaries


def load_commands(name: str) -> TyperGroup | None:
    """Import the commands of a system; return None if it is not registered or has none."""
    from hashrange.hosting.discovery import (
        choose_entry_point,
        find_commands,
        group_entry_points,
        load_module,
        name_remedy,
    )

    registered = group_entry_points().get(name)
    if registered is None:
        return None
    try:
        entry = choose_entry_point(name, registered)
        module = find_commands(entry)
        if module is None:
            return None
        return typer.main.get_group(load_module(module, name_remedy(entry)).app)
    except HashrangeError as error:
        raise fail(str(error)) from error
