"""Slugs of resources: made from the name, safe in a path, never a page of the site; and how any stored one is a path.

The original system accepts every text as a slug. One that is no safe segment of a path, `a/b`, `..` or `50%`, is
written as `~` and its base64url: browsers resolve dots, encoded ones too, and proxies decode `%2F` and `%25`.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from itertools import count
from urllib.parse import quote

from anyascii import anyascii
from slugify import slugify

MAX_LENGTH = 80
MAX_STORED_BYTES = 2000  # of a slug: DynamoDB allows 2048 in a key, and records have a prefix before it
ENCODED = "~"  # begins the segment of a slug that is no safe segment itself
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RESERVED = frozenset({
    "admin", "alternatives", "api", "category", "categories", "claim", "collection", "collections", "confirm",
    "css", "digest", "edit", "export", "favicon-ico", "favourites", "feed", "feed-xml", "health", "login", "logo",
    "logos", "logout", "moderation", "new", "opensearch-xml", "preview", "r", "report", "resource", "resources",
    "review", "reviews", "robots-txt", "rss", "rss-xml", "search", "sitemap", "sitemap-xml", "sign-in",
    "sign-out", "static", "status", "submit", "suggest", "tag", "tags", "unsubscribe", "vote",
})  # fmt: skip
# What letters alone cannot distinguish: C, C++ and C# are three languages.
SPELLINGS = (
    ("c++", "c-plus-plus"),
    ("c#", "c-sharp"),
    ("f#", "f-sharp"),
    ("j#", "j-sharp"),
    ("g++", "g-plus-plus"),
    (".net", "dot-net"),
    ("&", " and "),
    ("+", " plus "),
    ("@", " at "),
    ("%", " percent "),
)


def make_slug(name: str, fallback: str) -> str:
    """Return the slug of a name; of a name without letters and digits `r-` and the fallback, which is an id."""
    spelled = anyascii(name).lower()
    for sign, word in SPELLINGS:
        spelled = spelled.replace(sign, f" {word} ")
    slug = slugify(spelled, max_length=MAX_LENGTH - 10, word_boundary=True)
    if not SLUG.fullmatch(slug):
        return f"r-{slugify(fallback)[:40]}"
    return f"{slug}-resource" if slug in RESERVED else slug


def number_slugs(slug: str) -> Iterator[str]:
    """Yield the slugs for further resources of the same name: `saw-2`, `saw-3`."""
    return (f"{slug}-{number}" for number in count(2))


def is_stored_slug(text: str) -> bool:
    """Return whether a text can be the slug of a resource, also of one that the original system stored."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return 0 < size <= MAX_STORED_BYTES and "#" not in text  # the keys of claims and aliases have one


def encode_slug(slug: str) -> str:
    """Return a slug as one segment of a path, in ASCII."""
    if is_safe_segment(slug):
        return quote(slug, safe="")
    return ENCODED + urlsafe_b64encode(slug.encode("utf-8", "replace")).decode().rstrip("=")


def is_safe_segment(slug: str) -> bool:
    """Return whether browsers and proxies leave a percent-encoded text in a path as it is."""
    return (
        slug.isprintable()
        and slug == slug.strip()
        and slug.strip(".") != ""
        and not slug.startswith(ENCODED)
        and not any(sign in slug for sign in "/\\%?#;")
    )


def decode_slug(segment: str) -> str:
    """Return the slug of a segment that the server has percent-decoded; a slug that was not encoded is itself."""
    if not segment.startswith(ENCODED):
        return segment
    coded = segment.removeprefix(ENCODED)
    try:
        slug = urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode()
    except ValueError:
        return segment
    return slug if slug and encode_slug(slug) == segment else segment


def path_of_resource(slug: str) -> str:
    """Return the path of the page of a resource."""
    return f"/r/{encode_slug(slug)}"
