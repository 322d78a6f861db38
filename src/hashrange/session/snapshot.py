"""Transactional reads: many Gets as one TransactGetItems, which reads all items at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hashrange.core.errors import ValueInvalid
from hashrange.core.limits import MAX_TRANSACTION_ENTRIES
from hashrange.session.steps import Steps
from hashrange.session.transact import read_at_one_moment

if TYPE_CHECKING:
    from hashrange.session.reads import Get


def check_snapshot(gets: Sequence[Get[Any]]) -> None:
    """Raise for more Gets than one request takes."""
    if not 1 <= len(gets) <= MAX_TRANSACTION_ENTRIES:
        raise ValueInvalid(f"a snapshot has 1 to {MAX_TRANSACTION_ENTRIES} Gets, not {len(gets)}")


def read_snapshot(gets: Sequence[Get[Any]]) -> Steps[list[Any]]:
    """Return the items of Gets at one moment; read again while a transaction writes one of them."""
    requests = [{"TableName": get.request()["TableName"], "Key": get.request()["Key"]} for get in gets]
    unique = {repr(request): request for request in requests}  # DynamoDB refuses the same item twice
    found = yield from read_at_one_moment([{"Get": request} for request in unique.values()], "snapshot")
    raws = dict(zip(unique, found, strict=True))
    return [get.load(raws[repr(request)]) for get, request in zip(gets, requests, strict=True)]
