"""Query: read a page of one partition, of a table or an index, in key order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hashrange.core.errors import ENVELOPE, ValidationException
from hashrange.engine.operation import operation
from hashrange.engine.page_response import build_page_response
from hashrange.engine.read import (
    RowSource,
    apply_select,
    check_filter_projected,
    check_select,
    find_index,
    key_range,
    read_page,
)
from hashrange.engine.shape.constraint_message import (
    ViolationReport,
    Violations,
    message_with_value,
    message_without_value,
)
from hashrange.engine.start_key import check_start_values, start_query
from hashrange.engine.table import check_scalars
from hashrange.expr.key_condition_expression import check_key_condition
from hashrange.expr.parameters import QUERY
from hashrange.expr.request_expressions import check_mixing, read_expressions

if TYPE_CHECKING:
    from hashrange.core.keys import KeyEncoder
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Index
    from hashrange.expr.condition import Predicate


def _messages(violations: Violations) -> list[str]:
    """The value of Limit is not quoted."""
    return [
        message_without_value(violation) if violation.path.upper == "Limit" else message_with_value(violation)
        for violation in violations
    ]


VIOLATIONS = ViolationReport(messages=_messages)


@operation(needs_no_copy=True, pauses=True, violations=VIOLATIONS)
def query(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return the items that a key condition selects, up to the limit or a megabyte."""
    check_mixing(request, QUERY)
    start = request.get("ExclusiveStartKey")
    if start is not None:
        start = check_start_values(start, QUERY.wording)
    expressions = read_expressions(request, QUERY)
    check_select(request, ENVELOPE)
    table = engine.catalog.find(request["TableName"])
    index = find_index(table, request)
    key_encoder = index.key_encoder if index else table.key_encoder
    assert expressions.key_condition is not None  # without one, the expressions were refused
    hashes, clauses = check_key_condition(expressions.key_condition, key_encoder.hashes, key_encoder.ranges)
    source = RowSource(table, index, forward=request.get("ScanIndexForward", True))
    source.low, source.high = key_range(key_encoder, hashes, clauses)
    if start is not None:
        start_query(source, start, key_range(key_encoder, hashes, ())[0])
    if expressions.projection is not None:
        check_scalars(table, expressions.projection.document_attributes)
    if expressions.filter is not None:
        check_filter(expressions.filter, key_encoder, index, request)
    apply_select(source, request, expressions)
    page = read_page(engine, source)
    if index is None and not key_encoder.ranges:
        page.last = None  # the partition has no other item, and such a start key is refused
    return build_page_response(page, source, request)


def check_filter(predicate: Predicate, key_encoder: KeyEncoder, index: Index | None, request: dict[str, Any]) -> None:
    """Raise when a filter names a key attribute of the queried table or index, or what the index does not project."""
    named = "QueryFilter" if request.get("QueryFilter") else "Filter Expression"
    for attribute in key_encoder.attributes:
        if attribute.name in predicate.attributes:
            text = f"{named} can only contain non-primary key attributes: Primary key attribute: {attribute.name}"
            raise ValidationException(text)
    if index is not None:
        check_filter_projected(index, predicate.attributes)
