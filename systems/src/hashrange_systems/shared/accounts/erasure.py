"""Everything that is stored of an owner: exported as a value without secrets, and erased.

An erasure that was interrupted is repeated: each step finds what is left. The system makes the owner inactive before,
so that nothing is added meanwhile, and deletes its own items of the owner itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hashrange import Item
from hashrange_systems.shared.accounts.schema import (
    Accounts,
    ApiKey,
    Channel,
    Credentials,
    Invitation,
    ListedLogin,
    ListedMessage,
    ListedSession,
    Message,
    SecondFactor,
)

SHOWN = {
    Credentials: {"created_at", "role"},
    ApiKey: {"key_id", "name", "scope", "created_at", "last_used_at"},
    SecondFactor: {"created_at", "confirmed_at"},
    Channel: {"channel_id", "channel_type", "shown", "subscription", "created_at", "confirmed_at"},
    Invitation: {"address", "team_role", "created_at", "expires_at"},
    Message: {"about", "topic", "content", "created_at", "delivery", "sent_at", "attempts", "last_error"},
}


async def export_owner(accounts: Accounts, owner: str) -> dict[str, Any]:
    """Return what is stored of an owner as a JSON object: no password, key, secret, code or token."""
    under = await accounts.under_owner(owner).consistent()
    listed = await accounts.listed(owner)
    messages = [each for each in listed if isinstance(each, ListedMessage)]
    found = await accounts.fetch(accounts.message(each.about, each.message_id) for each in messages)
    sessions = [each for each in listed if isinstance(each, ListedSession)]
    stored = await accounts.fetch(accounts.stored_session(each.digest) for each in sessions)
    return {
        "owner": owner,
        "logins": sorted(each.name for each in listed if isinstance(each, ListedLogin)),
        "account": next(iter(_show_each(under, Credentials)), None),
        "keys": _show_each(under, ApiKey),
        "secondFactor": next(iter(_show_each(under, SecondFactor)), None),
        "channels": _show_each(under, Channel),
        "sessions": [
            {"createdAt": _show(each.created_at), "expiresAt": _show(each.expires_at)} for each in stored if each
        ],
        "messages": _show_each([each for each in found if each is not None], Message),
        "invitations": _show_each(await accounts.invitations(owner).consistent(), Invitation),
        "teams": [each.space for each in await accounts.memberships(owner)],
        "members": [
            {"member": each.member, "role": each.team_role} for each in await accounts.members(owner).consistent()
        ],
    }


async def erase_owner(accounts: Accounts, owner: str) -> None:
    """Delete everything of an owner: keys and sessions first, and last the logins, so that a name stays taken.

    If interrupted, repeat it. At AWS an index follows writes with a delay: repeat it after what was written last.
    """
    for key in await accounts.api_keys(owner).consistent():
        drop = accounts.drop_key(owner, key.key_id, digest=key.digest)
        await accounts.transact(drop, accounts.release_key(key.digest, owner=owner)).unread()
    await _erase_sessions(accounts, owner)
    await _erase_messages(accounts, owner)
    under: list[Item] = list(await accounts.under_owner(owner).consistent())
    teams = await accounts.fetch(
        accounts.membership(each.space, each.member) for each in await accounts.memberships(owner)
    )
    members = await accounts.members(owner).consistent()
    invited = await accounts.invitations(owner).consistent().with_expired()
    await accounts.batch(delete=[*under, *members, *invited, *(each for each in teams if each is not None)])
    logins = await accounts.fetch(accounts.login(each.name) for each in await accounts.logins_of(owner))
    await accounts.batch(delete=[each for each in logins if each is not None and each.owner == owner])


async def _erase_sessions(accounts: Accounts, owner: str) -> None:
    listed = await accounts.sessions_of(owner).with_expired()
    for each in listed:
        await accounts.drop_session(each.digest)


async def _erase_messages(accounts: Accounts, owner: str) -> None:
    listed = await accounts.messages_of(owner).with_expired()
    for each in listed:
        await accounts.drop_message(each.about, each.message_id)


def _show_each(items: Sequence[Any], kind: type[Item]) -> list[dict[str, Any]]:
    shown = SHOWN[kind]
    return [
        {name: _show(value) for name in sorted(shown) if (value := getattr(item, name, None)) is not None}
        for item in items
        if isinstance(item, kind)
    ]


def _show(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
