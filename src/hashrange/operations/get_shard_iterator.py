"""GetShardIterator: a position in a stream to read records from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.operation import operation
from hashrange.engine.stream.shard_iterator import find_position

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def get_shard_iterator(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return an iterator, valid for 15 minutes."""
    return orjson.dumps({"ShardIterator": find_position(engine, request).issue(engine.now())})
