"""Attribute values: the wire form `{"S": "x"}`, made canonical, is the value.

Canonical means: numbers normalised, sets sorted, base64 strict. Then Python's `==` on wire values is DynamoDB's
equality (sets and maps without order, numbers by value), and the stored bytes can go back out undecoded.
One walk checks and measures, because every written item takes it; what it finds canonical is used as it is, the rest
is made anew. Nothing given is ever changed: it may be the caller's own.
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

MAX_DEPTH = 32
MAX_NAME_BYTES = 65_535
MAX_KEY_NAME_LENGTH = 255
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
    """JSON of a type that the attribute value does not take; the shape check words it."""


class ErrorWording(Enum):
    """Which of the service's two value checkers words a refusal."""

    CURRENT = "current"  # PutItem, UpdateItem, DeleteItem, GetItem, BatchGetItem, Query, transactions
    OLDER = "older"  # BatchWriteItem, Scan


class InvalidValue(ValueError):
    """A value of the right JSON type that may not be stored; `raise_as` words it for a wording."""

    def __init__(self, text: str, *, older: str | None = None, enveloped: bool = True) -> None:
        super().__init__(text)
        self.text = text
        self.older = text if older is None else older
        self.enveloped = enveloped

    def service_error(self, wording: ErrorWording = ErrorWording.CURRENT, wrap: str = "{}") -> ValidationException:
        """Return the refusal in the words of a wording, put inside `wrap`."""
        text = wrap.format(self.text if wording is ErrorWording.CURRENT else self.older)
        return RequestInvalid(text) if self.enveloped else ValidationException(text)


def utf8_length(text: str) -> int:
    """Return the length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode())


def check_item(item: Item, wording: ErrorWording = ErrorWording.CURRENT) -> tuple[Item, int]:
    """Return an item in canonical form and its size, or raise the wording's refusal."""
    try:
        return canonicalise_item(item)
    except InvalidValue as error:
        raise error.service_error(wording) from None


def check_key(key: Item, wording: ErrorWording = ErrorWording.CURRENT) -> Item:
    """Return a key in canonical form, or raise the wording's refusal; most are of plain texts, which need no walk."""
    for name, value in key.items():
        text = value.get("S") if type(value) is dict and len(value) == 1 else None
        named = type(name) is str and 0 < len(name) <= MAX_KEY_NAME_LENGTH
        if type(text) is not str or not text.isascii() or not named:
            return check_item(key, wording)[0]
    return key


def check_expression_values(values: Item, wording: ErrorWording = ErrorWording.CURRENT) -> Item:
    """Return the values of an expression in canonical form, or raise the error for the first invalid one."""
    settled: Item = {}
    for name, value in values.items():
        try:
            settled[name] = canonicalise(value)
        except InvalidValue as error:
            wrap = (
                "{}"
                if wording is ErrorWording.CURRENT
                else f"ExpressionAttributeValues contains invalid value: {{}} for key {name}"
            )
            raise error.service_error(wording, wrap) from None
    return settled


def canonicalise_item(item: Item) -> tuple[Item, int]:
    """Return an item in canonical form (itself, if it has that already) and its size."""
    texts: list[str] = []
    unsettled: list[Any] = []
    size = _walk_members(item, 1, texts, unsettled) + _weigh(texts)
    if size > MAX_NAME_BYTES:
        _check_names(item.values(), item)
    return _make_members(item) if unsettled else item, size


def canonicalise_values(values: Item) -> Item:
    """Return values that have names, but are no item, in canonical form."""
    return canonicalise_and_measure(values)[0]


def canonicalise_and_measure(values: Item) -> tuple[Item, int]:
    """Return such values in canonical form, and their size together, without their names."""
    texts: list[str] = []
    unsettled: list[Any] = []
    size = _walk(values.values(), 1, texts, unsettled) + _weigh(texts)
    return _make_members(values) if unsettled else values, size


def canonicalise(value: Value) -> Value:
    """Return a value in canonical form."""
    return canonicalise_values({"": value})[""]


def measure_item(item: Item) -> int:
    """Return the size of a canonical item."""
    return canonicalise_item(item)[1]


def measure(value: Value) -> int:
    """Return the size of a canonical value; most are texts or numbers, which need no walk."""
    if "S" in value:
        return utf8_length(value["S"])
    if "N" in value:
        return numbers.size(value["N"])
    texts: list[str] = []
    return _walk((value,), 1, texts, []) + _weigh(texts)


# -- the walk ---------------------------------------------------------------------------------------------------------


# Each check gets the content of a value, the level it stands at, and two lists that it adds to: the texts (whatever
# counts by its UTF-8 bytes; they are measured together, and only then looked at) and what is not canonical. It returns
# what the content counts for, texts left aside.
Check = Callable[[Any, int, list[str], list[Any]], int]


def _weigh(texts: list[str]) -> int:
    try:
        return utf8_length("".join(texts))
    except (TypeError, UnicodeEncodeError):  # not all of them are texts, or half a surrogate pair
        raise WrongWireType from None


def _walk_members(members: Item, depth: int, texts: list[str], unsettled: list[Any]) -> int:
    if "" in members:
        raise InvalidValue("Empty attribute name", enveloped=False)
    texts += members
    return _walk(members.values(), depth, texts, unsettled)


def _walk(values: Iterable[Value], depth: int, texts: list[str], unsettled: list[Any]) -> int:
    """Check the values that stand at a level, from 1, and return what they count for, texts left aside."""
    if depth > MAX_DEPTH:
        _refuse_depth(values)
    checks, known_size = _CHECKS, numbers.KNOWN_SIZES.get
    total = 0
    for value in values:
        try:
            if "S" in value and len(value) == 1:
                texts.append(value["S"])
                continue
            (tag,) = value
            content = value[tag]
        except (TypeError, ValueError, IndexError):
            _refuse_form(value)
        if tag == "N" and type(content) is str and (size := known_size(content)) is not None:
            total += size
        elif tag in checks:
            total += checks[tag](content, depth, texts, unsettled)
        else:
            _refuse_form(value)
    return total


def _refuse_depth(values: Iterable[Value]) -> None:
    for value in values:
        if type(value) is not dict or len(value) != 1:
            _refuse_form(value)
        raise InvalidValue(TOO_DEEP, enveloped=False)


def _refuse_form(value: Any) -> NoReturn:
    """Raise for what has not exactly one type; nulls and unknown types beside one are the shape check's to drop."""
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
        members = value.get("M", {})
        _check_names(value.get("L") or members.values(), members)


def _check_number(content: Any, _depth: int, _texts: list[str], unsettled: list[Any]) -> int:
    if type(content) is not str:
        raise WrongWireType
    try:
        canonical = numbers.normalize(content)
    except numbers.NumberError as error:
        raise _word_number(error) from None
    if canonical != content:
        unsettled.append(content)
    return numbers.size(canonical)


def _word_number(error: numbers.NumberError) -> InvalidValue:
    """Word a number's refusal for both layers; they differ on an empty text and on a 32-bit exponent."""
    text = str(error)
    if error.text == "":
        return InvalidValue(text, older=text.removesuffix(": "))
    if error.kind is numbers.NumberErrorKind.OVERFLOW and _exponent(error.text) >= 2**31 - 1:
        return InvalidValue(text, older=numbers.NumberErrorKind.UNDERFLOW.value)
    return InvalidValue(text)


def _exponent(text: str) -> int:
    _, written, power = text.lower().rpartition("e")
    return int(power) if written else 0


def _check_binary(content: Any, _depth: int, _texts: list[str], _unsettled: list[Any]) -> int:
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


def _check_bool(content: Any, _depth: int, _texts: list[str], _unsettled: list[Any]) -> int:
    if type(content) is not bool:
        raise WrongWireType
    return 1


def _check_null(content: Any, _depth: int, _texts: list[str], _unsettled: list[Any]) -> int:
    if type(content) is not bool:
        raise WrongWireType
    if not content:
        raise InvalidValue(NULL_FALSE)
    return 1


def _check_list(content: Any, depth: int, texts: list[str], unsettled: list[Any]) -> int:
    if type(content) is not list:
        raise WrongWireType
    return 3 + len(content) + _walk(content, depth + 1, texts, unsettled)


def _check_map(content: Any, depth: int, texts: list[str], unsettled: list[Any]) -> int:
    if type(content) is not dict:
        raise WrongWireType
    return 3 + len(content) + _walk_members(content, depth + 1, texts, unsettled)


def _check_strings(content: Any, _depth: int, texts: list[str], unsettled: list[Any]) -> int:
    if type(content) is not list:
        raise WrongWireType
    texts += content
    if not content or not _ascend(content):
        members = _members(content, "SS")
        if len(set(members)) != len(members):
            raise _duplicate_strings(members)
        unsettled.append(content)
    return 0


def _ascend(texts: list[str]) -> bool:
    """Tell whether texts are in order without repeats."""
    try:
        return all(map(lt, texts, texts[1:]))
    except TypeError:  # not all of them are texts
        raise WrongWireType from None


def _check_numbers(content: Any, _depth: int, _texts: list[str], unsettled: list[Any]) -> int:
    size = sum(_check_number(member, 1, [], []) for member in _members(content, "NS"))
    canonical = _order_numbers(content)
    if len(set(canonical)) != len(canonical):
        raise InvalidValue(
            f"{INVALID_PARAMETER}Input collection contains duplicates.",
            older="Input collection contains duplicates",
        )
    if canonical != content:
        unsettled.append(content)
    return size


def _check_binaries(content: Any, _depth: int, _texts: list[str], unsettled: list[Any]) -> int:
    members = _members(content, "BS")
    raw = [decode_binary(member) for member in members]
    if len(set(members)) != len(members):
        raise _duplicate_binaries(members)
    if _order_binaries(members) != content:
        unsettled.append(content)
    return sum(map(len, raw))


def _members(content: Any, tag: str) -> list[str]:
    if type(content) is not list:
        raise WrongWireType
    try:
        "".join(content)
    except TypeError:  # not all of them are texts
        raise WrongWireType from None
    if not content:
        raise InvalidValue(EMPTY_SETS[tag])
    return content


def _duplicate_strings(members: list[str]) -> InvalidValue:
    shown = ", ".join(f'"{member}"' for member in _up_to_repeat(members, str.encode))
    return InvalidValue(
        f"{INVALID_PARAMETER}Input collection [{shown}] contains duplicates.",
        older=f"{INVALID_PARAMETER}Input collection [{', '.join(members)}] contains duplicates.",
    )


def _duplicate_binaries(members: list[str]) -> InvalidValue:
    shown = ",".join(f'"{member}"' for member in _up_to_repeat(members, decode_binary))
    return InvalidValue(
        f"{INVALID_PARAMETER}Input collection [{shown}]of type BS contains duplicates.",
        older=f"{INVALID_PARAMETER}Input collection [{', '.join(members)}]of type BS contains duplicates.",
    )


def _up_to_repeat(members: list[str], order: Any) -> list[str]:
    """Return members as the service lists them: sorted up to the first repeat, then as sent."""
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


# -- the canonical form of what has been checked ----------------------------------------------------------------------


def _make_members(members: Item) -> Item:
    return {name: _make(value) for name, value in members.items()}


def _make(value: Value) -> Value:
    ((tag, content),) = value.items()
    return {tag: _MAKERS[tag](content)} if tag in _MAKERS else value


def _make_list(content: list[Value]) -> list[Value]:
    return [_make(element) for element in content]


def _order_numbers(members: list[str]) -> list[str]:
    return sorted(map(numbers.normalize, members), key=Decimal)


def _order_binaries(members: list[str]) -> list[str]:
    return sorted(members, key=decode_binary)


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "N": numbers.normalize,
    "L": _make_list,
    "M": _make_members,
    "SS": sorted,
    "NS": _order_numbers,
    "BS": _order_binaries,
}
