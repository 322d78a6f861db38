"""BatchGetItem and BatchWriteItem for any number of items; unprocessed ones are sent again.

The delay between attempts grows exponentially, with jitter; an attempt that makes progress resets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from hashrange.core.errors import ServiceError, ValueInvalid
from hashrange.core.limits import MAX_BATCH_KEYS, MAX_BATCH_WRITES
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare.table import Table
from hashrange.session.steps import MAX_ATTEMPTS, Call, Pause, Steps, backoff

if TYPE_CHECKING:
    from hashrange.session.session import Session


TableItem: TypeAlias = tuple[Table, Raw]


class StillUnprocessed(ServiceError):
    """Part of a batch stayed unprocessed after all attempts."""


def batch_get(
    session: Session, wanted: Sequence[TableItem], pattern: str, *, consistent: bool = False
) -> Steps[list[Raw | None]]:
    """Return the stored items of these keys in the same order, None where there is none."""
    found: dict[tuple[str, str], Raw] = {}
    unique = {_identity(session, table, key): (table, key) for table, key in wanted}
    pending = list(unique.values())
    for at in range(0, len(pending), MAX_BATCH_KEYS):
        request = _group_keys(session, pending[at : at + MAX_BATCH_KEYS], consistent=consistent)
        yield from _get_chunk(session, request, found, {session.name_of(t): t for t, _ in pending}, pattern)
    return [found.get(_identity(session, table, key)) for table, key in wanted]


def _get_chunk(
    session: Session, request: Wire, found: dict[tuple[str, str], Raw], tables: dict[str, Table], pattern: str
) -> Steps[None]:
    delays = backoff()
    while request:
        response = yield Call("BatchGetItem", {"RequestItems": request}, pattern)
        for name, raws in response["Responses"].items():
            for raw in raws:
                key = {attr: raw[attr] for attr in tables[name].keys}
                found[_identity(session, tables[name], key)] = raw
            delays = backoff() if raws else delays
        request = response.get("UnprocessedKeys") or {}
        if request:
            yield _next_delay(delays)


def _next_delay(delays: Iterator[Pause]) -> Pause:
    pause = next(delays, None)
    if pause is None:
        raise StillUnprocessed(f"part of a batch was left unprocessed {MAX_ATTEMPTS} times: the table lacks capacity")
    return pause


def _identity(session: Session, table: Table, key: Raw) -> tuple[str, str]:
    return session.name_of(table), repr([key[attr] for attr in table.keys])


def _group_keys(session: Session, wanted: Sequence[TableItem], *, consistent: bool) -> Wire:
    grouped: Wire = {}
    for table, key in wanted:
        grouped.setdefault(session.name_of(table), {"Keys": []})["Keys"].append(key)
    for request in grouped.values():
        if consistent:
            request["ConsistentRead"] = True
    return grouped


def check_keys_differ(session: Session, items: Iterable[TableItem]) -> None:
    """Raise for two items with one key: DynamoDB refuses them in one request, and in two the last would be stored."""
    seen: set[tuple[str, str]] = set()
    for table, raw in items:
        identity = _identity(session, table, raw)
        if identity in seen:
            key = {attr: raw[attr] for attr in table.keys}
            raise ValueInvalid(f"two items of the batch have the key {key}: a batch has each key once")
        seen.add(identity)


def batch_write(session: Session, puts: Iterable[TableItem], deletes: Iterable[TableItem], pattern: str) -> Steps[int]:
    """Put and delete whole items, 25 at a time, until all are done; return how many there were."""
    requests = [(session.name_of(table), {"PutRequest": {"Item": raw}}) for table, raw in puts]
    requests += [(session.name_of(table), {"DeleteRequest": {"Key": key}}) for table, key in deletes]
    for at in range(0, len(requests), MAX_BATCH_WRITES):
        grouped: Wire = {}
        for name, request in requests[at : at + MAX_BATCH_WRITES]:
            grouped.setdefault(name, []).append(request)
        yield from _write_chunk(grouped, pattern)
    return len(requests)


def _write_chunk(request: Wire, pattern: str) -> Steps[None]:
    delays = backoff()
    while request:
        response = yield Call("BatchWriteItem", {"RequestItems": request}, pattern)
        left: Wire = response.get("UnprocessedItems") or {}
        if left:
            progress = sum(map(len, left.values())) < sum(map(len, request.values()))
            delays = backoff() if progress else delays
            yield _next_delay(delays)
        request = left
