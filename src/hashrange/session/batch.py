"""Batches: items by their keys, puts and deletes by the 25, and what comes back unprocessed tried again.

The pauses between attempts grow, with jitter; an attempt that gets something done starts them afresh.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from hashrange.core.errors import ServiceError
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.table import Table
from hashrange.session.session import Session
from hashrange.session.work import Call, Pause, Work

MOST_KEYS = 100
MOST_WRITES = 25
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 10.0
MOST_ATTEMPTS = 12

Keyed: TypeAlias = tuple[Table, Raw]


class StillUnprocessed(ServiceError):
    """The database left part of a batch undone again and again."""


def pauses() -> Iterator[Pause]:
    """Yield ever longer pauses, each of them random up to its length, until there have been enough."""
    length = FIRST_PAUSE
    for _ in range(MOST_ATTEMPTS):
        yield Pause(random.uniform(0, length))  # noqa: S311 - jitter is no secret
        length = min(length * 2, LONGEST_PAUSE)


def fetch_raw(
    session: Session, wanted: Sequence[Keyed], pattern: str, *, consistent: bool = False
) -> Work[list[Raw | None]]:
    """Return the stored items under these keys, in their order, None where there is none."""
    found: dict[tuple[str, str], Raw] = {}
    unique = {_identity(session, table, key): (table, key) for table, key in wanted}
    pending = list(unique.values())
    for at in range(0, len(pending), MOST_KEYS):
        request = _group_keys(session, pending[at : at + MOST_KEYS], consistent=consistent)
        yield from _fetch_some(session, request, found, {session.name_of(t): t for t, _ in pending}, pattern)
    return [found.get(_identity(session, table, key)) for table, key in wanted]


def _fetch_some(
    session: Session, request: Wire, found: dict[tuple[str, str], Raw], tables: dict[str, Table], pattern: str
) -> Work[None]:
    waits = pauses()
    while request:
        answer = yield Call("BatchGetItem", {"RequestItems": request}, pattern)
        for name, raws in answer["Responses"].items():
            for raw in raws:
                key = {attr: raw[attr] for attr in tables[name].keys}
                found[_identity(session, tables[name], key)] = raw
            waits = pauses() if raws else waits
        request = answer.get("UnprocessedKeys") or {}
        if request:
            yield _next(waits)


def _next(waits: Iterator[Pause]) -> Pause:
    pause = next(waits, None)
    if pause is None:
        raise StillUnprocessed(f"part of a batch was left undone {MOST_ATTEMPTS} times: the table is short of capacity")
    return pause


def _identity(session: Session, table: Table, key: Raw) -> tuple[str, str]:
    return session.name_of(table), repr([key[attr] for attr in table.keys])


def _group_keys(session: Session, wanted: Sequence[Keyed], *, consistent: bool) -> Wire:
    grouped: Wire = {}
    for table, key in wanted:
        grouped.setdefault(session.name_of(table), {"Keys": []})["Keys"].append(key)
    for request in grouped.values():
        if consistent:
            request["ConsistentRead"] = True
    return grouped


def write_raw(session: Session, puts: Iterable[Keyed], deletes: Iterable[Keyed], pattern: str) -> Work[int]:
    """Put and delete whole items, 25 at a time, until all are done; return how many there were."""
    requests = [(session.name_of(table), {"PutRequest": {"Item": raw}}) for table, raw in puts]
    requests += [(session.name_of(table), {"DeleteRequest": {"Key": key}}) for table, key in deletes]
    for at in range(0, len(requests), MOST_WRITES):
        grouped: Wire = {}
        for name, request in requests[at : at + MOST_WRITES]:
            grouped.setdefault(name, []).append(request)
        yield from _write_some(grouped, pattern)
    return len(requests)


def _write_some(request: Wire, pattern: str) -> Work[None]:
    waits = pauses()
    while request:
        answer = yield Call("BatchWriteItem", {"RequestItems": request}, pattern)
        left: Wire = answer.get("UnprocessedItems") or {}
        if left:
            progress = sum(map(len, left.values())) < sum(map(len, request.values()))
            waits = pauses() if progress else waits
            yield _next(waits)
        request = left
