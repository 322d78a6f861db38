"""`hashrange checks user ...`: adds, lists, suspends, reinstates and deletes users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange_systems.checks.cli.argument import find_user
from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.checks.application import Application
    from hashrange_systems.checks.schema import User
    from hashrange_systems.checks.service.users import NewUser
    from hashrange_systems.shared.cli.system_commands import Runner

ADD_HELP = """Add a user. Prints the first API key, which is shown this once.

[bold]Examples[/bold]

\b
  hashrange checks user add ann@example.com
  hashrange checks user add ann@example.com --tier PRO --verified
  hashrange checks user add ann@example.com --json | jq -r .key

Alerts go to the address once it is verified: by the link that the pages send, or by --verified."""

Name = Annotated[str, typer.Argument(metavar="USER", help="An e-mail address, or an id.")]
Tiers = Literal["FREE", "PRO", "BUSINESS"]


def add(
    runner: Runner[Application],
    email: Annotated[str, typer.Argument(help="The e-mail address.")],
    tier: Annotated[Tiers, typer.Option("--tier", help="How many checks, and how often.")] = "FREE",
    verified: Annotated[bool, typer.Option("--verified", help="The address is known to be theirs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a user."""
    from hashrange_systems.checks.cli.json_output import user_json
    from hashrange_systems.shared.cli.output import print_json

    async def take_in(services: Application) -> NewUser:
        new = await services.users.create(email, tier)
        if verified:
            await services.channels.verify(new.token)
        return new

    new = runner.run(take_in)
    if as_json:
        print_json({**user_json(new.user), "key": new.key})
        return
    typer.echo(f"user  {new.user.userid}  {new.user.email}  {new.user.tier}")
    typer.echo(f"key   {new.key}")
    typer.secho("      keep it: it is shown only once", dim=True)


def list_users(runner: Runner[Application], as_json: AsJson = False) -> None:
    """List all users."""
    from hashrange_systems.checks.cli.json_output import user_json
    from hashrange_systems.checks.cli.tables import print_users
    from hashrange_systems.shared.cli.output import print_json

    users = sorted(runner.run(list_all), key=lambda user: (user.created_at, user.userid))
    if as_json:
        print_json([user_json(user) for user in users])
    else:
        print_users(users)


async def list_all(services: Application) -> list[User]:
    """Return all users."""
    return [user async for user in services.db.all_users()]


def suspend(runner: Runner[Application], name: Name, as_json: AsJson = False) -> None:
    """Suspend a user: the checks are not run, and the keys are not accepted."""

    async def act(services: Application) -> User:
        return await services.users.suspend((await find_user(services, name)).userid)

    _print_changed(runner.run(act), as_json=as_json)


def resume(runner: Runner[Application], name: Name, as_json: AsJson = False) -> None:
    """Reinstate a suspended user and schedule the checks again."""

    async def act(services: Application) -> User:
        return await services.users.reinstate((await find_user(services, name)).userid)

    _print_changed(runner.run(act), as_json=as_json)


def reset_two_factor(runner: Runner[Application], name: Name) -> None:
    """Turn two-factor sign-in off for a user who has lost the app and the recovery codes; a key is enough again."""

    async def act(services: Application) -> bool:
        return await services.second_factors.reset((await find_user(services, name)).userid)

    was_on = runner.run(act)
    typer.echo(f"{name}: two-factor sign-in is off{'' if was_on else ' already'}")


def delete(
    runner: Runner[Application],
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a user and everything that belongs to them. If interrupted, run it again."""
    if not yes:
        typer.confirm(f"Delete {name} and all their checks?", abort=True)

    async def act(services: Application) -> User:
        user = await find_user(services, name)
        await services.users.delete(user.userid)
        return user

    typer.echo(f"deleted  {runner.run(act).email}")


def _print_changed(user: User, *, as_json: bool) -> None:
    from hashrange_systems.checks.cli.json_output import user_json
    from hashrange_systems.checks.cli.tables import print_users
    from hashrange_systems.shared.cli.output import print_json

    if as_json:
        print_json(user_json(user))
    else:
        print_users([user])
