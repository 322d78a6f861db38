"""When a link is checked next, and when a resource with a dead link is unpublished.

A dead link is checked again soon, and for days: only a link that failed `MIN_FAILURES` times in a row over at least
`GRACE_MS` is given up. A single success clears everything.
"""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.work.retry import Backoff

WELL_MS = 7 * DAY_MS  # between checks of a working link
RETRIES = Backoff(3600, 24 * 3600)
GRACE_MS = 7 * DAY_MS
MIN_FAILURES = 5
DEAD_STATUS = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class LinkResult:
    """What a check means: the failures in a row, since when, the next check, and whether the link is given up."""

    failures: int
    failing_since: int | None
    next_check: int
    dead: bool


def evaluate_link(*, alive: bool, failures: int, failing_since: int | None, now: int) -> LinkResult:
    """Return what a check means."""
    if alive:
        return LinkResult(0, None, now + WELL_MS, dead=False)
    failures += 1
    since = now if failing_since is None else failing_since
    dead = failures >= MIN_FAILURES and now - since >= GRACE_MS
    return LinkResult(failures, since, now + int(RETRIES.find_longest(failures) * 1000), dead)


def is_alive(status: int) -> bool:
    """Return whether a response means that the page exists; a page that refuses robots does."""
    return status not in DEAD_STATUS and status < 500
