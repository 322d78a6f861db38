"""Renders the templates of the pages, with the session cookie of the visitor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from hashrange import __version__
from hashrange_systems.aura.services import Services
from hashrange_systems.aura.web import page_view as view
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.text import format_duration
from hashrange_systems.shared.web.session import Session
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor
from hashrange_systems.shared.web.sign_in_redirect import write_session
from hashrange_systems.shared.web.templating import find_mount_path, hash_static_files, make_environment, redirect_to

STATIC = Path(__file__).with_name("static")
Visitor = SignedInVisitor[Member]
FLASH_MESSAGES = {  # shown after a redirect; the URL contains the name, never the text
    "added": "The shop is registered. A worker crawls it as soon as one is free.",
    "saved": "Saved.",
    "paused": "Paused: it is neither crawled nor scraped until you resume it.",
    "resumed": "Resumed.",
    "hurried": "A worker takes it as soon as one is free.",
    "stopping": "The running crawl or scrape ends at its next page.",
    "removed": "The shop, its pages and its prices are removed.",
    "answered": "Thank you: the answer is stored for both shops.",
    "watching": "It is on your watch list.",
    "unwatched": "It is no longer on your watch list.",
    "search-saved": "The search is saved: you are told when it finds a new product.",
    "search-removed": "The search is removed.",
    "key-revoked": "The key is revoked and no longer accepted.",
    "channel-added": "Messages are sent there from now on.",
    "channel-removed": "The channel is removed.",
}


class PageRenderer:
    """Renders pages."""

    def __init__(self, services: Services, base_url: str) -> None:
        self._services = services
        self.secure = base_url.startswith("https://")
        self._environment = make_environment(__package__)
        self._environment.globals |= {
            "base_url": base_url,
            "demo_shop": services.demo_shop,
            "version": __version__,
            "marks": hash_static_files(STATIC),
            "view": view,
            "format_duration": format_duration,
        }

    def render(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **context: Any
    ) -> HTMLResponse:
        """Return a page."""
        page = self._environment.get_template(template).render(
            root=find_mount_path(request),
            is_get=request.method == "GET",  # the answer to a form cannot be fetched again
            visitor=visitor,
            now=self._services.clock.millis(),
            form_token=self._services.sessions.make_form_token(visitor.session) if visitor else "",
            note=FLASH_MESSAGES.get(request.query_params.get("note", "")),
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
        write_session(request, response, self._services.sessions, session, secure=self.secure)
