"""Signing up with an e-mail address: a link is sent to it, and who opens the link chooses the password.

Nothing is stored of an address that is not confirmed but the message: an account of somebody else's address, with a
password that its mailbox has not seen, cannot be prepared. Answers do not say whether an address is known: the request
is the same, and what the mail says is decided when it is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

from hashrange import Clock, Conflict, Taken, Write
from hashrange_systems.shared.accounts.account_link import (
    AccountLinks,
    make_target,
    parse_login_address,
    write_notice,
)
from hashrange_systems.shared.accounts.credentials import CredentialChanges
from hashrange_systems.shared.accounts.logins import Logins
from hashrange_systems.shared.accounts.schema import Accounts, Login, Waiting
from hashrange_systems.shared.accounts.sign_up_policy import SignUpPolicy
from hashrange_systems.shared.channels.channels import hash_words
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.channels.messages import MailAddress, Messages, NewMessage
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import SignUpClosed, TokenInvalid
from hashrange_systems.shared.identifier import MakeId, make_id

SIGN_UP = "account: sign up"  # the topic of the message, and the purpose of the token
LINK_LASTS_MS = DAY_MS
BY_A_NETWORK = 50  # mails a day, such as of an office
HAS_ACCOUNT = "This address has an account: sign in, or ask for a new password."


@runtime_checkable
class NewOwners(Protocol):
    """What a system implements so that people can sign up, besides `Owners`."""

    def write_new(self, owner: str, address: str) -> list[Write[Any]]:
        """Return the writes of a new owner, for the transaction of the account; the address is confirmed."""
        ...


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An owner who signs up, and everything that is written for it."""

    owner: str
    writes: Sequence[Write[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignUp:
    """Makes accounts; `owners` is None if the system makes them otherwise."""

    accounts: Accounts
    owners: NewOwners | None
    logins: Logins
    credentials: CredentialChanges
    messages: Messages
    links: AccountLinks
    clock: Clock
    policy: SignUpPolicy
    make_id: MakeId = make_id

    async def request(self, address: str, network: str) -> None:
        """Send a link to an address, or to one that has an account a mail that says so.

        Raise InvalidInput, SignUpClosed, or DayBudgetSpent: each for known and unknown addresses alike.
        """
        login = parse_login_address(address)
        if not self.policy.allows(login):
            raise SignUpClosed(self.policy.domains)
        await self._spend(login, network)
        await send_mail(self.messages, SIGN_UP, login, self.clock.millis(), LINK_LASTS_MS)

    async def _spend(self, login: str, network: str) -> None:
        budgets = MessageBudgets(self.accounts, self.clock)
        await budgets.spend(hash_words(f"network {network}"), login, purpose=SIGN_UP, most=BY_A_NETWORK)

    async def render(self, message: Waiting) -> Notification | None:
        """Return the mail with the link, or the one to who has an account."""
        login = str(message.recipient)
        site = self.links.base_url
        if await self.logins.find_owner(login) is not None:
            lines = [f"Somebody asked for an account at {site} with this address, which has one: sign in there."]
            return write_notice(SIGN_UP, "You have an account", [*lines, "If that was not you, do nothing."])
        link = self.links.make(SIGN_UP, "/sign-up/confirm", [login], LINK_LASTS_MS)
        lines = [
            f"Somebody asked for an account at {site} with this address.",
            "If that was not you, do nothing: no account is made.",
            "If that was you, choose a password within a day:",
        ]
        return write_notice(SIGN_UP, "Confirm your address", lines, link)

    def read(self, token: str) -> str:
        """Return the address that a link is for; raise TokenInvalid."""
        (login,) = self.links.open(SIGN_UP, token)
        return login

    async def confirm(self, token: str, password: str) -> str:
        """Make the account of a link and its owner, in one transaction; return the owner.

        Raise TokenInvalid, also for a link that was used; InvalidInput for the password; or SignUpClosed.
        """
        login = self.read(token)
        if not self.policy.allows(login):
            raise SignUpClosed(self.policy.domains)
        new = await self.prepare(login, password)
        try:
            await self.accounts.transact_all(new.writes).unread()
        except Conflict as conflict:
            raise explain_conflict(conflict) from None
        return new.owner

    async def prepare(self, login: str, password: str) -> NewAccount:
        """Return a new account of a confirmed address, not yet written; raise InvalidInput or SignUpClosed."""
        if self.owners is None:
            raise SignUpClosed
        stored = await self.credentials.hash_new(password)
        owner = self.make_id()
        account = self.credentials.write_new(owner, password_hash=stored)
        return NewAccount(owner, [self.logins.claim(login, owner), account, *self.owners.write_new(owner, login)])


def explain_conflict(conflict: Conflict) -> Exception:
    """Return what the holder of a link is told when its transaction failed."""
    taken = [failure.error for failure in conflict.failures if isinstance(failure.error, Taken)]
    if any(isinstance(each.current, Login) for each in taken):
        return TokenInvalid(HAS_ACCOUNT)
    return conflict


async def send_mail(messages: Messages, topic: str, login: str, now: int, kept_ms: int) -> None:
    """Write a mail to an address, which belongs to no owner; at most one in a millisecond."""
    new = NewMessage(
        about=f"{topic} {hash_words(login)}",
        topic=topic,
        cause=str(now),
        content={},
        kept=timedelta(milliseconds=kept_ms),
    )
    await messages.send(new, MailAddress(make_target(login)))
