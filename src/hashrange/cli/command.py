"""What the commands share: options that can come from the environment, and how a command fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import typer

EXIT_FAILED = 2
KEY_ID, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]


CORS_HELP = "Accept requests of web pages of this origin; * for all. Repeatable."
FSYNC_HELP = "Flush each write to the disk before the response is sent, so that it survives power loss; slower."
ALLOW_HOST_HELP = "A name of this machine that clients may use, beside localhost; * for any. Repeatable."


def option(name: str, text: str, *former: str, **more: Any) -> Any:
    """Declare an option that can also be set by an environment variable: HASHRANGE_PORT for --port.

    `former` names of the option are accepted too.
    """
    names = (name, *former)
    variables = [f"HASHRANGE_{each.upper().replace('-', '_')}" for each in names]
    return typer.Option(*(f"--{each}" for each in names), envvar=variables, show_envvar=False, help=text, **more)


def check_origins(origins: list[str] | None) -> tuple[str, ...]:
    """Return the values of --cors; raise for one that no browser sends."""
    from hashrange.server.cross_origin import ANY, is_origin

    for origin in origins or ():
        if origin != ANY and not is_origin(origin):
            raise typer.BadParameter(f"--cors {origin}: not an origin such as http://localhost:3000, and not * for all")
    return tuple(origins or ())


def check_hosts(hosts: list[str] | None) -> tuple[str, ...]:
    """Return the values of --allow-host; raise for one that is not a host name."""
    from hashrange.server.cross_origin import ANY, is_host

    for host in hosts or ():
        if host != ANY and not is_host(host):
            raise typer.BadParameter(f"--allow-host {host}: not a name such as dynamodb, and not * for all")
    return tuple(hosts or ())


def fail(text: str) -> typer.Exit:
    """Print an error; return the exception to raise, which ends the command."""
    typer.secho(f"error: {text}", fg="red", err=True)
    return typer.Exit(EXIT_FAILED)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: 1 item, 2,000 items."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def read_credentials(file: Path) -> tuple[str, str]:
    """Read the key id and the secret from a file of NAME=value lines."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines)
    found = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
    if not found.get(KEY_ID) or not found.get(SECRET):
        raise typer.BadParameter(f"{file} needs a line {KEY_ID}=... and a line {SECRET}=...")
    return found[KEY_ID], found[SECRET]
