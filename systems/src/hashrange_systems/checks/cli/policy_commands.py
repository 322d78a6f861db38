"""`hashrange checks policy ...`: which non-public addresses may be checked, the same for all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.shared.cli.system_commands import Runner

HELP = """Non-public addresses that checks may request: show them, or change them for all processes.

[bold]Examples[/bold]

\b
  hashrange checks policy show
  hashrange checks policy set 10.0.0.0/8,wiki.internal --target http://127.0.0.1:8000
  hashrange checks policy set ''                          public addresses only

Running processes use a change within seconds. CHECKS_ALLOW is only for the first process of a database."""


def show(runner: Runner[Application], as_json: AsJson = False) -> None:
    """Print the addresses, one a line."""

    async def read(services: Application) -> list[str]:
        return await services.deployment.read_policy()

    print_policy(runner.run(read), as_json=as_json)


def change(
    runner: Runner[Application],
    allow: Annotated[str, typer.Argument(metavar="ADDRESSES", help="All of them, separated by commas; '' for none.")],
    as_json: AsJson = False,
) -> None:
    """Replace the addresses, for all processes of the database."""
    from hashrange_systems.shared.application.settings import parse_list

    async def write(services: Application) -> list[str]:
        return (await services.deployment.change_policy(parse_list(allow))).allow

    print_policy(runner.run(write), as_json=as_json)


def print_policy(allow: list[str], *, as_json: bool) -> None:
    """Print the addresses that are allowed beside public ones."""
    from hashrange_systems.shared.cli.output import print_json

    if as_json:
        print_json({"allow": allow})
    else:
        typer.echo("\n".join(allow) or "public addresses only")
