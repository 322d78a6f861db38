"""Transactional reads: many Gets as one TransactGetItems, which reads all items at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hashrange.core.errors import TransactionCanceledException, ValueInvalid
from hashrange.session.steps import Call, Steps, backoff
from hashrange.session.transact import is_retryable

if TYPE_CHECKING:
    from hashrange.core.wire import Wire
    from hashrange.session.reads import Get

MAX_SNAPSHOT_GETS = 100


def check_snapshot(gets: Sequence[Get[Any]]) -> None:
    """Raise for more Gets than one request takes."""
    if not 1 <= len(gets) <= MAX_SNAPSHOT_GETS:
        raise ValueInvalid(f"a snapshot has 1 to {MAX_SNAPSHOT_GETS} Gets, not {len(gets)}")


def read_snapshot(gets: Sequence[Get[Any]]) -> Steps[list[Any]]:
    """Return the items of Gets at one moment; read again while a transaction writes one of them."""
    requests = [{"TableName": get.request()["TableName"], "Key": get.request()["Key"]} for get in gets]
    unique = {repr(request): request for request in requests}  # DynamoDB refuses the same item twice
    asked: Wire = {"TransactItems": [{"Get": request} for request in unique.values()]}
    delays = backoff()
    while True:
        try:
            response = yield Call("TransactGetItems", asked, "snapshot")
        except TransactionCanceledException as error:
            pause = next(delays, None)
            if pause is None or not is_retryable(error):
                raise
            yield pause
        else:
            break
    raws = dict(zip(unique, (found.get("Item") for found in response["Responses"]), strict=True))
    return [get.load(raws[repr(request)]) for get, request in zip(gets, requests, strict=True)]
