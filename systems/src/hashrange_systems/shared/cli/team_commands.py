"""Commands about teams, for operators, without signing in: `team list`, `invite`, `role` and `remove`.

    add_team_commands(commands)

They act as the account whose space it is, and name users as the commands about accounts do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashrange_systems.shared.cli.account_commands import HasAccounts, UserName, find_owner, format_time
from hashrange_systems.shared.cli.database_target import AsJson
from hashrange_systems.shared.cli.output import print_json, print_table
from hashrange_systems.shared.cli.system_commands import SystemCommands

if TYPE_CHECKING:
    from hashrange_systems.shared.accounts.schema import Invitation, Membership, Role
    from hashrange_systems.shared.cli.system_commands import Runner

MemberName = Annotated[str, typer.Argument(metavar="MEMBER", help="An e-mail address, a name, or an id.")]
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="owner, editor or reader.")]


@dataclass(frozen=True, slots=True)
class SpaceFounder:
    """The account whose space it is, as who acts there."""

    owner: str

    @property
    def member(self) -> str:
        """The account itself."""
        return self.owner

    @property
    def role(self) -> Role:
        """Always owner."""
        return "owner"


def add_team_commands(commands: SystemCommands[Any]) -> None:
    """Add the group `team`."""
    teams = commands.add_group("team", "Teams: the members of a user's space.")
    teams.command("list")(list_team)
    teams.command("invite")(invite_member)
    teams.command("role")(change_member_role)
    teams.command("remove")(remove_member)


def list_team(runner: Runner[Any], user: UserName, as_json: AsJson = False) -> None:
    """List the members of a user's team, and who is invited."""

    async def act(services: HasAccounts) -> list[dict[str, Any]]:
        founder, teams = SpaceFounder(await find_owner(services, user)), services.accounts.teams
        listed: list[tuple[str | None, Membership | Invitation]] = [
            *((each.member, each) for each in await teams.list_members(founder)),
            *((None, each) for each in await teams.list_invitations(founder)),
        ]
        return [
            {
                "member": member,
                "address": each.address,
                "role": each.team_role,
                "since": format_time(each.created_at),
            }
            for member, each in listed
        ]

    found = runner.run(act)
    if as_json:
        print_json(found)
        return
    rows = [(each["member"] or "invited", each["address"] or "", each["role"], each["since"]) for each in found]
    print_table("Team", ("id", "address", "role", "since"), rows, empty="There are no members.")


def invite_member(runner: Runner[Any], user: UserName, address: str, role: RoleName = "reader") -> None:
    """Invite somebody by e-mail to a user's team."""

    async def act(services: HasAccounts) -> None:
        await services.accounts.teams.invite(SpaceFounder(await find_owner(services, user)), address, role)

    runner.run(act)
    typer.echo(f"invited  {address}")


def change_member_role(runner: Runner[Any], user: UserName, member: MemberName, role: RoleName) -> None:
    """Give a member of a user's team another role."""

    async def act(services: HasAccounts) -> None:
        founder, found = SpaceFounder(await find_owner(services, user)), await find_owner(services, member)
        await services.accounts.teams.change_role(founder, found, role)

    runner.run(act)
    typer.echo(f"changed  {member}: {role}")


def remove_member(runner: Runner[Any], user: UserName, member: MemberName) -> None:
    """Remove a member of a user's team, who is out at once."""

    async def act(services: HasAccounts) -> None:
        founder, found = SpaceFounder(await find_owner(services, user)), await find_owner(services, member)
        await services.accounts.teams.remove(founder, found)

    runner.run(act)
    typer.echo(f"removed  {member}")
