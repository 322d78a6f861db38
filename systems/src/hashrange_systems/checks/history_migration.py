"""Moves the history of checks from `CHECK`, where the releases before had it, to a table of its own.

The former classes are frozen here, and `history_migration` says what becomes of them, for `hashrange migrate` too.
`move_history` does all of it before a process serves: each page of items is written to the new table, then deleted from
the old one. What is moved is no longer found, so it needs no record to go on after a kill, and several processes may
move at once; whoever has read the whole table knows that all is moved, and leaves a mark. Processes of the former
release must have ended: of half a day of runs they would make the roll-up of a day, which is never changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Protocol, TypeAlias

from hashrange import (
    Clock,
    ConditionalCheckFailedException,
    Get,
    HashrangeError,
    IsoMillis,
    Item,
    Key,
    Patterns,
    PlanError,
    ProvisionedThroughputExceededException,
    Scan,
    Stored,
    Table,
    Transport,
    Ttl,
    camel,
    load_item,
)
from hashrange.provision import Migration
from hashrange_systems.checks.field_types import Record
from hashrange_systems.checks.history_schema import Ended, HistoryMark, Ongoing, RollupItem, Run
from hashrange_systems.checks.table_definitions import checks, history
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.wire import Wire

PAGE = 500
PREFIXES = ("RESULT", "ROLLUP", "INCIDENT")
MAX_NAMED = 100  # items that could not be moved
MAX_READ, MAX_WRITTEN = 100, 25  # in one request
PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # seconds, while the tables are throttled
Report: TypeAlias = Callable[[int, int], None]  # called with how many items are moved, of about how many
KeyPair: TypeAlias = tuple[str, str]

former_checks = Table(
    checks.name, "PK", "SK", naming=camel, ttl="expiresAt", stream="NEW_AND_OLD_IMAGES"
)  # the stream is for `hashrange migrate` only


# ── as it was ────────────────────────────────────────────────────────────────────────────────────────────────────────
class FormerRun(Item, table=former_checks, PK="{checkid}", SK="RESULT#{at}"):
    """A run, in the partition of its check."""

    checkid: Key[str]
    at: Key[IsoMillis]
    result: Record
    verdict: str | None = None
    delay_ms: int | None = None
    due_at: Annotated[IsoMillis | None, Stored("slot")] = None
    expires_at: Ttl


class FormerRollup(Item, table=former_checks, PK="{checkid}", SK="ROLLUP#{day}"):
    """The roll-up of a day, in the partition of its check."""

    checkid: Key[str]
    day: Key[date]
    rollup: Record
    expires_at: Ttl


class FormerIncident(Item, table=former_checks, PK="{checkid}", SK="INCIDENT#{started_at}"):
    """An incident, in the partition of its check; without an end it goes on."""

    checkid: Key[str]
    started_at: Key[IsoMillis]
    cause: str | None = None
    evidence: str = ""
    interrupted: bool = False
    expires_at: Ttl
    ended_at: IsoMillis | None = None


class FormerHistory(Patterns, Protocol, accept="HR401 FormerHistory.entries"):
    """The history in `CHECK`, for `hashrange migrate`."""

    def entries(self) -> Scan[FormerRun | FormerRollup | FormerIncident]:
        """Read all of it."""
        ...


class MovedHistory(Patterns, Protocol):
    """The history in its own table."""

    def mark(self) -> Get[HistoryMark]:
        """Read the mark of a move that is complete."""
        ...


# ── what becomes of it ───────────────────────────────────────────────────────────────────────────────────────────────
history_migration = Migration("checks history", source=FormerHistory, target=MovedHistory)


@history_migration.convert(FormerRun)
def convert_run(former: FormerRun) -> Run:
    """Return the run."""
    return Run.model_validate(dict(former))


@history_migration.convert(FormerRollup)
def convert_rollup(former: FormerRollup) -> RollupItem:
    """Return the roll-up."""
    return RollupItem.model_validate(dict(former))


@history_migration.convert(FormerIncident)
def convert_incident(former: FormerIncident) -> Ongoing | Ended:
    """Return the incident in its state."""
    return (Ongoing if former.ended_at is None else Ended).model_validate(dict(former))


# ── moving it ────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True)
class HistoryMove:
    """What a move did."""

    moved: int = 0
    left: list[str] = field(default_factory=list)  # the first items that could not be moved: key and reason

    def leave(self, item: Wire, reason: str) -> None:
        """Name an item that stays where it was."""
        if len(self.left) < MAX_NAMED:
            self.left.append(f"{checks.physical_name} {' '.join(key_of(item))}: {reason}")


def move_history(
    database: Transport, clock: Clock, report: Report = lambda _moved, _total: None, *, again: bool = False
) -> HistoryMove:
    """Move the history that is still in `CHECK`, unless a process has recorded that all is moved; `again` looks anew.

    An item that cannot be read, or that differs from one in the new table, stays where it is and is named.
    """
    target, found = MovedHistory.open(database, clock=clock), HistoryMove()
    if not again and target.mark().consistent().run() is not None:
        return found
    page_move, total = PageMove(database, found), count_items(database)
    for items in scan_history(database):
        page_move.move(items)
        if items or total:
            report(found.moved, max(total, found.moved))
    target.put(HistoryMark(moved_at=from_ms(clock.millis()), left=tuple(found.left))).run()
    return found


def require_moved(database: Transport, clock: Clock) -> None:
    """Raise PlanError, which says what to do, if there is history in `CHECK` that was not moved."""
    target = MovedHistory.open(database, clock=clock)
    if target.mark().consistent().run() is not None:
        return
    if any(scan_history(database)):
        raise PlanError(
            f"The history of checks is still in {checks.physical_name}, where the release before had it. End all "
            "processes of that release, then run hashrange checks migrate --target ..., which moves it to "
            f"{history.physical_name}."
        )
    target.put(HistoryMark(moved_at=from_ms(clock.millis()))).run()


def count_items(database: Transport) -> int:
    """Return about how many items `CHECK` has: DynamoDB counts them every few hours."""
    return int(database.call("DescribeTable", {"TableName": checks.physical_name})["Table"].get("ItemCount", 0))


def scan_history(database: Transport) -> Iterator[list[Wire]]:
    """Yield the pages of `CHECK` as they are stored, with the items that have the key of a former class."""
    request: Wire = {
        "TableName": checks.physical_name,
        "ConsistentRead": True,
        "Limit": PAGE,
        "FilterExpression": " OR ".join(f"begins_with(SK, :{prefix})" for prefix in PREFIXES),
        "ExpressionAttributeValues": {f":{prefix}": {"S": f"{prefix}#"} for prefix in PREFIXES},
    }
    while True:
        page = database.call("Scan", request)
        yield page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@dataclass(frozen=True, slots=True)
class PageMove:
    """Moves a page: writes what the new table lacks, then deletes from the old one what the new one has.

    The requests are plain ones, which move twice as many items a second as typed ones: nobody is served meanwhile.
    """

    database: Transport
    found: HistoryMove

    def move(self, items: Sequence[Wire]) -> None:
        """Move these items."""
        pairs = list(self._convert(items))
        there = self._read([item for item, _ in pairs])
        fresh, moved = list[Wire](), list[Wire]()
        for item, entry in pairs:
            known = there.get(key_of(item))
            if known is None and not is_incident(item):
                fresh.append(entry)
            elif not self._reconcile(entry, known):
                self.found.leave(item, f"another item is in {history.physical_name}")
                continue
            moved.append(item)
        self._write(history, [{"PutRequest": {"Item": entry}} for entry in fresh])
        self._delete(moved)
        self.found.moved += len(moved)

    def _convert(self, items: Sequence[Wire]) -> Iterator[tuple[Wire, Wire]]:
        """Yield the items that can be read, and what they become."""
        for item in items:
            try:
                former = load_item([FormerRun, FormerRollup, FormerIncident], item)
                if former is None:
                    self.found.leave(item, "its sort key has no time or day")
                    continue
                ((_, entry),) = history_migration.apply_to(former).stored
            except HashrangeError as error:
                self.found.leave(item, str(error))
            else:
                yield item, entry

    def _read(self, items: Sequence[Wire]) -> dict[KeyPair, Wire]:
        """Return what the new table has under the keys of these."""
        found = dict[KeyPair, Wire]()
        for start in range(0, len(items), MAX_READ):
            keys = [take_key(item) for item in items[start : start + MAX_READ]]
            wanted: Wire = {history.physical_name: {"Keys": keys, "ConsistentRead": True}}
            for response in request_all(self.database, "BatchGetItem", wanted):
                found |= {key_of(item): item for item in response["Responses"].get(history.physical_name, ())}
        return found

    def _reconcile(self, entry: Wire, known: Wire | None) -> bool:
        """Return whether the new table has an item now: the same, or an incident that is as far or further.

        Programs change incidents, and nothing else: they are written only where there is none, or where it goes on.
        """
        if known is None:
            condition = "attribute_not_exists(PK)"
        elif is_incident(entry) and has_ended(entry) and not has_ended(known):
            condition = "attribute_not_exists(endedAt)"
        else:
            return known == entry or (is_incident(entry) and has_ended(known) and not has_ended(entry))
        request = {"TableName": history.physical_name, "Item": entry, "ConditionExpression": condition}
        try:
            self.database.call("PutItem", request)
        except ConditionalCheckFailedException:  # another process was faster
            return self._reconcile(entry, self._read([entry]).get(key_of(entry)))
        return True

    def _delete(self, items: Sequence[Wire]) -> None:
        """Delete items from the old table; an incident that has ended since it was read stays there."""
        ongoing = [item for item in items if is_incident(item) and not has_ended(item)]
        for item in ongoing:
            request = {"TableName": checks.physical_name, "Key": take_key(item)}
            try:
                self.database.call("DeleteItem", {**request, "ConditionExpression": "attribute_not_exists(endedAt)"})
            except ConditionalCheckFailedException:
                self.found.leave(item, "a process of an older release has just changed it")
        ended = [item for item in items if item not in ongoing]
        self._write(checks, [{"DeleteRequest": {"Key": take_key(item)}} for item in ended])

    def _write(self, table: Table, writes: Sequence[Wire]) -> None:
        for start in range(0, len(writes), MAX_WRITTEN):
            some: Wire = {table.physical_name: writes[start : start + MAX_WRITTEN]}
            for _ in request_all(self.database, "BatchWriteItem", some):
                pass


def request_all(database: Transport, operation: str, pending: Wire) -> Iterator[Wire]:
    """Yield the responses to a batch, until nothing of it is left; raise the error of a throttled table if some is."""
    for pause in PAUSES:
        response = database.call(operation, {"RequestItems": pending})
        yield response
        pending = response.get("UnprocessedKeys") or response.get("UnprocessedItems") or {}
        if not pending:
            return
        time.sleep(pause)
    raise ProvisionedThroughputExceededException("The history of checks is not moved whole: start again to go on.")


def key_of(item: Wire) -> KeyPair:
    """Return the key of an item."""
    return item["PK"]["S"], item["SK"]["S"]


def take_key(item: Wire) -> Wire:
    """Return the key of an item as requests have it."""
    return {"PK": item["PK"], "SK": item["SK"]}


def is_incident(item: Wire) -> bool:
    """Return whether an item is an incident."""
    return bool(item["SK"]["S"].startswith("INCIDENT#"))


def has_ended(incident: Wire) -> bool:
    """Return whether an incident has ended."""
    return "endedAt" in incident
