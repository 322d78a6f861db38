"""`hashrange checks key ...`: creates, lists and revokes API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.checks.cli.argument import find_user
from hashrange_systems.checks.cli.user_commands import Name
from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.schema import ApiKey
    from hashrange_systems.checks.service.api_keys import NewKey
    from hashrange_systems.shared.cli.system_commands import Runner


def add(
    runner: Runner[Application],
    user: Name,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "command line",
    as_json: AsJson = False,
) -> None:
    """Create an API key for a user and print it. It is shown only once."""
    from hashrange_systems.checks.cli.json_output import key_json
    from hashrange_systems.shared.cli.output import print_json

    async def make(services: Application) -> NewKey:
        return await services.keys.add((await find_user(services, user)).userid, name)

    new = runner.run(make)
    if as_json:
        print_json({**key_json(new.key), "key": new.text})
    else:
        typer.echo(new.text)


def list_keys(runner: Runner[Application], user: Name, as_json: AsJson = False) -> None:
    """List the API keys of a user, without the keys themselves."""
    from hashrange_systems.checks.cli.json_output import key_json
    from hashrange_systems.checks.cli.tables import print_keys
    from hashrange_systems.shared.cli.output import print_json

    async def find(services: Application) -> Sequence[ApiKey]:
        return await services.keys.list_by_user((await find_user(services, user)).userid)

    keys = runner.run(find)
    if as_json:
        print_json([key_json(key) for key in keys])
    else:
        print_keys(keys)


def revoke(
    runner: Runner[Application],
    user: Name,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The id of the key.")],
) -> None:
    """Delete an API key; it is no longer accepted."""

    async def act(services: Application) -> None:
        await services.keys.revoke((await find_user(services, user)).userid, key)

    runner.run(act)
    typer.echo(f"revoked  {key}")
