"""Outages: errors after which work that goes on for ever waits and tries again, and the pauses between the attempts."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds


class Outage:
    """The outages that a program meets: each is logged when it begins and when it ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pauses: Iterator[float] | None = None  # of the outage that lasts

    def pause(self, error: Exception) -> float | None:
        """Return how many seconds to wait after an error; None if another attempt would not help."""
        if not is_outage(error):
            return None
        if self._pauses is None:
            log.warning("%s tries again until the database answers: %s", self.name, error)
            self._pauses = pauses()
        return next(self._pauses)

    def end(self) -> None:
        """Note that an attempt has succeeded."""
        if self._pauses is not None:
            log.warning("%s continues: the database answers again", self.name)
            self._pauses = None


def is_outage(error: Exception) -> bool:
    """Return whether an error says that the database does not answer now, or throttles."""
    from hashrange.client.retry import is_throttling, is_transient

    return is_transient(error) or is_throttling(error, "GetRecords")


def pauses() -> Iterator[float]:
    """Yield the seconds between attempts, without end: they double up to five seconds, with half of it jitter."""
    longest = FIRST_PAUSE
    while True:
        yield random.uniform(longest / 2, longest)  # noqa: S311 - jitter is no secret
        longest = min(longest * 2, LONGEST_PAUSE)
