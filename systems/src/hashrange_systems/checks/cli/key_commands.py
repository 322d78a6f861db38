"""`hashrange checks key ...`: creates, lists and revokes API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.checks.cli.target import find_user, run_with_services
from hashrange_systems.checks.cli.user_commands import Name
from hashrange_systems.shared.cli.database_target import AsJson, Data, DatabaseTarget, Target

if TYPE_CHECKING:
    from hashrange_systems.checks.schema import ApiKey
    from hashrange_systems.checks.service.api_keys import NewKey
    from hashrange_systems.checks.services import Services

app = typer.Typer(help="API keys: add, list, revoke.", no_args_is_help=True, rich_markup_mode="rich")


@app.command()
def add(
    user: Name,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "command line",
    data: Data = None,
    database: Target = None,
    as_json: AsJson = False,
) -> None:
    """Create an API key for a user and print it. It is shown only once."""
    from hashrange_systems.checks.cli.json_output import key_json
    from hashrange_systems.shared.cli.output import print_json

    async def make(services: Services) -> NewKey:
        return await services.keys.add((await find_user(services, user)).userid, name)

    new = run_with_services(DatabaseTarget(data, database), make)
    if as_json:
        print_json({**key_json(new.key), "key": new.text})
    else:
        typer.echo(new.text)


@app.command("list")
def list_keys(user: Name, data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """List the API keys of a user, without the keys themselves."""
    from hashrange_systems.checks.cli.json_output import key_json
    from hashrange_systems.checks.cli.tables import print_keys
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Services) -> Sequence[ApiKey]:
        return await services.keys.list_by_user((await find_user(services, user)).userid)

    keys = run_with_services(DatabaseTarget(data, database), find)
    if as_json:
        print_json([key_json(key) for key in keys])
    else:
        print_keys(keys)


@app.command()
def revoke(
    user: Name,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The id of the key.")],
    data: Data = None,
    database: Target = None,
) -> None:
    """Delete an API key; it is no longer accepted."""

    async def act(services: Services) -> None:
        await services.keys.revoke((await find_user(services, user)).userid, key)

    run_with_services(DatabaseTarget(data, database), act)
    typer.echo(f"revoked  {key}")
