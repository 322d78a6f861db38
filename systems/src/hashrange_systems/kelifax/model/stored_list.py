"""Lists that are stored as one string, as the original does: tags by commas, features and use cases by pipes.

The declaration in `schema` reads and writes them; here is how a damaged item and a change of the stream are read, and
what is the same for people: without the spaces and the empty entries that the original system leaves.
"""

from __future__ import annotations

from collections.abc import Sequence


def split_tags(text: str) -> list[str]:
    """Return the tags of a stored string, without empty ones and the spaces that the original system left."""
    return [tag for part in text.split(",") if (tag := part.strip())]


def split_lines(text: str) -> list[str]:
    """Return the features or use cases of a stored string, without empty ones."""
    return [line for part in text.split("|") if (line := part.strip())]


def strip_all(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts without the spaces and the empty entries that the original system stores."""
    return tuple(text.strip() for text in texts if text.strip())


def normalise_tags(tags: Sequence[str]) -> list[str]:
    """Return tags as pages and links spell them: lower case, one space between words."""
    return list(dict.fromkeys(" ".join(tag.lower().split()) for tag in tags if tag.strip()))
