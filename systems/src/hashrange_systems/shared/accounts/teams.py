"""Teams: the members of an owner's space, with roles, and invitations by e-mail.

An account acts in one space at a time, its own or that of a team, and its role is read with each request: who is
removed is out at once. The account whose space it is always is an owner of it, and can neither leave nor be removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.shared.accounts.account_link import (
    AccountLinks,
    make_target,
    parse_login_address,
    write_notice,
)
from hashrange_systems.shared.accounts.logins import Logins
from hashrange_systems.shared.accounts.owner_name import is_owner
from hashrange_systems.shared.accounts.owners import Owners, commit_for
from hashrange_systems.shared.accounts.schema import Accounts, Invitation, Membership, Waiting
from hashrange_systems.shared.accounts.server_session import hash_session
from hashrange_systems.shared.accounts.sign_up import SignUp, explain_conflict
from hashrange_systems.shared.accounts.team_role import ROLES, TeamActor, ensure_role
from hashrange_systems.shared.channels.channels import hash_words
from hashrange_systems.shared.channels.message_budget import MessageBudgets
from hashrange_systems.shared.channels.messages import MailAddress, Messages, NewMessage
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms, to_second
from hashrange_systems.shared.errors import (
    LimitReached,
    ResourceMissing,
    RoleMissing,
    SignInRequired,
    StateConflict,
    TokenInvalid,
)
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.validation import parse_choice

INVITE = "account: invitation"  # the topic of the message, and the purpose of the token
LASTS_MS = 7 * DAY_MS
MAX_MEMBERS = 50  # with those who are invited
OVER = "This invitation was used or withdrawn: ask for a new one."
FOUNDER = "The account whose space this is stays its owner."


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams:
    """The teams of all owners."""

    accounts: Accounts
    owners: Owners[object]
    logins: Logins
    sign_up: SignUp
    messages: Messages
    links: AccountLinks
    clock: Clock
    make_id: MakeId = make_id

    # ── members ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def list_members(self, by: TeamActor) -> Sequence[Membership]:
        """Return the members of a space besides the account whose space it is, oldest first."""
        found = await self.accounts.members(by.owner).consistent()
        return sorted(found, key=lambda each: (each.created_at, each.member))

    async def list_teams(self, member: str) -> Sequence[Membership]:
        """Return the memberships of an account in the spaces of others, oldest first."""
        listed = await self.accounts.memberships(member)
        found = await self.accounts.fetch(self.accounts.membership(each.space, each.member) for each in listed)
        return sorted((each for each in found if each is not None), key=lambda each: (each.created_at, each.space))

    async def change_role(self, by: TeamActor, member: str, role: str) -> None:
        """Give a member another role; raise RoleMissing, ResourceMissing, InvalidInput or StateConflict."""
        self._ensure_removable(by, member)
        chosen = parse_choice("role", role, ROLES)
        try:
            await self.accounts.set_team_role(by.owner, member, chosen)
        except Conflict:
            raise ResourceMissing("member") from None
        if chosen != "owner":
            await self._end_invitations(by.owner, member)

    async def remove(self, by: TeamActor, member: str) -> None:
        """Remove a member, who is out at once, with each invitation by and for them.

        Raise RoleMissing, ResourceMissing or StateConflict.
        """
        self._ensure_removable(by, member)
        if await self.accounts.membership(by.owner, member).consistent() is None:
            raise ResourceMissing("member")
        await self._end_invitations(by.owner, member, to_them=True)
        if await self.accounts.drop_member(by.owner, member) is None:
            raise ResourceMissing("member")

    async def leave(self, member: str, space: str) -> None:
        """Leave a team; raise ResourceMissing, or StateConflict for one's own space."""
        if member == space:
            raise StateConflict(FOUNDER)
        if not is_owner(space) or await self.accounts.drop_member(space, member) is None:
            raise ResourceMissing("team")

    async def _end_invitations(self, space: str, by: str, *, to_them: bool = False) -> None:
        for each in await self.accounts.invitations(space).consistent():
            if each.invited_by == by or (to_them and await self.logins.find_owner(each.address) == by):
                await self.accounts.withdraw_invitation(space, each.invitation_id)

    def _ensure_removable(self, by: TeamActor, member: str) -> None:
        ensure_role(by.role, "owner")
        if member == by.owner:
            raise StateConflict(FOUNDER)
        if not is_owner(member):
            raise ResourceMissing("member")

    # ── invitations ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def list_invitations(self, by: TeamActor) -> Sequence[Invitation]:
        """Return the invitations that are open, oldest first."""
        found = await self.accounts.invitations(by.owner).consistent()
        return sorted(found, key=lambda each: (each.created_at, each.invitation_id))

    async def invite(self, by: TeamActor, address: str, role: str) -> Invitation:
        """Send an invitation that is open for a week.

        Raise RoleMissing, InvalidInput, StateConflict for a member, LimitReached, DayBudgetSpent or AccountSuspended.
        """
        ensure_role(by.role, "owner")
        login, chosen = parse_login_address(address), parse_choice("role", role, ROLES)
        await self._ensure_new(by.owner, login)
        now = self.clock.millis()
        invitation = Invitation(
            space=by.owner,
            invitation_id=self.make_id(),
            address=login,
            team_role=chosen,
            invited_by=by.member,
            created_at=from_ms(now),
            expires_at=to_second(now + LASTS_MS),
        )
        await MessageBudgets(self.accounts, self.clock).spend(hash_words(by.owner), login, purpose=INVITE)
        writes = [self.accounts.create(invitation), await self._write_mail(by, invitation)]
        ensured = self._ensure_inviter(invitation)
        try:
            await commit_for(self.accounts, self.owners, by.owner, [*writes, *ensured])
        except Conflict as conflict:  # who invites was removed at the same moment
            if any(failure.write is each for failure in conflict.failures for each in ensured):
                raise RoleMissing("owner") from None
            raise
        return invitation

    def _ensure_inviter(self, invitation: Invitation) -> list[Write[Any]]:
        """Return the condition that who invited still is an owner of the space."""
        space, by = invitation.space, invitation.invited_by
        return [] if by == space else [self.accounts.is_member_as(space, by, team_role="owner")]

    async def _ensure_new(self, space: str, login: str) -> None:
        known = await self.logins.find_owner(login)
        if known == space or (known and await self.accounts.membership(space, known).consistent()):
            raise StateConflict("This person is a member of the team.")
        members, invited = await self.accounts.members(space), await self.accounts.invitations(space).consistent()
        if any(each.address == login for each in invited):
            raise StateConflict("This person is invited: withdraw the invitation to send another.")
        if len(members) + len(invited) >= MAX_MEMBERS:
            raise LimitReached(f"A team may have {MAX_MEMBERS} members: remove one first.")

    async def _write_mail(self, by: TeamActor, invitation: Invitation) -> Write[Any]:
        names = await self.logins.list_by_owner(by.member)
        new = NewMessage(
            about=invitation.space,
            topic=INVITE,
            cause=invitation.invitation_id,
            content={"invitation": invitation.invitation_id, "by": names[0] if names else ""},
            kept=timedelta(milliseconds=LASTS_MS),
        )
        return self.messages.write(new, MailAddress(make_target(invitation.address), invitation.space))

    async def withdraw(self, by: TeamActor, invitation_id: str) -> None:
        """End an invitation; raise RoleMissing or ResourceMissing."""
        ensure_role(by.role, "owner")
        known = is_valid_id(invitation_id)
        found = await self.accounts.invitation(by.owner, invitation_id).consistent() if known else None
        if found is None:
            raise ResourceMissing("invitation")
        await self.accounts.withdraw_invitation(by.owner, invitation_id)

    async def render(self, message: Waiting) -> Notification | None:
        """Return the mail with the link of an invitation; None if it is over."""
        found = await self.accounts.invitation(message.about, str(message.content["invitation"])).consistent()
        if found is None:
            return None
        words = [found.space, found.invitation_id, found.address]
        left = to_ms(found.expires_at) - self.clock.millis()
        link = self.links.make(INVITE, "/invitation", words, left)
        who = str(message.content["by"]) or "Somebody"
        lines = [
            f"{who} invites you to a team at {self.links.base_url}, as {found.team_role}.",
            "The link is for you and your address only, and works once within a week:",
        ]
        return write_notice(INVITE, "Join the team", lines, link)

    async def read(self, token: str) -> Invitation:
        """Return the invitation of a link; raise TokenInvalid if it is over."""
        space, invitation_id, address = self.links.open(INVITE, token)
        found = await self.accounts.invitation(space, invitation_id).consistent()
        if found is None or found.address != address:
            raise TokenInvalid(OVER)
        return found

    async def accept(self, token: str, member: str) -> Membership:
        """Make who signed in with the invited address a member, once.

        Raise TokenInvalid, StateConflict for another account, or AccountSuspended.
        """
        found = await self.read(token)
        if await self.logins.find_owner(found.address) != member:
            raise StateConflict(f"This invitation is for {found.address}: sign in with it, or sign up.")
        membership = self._make_membership(found, member)
        writes = [*self._write_acceptance(found, membership), self.accounts.is_login_of(found.address, owner=member)]
        try:
            await commit_for(self.accounts, self.owners, member, writes)
        except Conflict:
            raise TokenInvalid(OVER) from None
        return membership

    async def accept_as_new(self, token: str, password: str) -> str:
        """Make an account for the invited address and a member of it, once; return the owner of the account.

        Sign-up need not be open. Raise TokenInvalid, or InvalidInput for the password.
        """
        found = await self.read(token)
        new = await self.sign_up.prepare(found.address, password)
        writes = [*new.writes, *self._write_acceptance(found, self._make_membership(found, new.owner))]
        try:
            await self.accounts.transact_all(writes).unread()
        except Conflict as conflict:
            explained = explain_conflict(conflict)
            raise explained if isinstance(explained, TokenInvalid) else TokenInvalid(OVER) from None
        return new.owner

    def _make_membership(self, found: Invitation, member: str) -> Membership:
        now = from_ms(self.clock.millis())
        return Membership(
            space=found.space, member=member, team_role=found.team_role, address=found.address, created_at=now
        )

    def _write_acceptance(self, found: Invitation, membership: Membership) -> list[Write[Any]]:
        active = self.owners.ensure_active(found.space)
        return [
            self.accounts.use_invitation(found.space, found.invitation_id, address=found.address),
            self.accounts.create(membership),
            *self._ensure_inviter(found),
            *([] if active is None else [active]),
        ]

    # ── acting in a space ────────────────────────────────────────────────────────────────────────────────────────────
    async def switch(self, cookie: str | None, space: str) -> None:
        """Let a session act in another space, its own or that of a team; raise SignInRequired or ResourceMissing."""
        digest = hash_session(cookie)
        session = await self.accounts.stored_session(digest).consistent() if digest else None
        if session is None or digest is None:
            raise SignInRequired
        own = space == session.owner
        known = own or (is_owner(space) and await self.accounts.membership(space, session.owner).consistent())
        if not known or await self.owners.find_active(space) is None:
            raise ResourceMissing("team")
        try:
            await self.accounts.act_in(digest, owner=session.owner, space=None if own else space)
        except Conflict:  # it was ended at the same moment
            raise SignInRequired from None
