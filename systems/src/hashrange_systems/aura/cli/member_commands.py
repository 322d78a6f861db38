"""Commands for members: add, list, operator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange_systems.shared.cli.database_target import REFUSED, AsJson, fail

if TYPE_CHECKING:
    from hashrange_systems.aura.application import Application
    from hashrange_systems.shared.cli.system_commands import Runner

MOVE_HELP = """Move keys, channels and messages of members that an older release has left in the working table.

[bold]Examples[/bold]

\b
  hashrange aura move-accounts
  hashrange aura move-accounts --target aws

hashrange up and every command do that by themselves, once for a database. Use this one when a process of the older
release has gone on writing since, or after you have repaired an item that could not be moved: those are named, and the
exit code is 1. It can be interrupted and repeated."""

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


def move_accounts(runner: Runner[Application]) -> None:
    """Move what an older release has left in the working table."""
    from hashrange import SystemClock
    from hashrange_systems.aura import accounts_migration
    from hashrange_systems.aura.application import PATTERNS
    from hashrange_systems.aura.settings import Settings
    from hashrange_systems.shared.secret_file import find_keys

    target = runner.target  # without the application, which would move everything itself
    with target.exit_on_error(), target.open(*PATTERNS) as database:
        keys = find_keys(Settings.read(os.environ).keys, target.find_directory("aura"))
        found = accounts_migration.move_accounts(database, SystemClock(), keys, print_moved, again=True)
    typer.echo(f"{found.moved:,} items moved")
    if found.left:
        raise fail("\n".join([f"{len(found.left)} stay where they were:", *found.left]), REFUSED)


def print_moved(moved: int, total: int) -> None:
    """Print how far the move is."""
    typer.echo(f"{moved:,} of {total:,} members", err=True)


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
