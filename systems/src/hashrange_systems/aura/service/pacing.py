"""The pace of requests to one host: a pause between the starts of requests, and waits that the server asks for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from weakref import WeakValueDictionary

from hashrange_systems.aura.model.domain import strip_www
from hashrange_systems.shared.work.retry import Backoff, Sleep

MAX_CRAWL_DELAY_S = 30.0  # a longer one is asked by mistake, and would keep a crawl running for months
MAX_WAIT_S = 600.0  # of a crawl that goes on; if a server asks for more, the crawl ends and goes on after that time
WAITS = Backoff(5.0, MAX_WAIT_S)  # where the server does not say how long


@dataclass(slots=True, weakref_slot=True)
class Pace:
    """Spaces the requests of one crawl: each starts at least `delay_s` after the one before, and after `hold`."""

    delay_s: float = 0.0
    now: Callable[[], float] = time.monotonic
    sleep: Sleep = asyncio.sleep
    waits: int = field(default=0, init=False)  # how often in a row the server asked to wait
    _next: float = field(default=0.0, init=False)

    async def enter(self) -> None:
        """Wait until the next request may start."""
        while (wait := self._next - self.now()) > 0:
            await self.sleep(wait)
        self._next = self.now() + self.delay_s

    def hold(self, seconds: float | None) -> float:
        """Let no request start for some time, doubling while nothing is said; return the seconds."""
        self.waits += 1
        asked = seconds if seconds is not None else WAITS.find_longest(self.waits)
        wait = min(max(asked, self.delay_s), MAX_WAIT_S)
        self._next = max(self._next, self.now() + wait)
        return wait

    def release(self) -> None:
        """Note that the server answered normally."""
        self.waits = 0


class SharedPaces:
    """The paces of the shops that this process works on; a crawl and a scrape of one shop share one."""

    def __init__(self) -> None:
        self._paces: WeakValueDictionary[str, Pace] = WeakValueDictionary()

    def find(self, domain: str) -> Pace:
        """Return the pace of a shop; it is forgotten when nothing uses it any more."""
        return self._paces.setdefault(strip_www(domain), Pace())


def choose_delay(own_s: float, asked_s: float | None) -> float:
    """Return the pause that is kept: the longer one of ours and the one of robots.txt, which is capped."""
    return max(own_s, min(asked_s or 0.0, MAX_CRAWL_DELAY_S))


def parse_retry_after(text: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date; None if there is none."""
    if not text:
        return None
    given = text.strip()
    if given.isascii() and given.isdecimal():
        return float(min(int(given[:9]), 10**6))
    try:
        moment = parsedate_to_datetime(given)
    except (ValueError, TypeError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
