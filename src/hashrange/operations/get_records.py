"""GetRecords: the changes in a stream from a position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.stream.records import MAX_RECORDS, read_records
from hashrange.engine.stream.shard_iterator import read_iterator

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def get_records(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return up to a thousand records or a megabyte, and the next iterator while the stream can continue."""
    position = read_iterator(engine, request["ShardIterator"])
    records, following = read_records(engine, position, request.get("Limit", MAX_RECORDS))
    further = {"NextShardIterator": following.issue(engine.now())} if following else {}
    return orjson.dumps({"Records": records, **further})
