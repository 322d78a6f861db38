"""Why a stored resource cannot be read: an attribute and the rule it breaks, never its value.

A value may be personal data, and the reason is public: pages, exports and the public indexes show it. An attribute of
the submitter is not even named there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hashrange import camel
from hashrange_systems.kelifax.model.content import CONTENT_FIELDS
from hashrange_systems.kelifax.model.public_entry import PUBLIC_ATTRIBUTES

TIMES = ("createdAt", "submittedAt", "approvedAt", "rejectedAt", "publishedAt", "lastViewed")
RULES = {
    **{each.name: each.kind.stored_rule for each in CONTENT_FIELDS},
    "viewCount": "must be a whole number",
    "featured": "must be a boolean",
    "resourceStatus": "must be pending, approved or rejected",
    **dict.fromkeys(TIMES, "must be a time such as 2026-01-15T12:00:00Z"),
}
TEXT_RULE = "must be a text"  # of any other attribute
MISSING = "is missing"
HIDDEN = "an attribute that is not public cannot be read"
UNKNOWN = "it cannot be read"
WRONG_STATUS = f"resourceStatus {RULES['resourceStatus']}"
NAMED = frozenset({*PUBLIC_ATTRIBUTES, *TIMES, "resourceStatus", "searchText"})
PUBLIC_REASONS = frozenset(
    {HIDDEN, UNKNOWN, *(f"{name} {rule}" for name in NAMED for rule in (MISSING, RULES.get(name, TEXT_RULE)))}
)
LACKS = re.compile(r"\w+ needs (\w+(?:, \w+)*)", re.ASCII)
BREAKS = re.compile(r"\w+\.(\w+)\S* (?:is|cannot be read)\b", re.ASCII)


def describe_damage(problem: str) -> tuple[str, ...]:
    """Return what is wrong with a stored item, from the text of the error, which may quote values."""
    if lacking := LACKS.fullmatch(problem):
        return tuple(f"{camel(name)} {MISSING}" for name in lacking[1].split(", "))
    if broken := BREAKS.match(problem):
        name = camel(broken[1])
        return (f"{name} {RULES.get(name, TEXT_RULE)}",)
    return (UNKNOWN,)


def hide_private(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons that the public may read; any other says only that there is one."""
    return tuple(dict.fromkeys(reason if reason in PUBLIC_REASONS else HIDDEN for reason in sorted(reasons)))


def join_reasons(reasons: Sequence[str]) -> str:
    """Return reasons as one text."""
    return "; ".join(reasons)
