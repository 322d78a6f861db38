"""`hashrange kelifax admin ...`: accounts of admins and moderators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from hashrange_systems.kelifax.application import Application
    from hashrange_systems.shared.cli.system_commands import Runner

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


def add(
    runner: Runner[Application],
    name: AccountName,
    password: Password,
    role: Annotated[
        Literal["moderator", "admin"],
        typer.Option("--role", help="An admin may also delete, erase, and change accounts."),
    ] = "moderator",
) -> None:
    """Add an account. Example: hashrange kelifax admin add ann --role admin."""
    from hashrange_systems.kelifax.service.actor import OPERATOR

    account = runner.run(lambda services: services.admins.add(name, password, role, OPERATOR))
    typer.echo(f"added  {account.name}  {account.role}")


def change_password(runner: Runner[Application], name: AccountName, password: Password) -> None:
    """Give an account another password, and end its sessions."""
    from hashrange_systems.kelifax.service.actor import OPERATOR

    runner.run(lambda services: services.admins.change_password(name, password, OPERATOR))
    typer.echo(f"changed  {name}")


def remove(runner: Runner[Application], name: AccountName) -> None:
    """Remove an account, and end its sessions; one admin must remain."""
    from hashrange_systems.kelifax.service.actor import OPERATOR

    runner.run(lambda services: services.admins.remove(name, OPERATOR))
    typer.echo(f"removed  {name}")
