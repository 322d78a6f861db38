"""Renders the templates of the pages, with the session cookie of the visitor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from hashrange import __version__
from hashrange_systems.checks.model.outcome_text import format_price
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.service.check_type import show_url
from hashrange_systems.checks.services import Services
from hashrange_systems.checks.web import check_view as view
from hashrange_systems.shared.charts.plot import plot_days, plot_days_small
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.text import format_duration
from hashrange_systems.shared.web.session import Session
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor
from hashrange_systems.shared.web.sign_in_redirect import write_session
from hashrange_systems.shared.web.templating import find_mount_path, hash_static_files, make_environment, redirect_to

Visitor = SignedInVisitor[ActiveUser]

TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC")  # as shared.text.format_time writes it
STATIC = Path(__file__).with_name("static")
FLASH_MESSAGES = {  # shown after a redirect; the URL contains the name, never the text
    "added": "The check is added and runs right away.",
    "saved": "Saved.",
    "paused": "Paused. It does not run until you resume it.",
    "resumed": "Resumed. It runs right away.",
    "run": "Done: the newest result is below.",
    "deleted": "The check and its history are deleted.",
    "window-added": "The maintenance window is added.",
    "window-removed": "The maintenance window is removed.",
    "channel-removed": "The channel is removed.",
    "asked": "A message with a link to confirm was sent.",
    "not-asked": "The channel is added, but the message with the link to confirm could not be sent. Try again later.",
    "revoked": "The key is revoked and no longer accepted.",
    "published": "The status page is published.",
    "announced": "The announcement is on the page.",
    "withdrawn": "The announcement is removed.",
    "two-factor-off": "Two-factor sign-in is off.",
    "unpublished": "The status page is no longer published.",
}


class PageRenderer:
    """Renders pages."""

    def __init__(self, services: Services, base_url: str, *, demo: bool) -> None:
        self._services = services
        self.secure = base_url.startswith("https://")
        self._environment = make_environment(__package__)
        self._environment.filters["local_times"] = mark_times
        self._environment.globals |= {
            "base_url": base_url,
            "demo": demo,
            "version": __version__,
            "marks": hash_static_files(STATIC),
        }
        self._environment.globals |= {
            "has_mailbox": services.mailbox is not None,
            "view": view,
            "to_ms": to_ms,
            "from_ms": from_ms,
        }
        self._environment.globals |= {
            "format_duration": format_duration,
            "format_price": format_price,
            "plot_days": plot_days,
            "plot_days_small": plot_days_small,
            "show_url": show_url,
        }

    def render(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **context: Any
    ) -> HTMLResponse:
        """Return a page."""
        root = find_mount_path(request)
        page = self._environment.get_template(template).render(
            root=root,
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


def mark_times(text: str) -> Markup:
    """Return a text, escaped, with its times marked, so that the page shows them in the reader's time zone."""
    marked, end = Markup(), 0
    for found in TIME.finditer(text):
        time = Markup('<time datetime="{}T{}Z" data-local>{}</time>').format(found[1], found[2], found[0])
        marked += escape(text[end : found.start()]) + time
        end = found.end()
    return marked + escape(text[end:])
