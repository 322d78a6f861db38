"""Turns templates into answers: escaped, under the path that the system is mounted at, with the visitor's cookie."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hashrange import __version__
from hashrange_systems.checks.model.phrase import write_duration, write_moment, write_price
from hashrange_systems.checks.schema import User
from hashrange_systems.checks.service.moment import to_ms
from hashrange_systems.checks.web import view
from hashrange_systems.checks.web.plot import plot_days
from hashrange_systems.checks.web.services import Services
from hashrange_systems.checks.web.session import Session, keep_session, make_form_token

STATIC = Path(__file__).with_name("static")
NOTES = {  # what is said after a form was sent; the address carries the name, never the text
    "added": "The check is added and runs right away.",
    "saved": "Saved.",
    "paused": "Paused. Nothing is looked at until you resume it.",
    "resumed": "Resumed. It runs right away.",
    "run": "Done: the newest result is below.",
    "deleted": "The check and everything kept about it is deleted.",
    "window-added": "The maintenance window is added.",
    "window-removed": "The maintenance window is removed.",
    "channel-removed": "The channel is removed.",
    "asked": "A message with a link to confirm was sent.",
    "not-asked": "The channel is added, but the message with the link to confirm could not be sent. Try again later.",
    "revoked": "The key is revoked: from now on it opens nothing.",
    "published": "The status page is published.",
    "unpublished": "The status page is no longer published.",
}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody signed in; `fresh` when the browser does not have the session yet."""

    user: User
    session: Session
    fresh: bool = False


class Painter:
    """Renders pages."""

    def __init__(self, services: Services, base_url: str, *, demo: bool) -> None:
        self._services = services
        self.secure = base_url.startswith("https://")
        self._environment = Environment(
            loader=PackageLoader(__package__),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        self._environment.globals |= {"base_url": base_url, "demo": demo, "version": __version__, "marks": mark_files()}
        self._environment.globals |= {"has_mailbox": services.mailbox is not None, "view": view, "to_ms": to_ms}
        self._environment.globals |= {
            "write_duration": write_duration,
            "write_price": write_price,
            "plot_days": plot_days,
        }
        self._environment.filters |= {"moment": lambda at: write_moment(to_ms(at)), "duration": write_duration}

    def show(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **context: Any
    ) -> HTMLResponse:
        """Answer with a page."""
        root = find_root(request)
        page = self._environment.get_template(template).render(
            root=root,
            visitor=visitor,
            now=self._services.clock.millis(),
            form_token=make_form_token(self._services.secret, visitor.session) if visitor else "",
            note=NOTES.get(request.query_params.get("note", "")),
            **context,
        )
        response = HTMLResponse(page, status)
        if visitor and visitor.fresh:
            self.keep(request, response, visitor.session)
        return response

    def keep(self, request: Request, response: Response, session: Session) -> None:
        """Send the session along with an answer."""
        secure = self.secure or request.url.scheme == "https"
        keep_session(response, session, find_root(request), secure=secure)


def find_root(request: Request) -> str:
    """Return the path that the system is mounted at; nothing when it stands alone."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def go(request: Request, path: str, note: str = "") -> RedirectResponse:
    """Send a visitor on to one of our pages."""
    return RedirectResponse(f"{find_root(request)}{quote(path)}{f'?note={note}' if note else ''}", 303)


def mark_files() -> Mapping[str, str]:
    """Return a mark for each static file that changes with what is in it, so that browsers may keep it for long."""
    files = [path for path in STATIC.iterdir() if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in files}
