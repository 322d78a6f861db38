"""Authentication of pages: by session cookie, or as the demo's user; and CSRF protection of forms.

A system provides its accounts; the signed-in user is of its own type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from starlette.requests import Request

from hashrange import Clock
from hashrange_systems.shared.accounts.schema import Role
from hashrange_systems.shared.errors import FormRejected, SignInRequired
from hashrange_systems.shared.web.posted_form import PostedForm, read_posted_form
from hashrange_systems.shared.web.same_origin import is_local_request
from hashrange_systems.shared.web.session import DEMO_KEY, Session, SessionCookies

User = TypeVar("User")
Found_co = TypeVar("Found_co", covariant=True)


class PageAccounts(Protocol[Found_co]):
    """The accounts of a system."""

    async def find_signed_in(self, session: Session) -> Found_co | None:
        """Return the user of a session, while user and key are valid and the session has not been ended."""
        ...

    async def end_session(self, session: Session) -> None:
        """End a session: a cookie that somebody kept is refused from now on."""
        ...

    async def authenticate_key(self, key: str) -> tuple[str, str]:
        """Return the ids of the user and of an API key; raise ApiKeyInvalid."""
        ...

    async def find_demo_user(self) -> tuple[str, Found_co] | None:
        """Return the id and the user that visitors of the demo are signed in as; None without a demo."""
        ...


@dataclass(frozen=True, slots=True)
class SignedInVisitor(Generic[User]):
    """A signed-in user; `fresh` if the browser does not have the cookie yet."""

    user: User
    session: Session
    fresh: bool = False
    owner: str = ""  # of what they see and change
    member: str = ""  # who signed in: the owner, or somebody of the team
    role: Role = "owner"  # of the member, with what belongs to the owner


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedForm(PostedForm, Generic[User]):
    """A form that a signed-in visitor posted."""

    visitor: SignedInVisitor[User]


@dataclass(frozen=True, slots=True)
class SessionAuthenticator(Generic[User]):
    """Finds the user of a request."""

    accounts: PageAccounts[User]
    sessions: SessionCookies
    clock: Clock
    base_url: str

    async def require_visitor(self, request: Request) -> SignedInVisitor[User]:
        """Return the signed-in visitor, or the demo's user for requests from this machine; raise SignInRequired."""
        visitor = await self.find_visitor(request)
        if visitor is None and self._read(request) is None:
            visitor = await self.enter_demo(request)
        if visitor is None:
            raise SignInRequired
        return visitor

    async def find_visitor(self, request: Request) -> SignedInVisitor[User] | None:
        """Return the visitor of the session; None if there is none, or the user or key is no longer valid."""
        session = self._read(request)
        if session is None or not session.userid:
            return None
        user = await self.accounts.find_signed_in(session)
        return None if user is None else SignedInVisitor(user, session)

    def _read(self, request: Request) -> Session | None:
        return self.sessions.read(request.cookies.get(self.sessions.cookie), self.clock.millis())

    async def sign_in(self, key: str) -> Session:
        """Return a new session for the user of an API key; raise ApiKeyInvalid."""
        return self.start_session(*await self.accounts.authenticate_key(key))

    def start_session(self, userid: str, key_id: str) -> Session:
        """Return a new session."""
        return self.sessions.start(userid, key_id, self.clock.millis())

    async def sign_out(self, session: Session) -> Session:
        """End a session; return an empty one, which stops the demo from signing the visitor in again."""
        await self.accounts.end_session(session)
        return self.start_session("", "")

    async def enter_demo(self, request: Request) -> SignedInVisitor[User] | None:
        """Return the demo's user for a visitor of the demo."""
        found = await self.accounts.find_demo_user() if self.is_local(request) else None
        if found is None:
            return None
        userid, user = found
        return SignedInVisitor(user, self.start_session(userid, DEMO_KEY), fresh=True)

    def is_local(self, request: Request) -> bool:
        """Return whether a request comes from this machine, by its own host name (against DNS rebinding)."""
        return is_local_request(request, self.base_url)

    async def read_form(self, request: Request, max_files: int = 0) -> SubmittedForm[User]:
        """Return the posted form; raise FormRejected unless it comes from a page of the visitor's session."""
        sent = await read_posted_form(request, max_files)
        visitor = await self.find_visitor(request)
        if visitor is None:
            raise SignInRequired
        if not self.sessions.verify_form_token(visitor.session, sent.text("form_token")):
            raise FormRejected
        return SubmittedForm(sent.form, sent.files, visitor=visitor)
