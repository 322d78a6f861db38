"""What the sign-in pages of the systems share: where to go afterwards, and the session cookie."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from hashrange_systems.shared.web.rate_limit import find_network
from hashrange_systems.shared.web.session import Session, SessionCookies
from hashrange_systems.shared.web.templating import find_mount_path

OWN_PATH = re.compile(r"/[A-Za-z0-9/_.-]*", re.ASCII)


def parse_next_path(path: str) -> str:
    """Return the path to go to after sign-in: always one of our own."""
    return path if OWN_PATH.fullmatch(path) and "//" not in path and ".." not in path else "/"


def find_client_address(request: Request) -> str:
    """Return the address of the client."""
    return request.client.host if request.client else ""


def find_client_network(request: Request) -> str:
    """Return by what rate limits count the client: its IPv4 address, or the /64 network of its IPv6 address."""
    return find_network(find_client_address(request))


def write_session(
    request: Request, response: Response, sessions: SessionCookies, session: Session, *, secure: bool
) -> None:
    """Set the session cookie; `secure` if the pages are served by https, also behind a proxy."""
    sessions.write(response, session, find_mount_path(request), secure=secure or request.url.scheme == "https")
