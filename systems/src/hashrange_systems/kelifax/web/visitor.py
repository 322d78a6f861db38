"""Visitors: an anonymous cookie for favourites, votes and forms, and the cookie of signed-in admins.

Both cookies carry the CSRF token of the forms of their pages. A visitor gets a cookie with the first page that has a
form; it names nobody.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from hashrange import Clock
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.shared.accounts.account_services import AccountServices
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import FormRejected, SignInRequired
from hashrange_systems.shared.signed_token import TokenSigner, encode_base64url
from hashrange_systems.shared.web.posted_form import PostedForm, read_posted_form
from hashrange_systems.shared.web.session import Session, SessionCookies
from hashrange_systems.shared.web.templating import find_mount_path

VISITOR_MS = 400 * DAY_MS
ADMIN_COOKIE = "kelifax_admin"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who looks at the public pages; `fresh` if the browser does not have the cookie yet."""

    id: str
    session: Session
    form_token: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class SignedInAdmin:
    """An admin with the cookie of the session."""

    actor: Actor
    cookie: str
    form_token: str


@dataclass(frozen=True, slots=True)
class Visitors:
    """Recognises visitors and admins, and checks where forms come from."""

    signer: TokenSigner
    accounts: AccountServices[Actor]
    clock: Clock
    secure: bool

    @property
    def cookies(self) -> SessionCookies:
        """The cookies of visitors."""
        return SessionCookies(self.signer, VISITOR_MS)

    def recognise(self, request: Request) -> Visitor:
        """Return the visitor of a request; a new one if the browser has no cookie of ours."""
        now = self.clock.millis()
        session = self.cookies.read(request.cookies.get(self.cookies.cookie), now)
        fresh = session is None
        if session is None:
            session = self.cookies.start(secrets.token_hex(16), "visitor", now)
        return Visitor(session.userid, session, self.cookies.make_form_token(session), fresh)

    def remember(self, request: Request, response: Response, visitor: Visitor) -> Response:
        """Set the cookie of a new visitor."""
        if visitor.fresh:
            secure = self.secure or request.url.scheme == "https"
            self.cookies.write(response, visitor.session, find_mount_path(request), secure=secure)
        return response

    async def read_form(self, request: Request, visitor: Visitor) -> PostedForm:
        """Return the posted form of a visitor; raise FormRejected if it comes from elsewhere."""
        sent = await read_posted_form(request, max_files=1)
        if visitor.fresh or not self.cookies.verify_form_token(visitor.session, sent.text("form_token")):
            raise FormRejected
        return sent

    async def read_open_form(self, request: Request) -> PostedForm:
        """Return a posted form that a token in its URL authorises, such as a link of a mail."""
        return await read_posted_form(request, max_files=1)

    # ── admins ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def authenticate(self, request: Request) -> SignedInAdmin:
        """Return the signed-in admin; raise SignInRequired."""
        found = await self.find_admin(request)
        if found is None:
            raise SignInRequired
        return found

    async def find_admin(self, request: Request) -> SignedInAdmin | None:
        """Return the signed-in admin, if there is one."""
        cookie = request.cookies.get(ADMIN_COOKIE)
        found = await self.accounts.sign_in.find(cookie)
        if found is None or cookie is None:
            return None
        return SignedInAdmin(found.user, cookie, self._make_admin_token(cookie))

    async def read_admin_form(self, request: Request, admin: SignedInAdmin) -> PostedForm:
        """Return the posted form of an admin; raise FormRejected if it comes from elsewhere."""
        sent = await read_posted_form(request, max_files=1)
        if not hmac.compare_digest(admin.form_token.encode(), sent.text("form_token").encode("utf-8", "replace")):
            raise FormRejected
        return sent

    def write_admin_cookie(self, request: Request, response: Response, cookie: str) -> None:
        """Set or, with an empty text, delete the cookie of an admin: only sent to the admin pages' site."""
        path = find_mount_path(request) or "/"
        secure = self.secure or request.url.scheme == "https"
        if cookie:
            response.set_cookie(ADMIN_COOKIE, cookie, path=path, secure=secure, httponly=True, samesite="strict")
        else:
            response.delete_cookie(ADMIN_COOKIE, path=path, secure=secure, httponly=True, samesite="strict")

    def _make_admin_token(self, cookie: str) -> str:
        tag = hmac.digest(self.signer.secret, b"kelifax admin form\0" + cookie.encode("utf-8", "replace"), "sha256")
        return encode_base64url(tag)
