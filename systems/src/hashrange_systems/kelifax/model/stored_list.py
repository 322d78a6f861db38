r"""Lists that are stored as one string, as the original does: tags by commas, features by pipes, lessons as JSON.

The declaration in `schema` reads and writes them; this module has the same rules for exports and damaged items. An
empty list is `""`. A pipe inside a lesson is written `\u007c`, so that the parser of the original system splits right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

LESSON_FIELDS = ("title", "url", "type")


def join_tags(tags: Sequence[str]) -> str:
    """Return tags as one string; none of them contains a comma."""
    return _join(tags, ",")


def join_lines(lines: Sequence[str]) -> str:
    """Return features or use cases as one string; none of them contains a pipe."""
    return _join(lines, "|")


def _join(parts: Sequence[str], separator: str) -> str:
    wrong = next((part for part in parts if separator in part or not part), None)
    if wrong is not None:
        raise ValueError(f"{wrong!r} cannot be stored: it is empty or contains {separator!r}")
    return separator.join(parts)


def split_tags(text: str) -> list[str]:
    """Return the tags of a stored string, without empty ones and the spaces that the original system left."""
    return [tag for part in text.split(",") if (tag := part.strip())]


def split_lines(text: str) -> list[str]:
    """Return the features or use cases of a stored string, without empty ones."""
    return [line for part in text.split("|") if (line := part.strip())]


def join_lessons(lessons: Sequence[Mapping[str, str]]) -> str:
    """Return lessons as one string that splits at its pipes."""
    return "|".join(
        json.dumps(dict(lesson), ensure_ascii=False, separators=(",", ":")).replace("|", "\\u007c")
        for lesson in lessons
    )


def split_lessons(text: str) -> list[dict[str, str]]:
    """Return the lessons of a stored string; raise ValueError if it is damaged."""
    return [_read_lesson(part) for part in text.split("|") if part]


def _read_lesson(part: str) -> dict[str, str]:
    lesson: Any = json.loads(part)
    if not isinstance(lesson, dict) or set(lesson) != set(LESSON_FIELDS):
        raise ValueError(f"{part[:80]!r} is not a title, a url and a type")
    if not all(isinstance(value, str) for value in lesson.values()):
        raise ValueError(f"{part[:80]!r} has a value that is not text")
    return lesson


def explain_lessons(text: str) -> str | None:
    """Return why the stored lessons cannot be read; None if they can."""
    try:
        split_lessons(text)
    except ValueError as error:
        return str(error)
    return None


def strip_all(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts without the spaces and the empty entries that the original system stores."""
    return tuple(text.strip() for text in texts if text.strip())


def normalise_tags(tags: Sequence[str]) -> list[str]:
    """Return tags as pages and links spell them: lower case, one space between words."""
    return list(dict.fromkeys(" ".join(tag.lower().split()) for tag in tags if tag.strip()))
