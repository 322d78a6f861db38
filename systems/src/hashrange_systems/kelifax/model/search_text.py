"""The text that searches look into: the texts of some fields in lower case, joined as the original joins them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def join_words(fields: Iterable[Sequence[str]]) -> str:
    """Return the search text of fields with these texts."""
    parts = (" ".join(texts).lower() for texts in fields)
    return " ".join(part for part in parts if part)


def split_words(query: str) -> list[str]:
    """Return the words of a query, in lower case, each once."""
    return list(dict.fromkeys(query.lower().split()))


def contains_all(text: str | None, words: Sequence[str]) -> bool:
    """Return whether a search text contains every word."""
    return all(word in (text or "") for word in words)
