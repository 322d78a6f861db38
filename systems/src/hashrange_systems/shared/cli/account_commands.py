"""Commands about accounts, for operators, without signing in: `user`, `key` and `channel`.

    commands = make_cli("stock", ...)
    accounts = add_account_commands(commands)
    accounts.user.command("add")(add_user)  # what the system does itself

A user is named by an address or a name that they sign in with, or by the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar

import typer

from hashrange_systems.shared.cli.database_target import AsJson
from hashrange_systems.shared.cli.output import print_json, print_table
from hashrange_systems.shared.cli.system_commands import SystemCommands

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange_systems.shared.accounts.account_services import AccountServices
    from hashrange_systems.shared.accounts.api_keys import NewKey
    from hashrange_systems.shared.accounts.schema import ApiKey, Channel
    from hashrange_systems.shared.cli.system_commands import Runner

UserName = Annotated[str, typer.Argument(metavar="USER", help="An e-mail address, a name, or an id.")]
KeyScope = Annotated[Literal["write", "read"], typer.Option("--scope", help="What the key may do.")]
NewPassword = Annotated[
    str,
    typer.Option(
        "--password",
        envvar="HASHRANGE_PASSWORD",
        help="The password; asked for if not given, so that it is in no history.",
        prompt=True,
        hide_input=True,
        confirmation_prompt=True,
        show_envvar=False,
    ),
]


class HasAccounts(Protocol):
    """The application of a system with accounts."""

    @property
    def accounts(self) -> AccountServices[Any]:
        """The accounts."""
        ...


A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class AccountCommands:
    """The groups of commands, to which a system adds its own."""

    user: SystemCommands[Any]
    key: SystemCommands[Any]
    channel: SystemCommands[Any]


def add_account_commands(commands: SystemCommands[Any], user: str = "user") -> AccountCommands:
    """Add the groups `key`, `channel` and that of users, which a system may call otherwise; return them."""
    users = commands.add_group(user, f"Accounts: the {user}s, their passwords and sessions.")
    keys = commands.add_group("key", "API keys: add, list, revoke.")
    channels = commands.add_group("channel", "Channels: where messages of a user go.")
    users.command("list")(list_users)
    users.command("password")(set_password)
    users.command("sign-out")(sign_out)
    users.command("reset-two-factor")(reset_two_factor)
    users.command("export")(export_user)
    keys.command("add")(add_key)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke_key)
    channels.command("add")(add_channel)
    channels.command("list")(list_channels)
    channels.command("remove")(remove_channel)
    return AccountCommands(users, keys, channels)


async def find_owner(services: HasAccounts, user: str) -> str:
    """Return the owner whom an operator names; raise ResourceMissing."""
    from hashrange_systems.shared.accounts.owner_name import is_owner
    from hashrange_systems.shared.errors import ResourceMissing

    accounts = services.accounts
    owner = await accounts.logins.find_owner(user)
    if owner is None and is_owner(user) and await accounts.db.under_owner(user).first() is not None:
        owner = user
    if owner is None:
        raise ResourceMissing("user")
    return owner


# ── users ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def list_users(runner: Runner[Any], as_json: AsJson = False) -> None:
    """List all accounts, oldest first."""

    async def act(services: HasAccounts) -> list[dict[str, Any]]:
        accounts = services.accounts
        return [
            {
                "owner": each.owner,
                "logins": list(await accounts.logins.list_by_owner(each.owner)),
                "role": each.role,
                "createdAt": format_time(each.created_at),
            }
            for each in await accounts.credentials.list_accounts()
        ]

    found = runner.run(act)
    if as_json:
        print_json(found)
        return
    rows = [(each["owner"], ", ".join(each["logins"]), each["role"] or "", each["createdAt"]) for each in found]
    print_table("Accounts", ("id", "signs in as", "role", "since"), rows, empty="There are no accounts.")


def set_password(runner: Runner[Any], user: UserName, password: NewPassword) -> None:
    """Give an account a password, and end its sessions."""

    async def act(services: HasAccounts) -> None:
        await services.accounts.credentials.set_password(await find_owner(services, user), password)

    runner.run(act)
    typer.echo(f"changed  {user}")


def sign_out(runner: Runner[Any], user: UserName) -> None:
    """End all sessions of an account."""

    async def act(services: HasAccounts) -> None:
        await services.accounts.sign_in.end_all(await find_owner(services, user))

    runner.run(act)
    typer.echo(f"signed out  {user}")


def reset_two_factor(runner: Runner[Any], user: UserName) -> None:
    """Turn two-factor sign-in off for who has lost the app and the recovery codes; a key or a password is enough."""

    async def act(services: HasAccounts) -> bool:
        return await services.accounts.factors.reset(await find_owner(services, user))

    was_on = runner.run(act)
    typer.echo(f"{user}: two-factor sign-in is off{'' if was_on else ' already'}")


def export_user(runner: Runner[Any], user: UserName) -> None:
    """Print what is stored of an account as JSON, without secrets."""

    async def act(services: HasAccounts) -> dict[str, Any]:
        from hashrange_systems.shared.accounts.erasure import export_owner

        return await export_owner(services.accounts.db, await find_owner(services, user))

    print_json(runner.run(act))


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def add_key(
    runner: Runner[Any],
    user: UserName,
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "command line",
    scope: KeyScope = "write",
    as_json: AsJson = False,
) -> None:
    """Create an API key for a user and print it. It is shown only once."""

    async def act(services: HasAccounts) -> NewKey:
        return await services.accounts.keys.add(await find_owner(services, user), name, scope)

    new = runner.run(act)
    if as_json:
        print_json({**key_json(new.key), "key": new.text})
    else:
        typer.echo(new.text)


def list_keys(runner: Runner[Any], user: UserName, as_json: AsJson = False) -> None:
    """List the API keys of a user, without the keys themselves."""

    async def act(services: HasAccounts) -> Sequence[ApiKey]:
        return await services.accounts.keys.list_by_owner(await find_owner(services, user))

    keys = [key_json(key) for key in runner.run(act)]
    if as_json:
        print_json(keys)
        return
    rows = [(key["keyId"], key["name"], key["scope"], key["createdAt"], key["lastUsedAt"] or "never") for key in keys]
    print_table("API keys", ("id", "name", "scope", "made", "last used"), rows, empty="There are no keys.")


def revoke_key(
    runner: Runner[Any],
    user: UserName,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The id of the key.")],
) -> None:
    """Delete an API key; it is no longer accepted."""

    async def act(services: HasAccounts) -> None:
        await services.accounts.keys.revoke(await find_owner(services, user), key)

    runner.run(act)
    typer.echo(f"revoked  {key}")


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def add_channel(
    runner: Runner[Any],
    user: UserName,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="An address, such as ann@example.com.")],
    channel_type: Annotated[str, typer.Option("--type", help="EMAIL, WEBHOOK, APPRISE ...")] = "EMAIL",
    as_json: AsJson = False,
) -> None:
    """Add a channel; a link to confirm it is sent there. The secret of a webhook is shown only once."""

    async def act(services: HasAccounts) -> dict[str, Any]:
        channels = services.accounts.channels
        channel = await channels.add(await find_owner(services, user), channel_type, target)
        return channel_json(channel) | {"secret": channels.find_revealed(channel)}

    channel = runner.run(act)
    if as_json:
        print_json(channel)
        return
    typer.echo(f"added  {channel['channelId']}  {channel['target']}")
    if channel["secret"]:
        typer.echo(f"secret  {channel['secret']}")


def list_channels(runner: Runner[Any], user: UserName, as_json: AsJson = False) -> None:
    """List the channels of a user, without secrets."""

    async def act(services: HasAccounts) -> Sequence[Channel]:
        return await services.accounts.channels.list_by_owner(await find_owner(services, user))

    found = [channel_json(channel) for channel in runner.run(act)]
    if as_json:
        print_json(found)
        return
    rows = [(each["channelId"], each["channelType"], each["target"], each["confirmedAt"] or "no") for each in found]
    print_table("Channels", ("id", "type", "target", "confirmed"), rows, empty="There are no channels.")


def remove_channel(
    runner: Runner[Any],
    user: UserName,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="The id of the channel.")],
) -> None:
    """Remove a channel; messages that wait for it are not sent."""

    async def act(services: HasAccounts) -> None:
        await services.accounts.channels.remove(await find_owner(services, user), channel)

    runner.run(act)
    typer.echo(f"removed  {channel}")


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def key_json(key: ApiKey) -> dict[str, Any]:
    """Return an API key, without its text."""
    return {
        "keyId": key.key_id,
        "name": key.name,
        "scope": key.scope,
        "createdAt": format_time(key.created_at),
        "lastUsedAt": format_time(key.last_used_at),
    }


def channel_json(channel: Channel) -> dict[str, Any]:
    """Return a channel, without its secret."""
    return {
        "channelId": channel.channel_id,
        "channelType": channel.channel_type,
        "target": channel.shown,
        "subscription": channel.subscription,
        "createdAt": format_time(channel.created_at),
        "confirmedAt": format_time(channel.confirmed_at),
    }


def format_time(at: datetime | None) -> str | None:
    """Return a time in ISO form."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")
