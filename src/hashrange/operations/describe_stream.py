"""DescribeStream: describe a stream and its shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.stream import streams

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_stream(engine: Engine, request: dict[str, Any]) -> bytes:
    """Describe a stream; it has one shard, without a parent."""
    stream = streams.find_stream(engine, request["StreamArn"])
    is_child = "ShardFilter" in request
    is_passed = stream.shard <= request.get("ExclusiveStartShardId", "")
    shards = [] if is_child or is_passed else [streams.describe_shard(engine, stream)]
    return orjson.dumps({"StreamDescription": {**streams.describe_stream(stream), "Shards": shards}})
