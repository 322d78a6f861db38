"""The text that searches look into: name, category, tags and features in lower case, as the original makes it."""

from __future__ import annotations

from collections.abc import Sequence


def make_search_text(name: str, tags: Sequence[str], category: str, features: Sequence[str]) -> str:
    """Return the search text of a resource."""
    parts = (name.lower(), category.lower(), " ".join(tags).lower(), " ".join(features).lower())
    return " ".join(part for part in parts if part)


def split_words(query: str) -> list[str]:
    """Return the words of a query, in lower case, each once."""
    return list(dict.fromkeys(query.lower().split()))


def contains_all(text: str | None, words: Sequence[str]) -> bool:
    """Return whether a search text contains every word."""
    return all(word in (text or "") for word in words)
