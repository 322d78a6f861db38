"""Stream records as typed items: from a response of GetRecords, or from the event of a Lambda function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Literal

from typing_extensions import TypeVar

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare.field_kind import EPOCH
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import Item, Model
from hashrange.schema.declare.table import Table
from hashrange.session.session import Session

TTL_PRINCIPAL = "dynamodb.amazonaws.com"  # the userIdentity of a deletion by time to live


M_co = TypeVar("M_co", bound=Model, covariant=True, default=Item)


@dataclass(frozen=True, slots=True)
class ItemChange(Generic[M_co]):
    """One change of one item: before and after, where the stream view contains them and a class fits."""

    event_name: Literal["INSERT", "MODIFY", "REMOVE"]
    table: Table
    keys: Raw
    before: M_co | None
    after: M_co | None
    at: datetime
    sequence: str
    expired: bool  # deleted because its time to live had passed


def read_changes(
    session: Session, tables: list[Table], event: Mapping[str, Any], table: Table | None
) -> Iterator[ItemChange]:
    """Yield the changes in a Lambda event or a response of GetRecords; records of other tables are skipped."""
    by_name = {session.name_of(known): known for known in tables}
    for record in records_of(event):
        found = table or table_of_record(record, by_name)
        if found is not None:
            yield read_change(session, found, record)


def records_of(event: Mapping[str, Any]) -> Iterable[Wire]:
    """Return the stream records of an event or a response."""
    records = event.get("Records")
    if not isinstance(records, list):
        raise ValueInvalid("this is neither a Lambda event nor a response of GetRecords: it has no list of Records")
    return records


def table_of_record(record: Wire, by_name: Mapping[str, Table]) -> Table | None:
    """Return the table that a record is from; None if it is none of these."""
    arn = record.get("eventSourceARN")
    if arn is not None:
        return by_name.get(str(arn).partition(":table/")[2].partition("/")[0])
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    raise ValueInvalid(f"a record does not name its table: pass table=, one of {', '.join(by_name)}")


def read_change(session: Session, table: Table, record: Wire, model: ModelClass | None = None) -> ItemChange[Any]:
    """Return a stream record with its items: as one class, None where they are of another, or as any of the table.

    An item that has the key of that one class and does not fit it raises Unreadable.
    """
    data = record["dynamodb"]
    identity = record.get("userIdentity") or {}

    def load(image: Raw | None) -> Any:
        if image is None or model is None:
            return session.load_any(table, image)
        return session.load(table, (model,), image)

    return ItemChange(
        event_name=record["eventName"],
        table=table,
        keys=data["Keys"],
        before=load(data.get("OldImage")),
        after=load(data.get("NewImage")),
        at=_time_of(data.get("ApproximateCreationDateTime", 0)),
        sequence=data.get("SequenceNumber", ""),
        expired=TTL_PRINCIPAL in {identity.get("principalId"), identity.get("PrincipalId")},
    )


def _time_of(given: float | datetime) -> datetime:
    return given.astimezone(UTC) if isinstance(given, datetime) else EPOCH + timedelta(seconds=float(given))
