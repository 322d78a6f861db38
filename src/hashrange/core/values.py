"""Attribute values: the wire form `{"S": "x"}`, made canonical, is the value.

Canonical means: numbers normalised, sets sorted, base64 strict. Then Python's `==` on wire values is DynamoDB's
equality (sets and maps without order, numbers by value), and the stored bytes can go back out undecoded.
`settle` checks, makes canonical in place and measures in one walk, because every written item takes it.
"""

from __future__ import annotations

import binascii
from decimal import Decimal
from enum import Enum
from typing import Any

from hashrange.core import numbers
from hashrange.core.errors import RequestInvalid, ValidationException

Value = dict[str, Any]
Item = dict[str, Value]

DEEPEST = 32
LONGEST_KEPT = 64  # a number may be written with any number of zeros: such texts are not kept
LONGEST_NAME = 65_535
NAME_TOO_LONG = f"Attribute name is too large, must be less than {LONGEST_NAME + 1} bytes"
TAGS = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})
P1 = "One or more parameter values were invalid: "
EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
EMPTY_SETS = {
    "SS": f"{P1}An string set  may not be empty",
    "NS": f"{P1}An number set  may not be empty",
    "BS": f"{P1}Binary sets should not be empty",
}
NULL_FALSE = f"{P1}Null attribute value types must have the value of true"


class WrongWireType(TypeError):
    """JSON of a type that the attribute value does not take; the shape check words it."""


class Layer(Enum):
    """Which of the service's two value checkers words a refusal."""

    CURRENT = "current"  # PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, Query, transactions
    OLDER = "older"  # BatchWriteItem, Scan


class InvalidValue(ValueError):
    """A value of the right JSON type that may not be stored; `raise_as` words it for a layer."""

    def __init__(self, text: str, *, older: str | None = None, enveloped: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.older = text if older is None else older
        self.enveloped = enveloped

    def refusal(self, layer: Layer = Layer.CURRENT, wrap: str = "{}") -> ValidationException:
        """Return the refusal in the words of a layer, put inside `wrap`."""
        text = wrap.format(self.text if layer is Layer.CURRENT else self.older)
        return RequestInvalid(text) if self.enveloped else ValidationException(text)


def utf8_length(text: str) -> int:
    """Return the length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode())


def check_item(item: Item, layer: Layer = Layer.CURRENT) -> int:
    """Make an item canonical in place and return its size, or raise the layer's refusal."""
    try:
        return settle_item(item)
    except InvalidValue as fault:
        raise fault.refusal(layer) from None


def check_expression_values(values: Item, layer: Layer = Layer.CURRENT) -> None:
    """Make the values of an expression canonical in place, or raise the layer's refusal."""
    for name, value in values.items():
        try:
            settle(value, 1)
        except InvalidValue as fault:
            wrap = (
                "{}"
                if layer is Layer.CURRENT
                else f"ExpressionAttributeValues contains invalid value: {{}} for key {name}"
            )
            raise fault.refusal(layer, wrap) from None


def settle_item(item: Item) -> int:
    """Make every attribute canonical in place and return the item's size in bytes."""
    return _settle_members(item, 1)


def _settle_members(members: Item, depth: int) -> int:
    if "" in members:
        raise InvalidValue("Empty attribute name", enveloped=False)
    total = 0
    for name, value in members.items():
        total += len(name) if name.isascii() else len(name.encode())
        if type(value) is not dict or len(value) != 1 or depth > DEEPEST:
            total += settle(value, depth)  # which says what is wrong
            continue
        for tag in value:  # noqa: B007 - the only one; quicker than next(iter(value))
            break
        content = value[tag]
        # Strings and plain whole numbers, the most common values, are settled here to save the calls.
        if tag == "S" and type(content) is str:
            total += len(content) if content.isascii() else len(content.encode())
        elif tag == "N" and type(content) is str and content.isdigit() and numbers.is_plain(content):
            total += 1 + (len(content.rstrip("0")) + 1) // 2
        else:
            total += settle(value, depth)
    if total > LONGEST_NAME:
        _check_names(members)
    return total


def _check_names(members: Item) -> None:
    if any(utf8_length(name) > LONGEST_NAME for name in members):
        raise InvalidValue(NAME_TOO_LONG, enveloped=False)


def settle(value: Value, depth: int) -> int:
    """Make a value canonical in place and return its size; `depth` is the level it stands at, from 1."""
    if type(value) is not dict:
        raise WrongWireType
    if len(value) != 1:
        _refuse_count(value)
    for tag in value:  # noqa: B007 - as above
        break
    content = value[tag]
    if depth > DEEPEST:
        raise InvalidValue(TOO_DEEP, enveloped=False)
    if tag == "S":
        if type(content) is not str:
            raise WrongWireType
        return len(content) if content.isascii() else len(content.encode())
    settler = _SETTLERS.get(tag)
    if settler is None:
        raise InvalidValue(EMPTY, enveloped=False)
    return settler(value, content, depth)


def _refuse_count(value: Value) -> None:
    present = {tag: content for tag, content in value.items() if tag in TAGS and content is not None}
    if len(present) > 1:
        if type(present.get("N")) is str:
            _normalize(present["N"])  # a malformed number is reported first
        raise InvalidValue(SEVERAL, enveloped=False)
    if not present:
        raise InvalidValue(EMPTY, enveloped=False)
    for tag in set(value) - set(present):
        del value[tag]


def _normalize(text: Any) -> str:
    if type(text) is not str:
        raise WrongWireType
    try:
        return numbers.normalize(text)
    except numbers.NotStorable as refusal:
        raise _word_number(refusal) from None


def _word_number(refusal: numbers.NotStorable) -> InvalidValue:
    """Word a number's refusal for both layers; they differ on an empty text and on a 32-bit exponent."""
    text = str(refusal)
    if refusal.text == "":
        return InvalidValue(text, older=text.removesuffix(": "))
    if refusal.fault is numbers.Fault.OVERFLOW and _exponent(refusal.text) >= 2**31 - 1:
        return InvalidValue(text, older=numbers.Fault.UNDERFLOW.value)
    return InvalidValue(text)


def _exponent(text: str) -> int:
    _, written, power = text.lower().rpartition("e")
    return int(power) if written else 0


def _settle_number(value: Value, content: Any, _depth: int) -> int:
    if type(content) is not str:
        raise WrongWireType
    try:
        text, size = numbers.measure(content) if len(content) <= LONGEST_KEPT else numbers.measure.__wrapped__(content)
    except numbers.NotStorable as refusal:
        raise _word_number(refusal) from None
    if text != content:
        value["N"] = text
    return size


def _settle_binary(_value: Value, content: Any, _depth: int) -> int:
    return len(decode_binary(content))


def decode_binary(content: Any) -> bytes:
    """Return the bytes behind strict base64, or raise WrongWireType."""
    if type(content) is not str:
        raise WrongWireType
    try:
        raw = binascii.a2b_base64(content, strict_mode=True)
    except (binascii.Error, ValueError):
        raise WrongWireType from None
    if binascii.b2a_base64(raw, newline=False).decode() != content:
        raise WrongWireType
    return raw


def encode_binary(raw: bytes) -> str:
    """Return bytes as the wire writes them."""
    return binascii.b2a_base64(raw, newline=False).decode()


def _settle_bool(_value: Value, content: Any, _depth: int) -> int:
    if type(content) is not bool:
        raise WrongWireType
    return 1


def _settle_null(_value: Value, content: Any, _depth: int) -> int:
    if type(content) is not bool:
        raise WrongWireType
    if not content:
        raise InvalidValue(NULL_FALSE)
    return 1


def _settle_list(_value: Value, content: Any, depth: int) -> int:
    if type(content) is not list:
        raise WrongWireType
    total = 3 + len(content)
    for element in content:
        total += settle(element, depth + 1)
    return total


def _settle_map(_value: Value, content: Any, depth: int) -> int:
    if type(content) is not dict:
        raise WrongWireType
    return 3 + len(content) + _settle_members(content, depth + 1)


def _settle_strings(value: Value, content: Any, _depth: int) -> int:
    members = _members(content, "SS")
    if len(set(members)) != len(members):
        raise _duplicate_strings(members)
    value["SS"] = sorted(members)
    return sum(map(utf8_length, members))


def _settle_numbers(value: Value, content: Any, _depth: int) -> int:
    members = [_normalize(member) for member in _members(content, "NS")]
    if len(set(members)) != len(members):
        raise InvalidValue(
            f"{P1}Input collection contains duplicates.",
            older="Input collection contains duplicates",
        )
    value["NS"] = sorted(members, key=Decimal)
    return sum(map(numbers.size, members))


def _settle_binaries(value: Value, content: Any, _depth: int) -> int:
    members = _members(content, "BS")
    raw = [decode_binary(member) for member in members]
    if len(set(members)) != len(members):
        raise _duplicate_binaries(members)
    value["BS"] = sorted(members, key=decode_binary)
    return sum(map(len, raw))


def _members(content: Any, tag: str) -> list[str]:
    if type(content) is not list:
        raise WrongWireType
    for member in content:
        if type(member) is not str:
            raise WrongWireType
    if not content:
        raise InvalidValue(EMPTY_SETS[tag])
    return content


def _duplicate_strings(members: list[str]) -> InvalidValue:
    shown = ", ".join(f'"{member}"' for member in _up_to_repeat(members, str.encode))
    return InvalidValue(
        f"{P1}Input collection [{shown}] contains duplicates.",
        older=f"{P1}Input collection [{', '.join(members)}] contains duplicates.",
    )


def _duplicate_binaries(members: list[str]) -> InvalidValue:
    shown = ",".join(f'"{member}"' for member in _up_to_repeat(members, decode_binary))
    return InvalidValue(
        f"{P1}Input collection [{shown}]of type BS contains duplicates.",
        older=f"{P1}Input collection [{', '.join(members)}]of type BS contains duplicates.",
    )


def _up_to_repeat(members: list[str], order: Any) -> list[str]:
    """Return members as the service lists them: sorted up to the first repeat, then as sent."""
    seen: set[str] = set()
    for position, member in enumerate(members):
        if member in seen:
            return sorted(members[:position], key=order) + members[position:]
        seen.add(member)
    return members


_SETTLERS = {
    "N": _settle_number,
    "B": _settle_binary,
    "BOOL": _settle_bool,
    "NULL": _settle_null,
    "L": _settle_list,
    "M": _settle_map,
    "SS": _settle_strings,
    "NS": _settle_numbers,
    "BS": _settle_binaries,
}
