"""Where a page starts: ExclusiveStartKey as a position between keys, with the error texts of Query and Scan.

A position need not be an item. On an index it is the index key and the table key together, or equal index keys
would lose or repeat items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange.core.errors import ValidationException
from hashrange.core.keys import KeyEncoder, segment_bounds, segment_of
from hashrange.core.values import ErrorWording, InvalidValue, Item, canonicalise_values
from hashrange.engine.sql import TOP
from hashrange.engine.table import MISMATCH, Index, Table, check_key_contents

if TYPE_CHECKING:
    from hashrange.engine.read import RowSource

INVALID = "The provided starting key is invalid"
OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
UNMATCHED = "The provided starting key does not match the range key predicate"


def check_start_values(start: Item, layer: ErrorWording) -> Item:
    """Return a start key with its values in canonical form, or raise."""
    try:
        return canonicalise_values(start)
    except InvalidValue as error:
        wrap = "{}" if error.enveloped else f"{INVALID}: {{}}"
        raise error.service_error(layer, wrap) from None


def start_query(source: RowSource, start: Item, partition: bytes) -> None:
    """Start a query after a start key."""
    table, index = source.table, source.index
    index_key, key = _encode(table, index, start)
    if index is None and not table.key_encoder.ranges:
        shown = ", ".join(f"{name}=AttributeValue: {_show(value)}" for name, value in start.items())
        raise ValidationException(f"The provided exclusive start key is invalid: ExclusiveStartKey: {{{shown}}}")
    position = key if index_key is None else index_key
    if not position.startswith(partition):
        raise ValidationException(OUTSIDE)
    if not source.low <= position < source.high:
        raise ValidationException(UNMATCHED)
    source.start_after(index_key, key)


def start_scan(source: RowSource, start: Item, segment: int, total: int) -> None:
    """Start a scan after a start key, which must be in its segment."""
    index_key, key = _encode(source.table, source.index, start, scans=True)
    if segment_of(key if index_key is None else index_key, total) != segment:
        raise ValidationException(
            f"{INVALID}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {total} Segment: {segment}"
        )
    source.start_after(index_key, key)


def limit_to_segment(source: RowSource, segment: int, total: int) -> None:
    """Limit a scan to one of its segments."""
    source.low, high = segment_bounds(segment, total)
    source.high = high or TOP


def _encode(table: Table, index: Index | None, start: Item, *, scans: bool = False) -> tuple[bytes | None, bytes]:
    """Return a start key as index key and table key; checked as key of what is read, then as key of the table."""
    key_encoder, names = (index.key_encoder, index.names) if index else (table.key_encoder, table.key_names)
    whole = f"{INVALID}: {MISMATCH}"
    unnamed, mismatch = (whole, whole) if scans and index is None else (INVALID, MISMATCH)
    if len(start) != len(names) or any(attribute.name not in start for attribute in key_encoder.attributes):
        raise ValidationException(unnamed)
    _check_key(key_encoder, start, mismatch)
    _check_key(table.key_encoder, start, whole)
    key = table.key_encoder.encode(start)
    assert key is not None  # it has all attributes, of the right types
    return (index.key_encoder.encode(start) if index else None), key


def _check_key(key_encoder: KeyEncoder, start: Item, mismatch: str) -> None:
    if any(attribute.tag not in start.get(attribute.name, {}) for attribute in key_encoder.attributes):
        raise ValidationException(mismatch)
    check_key_contents(key_encoder, start)


def _show(value: dict[str, object]) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"
