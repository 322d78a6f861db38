"""The response of a query or scan: its bytes, its last key and what it consumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from hashrange.core.wire import Wire
from hashrange.engine.capacity import ConsumedCapacity, read_units

if TYPE_CHECKING:
    from hashrange.engine.read import RowPage, RowSource


def build_page_response(page: RowPage, source: RowSource, request: Wire) -> bytes:
    """Return the response of a query or scan."""
    parts = [b"{"]
    if not source.counts_only:
        parts += (b'"Items":[', b",".join(page.bodies), b"],")
    parts.append(b'"Count":%d,"ScannedCount":%d' % (page.count, page.scanned))
    if page.last is not None:
        parts += (b',"LastEvaluatedKey":', orjson.dumps(last_key(page, source)))
    mode = request.get("ReturnConsumedCapacity", "NONE")
    if mode != "NONE":
        cost = page_capacity(page, source, request["TableName"], consistent=bool(request.get("ConsistentRead")))
        parts += (b',"ConsumedCapacity":', orjson.dumps(cost.report(mode)))
    parts.append(b"}")
    return b"".join(parts)


def last_key(page: RowPage, source: RowSource) -> Wire | None:
    """Return the LastEvaluatedKey: the index's and the table's key attributes."""
    if page.last is None:
        return None
    names = source.index.names if source.index else source.table.key_names
    return {name: page.last[name] for name in names}


def page_capacity(page: RowPage, source: RowSource, name: str, *, consistent: bool) -> ConsumedCapacity:
    """Return what a page consumed: evaluated bytes at once, fetched items one by one."""
    cost = ConsumedCapacity(name)
    units = read_units(page.size, consistent=consistent)
    if source.index is None:
        cost.add_table(units)
    else:
        cost.add_index(source.index, units)
    for size in page.fetched:
        cost.add_table(read_units(size, consistent=consistent))
    return cost
