"""The difference between what a resource says and what somebody suggests, field by field and word by word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from hashrange_systems.kelifax.model.content import CONTENT_FIELDS

WORDS = re.compile(r"\s+|[^\s]+")
MAX_WORDS = 2000

LABELS = {each.name: each.label for each in CONTENT_FIELDS}


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text: kept, removed or added."""

    kind: Literal["same", "removed", "added"]
    text: str


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that would change; `stale` if it is no longer what the suggestion was based on."""

    field: str
    label: str
    parts: tuple[TextPart, ...]
    stale: bool


def diff_fields(
    current: Mapping[str, Any], changes: Mapping[str, Any], base: Mapping[str, Any]
) -> list[FieldDifference]:
    """Return the differences of the changed fields."""
    return [
        FieldDifference(
            name,
            LABELS.get(name, name),
            diff_text(format_field(current.get(name)), format_field(wanted)),
            stale=current.get(name) != base.get(name),
        )
        for name, wanted in changes.items()
    ]


def diff_text(before: str, after: str) -> tuple[TextPart, ...]:
    """Return the parts of two texts, by words."""
    old, new = WORDS.findall(before)[:MAX_WORDS], WORDS.findall(after)[:MAX_WORDS]
    parts: list[TextPart] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(TextPart("same", "".join(old[a:b])))
            continue
        if b > a:
            parts.append(TextPart("removed", "".join(old[a:b])))
        if d > c:
            parts.append(TextPart("added", "".join(new[c:d])))
    return tuple(parts)


def format_field(value: Any) -> str:
    """Return a field as text: a list has a line for each entry."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(format_field(each) for each in value)
    if isinstance(value, Mapping):
        return f"{value.get('title', '')} ({value.get('type', '')}) {value.get('url', '')}"
    return str(value)
