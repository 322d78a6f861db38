"""Where a page starts: ExclusiveStartKey as a position between keys, checked as Query and Scan word it.

A position need not be an item. On an index it is the index key and the table key together, or equal index keys
would lose or repeat items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange.core.errors import ValidationException
from hashrange.core.keys import segment_bounds, segment_of
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
    except InvalidValue as fault:
        wrap = "{}" if fault.enveloped else f"{INVALID}: {{}}"
        raise fault.service_error(layer, wrap) from None


def start_query(source: RowSource, start: Item, partition: bytes) -> None:
    """Let a query go on after a start key."""
    table, index = source.table, source.index
    if index is None and not table.codec.ranges:
        shown = ", ".join(f"{name}=AttributeValue: {_show(value)}" for name, value in start.items())
        raise ValidationException(f"The provided exclusive start key is invalid: ExclusiveStartKey: {{{shown}}}")
    slot, key = _encode(table, index, start, INVALID)
    position = slot if slot is not None else key
    if not position.startswith(partition):
        raise ValidationException(OUTSIDE)
    if not source.low <= position < source.high:
        raise ValidationException(UNMATCHED)
    _move(source, slot, key)


def start_scan(source: RowSource, start: Item, segment: int, total: int) -> None:
    """Let a scan go on after a start key, which must be of its segment."""
    slot, key = _encode(source.table, source.index, start, f"{INVALID}: {MISMATCH}")
    if segment_of(slot if slot is not None else key, total) != segment:
        raise ValidationException(
            f"{INVALID}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {total} Segment: {segment}"
        )
    _move(source, slot, key)


def limit_to_segment(source: RowSource, segment: int, total: int) -> None:
    """Confine a scan to one of its segments."""
    source.low, high = segment_bounds(segment, total)
    source.high = high or TOP


def _encode(table: Table, index: Index | None, start: Item, refusal: str) -> tuple[bytes | None, bytes]:
    names = index.names if index else table.key_names
    codecs = (index.codec, table.codec) if index else (table.codec,)
    if set(start) != set(names) or any(a.tag not in start[a.name] for codec in codecs for a in codec.attributes):
        raise ValidationException(refusal)
    for codec in codecs:
        check_key_contents(codec, start)
    key = table.codec.encode(start)
    slot = index.codec.encode(start) if index else None
    if key is None:
        raise ValidationException(refusal)
    return slot, key


def _move(source: RowSource, slot: bytes | None, key: bytes) -> None:
    if slot is not None:
        source.start = (slot, key)
    elif source.forward:
        source.low = max(source.low, key + b"\x00")
    else:
        source.high = min(source.high, key)


def _show(value: dict[str, object]) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"
