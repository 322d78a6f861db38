"""Stream records as typed items: what GetRecords answers, and what a Lambda function is handed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.codec import EPOCH
from hashrange.schema.shape import Item
from hashrange.schema.table import Table
from hashrange.session.session import Session

SERVICE = "dynamodb.amazonaws.com"  # who deletes what has expired


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one item: before and after, as far as the stream's view shows them and the classes fit."""

    kind: Literal["INSERT", "MODIFY", "REMOVE"]
    table: Table
    keys: Raw
    before: Item | None
    after: Item | None
    at: datetime
    sequence: str
    expired: bool  # deleted because its time to live was over


def read_changes(
    session: Session, tables: list[Table], event: Mapping[str, Any], table: Table | None
) -> Iterator[Change]:
    """Yield the changes in a Lambda event or an answer of GetRecords; records of other tables are passed over."""
    by_name = {session.name_of(known): known for known in tables}
    for record in _records(event):
        found = table or _table_of(record, by_name)
        if found is not None:
            yield _change(session, found, record)


def _records(event: Mapping[str, Any]) -> Iterable[Wire]:
    records = event.get("Records")
    if not isinstance(records, list):
        raise ValueInvalid("this is no Lambda event and no answer of GetRecords: it has no list of Records")
    return records


def _table_of(record: Wire, by_name: Mapping[str, Table]) -> Table | None:
    source = record.get("eventSourceARN")
    if source is not None:
        return by_name.get(str(source).partition(":table/")[2].partition("/")[0])
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    raise ValueInvalid(f"a record does not say its table: pass table=, one of {', '.join(by_name)}")


def _change(session: Session, table: Table, record: Wire) -> Change:
    data = record["dynamodb"]
    who = record.get("userIdentity") or {}
    return Change(
        kind=record["eventName"],
        table=table,
        keys=data["Keys"],
        before=session.read_any(table, data.get("OldImage")),
        after=session.read_any(table, data.get("NewImage")),
        at=_moment(data.get("ApproximateCreationDateTime", 0)),
        sequence=data.get("SequenceNumber", ""),
        expired=SERVICE in {who.get("principalId"), who.get("PrincipalId")},
    )


def _moment(given: float | datetime) -> datetime:
    return given.astimezone(UTC) if isinstance(given, datetime) else EPOCH + timedelta(seconds=float(given))
