"""URLs of resources: which are allowed, and the normal form by which a resource is listed once.

Two URLs with the same normal form lead to the same page: the scheme, `www.`, default ports, the case of the host, a
trailing slash, `.` and `..`, fragments and parameters of campaigns make no difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import idna
from confusable_homoglyphs import confusables

from hashrange_systems.shared.fetching.http_url import DEFAULT_PORTS
from hashrange_systems.shared.fetching.public_address import explain_forbidden
from hashrange_systems.shared.user_url import explain_host, explain_url

CAMPAIGN = re.compile(r"utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|ref|ref_src|igshid", re.IGNORECASE)
LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".lan", ".home", ".intranet", ".corp", ".home.arpa")
PLAIN_HOST = re.compile(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?", re.ASCII)
SAFE_IN_PATH = ":@!$&'()*+,;=-._~"


def explain_resource_url(text: str) -> str | None:
    """Return why a URL cannot be listed; None if it can."""
    if problem := explain_url(text):
        return problem
    host = unicodedata.normalize("NFKC", urlsplit(text).hostname or "").rstrip(".")
    if problem := explain_host(host):
        return problem
    if _is_address(host):
        kind = explain_forbidden(ip_address(host.strip("[]")))
        return f"must not use {kind} address" if kind else None
    if "." not in host or host.endswith(LOCAL_SUFFIXES) or host == "localhost":
        return "must name a public host such as example.com"
    return None if encode_host(host) else "must name a host that exists in the domain name system"


def normalise_url(text: str) -> str:
    """Return the normal form of a URL, by which it is unique; a text that is no URL is its own."""
    try:
        parts, port = urlsplit(text.strip()), urlsplit(text.strip()).port
    except ValueError:
        return text.strip()
    host = encode_host((parts.hostname or "").rstrip("."))
    if parts.scheme not in DEFAULT_PORTS or not host:
        return text.strip()
    shown = "" if port in {None, *DEFAULT_PORTS.values()} else f":{port}"
    return f"https://{host.removeprefix('www.')}{shown}{_normalise_path(parts)}{_normalise_query(parts)}"


def find_host(url: str) -> str:
    """Return the host of a URL in its normal form; empty if it has none."""
    try:
        return urlsplit(normalise_url(url)).hostname or ""
    except ValueError:
        return ""


def encode_host(host: str) -> str | None:
    """Return a host as the domain name system knows it (punycode); None if it cannot be one."""
    lower = host.lower()
    plain = PLAIN_HOST.fullmatch(lower) is not None
    if plain and "xn--" not in lower and not lower[-1].isdigit():
        return lower  # nothing to encode: twenty times faster, and a list of all hosts is computed often
    if _is_address(host):
        return f"[{host}]" if ":" in host else host
    try:
        return idna.encode(lower, uts46=True, transitional=False).decode()
    except (idna.IDNAError, UnicodeError):
        return lower if plain else None


def show_host(url: str) -> str:
    """Return the host of a URL for people: in letters, or in punycode if its letters can be mistaken for others."""
    host = find_host(url)
    if "xn--" not in host:
        return host
    try:
        shown = idna.decode(host)
    except (idna.IDNAError, UnicodeError):
        return host
    return host if is_deceptive(shown) else shown


def is_deceptive(host: str) -> bool:
    """Return whether a host can be mistaken for another one: a label mixes scripts, or looks like Latin letters."""
    return any(confusables.is_dangerous(label) or _looks_latin(label) for label in host.split("."))


def _looks_latin(label: str) -> bool:
    """Return whether every letter of a label is, or looks like, one of a-z, and not all are."""
    return not label.isascii() and all(sign.isascii() or _resembles_ascii(sign) for sign in label)


@cache
def _resembles_ascii(sign: str) -> bool:
    found = confusables.is_confusable(sign, greedy=True) or []
    return any(each["c"].isascii() for one in found for each in one["homoglyphs"])


def warn_of_host(url: str) -> str | None:
    """Return a warning for moderators if the host can be mistaken for another one: letters that look alike."""
    host = find_host(url)
    if "xn--" not in host:
        return None
    try:
        shown = idna.decode(host)
    except (idna.IDNAError, UnicodeError):
        return f"The host {host} cannot be shown in letters."
    if is_deceptive(shown):
        return f"The host {shown} ({host}) has letters that look like others."
    return f"The host {shown} is written {host}."


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _normalise_path(parts: SplitResult) -> str:
    decoded = (unquote(segment, errors="surrogateescape") for segment in parts.path.split("/"))  # %2F is no separator
    segments = _resolve_dots(decoded)
    path = "/".join(quote(segment, safe=SAFE_IN_PATH, errors="surrogateescape") for segment in segments)
    return path.rstrip("/") + "/" if not path.strip("/") else path.rstrip("/")


def _normalise_query(parts: SplitResult) -> str:
    pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not CAMPAIGN.fullmatch(pair[0])]
    return f"?{urlencode(sorted(pairs))}" if pairs else ""


def _resolve_dots(segments: Iterable[str]) -> list[str]:
    """Return segments without `.` and `..`, which browsers resolve before they request a page, encoded ones too."""
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[max(1, len(kept) - 1) :]  # the first one is empty: it stands before the first slash
        elif segment != ".":
            kept.append(segment)
    return kept
