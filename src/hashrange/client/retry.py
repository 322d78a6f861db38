"""Decides whether and when a failed request is retried, and limits the rate of requests to a table that throttles.

Delays grow exponentially with full jitter. A retry quota for all requests together limits the load during an outage,
as in the "standard" mode of the AWS SDKs; a rate limit per table adapts to its capacity, as in their "adaptive" mode.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Lock

from hashrange.client.errors import ConnectionLost, ResponseUnrecognised, TimedOut
from hashrange.core.errors import ServiceError, TransportError
from hashrange.engine.service_model import find_service_operation

FIRST_DELAY = 0.05  # seconds; the jitter takes a random part of it
MAX_DELAY = 20.0

THROTTLING = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottledException",
    "ThrottlingException",
    "TooManyRequestsException",
}
TRANSIENT = {"PriorRequestNotComplete", "RequestTimeout", "RequestTimeoutException", "TransactionInProgressException"}
TRANSIENT_STATUSES = {500, 502, 503, 504}


def is_throttling(failure: Exception, operation: str) -> bool:
    """Return whether the error is throttling."""
    if not isinstance(failure, ServiceError):
        return False
    if failure.name == "LimitExceededException":
        # From a stream: too many readers. Elsewhere: too many tables or changes under way, which no retry outlasts.
        return find_service_operation(operation).is_of_streams
    return failure.name in THROTTLING


def is_transient(failure: Exception) -> bool:
    """Return whether a retry may succeed."""
    if isinstance(failure, ServiceError):
        return failure.retryable or failure.name in TRANSIENT or failure.status in TRANSIENT_STATUSES
    if isinstance(failure, ResponseUnrecognised):
        return failure.status in TRANSIENT_STATUSES or failure.status == 429
    return isinstance(failure, TransportError) and failure.retryable


class RetryQuota:
    """The retry quota that all requests share; successes refill it."""

    FULL = 500
    RETRY = 5
    TIMEOUT = 10

    def __init__(self) -> None:
        self._left = self.FULL
        self._lock = Lock()

    def spend(self, cost: int) -> bool:
        """Spend the cost of a retry; return False if the quota does not suffice."""
        with self._lock:
            if cost > self._left:
                return False
            self._left -= cost
            return True

    def refund(self, cost: int) -> None:
        """Return the cost of a successful retry, or 1 for a request without retries."""
        if self._left < self.FULL:
            with self._lock:
                self._left = min(self.FULL, self._left + (cost or 1))


class TableRateLimiter:
    """The rate limit of one table: none until it throttles, then a cubic curve (as TCP CUBIC)."""

    SLOWER = 0.7
    SCALE = 0.4
    SMOOTH = 0.8
    MIN_RATE = 1.0  # requests a second
    SLICE = 0.5  # seconds over which requests are counted

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = Lock()
        self._slice, self._count, self._measured = now(), 0, 0.0
        self._allowed = 0.0  # requests a second; 0 is without a limit
        self._stock, self._stocked = 0.0, now()
        self._peak, self._throttled = 0.0, 0.0

    def reserve(self) -> float:
        """Return how long the next request has to wait."""
        if not self._allowed:
            return 0.0
        with self._lock:
            self._refill()
            self._stock -= 1
            return max(0.0, -self._stock / self._allowed)

    def succeed(self) -> None:
        """Record a response that did not throttle."""
        with self._lock:
            self._measure()
            if self._allowed:
                until_peak = (self._peak * (1 - self.SLOWER) / self.SCALE) ** (1 / 3)
                risen = self.SCALE * (self._now() - self._throttled - until_peak) ** 3 + self._peak
                self._allow(min(risen, 2 * self._measured))

    def throttle(self) -> None:
        """Record a throttled request."""
        with self._lock:
            self._measure()
            self._peak = min(self._measured, self._allowed) if self._allowed else self._measured
            self._throttled = self._now()
            if not self._allowed:
                self._stock, self._stocked = self.MIN_RATE, self._now()
            self._allow(self._peak * self.SLOWER)

    def _measure(self) -> None:
        self._count += 1
        elapsed = self._now() - self._slice
        if elapsed >= self.SLICE:
            self._measured = self.SMOOTH * self._count / elapsed + (1 - self.SMOOTH) * self._measured
            self._slice, self._count = self._now(), 0
        elif not self._measured:  # no complete slice yet
            self._measured = self._count / self.SLICE

    def _allow(self, rate: float) -> None:
        self._refill()
        self._allowed = max(rate, self.MIN_RATE)
        self._stock = min(self._stock, self._allowed)

    def _refill(self) -> None:
        now = self._now()
        self._stock = min(self._stock + (now - self._stocked) * self._allowed, max(self._allowed, self.MIN_RATE))
        self._stocked = now


class RetryPolicy:
    """The retry settings of one client, its quota and rate limits."""

    def __init__(
        self,
        attempts: int,
        *,
        chance: Callable[[], float] = random.random,  # noqa: S311 spreads retries, protects nothing
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if attempts < 1:
            raise ValueError(f"attempts is how often a request is sent at most, at least 1: not {attempts}")
        self.attempts = attempts
        self.chance = chance
        self.quota = RetryQuota()
        self._now = now
        self._rates: dict[str, TableRateLimiter] = {}

    def begin(self, operation: str, table: str) -> RequestAttempts:
        """Return the attempts of a new request."""
        rate = self._rates.get(table)
        if rate is None:
            rate = self._rates.setdefault(table, TableRateLimiter(self._now))
        return RequestAttempts(self, operation, rate)


class RequestAttempts:
    """The attempts of one request."""

    __slots__ = ("_cost", "_operation", "_policy", "_rate", "_sent")

    def __init__(self, policy: RetryPolicy, operation: str, rate: TableRateLimiter) -> None:
        self._policy = policy
        self._operation = operation
        self._rate = rate
        self._sent = 0
        self._cost = 0

    def wait_before(self) -> float:
        """Return how long to wait before the request may be sent."""
        self._sent += 1
        return self._rate.reserve()

    def succeed(self) -> None:
        """Record a successful response."""
        self._rate.succeed()
        self._policy.quota.refund(self._cost)

    def wait_after(self, failure: Exception) -> float | None:
        """Return how long to wait before the next attempt, or None for no further attempt."""
        throttled = is_throttling(failure, self._operation)
        if throttled:
            self._rate.throttle()
        elif isinstance(failure, ServiceError):
            self._rate.succeed()
        if not (throttled or is_transient(failure)) or self._sent >= self._policy.attempts:
            return None
        if isinstance(failure, ConnectionLost) and failure.stale:
            return 0.0
        self._cost = RetryQuota.TIMEOUT if isinstance(failure, TimedOut) else RetryQuota.RETRY
        if not self._policy.quota.spend(self._cost):
            return None
        return self._policy.chance() * min(MAX_DELAY, FIRST_DELAY * 2.0 ** (self._sent - 1))
