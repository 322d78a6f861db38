"""`hashrange checks key ...`: API keys are made, listed, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.checks.cli.place import AsJson, Data, Endpoint, Where, find_user, serve
from hashrange_systems.checks.cli.user import Name

if TYPE_CHECKING:
    from hashrange_systems.checks.schema import ApiKey
    from hashrange_systems.checks.service.keys import NewKey
    from hashrange_systems.checks.web.services import Services

app = typer.Typer(help="API keys: add, list, revoke.", no_args_is_help=True, rich_markup_mode="rich")


@app.command()
def add(
    user: Name,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "command line",
    data: Data = None,
    endpoint: Endpoint = None,
    as_json: AsJson = False,
) -> None:
    """Make an API key for a user and print it, this once."""
    from hashrange_systems.checks.cli.tell import print_json, tell_key

    async def make(services: Services) -> NewKey:
        return await services.keys.add((await find_user(services, user)).userid, name)

    new = serve(Where(data, endpoint), make)
    if as_json:
        print_json({**tell_key(new.key), "key": new.text})
    else:
        typer.echo(new.text)


@app.command("list")
def list_keys(user: Name, data: Data = None, endpoint: Endpoint = None, as_json: AsJson = False) -> None:
    """List the API keys of a user; their texts are nowhere."""
    from hashrange_systems.checks.cli.show import print_keys
    from hashrange_systems.checks.cli.tell import print_json, tell_key

    async def find(services: Services) -> Sequence[ApiKey]:
        return await services.keys.of_user((await find_user(services, user)).userid)

    keys = serve(Where(data, endpoint), find)
    if as_json:
        print_json([tell_key(key) for key in keys])
    else:
        print_keys(keys)


@app.command()
def revoke(
    user: Name,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The id of the key.")],
    data: Data = None,
    endpoint: Endpoint = None,
) -> None:
    """Delete an API key: from now on it opens nothing."""

    async def act(services: Services) -> None:
        await services.keys.revoke((await find_user(services, user)).userid, key)

    serve(Where(data, endpoint), act)
    typer.echo(f"revoked  {key}")
