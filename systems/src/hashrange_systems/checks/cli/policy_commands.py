"""`hashrange checks policy ...`: which non-public addresses may be checked, the same for all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.checks.cli.target import run_with_services
from hashrange_systems.shared.cli.database_target import AsJson, Data, DatabaseTarget, Target

if TYPE_CHECKING:
    from hashrange_systems.checks.services import Services

HELP = """Non-public addresses that checks may request: show them, or change them for all processes.

[bold]Examples[/bold]

\b
  hashrange checks policy show
  hashrange checks policy set 10.0.0.0/8,wiki.internal --target http://127.0.0.1:8000
  hashrange checks policy set ''                          public addresses only

Running processes use a change within seconds. CHECKS_ALLOW is only for the first process of a database."""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode="rich")


@app.command()
def show(data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """Print the addresses, one a line."""

    async def read(services: Services) -> list[str]:
        return await services.deployment.read_policy()

    print_policy(run_with_services(DatabaseTarget(data, database), read), as_json=as_json)


@app.command("set")
def change(
    allow: Annotated[str, typer.Argument(metavar="ADDRESSES", help="All of them, separated by commas; '' for none.")],
    data: Data = None,
    database: Target = None,
    as_json: AsJson = False,
) -> None:
    """Replace the addresses, for all processes of the database."""
    from hashrange_systems.shared.settings import split_list

    async def write(services: Services) -> list[str]:
        return (await services.deployment.change_policy(split_list(allow))).allow

    print_policy(run_with_services(DatabaseTarget(data, database), write), as_json=as_json)


def print_policy(allow: list[str], *, as_json: bool) -> None:
    """Print the addresses that are allowed beside public ones."""
    from hashrange_systems.shared.cli.output import print_json

    if as_json:
        print_json({"allow": allow})
    else:
        typer.echo("\n".join(allow) or "public addresses only")
