"""Targets that are not web pages: a host, with a port if the type needs one, stored as `tcp://host:port`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.fetching.connector import make_target
from hashrange_systems.shared.fetching.errors import BadUrl
from hashrange_systems.shared.fetching.http_url import Target
from hashrange_systems.shared.user_url import MAX_URL_LENGTH, UNSEEN, explain_host, name_origin

ValidateTarget = Callable[[object, Collection[str]], str]


def accept_endpoint(
    scheme: str, example: str, *, port: int | None = None, has_port: bool = True, is_name: bool = False
) -> ValidateTarget:
    """Return a function that validates the target of a type and returns it as it is stored."""

    def validate(value: object, own_origins: Collection[str] = ()) -> str:
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput([FieldError("url", f"must be an address such as {example}")])
        try:
            target = parse_endpoint(value.strip(), scheme, port if has_port else 0)
        except ValueError as error:
            raise InvalidInput([FieldError("url", str(error))]) from None
        if is_name and target.literal:
            raise InvalidInput([FieldError("url", "must be a name, not an IP address")])
        if has_port and (target.host, target.port) in {name_origin(urlsplit(origin)) for origin in own_origins}:
            raise InvalidInput([FieldError("url", "must not be this service")])
        return format_endpoint(target, has_port=has_port)

    return validate


def parse_endpoint(text: str, scheme: str, port: int | None) -> Target:
    """Parse `host`, `host:port` or a URL of them; `port` is the default, 0 if there is none. Raise ValueError."""
    if len(text) > MAX_URL_LENGTH or UNSEEN.search(text) or not text.isprintable():
        raise ValueError("must not contain spaces or control characters, or be that long")
    rest = text.removeprefix(f"{scheme}://")
    if "://" in rest:
        raise ValueError(f"must begin with {scheme}:// or with the host, not {rest.partition('://')[0][:20]}://")
    parts = urlsplit(f"//{rest}")
    if parts.username is not None or parts.path.strip("/") or parts.query or parts.fragment or not parts.hostname:
        raise ValueError("must be only a host" + (" and a port" if port != 0 else ""))
    if problem := explain_host(parts.hostname):
        raise ValueError(problem)
    try:
        given = parts.port
    except ValueError:
        raise ValueError("must end with a port from 1 to 65535") from None
    return make_endpoint(scheme, parts.hostname, find_port(given, port))


def find_port(given: int | None, usual: int | None) -> int:
    """Return the port to use; `usual` is 0 for targets without one, None if it must be given."""
    if usual == 0 and given is not None:
        raise ValueError("must not have a port")
    port = given if given is not None else usual
    if port is None or (port == 0 and usual != 0):
        raise ValueError("must end with a port from 1 to 65535, such as :5432")
    return port


def make_endpoint(scheme: str, host: str, port: int) -> Target:
    """Return the target; raise ValueError with the reason if the host is not valid."""
    try:
        return make_target(scheme, host, port)
    except BadUrl as error:
        raise ValueError(f"cannot be used: {error}") from None


def format_endpoint(target: Target, *, has_port: bool) -> str:
    """Return a target as it is stored."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}{f':{target.port}' if has_port else ''}"


def read_endpoint(url: str, scheme: str, port: int | None = None) -> Target:
    """Return the stored target; raise BadUrl, as the fetcher does for a URL, if another system wrote something else."""
    try:
        return parse_endpoint(url, scheme, port)
    except ValueError as error:
        raise BadUrl(f"the address {error}") from None
