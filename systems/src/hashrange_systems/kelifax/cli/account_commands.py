"""`hashrange kelifax admin ...`: accounts of admins and moderators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange_systems.kelifax.cli.command_target import run_with_services
from hashrange_systems.shared.cli.database_target import AsJson, Data, DatabaseTarget, Target

if TYPE_CHECKING:
    from hashrange_systems.kelifax.record_item import Admin
    from hashrange_systems.kelifax.services import Services

app = typer.Typer(help="Accounts: add, list, password, remove.", no_args_is_help=True, rich_markup_mode="rich")

AccountName = Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.")]
Password = Annotated[
    str,
    typer.Option(
        "--password",
        envvar="KELIFAX_PASSWORD",
        help="The password; asked for if not given, so that it is in no history.",
        prompt=True,
        hide_input=True,
        confirmation_prompt=True,
        show_envvar=False,
    ),
]


@app.command()
def add(
    name: AccountName,
    password: Password,
    role: Annotated[
        Literal["moderator", "admin"],
        typer.Option("--role", help="An admin may also delete, erase, and change accounts."),
    ] = "moderator",
    data: Data = None,
    database: Target = None,
) -> None:
    """Add an account. Example: hashrange kelifax admin add ann --role admin."""

    async def act(services: Services) -> Admin:
        from hashrange_systems.kelifax.service.actor import OPERATOR

        return await services.admins.add(name, password, role, OPERATOR)

    account = run_with_services(DatabaseTarget(data, database), act)
    typer.echo(f"added  {account.name}  {account.role}")


@app.command("list")
def list_accounts(data: Data = None, database: Target = None, as_json: AsJson = False) -> None:
    """List the accounts, without their passwords."""
    from hashrange_systems.shared.cli.output import print_json, print_table

    async def act(services: Services) -> Sequence[Admin]:
        return await services.admins.list_all()

    rows = [
        (account.name, account.role, f"{account.created_at:%Y-%m-%d}")
        for account in run_with_services(DatabaseTarget(data, database), act)
    ]
    names = ("name", "role", "created")
    if as_json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        print_table("Accounts", names, rows, empty="No accounts: hashrange kelifax admin add NAME --role admin")


@app.command("password")
def change_password(name: AccountName, password: Password, data: Data = None, database: Target = None) -> None:
    """Give an account another password, and end its sessions."""

    async def act(services: Services) -> None:
        from hashrange_systems.kelifax.service.actor import OPERATOR

        await services.admins.change_password(name, password, OPERATOR)

    run_with_services(DatabaseTarget(data, database), act)
    typer.echo(f"changed  {name}")


@app.command()
def remove(name: AccountName, data: Data = None, database: Target = None) -> None:
    """Remove an account, and end its sessions; one admin must remain."""

    async def act(services: Services) -> None:
        from hashrange_systems.kelifax.service.actor import OPERATOR

        await services.admins.remove(name, OPERATOR)

    run_with_services(DatabaseTarget(data, database), act)
    typer.echo(f"removed  {name}")
