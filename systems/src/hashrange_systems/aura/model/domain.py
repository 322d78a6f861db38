"""Domains of shops: one canonical form for what people paste, and the core name that hints at related shops. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.fetching.errors import BadUrl
from hashrange_systems.shared.fetching.http_url import DEFAULT_PORTS, Target, parse_url

if TYPE_CHECKING:
    from tldextract import TLDExtract

MAX_PASTED = 2048
WWW = "www."
RESERVED = ("example", "invalid", "test")  # RFC 2606: top-level domains that the list of suffixes does not have


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopAddress:
    """A shop's domain as its key has it, and the URL at which its crawl begins."""

    domain: str
    start_url: str


def parse_address(text: str) -> ShopAddress:
    """Return the address of a domain, host or URL in any spelling; raise InvalidInput with the reason.

    The domain is lower case, in ASCII (IDNA), without scheme, port, path, trailing dot and `www.`; the start URL keeps
    the scheme, `www.`, port and path that were pasted.
    """
    pasted = text.strip()
    if not pasted or len(pasted) > MAX_PASTED:
        raise InvalidInput([FieldError("domain", "must be a domain such as antik-mueller.de, or the URL of the shop")])
    try:
        target = parse_url(pasted if "://" in pasted else f"https://{pasted}")
    except BadUrl as error:
        raise InvalidInput([FieldError("domain", f"cannot be read: {error}")]) from error
    return ShopAddress(domain=strip_www(format_domain(target)), start_url=_start_url(target))


def format_domain(target: Target) -> str:
    """Return the host as keys have it; an IP address and another port than the web's are part of it."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.literal is None or target.port in DEFAULT_PORTS.values() else f"{host}:{target.port}"


def fold_domain(stored: str) -> str:
    """Return our form of a domain that another program stored; one that cannot be read stays as it is."""
    try:
        return parse_address(stored).domain
    except InvalidInput:
        return stored


def is_host(stored: str) -> bool:
    """Return whether a stored domain is a host, in whatever spelling, and not a URL or another text."""
    try:
        return "/" not in stored and bool(parse_address(stored).domain)
    except InvalidInput:
        return False


def _start_url(target: Target) -> str:
    return f"{target.scheme}://{target.authority}{target.path}"


def strip_www(domain: str) -> str:
    """Return a domain without a leading `www.`."""
    rest = domain.removeprefix(WWW)
    return rest if rest != domain and "." in rest else domain


def spellings(domain: str) -> tuple[str, str]:
    """Return the two spellings under which a shop may be stored: ours, and with `www.` as the original stored it."""
    bare = strip_www(domain)
    return bare, WWW + bare


def find_core_name(domain: str) -> str:
    """Return the part that related domains share: `example` of `www.example.co.uk`; never empty.

    Private suffixes count: `one.myshopify.com` is `one`. IP addresses and `localhost` are their own core name.
    """
    found = _extract()(domain.partition(":")[0] if not domain.startswith("[") else domain)
    return found.domain or domain


@cache
def _extract() -> TLDExtract:
    """The bundled list of suffixes; never the network."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True, extra_suffixes=RESERVED)
