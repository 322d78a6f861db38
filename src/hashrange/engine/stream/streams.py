"""Streams and the change log behind them: which there are, how they are described, how long they are kept.

A stream is a span of its table's change log (`start` to `end`); the log keeps both images, the view type is applied
when records are read (`records`). The same log serves point-in-time recovery, so it is kept as long as either
needs it; a stream shows the last day of it. `meta` has the newest change that was trimmed from each log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hashrange.core.errors import ResourceNotFoundException, ValidationException
from hashrange.core.wire import Wire
from hashrange.engine import sql
from hashrange.engine.arn import stream_arn
from hashrange.engine.definition import StreamDefinition, to_wire

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext
    from hashrange.engine.table import Table


HOUR = 3600 * 1000
DAY = 24 * HOUR
ROWS_PER_TRIM = 500
SEQUENCE_BITS = 20  # a sequence number is at least its change's milliseconds, shifted by so much
STREAM_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]+:\d{12}:table/[a-zA-Z0-9_.-]+/stream/[0-9T:.-]+")
LAST_NUMBER = 2**63 - 1
NUMBER = re.compile(r"1\d{20}")


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of a table: enabled, or closed not long ago."""

    table: Table
    definition: StreamDefinition

    @property
    def arn(self) -> str:
        """Return its ARN."""
        return stream_arn(self.table.arn, self.definition.label)

    @property
    def shard(self) -> str:
        """Return the id of its one shard, always the same."""
        digest = blake2b(self.arn.encode(), digest_size=4).hexdigest()
        return f"shardId-{self.definition.created:020d}-{digest}"

    @property
    def is_closed(self) -> bool:
        """Whether nothing is added to it any more."""
        return self.definition.end is not None


def format_sequence_number(sequence: int) -> str:
    """Return a sequence number in wire form: 21 digits, in the order of the changes."""
    return f"1{sequence:020d}"


def read_number(text: str) -> int | None:
    """Return the sequence number behind 21 digits; None for what was never given out."""
    return int(text[1:]) if NUMBER.fullmatch(text) else None


def number_at(millis: int) -> int:
    """Return the sequence number below which all changes are older than a time; with a steady clock, none other is."""
    return millis << SEQUENCE_BITS


def first_change_after(engine: CatalogContext, table: Table, millis: int) -> int:
    """Return the sequence number from which on all changes of a table came after a time.

    If the clock was set back and showed the time repeatedly, the last time counts.
    """
    low, high = engine.clock_log.find_interval(millis)
    newest = engine.store.execute(sql.newest_change(table.n)).fetchone()
    low = max(low, last_removed(engine, table) + 1)
    high = min(high, int((newest and newest[0]) or 0) + 1)
    while low < high:  # by bisection: within an interval the times rise
        middle = (low + high) // 2
        found = engine.store.execute(sql.next_change(table.n), (middle, high)).fetchone()
        if found is None or found[1] > millis:
            high = middle
        else:
            low = found[0] + 1
    return low


def list_streams(engine: CatalogContext, name: str | None = None) -> list[Stream]:
    """Return all streams in the order of their ARNs, or those of tables of a name, deleted ones included."""
    live, retired = engine.catalog.tables, engine.catalog.retired.values()
    chosen = live.values() if name is None else [live[name]] if name in live else []
    tables = [*chosen, *(table for table in retired if name is None or table.name == name)]
    streams = [Stream(table, entry) for table in tables for entry in table.definition.streams]
    shown = [stream for stream in streams if not has_expired(stream.definition, engine.now())]
    return sorted(shown, key=lambda stream: stream.arn)


def check_arn(arn: str) -> None:
    """Raise if a text does not have the form of a stream ARN; the stream need not exist."""
    if not STREAM_ARN.fullmatch(arn):
        raise ValidationException("Invalid StreamArn")


def find_stream(engine: CatalogContext, arn: str) -> Stream:
    """Return a stream by its ARN, or raise that there is none."""
    check_arn(arn)
    name = arn.split("/")[1]
    stream = next((stream for stream in list_streams(engine, name) if stream.arn == arn), None)
    if stream is None:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
    return stream


def describe_stream(stream: Stream) -> Wire:
    """Return the StreamDescription without its shards."""
    return {
        "StreamArn": stream.arn,
        "StreamLabel": stream.definition.label,
        "StreamStatus": "DISABLED" if stream.is_closed else "ENABLED",
        "StreamViewType": stream.definition.view,
        "CreationRequestDateTime": stream.definition.created / 1000,
        "TableName": stream.table.name,
        "KeySchema": to_wire(stream.table.definition.key_schema),
    }


def describe_shard(engine: CatalogContext, stream: Stream) -> Wire:
    """Return the description of a stream's shard; what was trimmed is no part of it."""
    numbers = {"StartingSequenceNumber": format_sequence_number(first_number(engine, stream))}
    if stream.definition.end is not None:
        numbers["EndingSequenceNumber"] = format_sequence_number(stream.definition.end)
    return {"ShardId": stream.shard, "SequenceNumberRange": numbers}


# -- what is still there -----------------------------------------------------------------------------------------------


def first_number(engine: CatalogContext, stream: Stream) -> int:
    """Return the lowest sequence number from which a stream can be read without missing anything."""
    return max(stream.definition.start, last_trimmed(engine, stream.table) + 1)


def last_trimmed(engine: CatalogContext, table: Table) -> int:
    """Return the sequence number of the newest change that streams no longer show; 0 when they show all."""
    horizon = number_at(engine.wall_time() - DAY)
    execute, n = engine.store.execute, table.n
    hidden = execute(sql.newest_change_before(n), (horizon,)).fetchone()
    if hidden is not None:
        return int(hidden[0])
    return last_removed(engine, table)


def last_removed(engine: CatalogContext, table: Table) -> int:
    """Return the sequence number of the newest change that is gone from a log; 0 when none is."""
    found = engine.store.execute(sql.FIND_META, (f"trimmed{table.n}",)).fetchone()
    return int(found[0]) if found else 0


def has_expired(stream: StreamDefinition, now: int) -> bool:
    """Return whether a stream was closed more than a day ago."""
    return stream.closed is not None and stream.closed < now - DAY


def last_number(engine: CatalogContext) -> int:
    """Return the highest sequence number that is stored anywhere; 0 when there is none."""
    execute, tables = engine.store.execute, _all_tables(engine)
    entries = [entry for table in tables for entry in table.definition.streams]
    queries = [sql.newest_change(table.n) for table in tables if table.definition.has_log]
    rows = [execute(query).fetchone() for query in (*queries, sql.NEWEST_TRIMMED)]
    given = [*(row[0] for row in rows if row), *(number for entry in entries for number in (entry.start, entry.end))]
    return max((int(number) for number in given if number is not None), default=0)


def _all_tables(engine: CatalogContext) -> list[Table]:
    return [*engine.catalog.tables.values(), *engine.catalog.retired.values()]


def trim(engine: CatalogContext) -> bool:
    """Remove a slice of the log that is past its retention; return whether there may be more."""
    trimmed = [
        _trim_table(engine, table) for table in _all_tables(engine) if table.definition.has_log
    ]  # each has its turn
    return any(trimmed)


def _trim_table(engine: CatalogContext, table: Table) -> bool:
    horizon, n = min(number_at(engine.wall_time() - retention(table)), *table.definition.copying, LAST_NUMBER), table.n
    execute = engine.store.execute
    newest = execute(sql.newest_of_oldest(n, ROWS_PER_TRIM), (horizon,)).fetchone()
    if newest is None or newest[0] is None:
        _drop_expired(engine, table)
        return False
    engine.begin_transaction()
    engine.written += 1
    execute(sql.SAVE_META, (f"trimmed{n}", newest[0]))
    execute(sql.trim_log(n), newest)
    return engine.store.connection.changes() == ROWS_PER_TRIM


def retention(table: Table) -> int:
    """Return how long, in ms, a table's changes are kept; for recovery a little longer than promised, see `restore`."""
    recovery = table.definition.recovery
    return DAY if recovery is None else recovery.days * DAY + HOUR


def _drop_expired(engine: CatalogContext, table: Table) -> None:
    """Drop streams that were closed more than a day ago and, after the last of them, a deleted table."""
    streams = table.definition.streams
    kept = tuple(stream for stream in streams if not has_expired(stream, engine.now()))
    if len(kept) == len(streams) or (table.definition.copying and not kept):
        return
    engine.begin_transaction()
    if not kept and table.n in engine.catalog.retired:
        engine.catalog.delete_retired(table)
        engine.store.execute(sql.DELETE_META, (f"trimmed{table.n}",))
    else:
        engine.catalog.save(table, replace(table.definition, streams=kept))
