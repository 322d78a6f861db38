"""Stream records: from the change log's rows to what GetRecords returns."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import orjson

from hashrange.core.values import Item, measure_item
from hashrange.core.wire import Wire
from hashrange.engine import sql
from hashrange.engine.stream.shard_iterator import ShardPosition
from hashrange.engine.stream.streams import Stream, format_sequence_number
from hashrange.engine.write import TTL_SERVICE

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


MAX_RECORDS = 1000
MAX_RECORD_BYTES = 1_048_576
ENDLESS = 2**63 - 1
TTL_IDENTITY = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
SHOWS_NEW = frozenset({"NEW_IMAGE", "NEW_AND_OLD_IMAGES"})
SHOWS_OLD = frozenset({"OLD_IMAGE", "NEW_AND_OLD_IMAGES"})


class Entry(NamedTuple):
    """A row of the change log."""

    number: int
    at: int
    old: bytes | None
    new: bytes | None
    actor: int


def read_records(
    engine: Engine, position: ShardPosition, limit: int = MAX_RECORDS
) -> tuple[list[Wire], ShardPosition | None]:
    """Return the records from a position on, and where to go on; nowhere when a closed stream is read to its end."""
    stream = position.stream
    end = ENDLESS if stream.definition.end is None else stream.definition.end
    rows = engine.store.execute(sql.read_log(stream.table.n), (position.number, end, limit + 1))
    records: list[Wire] = []
    size, number = 0, position.number
    for row in rows:
        record = make_record(stream, Entry(*row), engine.settings.region)
        size += record["dynamodb"]["SizeBytes"]
        if records and (len(records) == limit or size > MAX_RECORD_BYTES):
            return records, ShardPosition(stream, number)
        records.append(record)
        number = row[0] + 1
    return records, None if stream.is_closed else ShardPosition(stream, number)


def make_record(stream: Stream, entry: Entry, region: str) -> Wire:
    """Return one change as a stream with its view type shows it."""
    event = blake2b(f"{stream.arn}/{entry.number}".encode(), digest_size=16).hexdigest()
    record: Wire = {
        "eventID": event,
        "eventName": "INSERT" if entry.old is None else "REMOVE" if entry.new is None else "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": region,
        "dynamodb": _describe_change(stream, entry),
    }
    if entry.actor == TTL_SERVICE:
        record["userIdentity"] = TTL_IDENTITY
    return record


def _describe_change(stream: Stream, entry: Entry) -> Wire:
    view = stream.definition.view
    new, old = (None if body is None else orjson.loads(body) for body in (entry.new, entry.old))
    keys = stream.table.key_item(new or old or {})
    shown = (("NewImage", new, SHOWS_NEW), ("OldImage", old, SHOWS_OLD))
    images: dict[str, Item] = {member: image for member, image, views in shown if image is not None and view in views}
    return {
        "ApproximateCreationDateTime": entry.at // 1000,
        "Keys": keys,
        **images,
        "SequenceNumber": format_sequence_number(entry.number),
        "SizeBytes": measure_item(keys) + sum(measure_item(image) for image in images.values()),
        "StreamViewType": view,
    }
