"""Where a request comes from: from a page of this site or another one, and from this machine or another one."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from hashrange_systems.shared.errors import FormRejected


def refuse_cross_site(request: Request) -> None:
    """Raise FormRejected for a form that a page of another site sent, as far as the browser reports it."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise FormRejected
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise FormRejected


def find_host(address: str) -> str | None:
    """Return the host of a URL; None if it cannot be parsed."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def is_local_request(request: Request, base_url: str) -> bool:
    """Return whether a request comes from this machine, by its own host name (against DNS rebinding)."""
    if request.client is None:
        return False
    asked, ours = find_host(f"//{request.headers.get('host', '')}"), find_host(base_url)
    return is_loopback(request.client.host) and (is_loopback(asked) or asked == ours)
