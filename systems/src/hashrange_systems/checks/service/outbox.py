"""The outbox: alerts that are queued are sent, each by one sender at a time, until taken or given up.

A claim moves the alert's time to the end of a lease; only who holds the lease puts it off. A sender that dies between
sending and marking leaves a lease that ends, and the alert is sent again, with the same key: receivers can tell.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from hashrange import Clock, Conflict, Update
from hashrange_systems.checks.model.message import read_notice, write_letter
from hashrange_systems.checks.model.outcome import shorten
from hashrange_systems.checks.schema import Alert, Checks, Outgoing, Waiting
from hashrange_systems.checks.senders.sender import ReceiverRefuses, Sender, Undelivered
from hashrange_systems.checks.service.moment import from_ms, to_ms
from hashrange_systems.checks.service.patience import Sleep, insist

SEND_S = 60.0
LEASE = timedelta(seconds=120)  # longer than sending and marking take
FIRST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 3600.0
PATIENCE = timedelta(hours=24)
MOST_ATTEMPTS = 100  # so that an alert which kills its sender is not tried for ever
AT_ONCE = 16
GRACE_S = 8.0  # to end what is being sent when all is to stop
LONGEST_ERROR = 500

log = logging.getLogger(__name__)


class Fate(StrEnum):
    """What came of an alert that was due."""

    SENT = "sent"
    PUT_OFF = "put off"
    GIVEN_UP = "given up"
    MISSED = "missed"  # another sender has it, or it is gone


Tally = Mapping[Fate, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """Sends what is due; `senders` by the kind of channel, `find_page` is where a check can be looked at."""

    db: Checks
    clock: Clock
    senders: Mapping[str, Sender]
    find_page: Callable[[str], str] | None = None
    sleep: Sleep = asyncio.sleep
    spread: Callable[[], float] = random.random  # noqa: S311 - spreads retries, protects nothing

    async def send_due(self, shard: str, at_once: int = AT_ONCE) -> Tally:
        """Send all alerts of a shard that are due, so many at once; return what came of how many.

        When cancelled it first ends what is being sent, so that a clean stop has nothing sent twice.
        """
        tally: Counter[Fate] = Counter()
        while True:
            due = await self.db.outbox(shard, send_at=from_ms(self.clock.millis())).limit(at_once)
            fates = await self._attend_all(due)
            tally.update(fates)
            if len(due) < at_once or set(fates) <= {Fate.MISSED}:
                return tally

    async def _attend_all(self, due: Iterable[Outgoing]) -> list[Fate]:
        under_way = asyncio.gather(*(self._attend(outgoing) for outgoing in due), return_exceptions=True)
        try:
            fates = await asyncio.shield(under_way)
        except asyncio.CancelledError:
            await asyncio.wait([under_way], timeout=GRACE_S)
            raise
        finally:
            under_way.cancel()
        return [raise_fault(fate) for fate in fates]

    async def _attend(self, outgoing: Outgoing) -> Fate:
        lease = from_ms(self.clock.millis()) + LEASE
        try:
            alert = await insist(lambda: self.db.claim_alert(outgoing, send_at=lease, attempts=1), self.sleep)
        except Conflict:
            return Fate.MISSED
        if alert.attempts > MOST_ATTEMPTS:
            return await self._give_up(alert, f"tried {MOST_ATTEMPTS} times")
        try:
            await self._send(alert)
        except ReceiverRefuses as refusal:
            return await self._give_up(alert, str(refusal))
        except Undelivered as fault:
            return await self._put_off(alert, str(fault), fault.wait_s or 0)
        except Exception as fault:  # whatever goes wrong with one alert must not stop the others
            log.warning("an alert could not be sent", exc_info=fault, extra={"fields": {"alert": alert.message_id}})
            return await self._put_off(alert, f"something went wrong on our side ({type(fault).__name__})")
        return await self._mark(lambda: self.db.sent(alert, sent_at=from_ms(self.clock.millis())), Fate.SENT)

    async def _send(self, alert: Waiting) -> None:
        channel = await self.db.channel(alert.owner, alert.channel_id)
        if channel is None:
            raise ReceiverRefuses("the channel was removed")
        if channel.verified_at is None:
            raise ReceiverRefuses("the channel is not verified")
        sender = self.senders.get(channel.kind)
        if sender is None:
            raise Undelivered(f"sending by {channel.kind} is not set up")
        page = self.find_page(alert.checkid) if self.find_page else None
        notice = read_notice(alert.topic, alert.checkid, alert.content, page)
        try:
            async with asyncio.timeout(SEND_S):
                await sender.send(channel, write_letter(notice), make_key(alert))
        except TimeoutError as error:
            raise Undelivered(f"not taken within {SEND_S:g} s") from error

    async def _put_off(self, alert: Waiting, reason: str, wait_s: int = 0) -> Fate:
        """Have it tried again later, for the last time when its time is over; after that, give it up."""
        now, last = from_ms(self.clock.millis()), alert.created_at + PATIENCE
        if now >= last:
            return await self._give_up(alert, reason)
        pause = max(find_pause(alert.attempts, self.spread()), wait_s)
        send_at = from_ms(min(to_ms(now) + int(pause * 1000), to_ms(last)))
        error = shorten(reason, LONGEST_ERROR)
        return await self._mark(lambda: self.db.retry_alert(alert, send_at=send_at, last_error=error), Fate.PUT_OFF)

    async def _give_up(self, alert: Waiting, reason: str) -> Fate:
        log.warning("an alert is given up", extra={"fields": {"alert": alert.message_id, "reason": reason}})
        error = shorten(reason, LONGEST_ERROR)
        return await self._mark(lambda: self.db.give_up(alert, lease=alert.send_at, last_error=error), Fate.GIVEN_UP)

    async def _mark(self, write: Callable[[], Update[Alert]], fate: Fate) -> Fate:
        """Write down what came of it, as long as it is ours."""
        try:
            await insist(write, self.sleep)
        except Conflict:
            return Fate.MISSED
        return fate


def raise_fault(fate: Fate | BaseException) -> Fate:
    """Return a fate, and raise a fault: it is the database's."""
    if isinstance(fate, BaseException):
        raise fate
    return fate


def make_key(alert: Alert) -> str:
    """Return what names this message to its receiver: the same each time it is sent, and nothing else's."""
    return hashlib.sha256(f"{alert.checkid}\n{alert.message_id}\n{alert.channel_id}".encode()).hexdigest()[:32]


def find_pause(attempts: int, spread: float) -> float:
    """Return the seconds until the next attempt: twice as long each time, up to a longest, a part of it by chance."""
    full = min(FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 20), LONGEST_PAUSE_S)
    return full * (0.5 + spread / 2)
