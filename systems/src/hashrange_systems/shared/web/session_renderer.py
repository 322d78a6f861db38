"""Renders the pages of signed-in visitors: with their form token, the message of a redirect and the session cookie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from hashrange import Clock, __version__
from hashrange_systems.shared.text import format_duration
from hashrange_systems.shared.web.session import Session, SessionCookies
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor
from hashrange_systems.shared.web.sign_in_redirect import write_session
from hashrange_systems.shared.web.templating import find_mount_path, hash_static_files, make_environment, redirect_to

User = TypeVar("User")

ACCOUNT_MESSAGES = {  # shown after a redirect, as those of the system
    "channel-added": "The channel is added.",
    "channel-removed": "The channel is removed.",
    "asked": "A message with a link to confirm is on its way.",
    "revoked": "The key is revoked and no longer accepted.",
    "password-set": "The new password is set: sign in with it.",
    "invited": "The invitation is on its way.",
    "withdrawn": "The invitation is withdrawn.",
    "role-changed": "The role is changed.",
    "member-removed": "The member is removed, and out at once.",
    "left": "You left the team.",
    "two-factor-off": "Two-factor sign-in is off.",
}


class SessionRenderer(Generic[User]):
    """Renders the templates of a package; `flash_messages` are shown after a redirect, by the name in the URL."""

    def __init__(
        self,
        package: str,
        static: Path,
        sessions: SessionCookies,
        clock: Clock,
        base_url: str,
        flash_messages: Mapping[str, str],
    ) -> None:
        self._sessions, self._clock = sessions, clock
        self._flash_messages = ACCOUNT_MESSAGES | dict(flash_messages)
        self.secure = base_url.startswith("https://")
        self.environment = make_environment(package)
        self.environment.globals |= {
            "base_url": base_url,
            "version": __version__,
            "marks": hash_static_files(static),
            "format_duration": format_duration,
        }

    def render(
        self,
        request: Request,
        template: str,
        visitor: SignedInVisitor[User] | None = None,
        status: int = 200,
        **context: Any,
    ) -> HTMLResponse:
        """Return a page."""
        page = self.environment.get_template(template).render(
            root=find_mount_path(request),
            is_get=request.method == "GET",  # the answer to a form cannot be fetched again
            visitor=visitor,
            now=self._clock.millis(),
            form_token=self._sessions.make_form_token(visitor.session) if visitor else "",
            note=self._flash_messages.get(request.query_params.get("note", "")),
            **context,
        )
        response = HTMLResponse(page, status)
        if visitor and visitor.fresh:
            self.set_cookie(request, response, visitor.session)
        return response

    def render_error(self, request: Request, status: int, title: str, text: str) -> HTMLResponse:
        """Return an error page."""
        return self.render(request, "error.html", None, status, title=title, text=text)

    def redirect(self, request: Request, session: Session, path: str) -> Response:
        """Redirect to a page with a new session."""
        response = redirect_to(request, path)
        self.set_cookie(request, response, session)
        return response

    def set_cookie(self, request: Request, response: Response, session: Session) -> None:
        """Set the session cookie."""
        write_session(request, response, self._sessions, session, secure=self.secure)
