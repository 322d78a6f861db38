"""Who is at the pages: by the cookie's session, or as the demo's user; and whether a form is from our own page."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request

from hashrange_systems.checks.errors import ChecksError, KeyUnknown, NotThere
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.service.identity import hash_key
from hashrange_systems.checks.web.painter import Visitor
from hashrange_systems.checks.web.services import Services
from hashrange_systems.checks.web.session import (
    COOKIE,
    DEMO_KEY,
    Session,
    begin_session,
    is_form_token,
    read_session,
)

MOST_FIELDS = 500


class SignInNeeded(ChecksError):
    """The page is for who is signed in."""

    status = 401

    def __init__(self) -> None:
        super().__init__("Sign in first.")


class FormRefused(ChecksError):
    """The form was not sent from a page of this session."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This form is out of date: go back, reload the page, and send it again.")


@dataclass(frozen=True, slots=True)
class Sent:
    """A form that a visitor sent from one of our pages."""

    visitor: Visitor
    form: FormData

    def text(self, name: str) -> str:
        """Return what a field holds."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return what all fields of a name hold."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """Tells who a visitor is."""

    services: Services
    base_url: str
    demo: bool

    async def admit(self, request: Request) -> Visitor:
        """Return who is signed in, or as the demo's user who comes from this very machine."""
        visitor = await self.recognise(request) or await self._welcome(request)
        if visitor is None:
            raise SignInNeeded
        return visitor

    async def recognise(self, request: Request) -> Visitor | None:
        """Return the visitor of the session, as long as user and key are still good."""
        session = self._read(request)
        if session is None or not session.userid:
            return None
        try:
            user = await self.services.users.find(session.userid)
        except NotThere:
            return None
        if not isinstance(user, ActiveUser) or not await self._still_holds(session):
            return None
        return Visitor(user, session)

    async def _still_holds(self, session: Session) -> bool:
        if session.is_demo:
            return self.demo
        return any(key.key_id == session.key_id for key in await self.services.keys.of_user(session.userid))

    def _read(self, request: Request) -> Session | None:
        return read_session(self.services.secret, request.cookies.get(COOKIE), self.services.clock.millis())

    # ── signing in and out ───────────────────────────────────────────────────────────────────────────────────────────
    async def sign_in(self, key: str) -> Session:
        """Return a session for the user whose key this is."""
        user = await self.services.keys.authenticate(key)
        digest = hash_key(key)
        keys = await self.services.keys.of_user(user.userid)
        key_id = next((each.key_id for each in keys if each.digest == digest), None)
        if key_id is None:
            raise KeyUnknown
        return self._begin(user.userid, key_id)

    def sign_out(self) -> Session:
        """Return a session of nobody, by which the demo knows who does not want to be signed in by itself."""
        return self._begin("", "")

    async def enter_demo(self, request: Request) -> Visitor | None:
        """Return the demo's user, for a visitor of the demo."""
        if not self.is_demo_visit(request) or self.services.demo_email is None:
            return None
        try:
            user = await self.services.users.by_email(self.services.demo_email)
        except NotThere:
            return None  # the demo data is still being written
        return Visitor(user, self._begin(user.userid, DEMO_KEY), fresh=True)

    async def _welcome(self, request: Request) -> Visitor | None:
        return None if self._read(request) else await self.enter_demo(request)

    def is_demo_visit(self, request: Request) -> bool:
        """Whether it is the demo, asked for from this machine by its own name: another name may be an attack."""
        if not self.demo or request.client is None:
            return False
        asked, ours = find_host(f"//{request.headers.get('host', '')}"), find_host(self.base_url)
        return is_loopback(request.client.host) and (is_loopback(asked) or asked == ours)

    def _begin(self, userid: str, key_id: str) -> Session:
        return begin_session(self.services.secret, userid, key_id, self.services.clock.millis())

    # ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def take(self, request: Request) -> Sent:
        """Return a form of a visitor who is signed in, sent from a page of theirs."""
        refuse_foreign(request)
        visitor = await self.recognise(request)
        if visitor is None:
            raise SignInNeeded
        sent = Sent(visitor, await request.form(max_files=0, max_fields=MOST_FIELDS))
        if not is_form_token(self.services.secret, visitor.session, sent.text("form_token")):
            raise FormRefused
        return sent


def refuse_foreign(request: Request) -> None:
    """Refuse a form that a page of another site sent, as far as the browser tells."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise FormRefused
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise FormRefused


def find_host(address: str) -> str | None:
    """Return the host of an address, whatever a client made of it."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False
