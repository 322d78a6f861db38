"""The systems' own commands, `hashrange <system> ...`: found by walking, imported when one of them is called."""

from __future__ import annotations

import os
from typing import Any

import typer.main
from typer.core import TyperCommand, TyperGroup

from hashrange.cli.command import fail
from hashrange.core.errors import HashrangeError
from hashrange.hosting.discover import PACKAGE, find_names, find_summary, load_module


class SystemGroup(TyperGroup):
    """The commands of hashrange and, after them, those of each system that has a module `cli` with an `app`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *self._find_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; of a system's only what the help of all shows, which needs no import of it."""
        if cmd_name in self.commands or cmd_name not in self._find_names():
            return super().get_command(ctx, cmd_name)
        return TyperCommand(cmd_name, help=find_summary(name_package(), cmd_name), rich_help_panel="Systems")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called."""
        if args[0] in self.commands or args[0] not in self._find_names():
            return super().resolve_command(ctx, args)
        return args[0], load_commands(args[0]), args[1:]

    def _find_names(self) -> list[str]:
        try:
            return find_names(name_package(), "cli")
        except HashrangeError as error:
            raise fail(str(error)) from error


def name_package() -> str:
    """Return the package that the systems are in, as `hashrange up` would."""
    return os.environ.get("HASHRANGE_SYSTEMS") or PACKAGE


def load_commands(name: str) -> TyperGroup:
    """Import the commands of a system."""
    try:
        return typer.main.get_group(load_module(f"{name_package()}.{name}.cli").app)
    except HashrangeError as error:
        raise fail(str(error)) from error
