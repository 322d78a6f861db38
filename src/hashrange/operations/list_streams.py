"""ListStreams: the streams of all tables or of one, deleted tables' included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.stream import streams

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

MAX_PAGE_SIZE = 100


@operation()
def list_streams(engine: Engine, request: dict[str, Any]) -> bytes:
    """List streams in the order of their ARNs, after a given one, which may be gone."""
    start, limit = request.get("ExclusiveStartStreamArn", ""), request.get("Limit", MAX_PAGE_SIZE)
    if start:
        streams.check_arn(start)
    rest = [stream for stream in streams.list_streams(engine, request.get("TableName")) if stream.arn > start]
    page = rest[:limit]
    shown = [
        {"StreamArn": stream.arn, "TableName": stream.table.name, "StreamLabel": stream.definition.label}
        for stream in page
    ]
    last = {"LastEvaluatedStreamArn": page[-1].arn} if len(rest) > limit else {}
    return orjson.dumps({"Streams": shown, **last})
