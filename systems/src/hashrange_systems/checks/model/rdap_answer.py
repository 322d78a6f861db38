"""What an RDAP server says about a domain, as a function for the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from hashrange_systems.checks.model.fetch_result import PageResponse
from hashrange_systems.checks.model.untrusted_page import open_page
from hashrange_systems.shared.epoch import to_ms


def read_expiration(page: PageResponse) -> int | None:
    """Return the end of the registration in milliseconds; None if the answer does not say it."""
    opened = open_page(page)
    return find_expiration(opened.body) if isinstance(opened, PageResponse) else None


def find_expiration(body: str) -> int | None:
    """Return the end of the registration in an RDAP answer; None if there is none."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    events = answer.get("events") if isinstance(answer, Mapping) else None
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping) and event.get("eventAction") == "expiration":
            return parse_date(event.get("eventDate"))
    return None


def parse_date(text: object) -> int | None:
    """Return an ISO 8601 time in milliseconds; None if it is none."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return None if at is None else to_ms(at if at.tzinfo else at.replace(tzinfo=UTC))
