"""Attribute values: the wire form `{"S": "x"}`, made canonical, is the value.

Canonical means: numbers normalised, sets sorted, base64 strict. Then Python's `==` on wire values is DynamoDB's
equality (sets and maps without order, numbers by value), and the stored bytes can go back out undecoded.
One walk over an item checks and measures it, because every write does both. Values that are canonical are used as they
are; the others are replaced by canonical copies. The given objects are never modified: the caller may still use them.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from operator import lt
from typing import Any, NoReturn

from hashrange.core import numbers
from hashrange.core.errors import RequestInvalid, ValidationException

Value = dict[str, Any]
Item = dict[str, Value]

MAX_ITEM_BYTES = 409_600
MAX_DEPTH = 32
MAX_NAME_BYTES = 65_535
MAX_KEY_NAME_LENGTH = 255
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
EMPTY_NAME = "Empty attribute name"
NAME_TOO_LONG = f"Attribute name is too large, must be less than {MAX_NAME_BYTES + 1} bytes"
TAGS = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})
INVALID_PARAMETER = "One or more parameter values were invalid: "
NO_TYPE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
EMPTY_SETS = {
    "SS": f"{INVALID_PARAMETER}An string set  may not be empty",
    "NS": f"{INVALID_PARAMETER}An number set  may not be empty",
    "BS": f"{INVALID_PARAMETER}Binary sets should not be empty",
}
NULL_FALSE = f"{INVALID_PARAMETER}Null attribute value types must have the value of true"


class WrongWireType(TypeError):
    """JSON of the wrong type for an attribute value; `engine.shape` then makes the error message."""


class ErrorWording(Enum):
    """The service has two value validators with different error texts: which of them an operation uses."""

    CURRENT = "current"  # PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, Query, transactions
    OLDER = "older"  # BatchWriteItem, Scan


class InvalidValue(ValueError):
    """A value of the right JSON type that cannot be stored; holds the error texts of both validators."""

    def __init__(self, text: str, *, older: str | None = None, enveloped: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.older = text if older is None else older
        self.enveloped = enveloped

    def service_error(self, wording: ErrorWording = ErrorWording.CURRENT, wrap: str = "{}") -> ValidationException:
        """Return the service error of one of the validators, its text put inside `wrap`."""
        text = wrap.format(self.text if wording is ErrorWording.CURRENT else self.older)
        return RequestInvalid(text) if self.enveloped else ValidationException(text)


def utf8_length(text: str) -> int:
    """Return the length of a string in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode())


def check_item(item: Item, wording: ErrorWording = ErrorWording.CURRENT) -> tuple[Item, int]:
    """Return an item in canonical form and its size, or raise the service error."""
    try:
        return canonicalise_item(item)
    except InvalidValue as error:
        raise error.service_error(wording) from None


def check_key(key: Item, wording: ErrorWording = ErrorWording.CURRENT) -> Item:
    """Return a key in canonical form, or raise the service error; most keys are ASCII strings, which need no walk."""
    for name, value in key.items():
        text = value.get("S") if type(value) is dict and len(value) == 1 else None
        named = type(name) is str and 0 < len(name) <= MAX_KEY_NAME_LENGTH
        if type(text) is not str or not text.isascii() or not named:
            return check_item(key, wording)[0]
    return key


def check_expression_values(values: Item, wording: ErrorWording = ErrorWording.CURRENT) -> Item:
    """Return the values of an expression in canonical form, or raise the service error of the first invalid one."""
    canonical: Item = {}
    for name, value in values.items():
        try:
            canonical[name] = canonicalise(value)
        except InvalidValue as error:
            wrap = (
                "{}"
                if wording is ErrorWording.CURRENT
                else f"ExpressionAttributeValues contains invalid value: {{}} for key {name}"
            )
            raise error.service_error(wording, wrap) from None
    return canonical


def canonicalise_item(item: Item) -> tuple[Item, int]:
    """Return an item in canonical form (itself, if it has that already) and its size."""
    strings: list[str] = []
    not_canonical: list[Any] = []
    size = _walk_members(item, 1, strings, not_canonical) + _measure_strings(strings)
    if size > MAX_NAME_BYTES:
        _check_names(item.values(), item)
    return _copy_members(item) if not_canonical else item, size


def canonicalise_values(values: Item) -> Item:
    """Return named values that are not an item (such as expression values) in canonical form."""
    return canonicalise_and_measure(values)[0]


def canonicalise_and_measure(values: Item) -> tuple[Item, int]:
    """Return named values that are not an item in canonical form, and their total size without the names."""
    strings: list[str] = []
    not_canonical: list[Any] = []
    size = _walk(values.values(), 1, strings, not_canonical) + _measure_strings(strings)
    if size > MAX_NAME_BYTES:
        _check_names(values.values())
    return _copy_members(values) if not_canonical else values, size


def canonicalise(value: Value) -> Value:
    """Return a value in canonical form."""
    return canonicalise_values({"": value})[""]


def measure_item(item: Item) -> int:
    """Return the size of a canonical item."""
    strings: list[str] = []
    return _walk_members(item, 1, strings, []) + _measure_strings(strings)


def measure(value: Value) -> int:
    """Return the size of a canonical value; most are strings or numbers, which need no walk."""
    if "S" in value:
        return utf8_length(value["S"])
    if "N" in value:
        return numbers.size(value["N"])
    strings: list[str] = []
    return _walk((value,), 1, strings, []) + _measure_strings(strings)


# -- the walk ---------------------------------------------------------------------------------------------------------


# Each check gets the content of a value, its nesting level, and two lists that it appends to: strings (all strings of
# an item are joined, checked and measured in one step after the walk) and contents that are not canonical.
# It returns the size of the content without its strings.
Check = Callable[[Any, int, list[str], list[Any]], int]


def _measure_strings(strings: list[str]) -> int:
    try:
        return utf8_length("".join(strings))
    except (TypeError, UnicodeEncodeError):  # not all are strings, or half a surrogate pair
        raise WrongWireType from None


def _walk_members(members: Item, depth: int, strings: list[str], not_canonical: list[Any]) -> int:
    if "" in members:
        raise InvalidValue(EMPTY_NAME, enveloped=False)
    strings += members
    return _walk(members.values(), depth, strings, not_canonical)


def _walk(values: Iterable[Value], depth: int, strings: list[str], not_canonical: list[Any]) -> int:
    """Check the values at a nesting level (from 1), and return their size without their strings."""
    if depth > MAX_DEPTH:
        _raise_depth(values)
    checks, known_size = _CHECKS, numbers.KNOWN_SIZES.get
    total = 0
    for value in values:
        try:
            if "S" in value and len(value) == 1:
                strings.append(value["S"])
                continue
            (tag,) = value
            content = value[tag]
        except (TypeError, ValueError, IndexError):
            _raise_form(value)
        if tag == "N" and type(content) is str and (size := known_size(content)) is not None:
            total += size
        elif tag in checks:
            total += checks[tag](content, depth, strings, not_canonical)
        else:
            _raise_form(value)
    return total


def _raise_depth(values: Iterable[Value]) -> None:
    for value in values:
        if type(value) is not dict or len(value) != 1:
            _raise_form(value)
        raise InvalidValue(TOO_DEEP, enveloped=False)


def _raise_form(value: Any) -> NoReturn:
    """Raise for a value without exactly one type; `engine.shape` drops nulls and unknown types beside it."""
    if type(value) is not dict:
        raise WrongWireType
    present = {tag: content for tag, content in value.items() if tag in TAGS and content is not None}
    if len(present) > 1:
        if "N" in present:
            _check_number(present["N"], 1, [], [])  # a malformed number is reported first
        raise InvalidValue(SEVERAL_TYPES, enveloped=False)
    if not present:
        raise InvalidValue(NO_TYPE, enveloped=False)
    raise WrongWireType


def _check_names(values: Iterable[Value], names: Iterable[str] = ()) -> None:
    """Raise for an attribute name that is too long, at any level."""
    if any(utf8_length(name) > MAX_NAME_BYTES for name in names):
        raise InvalidValue(NAME_TOO_LONG, enveloped=False)
    for value in values:
        if "M" in value:
            _check_names(value["M"].values(), value["M"])
        elif "L" in value:
            _check_names(value["L"])


def _check_number(content: Any, _depth: int, _strings: list[str], not_canonical: list[Any]) -> int:
    if type(content) is not str:
        raise WrongWireType
    try:
        canonical = numbers.normalize(content)
    except numbers.NumberError as error:
        raise _number_error(error) from None
    if canonical != content:
        not_canonical.append(content)
    return numbers.size(canonical)


def _number_error(error: numbers.NumberError) -> InvalidValue:
    """Return the error for a number; the validators differ on an empty string and on a 32-bit exponent."""
    text = str(error)
    if error.text == "":
        return InvalidValue(text, older=text.removesuffix(": "))
    if error.cause is numbers.NumberErrorCause.OVERFLOW and _exponent(error.text) >= 2**31 - 1:
        return InvalidValue(text, older=numbers.NumberErrorCause.UNDERFLOW.value)
    return InvalidValue(text)


def _exponent(text: str) -> int:
    _, written, power = text.lower().rpartition("e")
    return int(power) if written else 0


def _check_binary(content: Any, _depth: int, _strings: list[str], _not_canonical: list[Any]) -> int:
    return len(decode_binary(content))


def decode_binary(content: Any) -> bytes:
    """Return the bytes of strict base64, or raise WrongWireType."""
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
    """Return bytes as base64."""
    return binascii.b2a_base64(raw, newline=False).decode()


def _check_bool(content: Any, _depth: int, _strings: list[str], _not_canonical: list[Any]) -> int:
    if type(content) is not bool:
        raise WrongWireType
    return 1


def _check_null(content: Any, _depth: int, _strings: list[str], _not_canonical: list[Any]) -> int:
    if type(content) is not bool:
        raise WrongWireType
    if not content:
        raise InvalidValue(NULL_FALSE)
    return 1


def _check_list(content: Any, depth: int, strings: list[str], not_canonical: list[Any]) -> int:
    if type(content) is not list:
        raise WrongWireType
    return 3 + len(content) + _walk(content, depth + 1, strings, not_canonical)


def _check_map(content: Any, depth: int, strings: list[str], not_canonical: list[Any]) -> int:
    if type(content) is not dict:
        raise WrongWireType
    return 3 + len(content) + _walk_members(content, depth + 1, strings, not_canonical)


def _check_strings(content: Any, _depth: int, strings: list[str], not_canonical: list[Any]) -> int:
    if type(content) is not list:
        raise WrongWireType
    strings += content
    if not content or not _are_sorted(content):
        members = _members(content, "SS")
        if len(set(members)) != len(members):
            raise _duplicate_strings(members)
        not_canonical.append(content)
    return 0


def _are_sorted(strings: list[str]) -> bool:
    """Return whether strings are sorted and distinct."""
    try:
        return all(map(lt, strings, strings[1:]))
    except TypeError:  # not all are strings
        raise WrongWireType from None


def _check_numbers(content: Any, _depth: int, _strings: list[str], not_canonical: list[Any]) -> int:
    size = sum(_check_number(member, 1, [], []) for member in _members(content, "NS"))
    canonical = _order_numbers(content)
    if len(set(canonical)) != len(canonical):
        raise InvalidValue(
            f"{INVALID_PARAMETER}Input collection contains duplicates.",
            older="Input collection contains duplicates",
        )
    if canonical != content:
        not_canonical.append(content)
    return size


def _check_binaries(content: Any, _depth: int, _strings: list[str], not_canonical: list[Any]) -> int:
    members = _members(content, "BS")
    raw = [decode_binary(member) for member in members]
    if len(set(members)) != len(members):
        raise _duplicate_binaries(members)
    if _order_binaries(members) != content:
        not_canonical.append(content)
    return sum(map(len, raw))


def _members(content: Any, tag: str) -> list[str]:
    if type(content) is not list:
        raise WrongWireType
    if len(content) > MAX_ITEM_BYTES:
        raise InvalidValue(ITEM_TOO_LARGE, enveloped=False)
    try:
        "".join(content)
    except TypeError:  # not all are strings
        raise WrongWireType from None
    if not content:
        raise InvalidValue(EMPTY_SETS[tag])
    return content


def _duplicate_strings(members: list[str]) -> InvalidValue:
    shown = ", ".join(f'"{member}"' for member in _sort_up_to_duplicate(members, str.encode))
    return InvalidValue(
        f"{INVALID_PARAMETER}Input collection [{shown}] contains duplicates.",
        older=f"{INVALID_PARAMETER}Input collection [{', '.join(members)}] contains duplicates.",
    )


def _duplicate_binaries(members: list[str]) -> InvalidValue:
    shown = ",".join(f'"{member}"' for member in _sort_up_to_duplicate(members, decode_binary))
    return InvalidValue(
        f"{INVALID_PARAMETER}Input collection [{shown}]of type BS contains duplicates.",
        older=f"{INVALID_PARAMETER}Input collection [{', '.join(members)}]of type BS contains duplicates.",
    )


def _sort_up_to_duplicate(members: list[str], order: Any) -> list[str]:
    """Return members as the service prints them: sorted up to the first duplicate, then as sent."""
    seen: set[str] = set()
    for position, member in enumerate(members):
        if member in seen:
            return sorted(members[:position], key=order) + members[position:]
        seen.add(member)
    return members


_CHECKS: dict[str, Check] = {
    "N": _check_number,
    "B": _check_binary,
    "BOOL": _check_bool,
    "NULL": _check_null,
    "L": _check_list,
    "M": _check_map,
    "SS": _check_strings,
    "NS": _check_numbers,
    "BS": _check_binaries,
}


# -- canonical form of checked values ---------------------------------------------------------------------------------


def _copy_members(members: Item) -> Item:
    return {name: _copy(value) for name, value in members.items()}


def _copy(value: Value) -> Value:
    ((tag, content),) = value.items()
    return {tag: _COPIERS[tag](content)} if tag in _COPIERS else value


def _copy_list(content: list[Value]) -> list[Value]:
    return [_copy(element) for element in content]


def _order_numbers(members: list[str]) -> list[str]:
    return sorted(map(numbers.normalize, members), key=Decimal)


def _order_binaries(members: list[str]) -> list[str]:
    return sorted(members, key=decode_binary)


_COPIERS: dict[str, Callable[[Any], Any]] = {
    "N": numbers.normalize,
    "L": _copy_list,
    "M": _copy_members,
    "SS": sorted,
    "NS": _order_numbers,
    "BS": _order_binaries,
}
