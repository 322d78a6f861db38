"""Commands for members: add, list, operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.shared.cli.database_target import AsJson

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.shared.cli.system_commands import Runner

Email = Annotated[str, typer.Argument(help="The e-mail address.")]


def add(
    runner: Runner[Application],
    email: Email,
    operator: Annotated[bool, typer.Option("--operator", help="May remove shops.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a member and print the API key. Example: hashrange aura member add ann@example.com."""
    from hashrange_systems.shared.cli.output import print_json

    new = runner.run(lambda services: services.members.add(email, operator=operator))
    if as_json:
        print_json({"memberId": new.member.member_id, "email": new.member.email, "key": new.key})
    else:
        typer.echo(f"{new.member.email}  {new.key}")
        typer.echo("Keep this key: it is shown once.", err=True)


def list_members(runner: Runner[Application], as_json: AsJson = False) -> None:
    """List the members. Example: hashrange aura member list."""
    from hashrange_systems.shared.cli.output import print_json, print_table

    found = runner.run(lambda services: services.members.list_members())
    if as_json:
        print_json([{"memberId": each.member_id, "email": each.email, "operator": each.operator} for each in found])
    else:
        rows = [
            (each.member_id, each.email, f"{each.created_at:%Y-%m-%d}", "operator" if each.operator else "")
            for each in found
        ]
        print_table("Members", ("id", "e-mail", "since", "role"), rows, empty="There are no members.")


def set_operator(
    runner: Runner[Application],
    email: Email,
    revoke: Annotated[bool, typer.Option("--revoke", help="No operator any more.")] = False,
) -> None:
    """Let a member remove shops. Example: hashrange aura member operator ann@example.com."""
    runner.run(lambda services: services.members.set_operator(email, operator=not revoke))
    typer.echo(f"{email}  {'member' if revoke else 'operator'}")
