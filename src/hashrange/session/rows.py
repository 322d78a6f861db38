"""The items of a Query's or Scan's answer, one by one: each is read when its turn comes, and let go of at once.

Read all together, the parts of a hundred items would be around at the same time, and the garbage collector would look
through them again and again: a third of the time of such a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypedDict

import orjson
from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

from hashrange.core.values import Item
from hashrange.core.wire import Wire

Row: TypeAlias = Raw  # the JSON of one item


class _Answer(TypedDict, total=False):
    Items: list[Raw]
    LastEvaluatedKey: dict[str, Any]
    ConsumedCapacity: dict[str, Any]


_decode: Callable[[bytes], Any] = Decoder(_Answer).decode


def split_answer(body: bytes) -> Wire:
    """Return an answer whose items are not read yet."""
    try:
        answer: Wire = _decode(body)
    except MsgspecError as fault:
        raise ValueError(str(fault)) from fault
    return answer


_view: Callable[[Row], memoryview] = memoryview  # a Row is a buffer, which its type does not say


def read_row(row: Row) -> Item:
    """Return an item in wire form."""
    item: Item = orjson.loads(_view(row))
    return item


def read_rows(rows: list[Row]) -> Iterator[Item]:
    """Yield the items in wire form."""
    return map(orjson.loads, map(_view, rows))
