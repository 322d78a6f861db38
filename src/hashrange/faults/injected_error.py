"""The errors that faults inject: throttling, and failures that are not the caller's mistake."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from hashrange.core.errors import (
    InternalServerError,
    ItemCollectionSizeLimitExceededException,
    LimitExceededException,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ServiceError,
    ThrottlingException,
    TransactionInProgressException,
)

PROVISIONED = "ProvisionedThroughputExceededException"
INTERNAL = "InternalServerError"
ONGOING = "Transaction is ongoing for the item"


class InjectedServerError(InternalServerError, wire_name=INTERNAL):
    """An injected failure; clients in this process get it as they would over HTTP."""


class Throttling(NamedTuple):
    """A kind of throttling."""

    error: type[ServiceError]
    text: str
    limit: str  # which one was exceeded
    member: str = "ThrottlingReasons"


THROTTLINGS = {
    PROVISIONED: Throttling(
        ProvisionedThroughputExceededException,
        "The level of configured provisioned throughput for the table was exceeded. "
        "Consider increasing your provisioning level with the UpdateTable API.",
        "ProvisionedThroughputExceeded",
    ),
    "ThrottlingException": Throttling(
        ThrottlingException,
        "Throughput exceeds the maximum OnDemandThroughput configured on table or index",
        "MaxOnDemandThroughputExceeded",
        "throttlingReasons",
    ),
    "RequestLimitExceeded": Throttling(
        RequestLimitExceeded,
        "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at "
        "https://aws.amazon.com/support request a limit increase",
        "AccountLimitExceeded",
    ),
}
FAILURES: dict[str, tuple[type[ServiceError], str]] = {
    INTERNAL: (InjectedServerError, "Internal server error"),
    "TransactionInProgressException": (
        TransactionInProgressException,
        "The transaction with the given request token is already in progress.",
    ),
    "ItemCollectionSizeLimitExceededException": (ItemCollectionSizeLimitExceededException, "Collection size exceeded."),
    "LimitExceededException": (LimitExceededException, "Subscriber limit exceeded"),
}


def check_name(name: str, known: Collection[str]) -> None:
    """Raise ValueError unless an error of that name can be injected."""
    if name not in known:
        raise ValueError(f"error is one of {', '.join(known)}, not {name}")


def make_throttling(name: str, arns: list[str], access: str) -> ServiceError:
    """Return the error that throttles a read or write of these tables."""
    throttling = THROTTLINGS[name]
    reasons = [{"reason": f"Table{access}{throttling.limit}", "resource": arn} for arn in arns]
    return throttling.error(throttling.text, **({throttling.member: reasons} if reasons else {}))


def make_failure(name: str) -> ServiceError:
    """Return the error of a call that failed."""
    error, text = FAILURES[name]
    return error(text)
