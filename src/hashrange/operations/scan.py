"""Scan: read a page of a whole table or index, or of one segment of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import ValidationException
from hashrange.engine.operation import operation
from hashrange.engine.page_response import build_page_response
from hashrange.engine.read import RowSource, apply_select, check_select, find_index, read_page
from hashrange.engine.start_key import check_start_values, limit_to_segment, start_scan
from hashrange.engine.table import check_scalars
from hashrange.expr.parameters import SCAN
from hashrange.expr.request_expressions import check_mixing, read_expressions

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine

MISSING = "The {} parameter is required but was not present in the request when {} is present"


@operation(needs_no_copy=True, pauses=True)
def scan(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return the next items in scan order, up to the limit or a megabyte."""
    segment, total = _read_segment(request)
    check_mixing(request, SCAN)
    start = request.get("ExclusiveStartKey")
    if start is not None:
        start = check_start_values(start, SCAN.wording)
    expressions = read_expressions(request, SCAN)
    check_select(request)
    table = engine.catalog.find(request["TableName"])
    source = RowSource(table, find_index(table, request))
    limit_to_segment(source, segment, total)
    if start is not None:
        start_scan(source, start, segment, total)
    if expressions.projection is not None:
        check_scalars(table, expressions.projection.document_attributes)
    apply_select(source, request, expressions)
    return build_page_response(read_page(engine, source), source, request)


def _read_segment(request: dict[str, Any]) -> tuple[int, int]:
    segment, total = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total is None:
        return 0, 1
    if total is None:
        raise ValidationException(MISSING.format("TotalSegments", "Segment parameter"))
    if segment is None:
        raise ValidationException(MISSING.format("Segment", "parameter TotalSegments"))
    if segment >= total:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
    return segment, total
