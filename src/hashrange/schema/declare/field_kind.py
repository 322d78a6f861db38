"""The Python types that fields may have. Everything the package knows about one is its entry in KINDS.

An entry says how a value is stored and read back, which comparisons and changes it has, and how a sample is made.
Inside a key it is written as `encode` writes it, unless the template names a format of `key_format`. Markers such as
`Millis` choose another codec: that is in `codec`. Inside lists and maps, pydantic reads what `encode` wrote, times
after `nested_time`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from msgspec import Struct
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from typing_extensions import is_typeddict

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Value, encode_binary
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.attribute_value import number_of, plain

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY = date(2026, 1, 5)  # of sample items


def as_is(content: Any) -> Any:
    """Return the content of an attribute unchanged."""
    return content


class Codec(Struct, frozen=True):
    """How the values of a field become attribute values and come back.

    `decode` accepts any attribute value; pydantic validates what it returns. `parse`, if given, is the fast path of
    compiled readers: it takes the content of an attribute of type `tag`, and raises for anything unusual.
    """

    tag: str  # the DynamoDB type; empty where it varies
    encode: Callable[[Any], Value]
    decode: Callable[[Value], Any]
    step: timedelta | None = None  # the smallest difference between two times
    parse: Callable[[Any], Any] | None = None
    width: int | None = None  # the number of characters of every value inside a key; None if it varies

    def text(self, value: Any) -> str:
        """Return a value as text inside a key."""
        encoded = self.encode(value)
        return str(next(iter(encoded.values())))

    def round_up(self, value: Any) -> Any:
        """Return the least time that can be stored and is not before this one; other values as they are."""
        if self.step is None or not isinstance(value, datetime):
            return value
        over = (utc(value) - EPOCH) % self.step
        return value + (self.step - over) if over else value


class Category(Struct, frozen=True):
    """The comparisons and changes that DynamoDB has for values of a kind, besides equality and setting."""

    name: str  # as errors call it
    comparisons: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    is_container: bool = False  # its values contain others, and can be changed in place


ORDER = frozenset({"<", "<=", ">", ">=", "BETWEEN", "IN"})
TEXT = Category("text", ORDER | {"begins_with", "contains"})
NUMBER = Category("a number", ORDER, frozenset({"ADD"}))
TRUTH_VALUE = Category("a truth value", frozenset({"IN"}))
BYTES = Category("bytes", ORDER | {"begins_with", "contains"})
TIME = Category("a time", ORDER | {"begins_with"})
DATE = Category("a date", ORDER | {"begins_with"})
LIST = Category("a list", frozenset({"contains"}), frozenset({"APPEND"}), is_container=True)
SET = Category("a set", frozenset({"contains"}), frozenset({"ADD", "DELETE"}), is_container=True)
MAP = Category("a map", is_container=True)


class FieldKind(Struct, frozen=True):
    """One Python type that fields may have."""

    type: Any
    category: Category
    codec: Codec
    is_exact: bool = False  # `decode` returns exactly this type, which pydantic accepts unchanged
    has_invalid: bool = False  # pydantic refuses some values of the type
    sample: Callable[[Random, int], Any] | None = None  # the value of a sample item, by its number


# ── text and numbers ─────────────────────────────────────────────────────────────────────────────────────────────────
def read_text(value: Value) -> Any:
    """Read a string; pydantic converts it to the field's type."""
    text = value.get("S")
    return plain(value) if text is None else text


def _read_number(value: Value) -> Any:
    text = value.get("N")
    return plain(value) if text is None else number_of(text)


def _encode_int(value: Any) -> Value:
    if value is True or value is False:
        raise ValueInvalid(f"{value!r} is a bool, where an int is declared")
    return {"N": str(value)}


def _encode_date(value: Any) -> Value:
    if isinstance(value, datetime):  # a subclass of date, so that type checkers accept it
        raise ValueInvalid(f"{value!r} is a datetime, where a date is declared: give its date()")
    return {"S": value.isoformat()}


def _encode_number(value: Any) -> Value:
    number = Decimal(str(value))
    if not number.is_finite():
        raise ValueInvalid(f"{value!r} is not a number that DynamoDB can store")
    return {"N": f"{number:f}" if abs(number.adjusted()) < 40 else str(number)}


def _parse_decimal(text: str) -> Decimal:
    return Decimal(number_of(text))


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────
CANONICAL = (("--T::Z", ""), ("--T::.", "Z"))  # without and with digits after the second
MICROSECOND = timedelta(microseconds=1)


class OriginalTime(datetime):
    """A time that was stored in another form than its field writes; unchanged, it is written as it was read.

    Rewriting it would change the item and move the index keys that contain it. What is computed from it is a new time.
    """

    original: Value | None = None  # the attribute value
    step: timedelta | None = None  # the precision of the field that it was read from; None inside another value

    def __repr__(self) -> str:
        return repr(as_datetime(self))

    def __reduce_ex__(self, _protocol: object) -> tuple[Any, ...]:
        return keep_original, (as_datetime(self), self.original, self.step)


def as_datetime(moment: datetime) -> datetime:
    """Return a time as a plain datetime."""
    return datetime.combine(moment.date(), moment.timetz())


def keep_original(moment: datetime, original: Value | None, step: timedelta | None) -> OriginalTime:
    """Return a time, truncated to the precision of its field, that remembers how it was stored."""
    kept = OriginalTime.combine(moment.date(), moment.timetz())
    if step is not None:
        kept = kept.replace(microsecond=kept.microsecond - kept.microsecond % max(1, step // MICROSECOND))
    kept.original, kept.step = original, step
    return kept


def original_of(value: Any, step: timedelta) -> Value | None:
    """Return the attribute value that a time of a field with this precision was read from, if it differs."""
    return value.original if type(value) is OriginalTime and value.step == step else None


def make_iso_codec(digits: int) -> Codec:
    """Return the codec of times as text, with so many digits after the second."""
    step = timedelta(microseconds=10 ** (6 - digits))

    def write(value: Any) -> Value:
        return original_of(value, step) or {"S": format_time(utc(value), digits)}

    def read(value: Value) -> Any:
        moment = read_time(value)
        if not isinstance(moment, datetime):
            return moment
        text = value["S"]
        if is_canonical_time(text, digits):
            return moment
        try:
            return keep_original(moment.astimezone(UTC), {"S": text}, step)
        except OverflowError:  # the first or last hours of the calendar, with an offset
            raise ValueInvalid(f"{text} is outside the years 1 to 9999 in UTC") from None

    width = len(format_time(EPOCH, digits))
    return Codec("S", write, read, step, parse=datetime.fromisoformat, width=width)


def format_time(moment: datetime, digits: int = 0) -> str:
    """Return a UTC time as text of fixed width, which sorts in the order of time."""
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    return f"{moment.year:04d}{moment:-%m-%dT%H:%M:%S}{fraction}Z"


def digits_of(codec: Codec) -> int:
    """Return the digits after the second that a codec of times writes."""
    return 7 - len(str((codec.step or MICROSECOND) // MICROSECOND))


def is_canonical_time(text: str, digits: int) -> bool:
    """Return whether the text of a time is what `format_time` writes: judged by the characters between the digits."""
    between, end = CANONICAL[bool(digits)]
    return text[4:20:3] == between and text[20 + digits :] == end


def utc(value: Any) -> datetime:
    """Return a time in UTC; refuse one without a time zone."""
    if not isinstance(value, datetime):
        raise ValueInvalid(f"{value!r} is not a datetime")
    if value.tzinfo is None:
        raise ValueInvalid(f"{value!r} has no time zone: give one, such as datetime.now(UTC)")
    return value.astimezone(UTC)


def read_time(value: Value) -> Any:
    """Read a time in ISO form."""
    text = value.get("S")
    if text is None:
        return plain(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# ── containers ───────────────────────────────────────────────────────────────────────────────────────────────────────
def encode(value: Any) -> Value:
    """Return any Python value as an attribute value, by its type."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, datetime):
        return _encode_time(value)
    kind = KINDS.get(type(value))
    if kind is not None:
        return kind.codec.encode(value)
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, BaseModel):
        return encode({name: member for name, member in value if member is not None})
    for above in KINDS.values():
        if get_origin(above.type) is None and isinstance(value, above.type):
            return above.codec.encode(value)
    return encode(to_jsonable_python(value))


def _encode_time(value: datetime) -> Value:
    """Return a time inside another value: with as many digits as it has, and unchanged as it was read."""
    if type(value) is OriginalTime and value.step is None and value.original is not None:
        return value.original
    return {"S": format_time(utc(value), 6 if value.microsecond else 0)}


def _encode_map(value: Any) -> Value:
    return {"M": {str(name): encode(member) for name, member in value.items()}}


def _encode_list(value: Any) -> Value:
    return {"L": [encode(part) for part in value]}


def _encode_set(value: Iterable[Any]) -> Value:
    parts = [encode(part) for part in value]
    tags = {tag for part in parts for tag in part}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        raise ValueInvalid("a set holds at least one value, all of them text, all numbers or all bytes")
    tag = tags.pop()
    return {f"{tag}S": sorted(part[tag] for part in parts)}


def _decode_set(value: Value) -> Any:
    found = plain(value)
    return set(found) if isinstance(found, list) else found


def _parse_texts(parts: list[Value]) -> list[str]:
    return [part["S"] for part in parts]


def _parse_text_map(members: dict[str, Value]) -> dict[str, str]:
    return {name: part["S"] for name, part in members.items()}


INSIDE = Codec("", encode, plain)  # of values inside a field, which are stored by their type


# ── the kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────
KINDS: dict[Any, FieldKind] = {
    kind.type: kind
    for kind in (  # a value of a subclass is stored as the first kind that it is an instance of
        FieldKind(str, TEXT, Codec("S", lambda value: {"S": value}, read_text, parse=as_is), is_exact=True),
        FieldKind(bool, TRUTH_VALUE, Codec("BOOL", lambda value: {"BOOL": value}, plain, parse=as_is), is_exact=True),
        FieldKind(
            int,
            NUMBER,
            Codec("N", _encode_int, _read_number, parse=int),
            is_exact=True,
        ),
        FieldKind(
            Decimal,
            NUMBER,
            Codec("N", _encode_number, _read_number, parse=_parse_decimal),
            has_invalid=True,  # NaN
        ),
        FieldKind(float, NUMBER, Codec("N", _encode_number, _read_number, parse=float)),
        FieldKind(
            bytes,
            BYTES,
            Codec("B", lambda value: {"B": encode_binary(value)}, plain),
            is_exact=True,
            sample=lambda random, _: random.randbytes(8),
        ),
        FieldKind(datetime, TIME, make_iso_codec(0), is_exact=True),
        FieldKind(
            date,
            DATE,
            Codec("S", _encode_date, read_text, width=10),
            sample=lambda _, number: FIRST_DAY + timedelta(days=number),
        ),
        FieldKind(
            UUID,
            TEXT,
            Codec("S", lambda value: {"S": str(value)}, read_text, width=36),
            sample=lambda random, _: UUID(int=random.getrandbits(128), version=4),
        ),
        FieldKind(dict, MAP, Codec("M", _encode_map, plain)),
        FieldKind(dict[str, str], MAP, Codec("M", _encode_map, plain, parse=_parse_text_map)),
        FieldKind(list, LIST, Codec("L", _encode_list, plain)),
        FieldKind(list[str], LIST, Codec("L", _encode_list, plain, parse=_parse_texts)),
        FieldKind(tuple, LIST, Codec("L", _encode_list, plain)),
        FieldKind(set, SET, Codec("", _encode_set, _decode_set)),  # `codec` knows the tag from the type of its elements
        FieldKind(frozenset, SET, Codec("", _encode_set, _decode_set)),
    )
}


def kind_of(hint: Any) -> FieldKind | None:
    """Return the kind of a type: that of `list` for a list of anything, that of its values for a Literal or an Enum."""
    found = KINDS.get(hint)
    if found is not None:
        return found
    bare = hints.without_none(hint)
    values = hints.literals(bare)
    if isinstance(bare, type) and issubclass(bare, Enum):
        values = tuple(member.value for member in bare)
    types = {type(value) for value in values if value is not None} or {get_origin(bare) or bare}
    return KINDS.get(types.pop()) if len(types) == 1 else None


def members_of(hint: Any) -> dict[Any, Any] | None:
    """Return the types of what a value contains: by name, by `str` for any name, by `int` for any position.

    None for a type that says nothing about it, such as `Any`.
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if is_typeddict(origin):
        return dict(get_type_hints(origin))
    if not isinstance(origin, type):
        return None
    if issubclass(origin, BaseModel):
        return {name: info.annotation for name, info in origin.model_fields.items()}
    if issubclass(origin, dict):
        return {str: arguments[1] if arguments else Any}
    if issubclass(origin, list | tuple):
        return {int: arguments[0] if len(set(arguments) - {...}) == 1 else Any}
    return {} if _is_of_a_kind(origin) else None


def _is_of_a_kind(cls: type) -> bool:
    return any(get_origin(kind.type) is None and issubclass(cls, kind.type) for kind in KINDS.values())


def is_unchangeable(hint: Any) -> bool:
    """Return whether the values of a type can neither be changed in place nor contain values that can."""
    if hints.literals(hint) or hint is type(None):
        return True
    if not isinstance(hint, type) or get_origin(hint) is not None:
        return False
    kinds = [kind for kind in KINDS.values() if get_origin(kind.type) is None and issubclass(hint, kind.type)]
    return issubclass(hint, Enum | timedelta) or (bool(kinds) and not kinds[0].category.is_container)


def has_all_values(hint: Any) -> bool:
    """Return whether pydantic accepts every value of a type."""
    kind = KINDS.get(hint)
    return hint is type(None) or (kind is not None and not kind.category.is_container and not kind.has_invalid)


def categories_with(operation: str) -> list[str]:
    """Return the names of the categories that have a comparison or a change."""
    found = {kind.category for kind in KINDS.values()}
    return sorted(category.name for category in found if operation in category.comparisons | category.changes)
