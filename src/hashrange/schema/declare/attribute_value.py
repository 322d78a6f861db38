"""DynamoDB attribute values as plain Python values, whatever field they belong to."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hashrange.core.values import Value, decode_binary


def plain(value: Value) -> Any:
    """Return an attribute value as plain Python: numbers as int where they are whole, sets as sets."""
    text = value.get("S")
    if text is not None:
        return text
    for tag, content in value.items():
        return DECODERS[tag](content)
    return None


def number_of(text: str) -> int | Decimal:
    """Return the text of a number as one: an int where it is whole."""
    try:
        return int(text)
    except ValueError:
        return _whole(Decimal(text))


def _whole(number: Decimal) -> int | Decimal:
    return int(number) if number == number.to_integral_value() and number.adjusted() < 40 else number


DECODERS: dict[str, Callable[[Any], Any]] = {  # by DynamoDB type
    "S": lambda content: content,
    "N": number_of,
    "B": decode_binary,
    "BOOL": lambda content: content,
    "NULL": lambda _: None,
    "SS": set,
    "NS": lambda content: {number_of(text) for text in content},
    "BS": lambda content: {decode_binary(text) for text in content},
    "L": lambda content: [plain(part) for part in content],
    "M": lambda content: {name: plain(member) for name, member in content.items()},
}
