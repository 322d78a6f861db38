"""Authentication of the pages: by session cookie, or as the demo user; and CSRF protection of forms."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import FormData
from starlette.requests import Request

from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.services import Services
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.errors import (
    ApiKeyInvalid,
    FormRejected,
    ResourceMissing,
    SignInRequired,
)
from hashrange_systems.shared.identifier import hash_key
from hashrange_systems.shared.web.same_origin import find_host, is_loopback, refuse_cross_site
from hashrange_systems.shared.web.session import (
    DEMO_KEY,
    Session,
)

MAX_FIELDS = 500
SECOND_FACTOR = "second factor"
SECOND_FACTOR_MS = 5 * 60_000


@dataclass(frozen=True, slots=True)
class FormPost:
    """A form that a signed-in visitor posted."""

    visitor: Visitor
    form: FormData

    def text(self, name: str) -> str:
        """Return the value of a field."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return the values of all fields of a name."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Finds the user of a request."""

    services: Services
    base_url: str
    demo: bool

    async def require_visitor(self, request: Request) -> Visitor:
        """Return the signed-in visitor, or the demo user for requests from this machine; raise SignInRequired."""
        visitor = await self.find_visitor(request) or await self._enter_demo_once(request)
        if visitor is None:
            raise SignInRequired
        return visitor

    async def find_visitor(self, request: Request) -> Visitor | None:
        """Return the visitor of the session; None if there is no session, or the user or key is no longer valid."""
        session = self._read(request)
        if session is None or not session.userid:
            return None
        try:
            user = await self.services.users.find(session.userid)
        except ResourceMissing:
            return None
        if not isinstance(user, ActiveUser) or not await self._is_still_valid(session):
            return None
        if await self.services.ended_sessions.has_ended(user, session):
            return None
        return Visitor(user, session)

    async def _is_still_valid(self, session: Session) -> bool:
        if session.is_demo:
            return self.demo
        return any(key.key_id == session.key_id for key in await self.services.keys.list_by_user(session.userid))

    def _read(self, request: Request) -> Session | None:
        sessions = self.services.sessions
        return sessions.read(request.cookies.get(sessions.cookie), self.services.clock.millis())

    # ── signing in and out ───────────────────────────────────────────────────────────────────────────────────────────
    async def check_key(self, key: str) -> tuple[str, str]:
        """Return the user and the id of an API key."""
        user = await self.services.keys.authenticate(key)
        digest = hash_key(key)
        keys = await self.services.keys.list_by_user(user.userid)
        key_id = next((each.key_id for each in keys if each.digest == digest), None)
        if key_id is None:
            raise ApiKeyInvalid
        return user.userid, key_id

    def start_session(self, userid: str, key_id: str) -> Session:
        """Return a new session."""
        return self.services.sessions.start(userid, key_id, self.services.clock.millis())

    def ask_for_code(self, userid: str, key_id: str) -> str:
        """Return the token that proves the first factor, for a few minutes."""
        expires_at = self.services.clock.millis() + SECOND_FACTOR_MS
        return self.services.sessions.signer.sign(SECOND_FACTOR, [userid, key_id], expires_at)

    async def check_code(self, token: str, code: str) -> Session:
        """Return a new session after the second factor; raise TokenInvalid, CodeInvalid or TooManyRequests."""
        userid, key_id = self.services.sessions.signer.open(SECOND_FACTOR, token, self.services.clock.millis())
        await self.services.second_factors.verify(userid, code)
        return self.start_session(userid, key_id)

    async def sign_out(self, session: Session) -> Session:
        """End a session; return an empty one, which stops the demo from signing the visitor in again."""
        await self.services.ended_sessions.end(session)
        return self.start_session("", "")

    async def enter_demo(self, request: Request) -> Visitor | None:
        """Return the demo user for a visitor of the demo."""
        if not self.is_demo_visit(request) or self.services.demo_email is None:
            return None
        try:
            user = await self.services.users.by_email(self.services.demo_email)
        except ResourceMissing:
            return None  # the demo data is still being written
        return Visitor(user, self.start_session(user.userid, DEMO_KEY), fresh=True)

    async def _enter_demo_once(self, request: Request) -> Visitor | None:
        return None if self._read(request) else await self.enter_demo(request)

    def is_demo_visit(self, request: Request) -> bool:
        """Return whether this is the demo, requested from this machine by its own host name (against DNS rebinding)."""
        if not self.demo or request.client is None:
            return False
        asked, ours = find_host(f"//{request.headers.get('host', '')}"), find_host(self.base_url)
        return is_loopback(request.client.host) and (is_loopback(asked) or asked == ours)

    # ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def read_form(self, request: Request, max_files: int = 0) -> FormPost:
        """Return the posted form; raise FormRejected unless it comes from a page of the visitor's session."""
        refuse_cross_site(request)
        visitor = await self.find_visitor(request)
        if visitor is None:
            raise SignInRequired
        sent = FormPost(visitor, await request.form(max_files=max_files, max_fields=MAX_FIELDS))
        if not self.services.sessions.verify_form_token(visitor.session, sent.text("form_token")):
            raise FormRejected
        return sent
