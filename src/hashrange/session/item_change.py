"""Stream records as typed items: from a response of GetRecords, or from the event of a Lambda function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare.field_kind import EPOCH
from hashrange.schema.declare.shape import Item
from hashrange.schema.declare.table import Table
from hashrange.session.session import Session

TTL_PRINCIPAL = "dynamodb.amazonaws.com"  # the userIdentity of a deletion by time to live


@dataclass(frozen=True, slots=True)
class ItemChange:
    """One change of one item: before and after, where the stream view contains them and a class fits."""

    kind: Literal["INSERT", "MODIFY", "REMOVE"]
    table: Table
    keys: Raw
    before: Item | None
    after: Item | None
    at: datetime
    sequence: str
    expired: bool  # deleted because its time to live had passed


def read_changes(
    session: Session, tables: list[Table], event: Mapping[str, Any], table: Table | None
) -> Iterator[ItemChange]:
    """Yield the changes in a Lambda event or a response of GetRecords; records of other tables are skipped."""
    by_name = {session.name_of(known): known for known in tables}
    for record in _records(event):
        found = table or _table_of(record, by_name)
        if found is not None:
            yield _read_record(session, found, record)


def _records(event: Mapping[str, Any]) -> Iterable[Wire]:
    records = event.get("Records")
    if not isinstance(records, list):
        raise ValueInvalid("this is neither a Lambda event nor a response of GetRecords: it has no list of Records")
    return records


def _table_of(record: Wire, by_name: Mapping[str, Table]) -> Table | None:
    arn = record.get("eventSourceARN")
    if arn is not None:
        return by_name.get(str(arn).partition(":table/")[2].partition("/")[0])
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    raise ValueInvalid(f"a record does not name its table: pass table=, one of {', '.join(by_name)}")


def _read_record(session: Session, table: Table, record: Wire) -> ItemChange:
    data = record["dynamodb"]
    identity = record.get("userIdentity") or {}
    return ItemChange(
        kind=record["eventName"],
        table=table,
        keys=data["Keys"],
        before=session.load_any(table, data.get("OldImage")),
        after=session.load_any(table, data.get("NewImage")),
        at=_time_of(data.get("ApproximateCreationDateTime", 0)),
        sequence=data.get("SequenceNumber", ""),
        expired=TTL_PRINCIPAL in {identity.get("principalId"), identity.get("PrincipalId")},
    )


def _time_of(given: float | datetime) -> datetime:
    return given.astimezone(UTC) if isinstance(given, datetime) else EPOCH + timedelta(seconds=float(given))
