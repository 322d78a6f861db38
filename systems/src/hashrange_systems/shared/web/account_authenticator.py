"""Finds who a page is for: by the session that the server stores, or as the demo's user; and checks forms (CSRF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from starlette.requests import Request

from hashrange_systems.shared.accounts.account_services import AccountServices
from hashrange_systems.shared.accounts.sign_in import SignedIn
from hashrange_systems.shared.errors import AccountSuspended, FormRejected, SignInRequired
from hashrange_systems.shared.web.posted_form import read_posted_form
from hashrange_systems.shared.web.same_origin import is_local_request
from hashrange_systems.shared.web.session import Session, SessionCookies
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor, SubmittedForm

User = TypeVar("User")

SIGNED_OUT = Session("", "", "signed-out")  # its cookie keeps the demo from signing in who has signed out


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAuthenticator(Generic[User]):
    """Finds the visitors of pages; those of the demo are signed in with `demo_login`."""

    accounts: AccountServices[User]
    cookies: SessionCookies
    base_url: str
    demo_login: str | None = None

    async def require_visitor(self, request: Request) -> SignedInVisitor[User]:
        """Return the signed-in visitor, or the demo's user for requests from this machine; raise SignInRequired."""
        visitor = await self.find_visitor(request)
        if visitor is None and self._read_cookie(request) != SIGNED_OUT.text:
            visitor = await self.enter_demo(request)
        if visitor is None:
            raise SignInRequired
        return visitor

    async def find_visitor(self, request: Request) -> SignedInVisitor[User] | None:
        """Return the visitor of a session; None if there is none, or it is over."""
        cookie = self._read_cookie(request)
        signed_in = await self.accounts.sign_in.find(cookie)
        return None if signed_in is None or cookie is None else make_visitor(signed_in, cookie)

    def _read_cookie(self, request: Request) -> str | None:
        return request.cookies.get(self.cookies.cookie)

    # ── the demo ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def offers_demo(self, request: Request) -> bool:
        """Return whether a visitor can be signed in as the demo's user: only from this machine."""
        return self.demo_login is not None and is_local_request(request, self.base_url)

    async def enter_demo(self, request: Request) -> SignedInVisitor[User] | None:
        """Return the demo's user with a new session; None without a demo, or while its data is being written."""
        if self.demo_login is None or not self.offers_demo(request):
            return None
        owner = await self.accounts.logins.find_owner(self.demo_login)
        try:
            cookie = None if owner is None else await self.accounts.sign_in.start_demo(owner)
        except AccountSuspended:
            return None
        signed_in = await self.accounts.sign_in.find(cookie)
        return None if signed_in is None or cookie is None else make_visitor(signed_in, cookie, fresh=True)

    # ── forms and sign-out ───────────────────────────────────────────────────────────────────────────────────────────
    async def read_form(self, request: Request, max_files: int = 0) -> SubmittedForm[User]:
        """Return the posted form; raise FormRejected unless it comes from a page of the visitor's session."""
        sent = await read_posted_form(request, max_files)
        visitor = await self.find_visitor(request)
        if visitor is None:
            raise SignInRequired
        if not self.cookies.verify_form_token(visitor.session, sent.text("form_token")):
            raise FormRejected
        return SubmittedForm(sent.form, sent.files, visitor=visitor)

    async def end_session(self, request: Request) -> None:
        """End the session of a request, if it has one."""
        await self.accounts.sign_in.end(self._read_cookie(request))


def make_visitor(signed_in: SignedIn[User], cookie: str, *, fresh: bool = False) -> SignedInVisitor[User]:
    """Return the visitor of a session; `fresh` if the browser does not have the cookie yet."""
    session = Session(signed_in.owner, signed_in.session.key_id or "", cookie)
    return SignedInVisitor(
        signed_in.user, session, fresh, owner=signed_in.owner, member=signed_in.member, role=signed_in.role
    )
