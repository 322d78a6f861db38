"""The outbox: sends queued alerts, each by one sender at a time, until accepted or given up.

A claim moves the alert's time to the end of a lease. If a process dies between sending and marking, the lease ends and
the alert is sent again, with the same key, so that receivers can deduplicate.
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
from hashrange_systems.checks.model.alert_message import read_alert_context, render_notification
from hashrange_systems.checks.schema import Alert, Checks, Outgoing, Waiting
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.notifications.sender import DeliveryFailed, DeliveryRejected, Sender
from hashrange_systems.shared.retry import Sleep, retry_transient
from hashrange_systems.shared.text import shorten

SEND_S = 60.0
LEASE = timedelta(seconds=120)  # longer than sending and marking take
FIRST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 3600.0
GIVE_UP_AFTER = timedelta(hours=24)
MAX_ATTEMPTS = 100  # so that an alert that crashes its sender is not retried forever
AT_ONCE = 16
GRACE_S = 8.0  # to finish sending at shutdown
LONGEST_ERROR = 500

log = logging.getLogger(__name__)


class DeliveryOutcome(StrEnum):
    """The result of an attempt to deliver an alert."""

    SENT = "sent"
    POSTPONED = "put off"
    GIVEN_UP = "given up"
    NOT_CLAIMED = "missed"  # another process has claimed it, or it was deleted


DeliveryCounts = Mapping[DeliveryOutcome, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOutbox:
    """Sends due alerts; `senders` by kind of channel, `find_page` returns the URL of a check's page."""

    db: Checks
    clock: Clock
    senders: Mapping[str, Sender]
    find_page: Callable[[str], str] | None = None
    sleep: Sleep = asyncio.sleep
    spread: Callable[[], float] = random.random  # noqa: S311 - spreads retries, protects nothing

    async def send_due(self, shard: str, at_once: int = AT_ONCE) -> DeliveryCounts:
        """Send all due alerts of a shard, at most `at_once` at the same time; return the number of each outcome.

        When cancelled it finishes the alerts that are being sent, so that a clean stop sends nothing twice.
        """
        counts: Counter[DeliveryOutcome] = Counter()
        while True:
            due = await self.db.outbox(shard, send_at=from_ms(self.clock.millis())).limit(at_once)
            outcomes = await self._deliver_all(due)
            counts.update(outcomes)
            if len(due) < at_once or set(outcomes) <= {DeliveryOutcome.NOT_CLAIMED}:
                return counts

    async def _deliver_all(self, due: Iterable[Outgoing]) -> list[DeliveryOutcome]:
        under_way = asyncio.gather(*(self._deliver(outgoing) for outgoing in due), return_exceptions=True)
        try:
            outcomes = await asyncio.shield(under_way)
        except asyncio.CancelledError:
            await asyncio.wait([under_way], timeout=GRACE_S)
            raise
        finally:
            under_way.cancel()
        return [raise_or_return(outcome) for outcome in outcomes]

    async def _deliver(self, outgoing: Outgoing) -> DeliveryOutcome:
        lease = from_ms(self.clock.millis()) + LEASE
        try:
            alert = await retry_transient(lambda: self.db.claim_alert(outgoing, send_at=lease, attempts=1), self.sleep)
        except Conflict:
            return DeliveryOutcome.NOT_CLAIMED
        if alert.attempts > MAX_ATTEMPTS:
            return await self._give_up(alert, f"tried {MAX_ATTEMPTS} times")
        try:
            await self._send(alert)
        except DeliveryRejected as refusal:
            return await self._give_up(alert, str(refusal))
        except DeliveryFailed as error:
            return await self._postpone(alert, str(error), error.wait_s or 0)
        except Exception as error:  # an error in one alert must not stop the others
            log.warning("an alert could not be sent", exc_info=error, extra={"fields": {"alert": alert.message_id}})
            return await self._postpone(alert, f"something went wrong on our side ({type(error).__name__})")
        return await self._mark(lambda: self.db.sent(alert, sent_at=from_ms(self.clock.millis())), DeliveryOutcome.SENT)

    async def _send(self, alert: Waiting) -> None:
        channel = await self.db.channel(alert.owner, alert.channel_id)
        if channel is None:
            raise DeliveryRejected("the channel was removed")
        if channel.verified_at is None:
            raise DeliveryRejected("the channel is not verified")
        sender = self.senders.get(channel.kind)
        if sender is None:
            raise DeliveryFailed(f"sending by {channel.kind} is not set up")
        page = self.find_page(alert.checkid) if self.find_page else None
        context = read_alert_context(alert.topic, alert.checkid, alert.content, page)
        try:
            async with asyncio.timeout(SEND_S):
                await sender.send(channel, render_notification(context), make_key(alert))
        except TimeoutError as error:
            raise DeliveryFailed(f"not taken within {SEND_S:g} s") from error

    async def _postpone(self, alert: Waiting, reason: str, wait_s: int = 0) -> DeliveryOutcome:
        """Schedule the next attempt; give up after the deadline."""
        now, last = from_ms(self.clock.millis()), alert.created_at + GIVE_UP_AFTER
        if now >= last:
            return await self._give_up(alert, reason)
        pause = max(backoff_delay(alert.attempts, self.spread()), wait_s)
        send_at = from_ms(min(to_ms(now) + int(pause * 1000), to_ms(last)))
        error = shorten(reason, LONGEST_ERROR)
        return await self._mark(
            lambda: self.db.retry_alert(alert, send_at=send_at, last_error=error), DeliveryOutcome.POSTPONED
        )

    async def _give_up(self, alert: Waiting, reason: str) -> DeliveryOutcome:
        log.warning("an alert is given up", extra={"fields": {"alert": alert.message_id, "reason": reason}})
        error = shorten(reason, LONGEST_ERROR)
        return await self._mark(
            lambda: self.db.give_up(alert, lease=alert.send_at, last_error=error), DeliveryOutcome.GIVEN_UP
        )

    async def _mark(self, write: Callable[[], Update[Alert]], outcome: DeliveryOutcome) -> DeliveryOutcome:
        """Record the outcome, unless another process has claimed the alert."""
        try:
            await retry_transient(write, self.sleep)
        except Conflict:
            return DeliveryOutcome.NOT_CLAIMED
        return outcome


def raise_or_return(outcome: DeliveryOutcome | BaseException) -> DeliveryOutcome:
    """Return an outcome; raise an exception, which is one of the database."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def make_key(alert: Alert) -> str:
    """Return the deduplication key of an alert: the same for each attempt."""
    return hashlib.sha256(f"{alert.checkid}\n{alert.message_id}\n{alert.channel_id}".encode()).hexdigest()[:32]


def backoff_delay(attempts: int, spread: float) -> float:
    """Return the seconds until the next attempt: exponential with jitter, up to a maximum."""
    full = min(FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 20), LONGEST_PAUSE_S)
    return full * (0.5 + spread / 2)
