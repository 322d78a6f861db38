"""DescribeLimits: the account's quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.control_plane.throughput import QUOTA
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def describe_limits(_engine: Engine, _request: dict[str, Any]) -> bytes:
    """Return the default quotas of an account."""
    quotas = {
        f"{whose}Max{side}CapacityUnits": quota
        for whose, quota in (("Account", 2 * QUOTA), ("Table", QUOTA))
        for side in ("Read", "Write")
    }
    return orjson.dumps(quotas)
