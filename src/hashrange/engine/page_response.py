"""The response of a query or scan: the rules of Select, projections of indexes, and the bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.capacity import ConsumedCapacity, read_units
from hashrange.engine.table import check_scalars

if TYPE_CHECKING:
    from hashrange.engine.read import RowPage, RowSource
    from hashrange.engine.table import Index, Table
    from hashrange.expr.request_expressions import Expressions


def check_select(request: Wire, prefix: str = "") -> None:
    """Raise when Select contradicts the other parameters; `prefix` is the envelope that only Query has."""
    select = request.get("Select")
    given = [name for name in ("AttributesToGet", "ProjectionExpression") if request.get(name) is not None]
    if select is None:
        return
    if select == "SPECIFIC_ATTRIBUTES":
        if not given:
            text = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            raise ValidationException(prefix + text)
    elif given:
        chosen = "only the Count" if select == "COUNT" else select
        raise ValidationException(f"{prefix}Cannot specify the {given[0]} when choosing to get {chosen}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise ValidationException(prefix + "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")


def find_index(table: Table, request: Wire) -> Index | None:
    """Return the index that a request names, or raise."""
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.indexes_by_name.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.is_global and request.get("ConsistentRead"):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if index.backfilling:
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    return index


def apply_select(source: RowSource, request: Wire, expressions: Expressions) -> None:
    """Set what is read, filtered and returned; raise if an index does not project what is requested."""
    index, projection = source.index, expressions.projection
    source.counts_only = request.get("Select") == "COUNT"
    source.limit = request.get("Limit", -1)
    source.test = expressions.filter
    source.project = projection
    source.columns = len(projection.paths) if projection is not None else 0
    if index is not None and not index.keeps_all:
        everything = request.get("Select") == "ALL_ATTRIBUTES"
        missing = projection.attributes - index.projected if projection else frozenset()
        if index.is_global:
            _check_projected(index, missing, everything=everything)
        else:
            source.fetches = everything or bool(missing)
    if expressions.filter is not None:
        check_scalars(source.table, expressions.filter.document_attributes)


def _check_projected(index: Index, missing: frozenset[str], *, everything: bool) -> None:
    if everything:
        raise ValidationException(
            f"{INVALID_PARAMETER}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
            "because its projection type is not ALL"
        )
    if missing:
        shown = ", ".join(sorted(missing))
        raise ValidationException(f"{INVALID_PARAMETER}Global secondary index {index.name} does not project [{shown}]")


def check_filter_projected(index: Index, attributes: Iterable[str]) -> None:
    """Raise when a query filters by attributes that the index does not project; a scan takes them as absent."""
    if index.keeps_all:
        return
    missing = [name for name in attributes if name not in index.projected]
    if missing:
        shown = ", ".join(in_hash_order(missing))
        text = f"Secondary index {index.name} does not project one or more filter attributes: [{shown}]"
        raise ValidationException(INVALID_PARAMETER + text)


def in_hash_order(names: list[str]) -> list[str]:
    """Return names in the order of the service's hash set."""
    buckets = 16
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    return sorted(names, key=lambda name: _java_hash(name) % buckets)


def _java_hash(name: str) -> int:
    total = 0
    units = name.encode("utf-16-be")
    for at in range(0, len(units), 2):
        total = (31 * total + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return total ^ (total >> 16)


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
