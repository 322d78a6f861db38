"""The outbox pattern: sends queued messages, each by one process at a time, until accepted or given up.

A system writes a message in the transaction that causes it, and subclasses `Delivery` with the access patterns of its
queue. A claim moves the message's time to the end of a lease. If a process dies between sending and recording, the
lease ends and the message is sent again, with the same key, so that receivers can deduplicate.
"""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from hashrange import Clock, Conflict
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.text import shorten
from hashrange_systems.shared.work.retry import Backoff, Sleep, retry_transient

SEND_TIMEOUT_S = 60.0
LEASE = timedelta(seconds=120)  # longer than sending and recording take
PAUSES = Backoff(15.0, 3600.0)  # between attempts
GIVE_UP_AFTER = timedelta(hours=24)
MAX_ATTEMPTS = 100  # so that a message that crashes its sender is not retried forever
CONCURRENCY = 16
GRACE_S = 8.0  # to finish sending at shutdown
MAX_ERROR_LENGTH = 500

log = logging.getLogger(__name__)


class QueuedMessage(Protocol):
    """A claimed message."""

    @property
    def message_id(self) -> str:
        """Its id, for the log."""
        ...

    @property
    def attempts(self) -> int:
        """How often it was claimed, including this time."""
        ...

    @property
    def created_at(self) -> datetime:
        """When it was queued."""
        ...


D = TypeVar("D")  # a due message, as the index has it
M = TypeVar("M", bound=QueuedMessage)  # a claimed message


class DeliveryOutcome(StrEnum):
    """The result of an attempt to deliver a message."""

    SENT = "sent"
    POSTPONED = "put off"
    GIVEN_UP = "given up"
    NOT_CLAIMED = "missed"  # another process has claimed it, or it was deleted


DeliveryCounts = Mapping[DeliveryOutcome, int]


@dataclass(frozen=True, kw_only=True)
class Delivery(ABC, Generic[D, M]):
    """Sends due messages of a queue; subclasses have the queue."""

    clock: Clock
    sleep: Sleep = asyncio.sleep
    spread: Callable[[], float] = random.random  # noqa: S311 - jitter, not a secret

    @abstractmethod
    async def find_due(self, shard: str, now: datetime, limit: int) -> Sequence[D]:
        """Return messages that are due, at most `limit`."""

    @abstractmethod
    def claim(self, due: D, lease: datetime) -> Awaitable[M]:
        """Claim a message until the end of a lease, and count the attempt; raise Conflict if that fails."""

    @abstractmethod
    async def deliver(self, message: M) -> None:
        """Send a message; raise DeliveryFailed or DeliveryRefused."""

    @abstractmethod
    def mark_sent(self, message: M, at: datetime) -> Awaitable[object]:
        """Record that a message was sent."""

    @abstractmethod
    def postpone(self, message: M, send_at: datetime, error: str) -> Awaitable[object]:
        """Schedule the next attempt, if the lease is still ours."""

    @abstractmethod
    def give_up(self, message: M, error: str) -> Awaitable[object]:
        """Record that a message is not sent any more, if the lease is still ours."""

    async def send_due(self, shard: str, at_once: int = CONCURRENCY) -> DeliveryCounts:
        """Send all due messages of a shard, at most `at_once` at the same time; return the number of each outcome.

        When cancelled it finishes the messages that are being sent, so that a clean stop sends nothing twice.
        """
        counts: Counter[DeliveryOutcome] = Counter()
        while True:
            due = await self.find_due(shard, from_ms(self.clock.millis()), at_once)
            outcomes = await self._attempt_all(due)
            counts.update(outcomes)
            if len(due) < at_once or set(outcomes) <= {DeliveryOutcome.NOT_CLAIMED}:
                return counts

    async def _attempt_all(self, due: Iterable[D]) -> list[DeliveryOutcome]:
        attempts = asyncio.gather(*(self.attempt(each) for each in due), return_exceptions=True)
        try:
            outcomes = await asyncio.shield(attempts)
        except asyncio.CancelledError:
            await asyncio.wait([attempts], timeout=GRACE_S)
            raise
        finally:
            attempts.cancel()
        return [raise_or_return(outcome) for outcome in outcomes]

    async def attempt(self, due: D) -> DeliveryOutcome:
        """Claim and send a message, and record the outcome."""
        lease = from_ms(self.clock.millis()) + LEASE
        try:
            message = await retry_transient(lambda: self.claim(due, lease), self.sleep)
        except Conflict:
            return DeliveryOutcome.NOT_CLAIMED
        if message.attempts > MAX_ATTEMPTS:
            return await self._give_up(message, f"tried {MAX_ATTEMPTS} times")
        try:
            await self._deliver(message)
        except DeliveryRefused as refusal:
            return await self._give_up(message, str(refusal))
        except DeliveryFailed as error:
            return await self._postpone(message, str(error), error.wait_s or 0)
        except Exception as error:  # an error in one message must not stop the others
            log.warning("an alert could not be sent", exc_info=error, extra={"fields": {"alert": message.message_id}})
            return await self._postpone(message, f"something went wrong on our side ({type(error).__name__})")
        return await self._record(lambda: self.mark_sent(message, from_ms(self.clock.millis())), DeliveryOutcome.SENT)

    async def _deliver(self, message: M) -> None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self.deliver(message)
        except TimeoutError as error:
            raise DeliveryFailed(f"not taken within {SEND_TIMEOUT_S:g} s") from error

    async def _postpone(self, message: M, reason: str, wait_s: int = 0) -> DeliveryOutcome:
        """Schedule the next attempt; give up after the deadline."""
        now, last = from_ms(self.clock.millis()), message.created_at + GIVE_UP_AFTER
        if now >= last:
            return await self._give_up(message, reason)
        pause = max(PAUSES.find_pause(message.attempts, self.spread), wait_s)
        send_at = from_ms(min(to_ms(now) + int(pause * 1000), to_ms(last)))
        error = shorten(reason, MAX_ERROR_LENGTH)
        return await self._record(lambda: self.postpone(message, send_at, error), DeliveryOutcome.POSTPONED)

    async def _give_up(self, message: M, reason: str) -> DeliveryOutcome:
        log.warning("an alert is given up", extra={"fields": {"alert": message.message_id, "reason": reason}})
        error = shorten(reason, MAX_ERROR_LENGTH)
        return await self._record(lambda: self.give_up(message, error), DeliveryOutcome.GIVEN_UP)

    async def _record(self, write: Callable[[], Awaitable[object]], outcome: DeliveryOutcome) -> DeliveryOutcome:
        """Record the outcome, unless another process has claimed the message."""
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
