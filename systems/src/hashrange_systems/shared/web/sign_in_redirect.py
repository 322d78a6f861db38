"""What the sign-in pages of the systems share: where to go afterwards, and the session cookie."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from hashrange_systems.shared.web.session import Session, SessionCookies
from hashrange_systems.shared.web.templating import find_mount_path

OWN_PATH = re.compile(r"/[A-Za-z0-9/_.-]*", re.ASCII)


def parse_next_path(path: str) -> str:
    """Return the path to go to after sign-in: always one of our own."""
    return path if OWN_PATH.fullmatch(path) and "//" not in path and ".." not in path else "/"


def find_client_address(request: Request) -> str:
    """Return the address of the client, which rate limits count."""
    return request.client.host if request.client else ""


def write_session(
    request: Request, response: Response, sessions: SessionCookies, session: Session, *, secure: bool
) -> None:
    """Set the session cookie; `secure` if the pages are served by https, also behind a proxy."""
    sessions.write(response, session, find_mount_path(request), secure=secure or request.url.scheme == "https")
