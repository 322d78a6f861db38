"""The outcome of a probe, and its stored form, the `lastResult` map, which has a bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from hashrange_systems.checks.model.fetch_result import NO_PHASES, Cause, PhaseTimes
from hashrange_systems.shared.text import shorten

MAX_MESSAGE_LENGTH = 300
MAX_LINK_LENGTH = 500
MAX_NUMBER = 10**15

Choice = TypeVar("Choice", bound=StrEnum)


class Status(StrEnum):
    """The state of the target; UNKNOWN if the probe could not determine it."""

    UP = "UP"
    DEGRADED = "DEGRADED"
    DOWN = "DOWN"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a probe; `available` is whether the item can be bought, None if not requested or unknown.

    `look_again_at` is a time before the next due time at which the outcome may change by itself; it is not stored.
    """

    status: Status
    message: str = ""
    cause: Cause | None = None
    response_time: int | None = None
    http_status: int | None = None
    keyword_found: bool | None = None
    certificate_days: int | None = None
    domain_days: int | None = None
    phases: PhaseTimes = NO_PHASES
    available: bool | None = None
    price: int | None = None
    shipping: int | None = None
    shipping_known: bool | None = None
    currency: str | None = None
    link: str | None = None
    look_again_at: int | None = None

    @property
    def healthy(self) -> bool:
        """Whether the target works, possibly with a warning."""
        return self.status in (Status.UP, Status.DEGRADED)

    @property
    def answer_time(self) -> int | None:
        """The response time, if there was a response: a connection that is refused at once is not fast."""
        return None if self.cause in UNANSWERED else self.response_time


UNANSWERED = frozenset({Cause.NAME, Cause.CONNECT, Cause.TLS, Cause.TIMEOUT, Cause.REFUSED})
PHASES = {"dns": "dns", "connect": "connect", "tls": "tls", "first_byte": "firstByte"}


def write_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return the `lastResult` map; unknown values are left out."""
    phases = {stored: getattr(outcome.phases, name) for name, stored in PHASES.items()}
    written: dict[str, Any] = {
        "status": outcome.status.value,
        "responseTime": outcome.response_time,
        "httpStatus": outcome.http_status,
        "keywordFound": outcome.keyword_found,
        "certificateDays": outcome.certificate_days,
        "domainDays": outcome.domain_days,
        "available": outcome.available,
        "price": outcome.price,
        "shipping": outcome.shipping,
        "shippingKnown": outcome.shipping_known,
        "cause": outcome.cause.value if outcome.cause else None,
        "message": shorten(outcome.message, MAX_MESSAGE_LENGTH) or None,
        "currency": outcome.currency,
        "link": shorten(outcome.link or "", MAX_LINK_LENGTH) or None,
        "phases": drop_absent(phases) or None,
    }
    return drop_absent(written)


def read_outcome(stored: Mapping[str, object]) -> Outcome:
    """Read a stored result; unreadable values are treated as unknown."""
    phases = stored.get("phases")
    timings = phases if isinstance(phases, Mapping) else {}
    return Outcome(
        status=read_choice(Status, stored.get("status")) or Status.UNKNOWN,
        message=shorten(read_text(stored.get("message")) or "", MAX_MESSAGE_LENGTH),
        cause=read_choice(Cause, stored.get("cause")),
        phases=PhaseTimes(**{name: read_whole(timings.get(key)) for name, key in PHASES.items()}),
        currency=read_text(stored.get("currency")),
        link=read_text(stored.get("link")),
        response_time=read_whole(stored.get("responseTime")),
        http_status=read_whole(stored.get("httpStatus")),
        certificate_days=read_whole(stored.get("certificateDays")),
        domain_days=read_whole(stored.get("domainDays")),
        price=read_whole(stored.get("price")),
        shipping=read_whole(stored.get("shipping")),
        keyword_found=read_truth(stored.get("keywordFound")),
        available=read_truth(stored.get("available")),
        shipping_known=read_truth(stored.get("shippingKnown")),
    )


def drop_absent(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the map without None values."""
    return {name: value for name, value in written.items() if value is not None}


def read_choice(choices: type[Choice], value: object) -> Choice | None:
    """Return the enum member of a stored value; None if there is none."""
    return choices(value) if isinstance(value, str) and value in [choice.value for choice in choices] else None


def read_whole(value: object) -> int | None:
    """Return a stored whole number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return int(value) if -MAX_NUMBER < value < MAX_NUMBER else None


def read_truth(value: object) -> bool | None:
    """Return a stored boolean; None if it is none."""
    return value if isinstance(value, bool) else None


def read_text(value: object) -> str | None:
    """Return a stored text; None if it is none."""
    return value if isinstance(value, str) else None
