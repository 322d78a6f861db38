"""A new password by mail: a link is sent to the address that an account signs in with, and works once.

The token holds the generation of the credentials, which a new password raises: with it every session, every other
link, and every sign-in that waits for a code are over. The second factor stays. Answers do not say whether an address
is known: the request is the same, and whether there is a mail is decided when it would be sent.
"""

from __future__ import annotations

from dataclasses import dataclass

from hashrange import Clock, Conflict
from hashrange_systems.shared.accounts.account_link import AccountLinks, parse_login_address, write_notice
from hashrange_systems.shared.accounts.credentials import CredentialChanges
from hashrange_systems.shared.accounts.lockout import Lockout
from hashrange_systems.shared.accounts.owners import Owners, commit_for
from hashrange_systems.shared.accounts.schema import Accounts, AccountState, Waiting
from hashrange_systems.shared.accounts.server_session import hash_text
from hashrange_systems.shared.accounts.sign_in import name_generation
from hashrange_systems.shared.accounts.sign_up import BY_A_NETWORK, send_mail
from hashrange_systems.shared.channels.channels import hash_words
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.channels.messages import Messages
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.epoch import HOUR_MS
from hashrange_systems.shared.errors import TokenInvalid

RESET = "account: new password"  # the topic of the message, and the purpose of the token
LINK_LASTS_MS = HOUR_MS
USED = "This link was used, or the account has changed since: ask for a new one."


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordReset:
    """Sends the links and sets the passwords."""

    accounts: Accounts
    owners: Owners[object]
    credentials: CredentialChanges
    lockout: Lockout
    messages: Messages
    links: AccountLinks
    clock: Clock

    async def request(self, address: str, network: str) -> None:
        """Send a link to an address, if an account signs in with it; raise InvalidInput or DayBudgetSpent."""
        login = parse_login_address(address)
        budgets = MessageBudgets(self.accounts, self.clock)
        await budgets.spend(hash_words(f"network {network}"), login, purpose=RESET, most=BY_A_NETWORK)
        await send_mail(self.messages, RESET, login, self.clock.millis(), LINK_LASTS_MS)

    async def render(self, message: Waiting) -> Notification | None:
        """Return the mail with the link; None without an active account, or if its login was spelled otherwise."""
        login = await self.accounts.login(str(message.recipient)).consistent()
        if login is None or login.spelled is not None or await self.owners.find_active(login.owner) is None:
            return None
        state = await self.credentials.find_state(login.owner)
        link = self.links.make(
            RESET, "/reset/confirm", [login.name, login.owner, *name_generation(state)], LINK_LASTS_MS
        )
        lines = [
            f"Somebody asked for a new password of your account at {self.links.base_url}.",
            "If that was not you, do nothing: the password stays.",
            "If that was you, choose one within an hour; every session of the account ends then:",
        ]
        return write_notice(RESET, "Choose a new password", lines, link)

    async def read(self, token: str) -> str:
        """Return the address that a link is for; raise TokenInvalid if it is no longer valid."""
        login, _, _ = await self._open(token)
        return login

    async def confirm(self, token: str, password: str) -> str:
        """Set the password of a link's account and end its sessions; return the owner.

        Raise TokenInvalid, also for a link that was used; InvalidInput or AccountSuspended.
        """
        login, owner, state = await self._open(token)
        stored = await self.credentials.hash_new(password)
        ensured = self.accounts.is_login_of(login, owner=owner)
        write = self.credentials.replace_password(owner, state, stored)
        try:
            await commit_for(self.accounts, self.owners, owner, [ensured, write])
        except Conflict:
            raise TokenInvalid(USED) from None
        await self.lockout.forget(hash_text(login))
        return owner

    async def _open(self, token: str) -> tuple[str, str, AccountState | None]:
        login, owner, *generation = self.links.open(RESET, token)
        state = await self.credentials.find_state(owner)
        if name_generation(state) != generation:
            raise TokenInvalid(USED)
        return login, owner, state
