"""Decodes the response of a Query or Scan one item at a time; each item's dict is freed before the next is decoded.

Decoding all items at once keeps the parts of a hundred items alive together, and the garbage collector scans them
repeatedly: a third of the time of such a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypedDict

import orjson
from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

from hashrange.core.values import Item
from hashrange.core.wire import Wire

ItemJson: TypeAlias = Raw  # the undecoded JSON of one item


class _PageResponse(TypedDict, total=False):
    Items: list[Raw]
    LastEvaluatedKey: dict[str, Any]
    ConsumedCapacity: dict[str, Any]


_decode: Callable[[bytes], Any] = Decoder(_PageResponse).decode


def decode_page(body: bytes) -> Wire:
    """Return a response whose items are not decoded yet."""
    try:
        response: Wire = _decode(body)
    except MsgspecError as error:
        raise ValueError(str(error)) from error
    return response


_view: Callable[[ItemJson], memoryview] = memoryview  # msgspec.Raw is a buffer, but its type does not declare it


def decode_item(item: ItemJson) -> Item:
    """Return one item in wire form."""
    decoded: Item = orjson.loads(_view(item))
    return decoded


def decode_items(items: list[ItemJson]) -> Iterator[Item]:
    """Yield the items in wire form."""
    return map(orjson.loads, map(_view, items))
