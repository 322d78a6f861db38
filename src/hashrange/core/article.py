"""The indefinite article of a name, for messages."""

from __future__ import annotations


def with_article(name: str) -> str:
    """Return a name with "a" or "an" before it."""
    return f"an {name}" if name[:1].lower() in {"a", "e", "i", "o", "u"} else f"a {name}"
