"""Signing in with an API key, or a name and a password, and a code if the account has a second factor; and sessions.

The server stores every session: the cookie is a random secret, and only its digest is stored. A session ends after half
a day without use, after a week, by signing out, with the API key that it began with, and when the password or the role
of its account changes or all its sessions are ended.

An answer does not say whether a name exists: an unknown name, a wrong password and an account without a password get
the same error, after the same work.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from hashrange import Clock, Conflict, NotFound
from hashrange_systems.shared.accounts.api_keys import ApiKeys
from hashrange_systems.shared.accounts.credentials import CredentialChanges
from hashrange_systems.shared.accounts.lockout import Lockout
from hashrange_systems.shared.accounts.owner_name import fold_login, is_login
from hashrange_systems.shared.accounts.owners import Owners
from hashrange_systems.shared.accounts.password import verify_password
from hashrange_systems.shared.accounts.schema import Accounts, AccountState, Credentials, Role, StoredSession
from hashrange_systems.shared.accounts.second_factor import AccountFactors
from hashrange_systems.shared.accounts.server_session import (
    find_expiry,
    hash_session,
    hash_text,
    make_session_secret,
    should_extend,
)
from hashrange_systems.shared.epoch import from_ms, to_ms, to_second
from hashrange_systems.shared.errors import AccountSuspended, ApiKeyInvalid, SignInRefused, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner

User = TypeVar("User")
State = Credentials | AccountState

CODE_PURPOSE = "second factor"
CODE_MS = 5 * 60_000  # between the first factor and the code
CLOCKS_DIFFER_MS = 10 * 60_000  # of processes, at most
DEMO_KEY = "demo"  # instead of the id of a key: no key has so short an id


@dataclass(frozen=True, slots=True)
class Admitted:
    """The cookie of a new session."""

    cookie: str


@dataclass(frozen=True, slots=True)
class CodeNeeded:
    """The account has a second factor: the token proves the first one for some minutes."""

    token: str


@dataclass(frozen=True, slots=True)
class SignedIn(Generic[User]):
    """Who a session belongs to: `member` signed in and acts in the place of `user`, the owner that they see."""

    user: User
    owner: str  # of what they see and change
    member: str  # who signed in: the owner, or somebody of the team
    role: Role
    session: StoredSession

    @property
    def is_demo(self) -> bool:
        """Whether the session was started without a key or a password."""
        return self.session.key_id == DEMO_KEY


@dataclass(frozen=True, slots=True)
class SignIn(Generic[User]):
    """Starts, finds and ends the sessions of all accounts; in the demo, sessions may begin without a key."""

    accounts: Accounts
    owners: Owners[User]
    keys: ApiKeys[User]
    factors: AccountFactors
    credentials: CredentialChanges
    lockout: Lockout
    clock: Clock
    signer: TokenSigner
    demo: bool = False

    # ── the first factor ─────────────────────────────────────────────────────────────────────────────────────────────
    async def with_key(self, text: str) -> Admitted | CodeNeeded:
        """Sign in with an API key; raise ApiKeyInvalid, also for a key that may only read, or AccountSuspended."""
        key = (await self.keys.authenticate(text)).key
        if key.scope != "write":
            raise ApiKeyInvalid
        return await self._admit(key.owner, await self.credentials.find_state(key.owner), key.key_id)

    async def with_password(self, name: str, password: str) -> Admitted | CodeNeeded:
        """Sign in with an address or a name; raise SignInRefused, or AccountSuspended after the right password."""
        possible = is_login(name)
        folded = fold_login(name) if possible else "-"  # what is not possible costs the same reads
        digest = hash_text(folded if possible else name)
        login = await self.accounts.login(folded).consistent()
        found = await self.credentials.find(login.owner if login else folded)
        known = found if login and possible else None
        await self.lockout.count(digest)
        if not await verify_password(known.password_hash if known else None, password) or known is None:
            raise SignInRefused(await self.lockout.find_wait_s(digest))
        await self.lockout.forget(digest)
        if await self.owners.find_active(known.owner) is None:
            raise AccountSuspended
        await self.credentials.rehash(known, password)
        return await self._admit(known.owner, known, None)

    async def _admit(self, owner: str, credentials: State | None, key_id: str | None) -> Admitted | CodeNeeded:
        if not await self.factors.is_required(owner):
            return Admitted(await self._start(owner, credentials, key_id))
        words = [owner, key_id or "", *name_generation(credentials)]
        return CodeNeeded(self.signer.sign(CODE_PURPOSE, words, self.clock.millis() + CODE_MS))

    # ── the second factor ────────────────────────────────────────────────────────────────────────────────────────────
    async def with_code(self, token: str, code: str) -> Admitted:
        """Sign in with a code of the second factor; raise TokenInvalid, CodeInvalid or TooManyRequests."""
        owner, key_id, *generation = self.signer.open(CODE_PURPOSE, token, self.clock.millis())
        credentials = await self.credentials.find_state(owner)
        if name_generation(credentials) != generation or not await self._is_valid_key(owner, key_id or None):
            raise TokenInvalid("Something changed meanwhile: sign in again.")
        await self.factors.verify(owner, code)
        return Admitted(await self._start(owner, credentials, key_id or None))

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def start(self, owner: str, key_id: str | None = None) -> str:
        """Return the cookie of a new session of somebody who was authenticated otherwise; raise AccountSuspended."""
        if await self.owners.find_active(owner) is None:
            raise AccountSuspended
        return await self._start(owner, await self.credentials.find_state(owner), key_id)

    async def start_demo(self, owner: str) -> str:
        """Return the cookie of a session of the demo's user."""
        return await self.start(owner, DEMO_KEY)

    async def _start(self, owner: str, credentials: State | None, key_id: str | None) -> str:
        secret, now = make_session_secret(), self.clock.millis()
        session = StoredSession(
            digest=secret.digest,
            owner=owner,
            key_id=key_id,
            generation=credentials.generation if credentials else 0,
            since=credentials.created_at if credentials else None,
            created_at=from_ms(now),
            expires_at=to_second(find_expiry(now, now)),
        )
        await self.accounts.create(session)
        return secret.text

    async def find(self, cookie: str | None) -> SignedIn[User] | None:
        """Return who a cookie belongs to; None if its session is over, or the owner may not act."""
        digest = hash_session(cookie)
        session = await self.accounts.stored_session(digest).consistent() if digest else None
        if session is None or is_from_future(session, self.clock.millis()):
            return None
        member, space = session.owner, session.space or session.owner
        user, credentials, valid, role = await asyncio.gather(
            self.owners.find_active(space),
            self.credentials.find_state(member),
            self._is_valid_key(member, session.key_id),
            self._find_role(space, member),
        )
        if user is None or role is None or not valid or not belongs_to(session, credentials):
            return None
        if space != member and await self.owners.find_active(member) is None:
            return None
        await self._extend(session)
        return SignedIn(user, space, member, role, session)

    async def _find_role(self, space: str, member: str) -> Role | None:
        if space == member:
            return "owner"
        found = await self.accounts.membership(space, member).consistent()
        return found.team_role if found else None

    async def _is_valid_key(self, owner: str, key_id: str | None) -> bool:
        """Return whether the key that a session began with is still valid, if it began with one."""
        if key_id is None:
            return True
        if key_id == DEMO_KEY:
            return self.demo
        return await self.accounts.api_key(owner, key_id).consistent() is not None

    async def _extend(self, session: StoredSession) -> None:
        """Move the end of a session that is in use, at most every five minutes."""
        now, created = self.clock.millis(), to_ms(session.created_at)
        if should_extend(to_ms(session.expires_at), created, now):
            with suppress(Conflict, NotFound):  # it was ended at the same moment
                await self.accounts.extend_session(session.digest, expires_at=to_second(find_expiry(created, now)))

    async def end(self, cookie: str | None) -> None:
        """End a session: a cookie that somebody kept is refused from now on."""
        if digest := hash_session(cookie):
            await self.accounts.drop_session(digest)

    async def end_all(self, owner: str) -> None:
        """End every session of an account, and every sign-in that waits for a code."""
        await self.accounts.end_sessions(owner, created_at=from_ms(self.clock.millis()), generation=1)


def name_generation(credentials: State | None) -> list[str]:
    """Return what a token holds of the credentials, so that it ends with them."""
    return [str(credentials.generation), credentials.created_at.isoformat()] if credentials else ["0", ""]


def belongs_to(session: StoredSession, credentials: State | None) -> bool:
    """Return whether a session is of the credentials as they are now, and not of a password before or an account."""
    now = (credentials.generation, credentials.created_at) if credentials else (0, None)
    return (session.generation, session.since) == now


def is_from_future(session: StoredSession, now: int) -> bool:
    """Return whether a session ends later than one that is used now: a clock was ahead when it was written."""
    return to_ms(session.expires_at) > find_expiry(to_ms(session.created_at), now) + CLOCKS_DIFFER_MS
