"""Shard iterators: opaque texts that stand for a position in a stream and the time it was asked for.

A position is the lowest sequence number to be read. It can be used again and again for a quarter of an hour.
"""

from __future__ import annotations

import binascii
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange.core.errors import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine import sql
from hashrange.engine.stream import streams
from hashrange.engine.stream.streams import Stream

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


VALID_MILLIS = 15 * 60 * 1000
VERSION = "1"
CONTENT = struct.Struct(">QQ")  # the position and the time of issue
NEEDED = {
    "AT_SEQUENCE_NUMBER": "SequenceNumber",
    "AFTER_SEQUENCE_NUMBER": "SequenceNumber",
    "AT_TIMESTAMP": "Timestamp",
}


@dataclass(frozen=True, slots=True)
class ShardPosition:
    """Where reading goes on, in which stream."""

    stream: Stream
    number: int

    def issue(self, now: int) -> str:
        """Return the iterator that represents it from now on."""
        content = binascii.b2a_base64(CONTENT.pack(self.number, now), newline=False).decode()
        return f"{self.stream.arn}|{VERSION}|{content}"


def read_iterator(engine: Engine, text: str) -> ShardPosition:
    """Return the position behind an iterator, or raise that it is none, too old, or before what is kept."""
    arn, _, rest = text.partition("|")
    version, _, content = rest.partition("|")
    try:
        number, issued = CONTENT.unpack(binascii.a2b_base64(content, strict_mode=True))
    except (ValueError, struct.error):
        raise ValidationException("Invalid ShardIterator") from None
    if version != VERSION or not streams.STREAM_ARN.fullmatch(arn):
        raise ValidationException("Invalid ShardIterator")
    if engine.now() - issued > VALID_MILLIS:
        raise ExpiredIteratorException("The provided iterator exceeds the maximum age allowed.")
    return _keep_untrimmed(engine, ShardPosition(streams.find_stream(engine, arn), number))


def find_position(engine: Engine, request: Wire) -> ShardPosition:
    """Return the position that a GetShardIterator request asks for."""
    iterator_type = request["ShardIteratorType"]
    _check_members(iterator_type, request)
    stream = streams.find_stream(engine, request["StreamArn"])
    if request["ShardId"] != stream.shard:
        raise ResourceNotFoundException(
            f"Requested resource not found: Shard: {request['ShardId']} in Stream: {stream.arn} not found"
        )
    if iterator_type == "TRIM_HORIZON":
        return ShardPosition(stream, streams.first_number(engine, stream))
    if iterator_type == "LATEST":
        return ShardPosition(stream, _next_number(engine, stream))
    if iterator_type == "AT_TIMESTAMP":
        return ShardPosition(stream, _number_at(engine, stream, request["Timestamp"]))
    number = _given_number(engine, stream, request["SequenceNumber"])
    return _keep_untrimmed(engine, ShardPosition(stream, number + (iterator_type == "AFTER_SEQUENCE_NUMBER")))


def _check_members(iterator_type: str, request: Wire) -> None:
    needed = NEEDED.get(iterator_type)
    for member in ("SequenceNumber", "Timestamp"):
        if (member in request) != (member == needed):
            verb = "must be" if member == needed else "cannot be"
            raise ValidationException(
                f"{INVALID_PARAMETER}{member} {verb} specified when ShardIteratorType is {iterator_type}"
            )


def _given_number(engine: Engine, stream: Stream, text: str) -> int:
    number = streams.read_number(text)
    if number is None or number > _next_number(engine, stream):
        raise ValidationException(f"{INVALID_PARAMETER}Invalid SequenceNumber: {text}")
    return number


def _next_number(engine: Engine, stream: Stream) -> int:
    """Return the position after everything that a stream holds now."""
    if stream.definition.end is not None:
        return stream.definition.end
    newest = engine.store.execute(sql.newest_change(stream.table.n)).fetchone()
    return max(streams.first_number(engine, stream), int((newest and newest[0]) or 0) + 1)


def _number_at(engine: Engine, stream: Stream, seconds: float) -> int:
    millis = round(seconds * 1000)
    if millis > engine.wall_time():
        raise ValidationException(f"{INVALID_PARAMETER}Timestamp cannot be in the future")
    return max(streams.first_change_after(engine, stream.table, millis - 1), streams.first_number(engine, stream))


def _keep_untrimmed(engine: Engine, position: ShardPosition) -> ShardPosition:
    stream = position.stream
    if position.number < stream.definition.start or position.number <= streams.last_trimmed(engine, stream.table):
        raise TrimmedDataAccessException("The data you are trying to access has been trimmed.")
    return position
