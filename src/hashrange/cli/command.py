"""What the commands share: options that can come from the environment, and how a command fails."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import typer

EXIT_FAILED = 2
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]


def option(name: str, text: str, **more: Any) -> Any:
    """Declare an option that can also be set by an environment variable: HASHRANGE_PORT for --port."""
    return typer.Option(
        f"--{name}", envvar=f"HASHRANGE_{name.upper().replace('-', '_')}", show_envvar=False, help=text, **more
    )


def fail(text: str) -> typer.Exit:
    """Print an error; return the exception to raise, which ends the command."""
    typer.secho(f"error: {text}", fg="red", err=True)
    return typer.Exit(EXIT_FAILED)
