"""Slugs of resources: made from the name, safe in a path, never a page of the site; which stored ones are routable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from anyascii import anyascii
from slugify import slugify

MAX_LENGTH = 80
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RESERVED = frozenset({
    "admin", "alternatives", "api", "category", "categories", "claim", "collection", "collections", "confirm",
    "css", "digest", "edit", "export", "favicon-ico", "favourites", "feed", "feed-xml", "health", "login", "logo",
    "logos", "logout", "moderation", "new", "opensearch-xml", "preview", "r", "report", "resource", "resources",
    "review", "reviews", "robots-txt", "rss", "rss-xml", "search", "sitemap", "sitemap-xml", "sign-in",
    "sign-out", "static", "status", "submit", "suggest", "tag", "tags", "unsubscribe", "vote",
})  # fmt: skip
# What letters alone cannot tell apart: C, C++ and C# are three languages.
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


def is_routable(slug: str) -> bool:
    """Return whether a text can be the slug of a resource, also of one that the original system stored."""
    return (
        0 < len(slug.encode("utf-8", "replace")) <= 1024
        and slug.isprintable()
        and not any(sign in slug for sign in "#/\\?")
        and slug not in {".", ".."}
    )
