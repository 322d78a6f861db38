"""How a field's value becomes a DynamoDB attribute value and comes back: one codec per field, made when declared.

Encoding is exact. Decoding gives what pydantic then validates, and is lenient where older systems wrote otherwise:
a TTL in milliseconds, a time with a prefix, a number of another form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, get_args, get_origin
from uuid import UUID

import orjson
from msgspec import Struct
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Value, decode_binary, encode_binary
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.marker import Epoch, Formerly, Iso, Joined, Marker, Prefixed

MILLIS_FROM = 100_000_000_000  # seconds until the year 5138: a larger TTL was written in milliseconds
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DIGITS = re.compile(r"-?\d+")


class Codec(Struct, frozen=True):
    """One field's way into an attribute value and back; `tag` is its DynamoDB type, or nothing where it varies."""

    tag: str
    encode: Callable[[Any], Value]
    decode: Callable[[Value], Any]
    step: timedelta | None = None  # the smallest difference between two times

    def text(self, value: Any) -> str:
        """Return a value as it stands inside a key."""
        encoded = self.encode(value)
        return str(next(iter(encoded.values())))

    def round_up(self, value: Any) -> Any:
        """Return the least time that can be stored and is not before this one; other values as they are."""
        if self.step is None or not isinstance(value, datetime):
            return value
        over = (utc(value) - EPOCH) % self.step
        return value + (self.step - over) if over else value


def precision_of(hint: Any, metadata: Iterable[Any]) -> timedelta | None:
    """Return the smallest difference between two times of a field; None when it holds no time."""
    if hint is not datetime and (isinstance(hint, type) or hints.without_none(hint) is not datetime):
        return None
    given = tuple(marker for marker in metadata if isinstance(marker, Marker))
    return make_codec(hint, (*given, *hints.markers_of(hint))).step


def make_codec(hint: Any, markers: tuple[Marker, ...]) -> Codec:
    """Return the codec of a type with its markers; what the type does not settle, each value does."""
    kind = hints.without_none(hint)
    if not markers:
        return _by_type(kind)
    codec = _by_marker(kind, markers) or _by_type(kind)
    if formerly := hints.find(markers, Formerly):
        codec = _tolerate(codec, formerly)
    if prefixed := hints.find(markers, Prefixed):
        codec = _prefix(codec, prefixed)
    return codec


def _by_marker(kind: Any, markers: tuple[Marker, ...]) -> Codec | None:
    if epoch := hints.find(markers, Epoch):
        return _epoch(epoch)
    if joined := hints.find(markers, Joined):
        return _joined(joined)
    if (iso := hints.find(markers, Iso)) and kind is datetime:
        return _iso(iso.digits)
    return None


def _by_type(kind: Any) -> Codec:
    if kind is datetime:
        return _iso(0)
    if found := SIMPLE.get(kind):
        return found
    values = hints.literals(kind)
    if values or (isinstance(kind, type) and issubclass(kind, Enum)):
        return _chosen(values or tuple(member.value for member in kind))
    if (get_origin(kind) or kind) in {set, frozenset, AbstractSet}:
        return Codec(_set_tag(kind), encode, _decode_set)
    return Codec(_container_tag(kind), encode, _READ_TEXTS.get(kind, plain))


def _container_tag(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin in {list, tuple}:
        return "L"
    model = isinstance(origin, type) and (issubclass(origin, dict | BaseModel) or hasattr(origin, "__total__"))
    return "M" if model else ""


def _set_tag(kind: Any) -> str:
    element: Any = hints.unwrap(next(iter(get_args(kind)), str))[0]
    if element is bytes:
        return "BS"
    return "SS" if element is str or hints.literals(element) else "NS"


def _chosen(values: tuple[Any, ...]) -> Codec:
    tags = {next(iter(encode(value))) for value in values if value is not None}
    return Codec(tags.pop() if len(tags) == 1 else "", encode, plain)


def _iso(digits: int) -> Codec:
    unit = timedelta(microseconds=10 ** (6 - digits))

    def write(value: Any) -> Value:
        return {"S": show_time(utc(value), digits)}

    return Codec("S", write, read_time, unit)


def show_time(moment: datetime, digits: int = 0) -> str:
    """Return a UTC time as fixed-width text, so that text order is time order."""
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    return f"{moment.year:04d}{moment:-%m-%dT%H:%M:%S}{fraction}Z"


def utc(value: Any) -> datetime:
    """Return a time in UTC; refuse one that does not say its zone."""
    if not isinstance(value, datetime):
        raise ValueInvalid(f"{value!r} is no datetime")
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


def _epoch(epoch: Epoch) -> Codec:
    unit = timedelta(seconds=1) / epoch.per_second

    def write(value: Any) -> Value:
        return {"N": str((utc(value) - EPOCH) // unit)}

    def read(value: Value) -> Any:
        text = value.get("N") or value.get("S", "")
        if not DIGITS.fullmatch(text):
            return plain(value)
        number = int(text)
        return EPOCH + number * (timedelta(milliseconds=1) if epoch.ttl and number > MILLIS_FROM else unit)

    return Codec("N", write, read, unit)


def counts_millis(value: Value | None) -> bool:
    """Whether a TTL was written in milliseconds, by a system that did not know better."""
    text = (value or {}).get("N", "")
    return DIGITS.fullmatch(text) is not None and int(text) > MILLIS_FROM


def _joined(joined: Joined) -> Codec:
    def write(value: Any) -> Value:
        return {"S": joined.by.join(_join_part(part, joined) for part in value)}

    def read(value: Value) -> Any:
        text = value.get("S")
        if text is None:
            return plain(value)
        parts = text.split(joined.by) if text else []
        return [orjson.loads(part) for part in parts if part] if joined.json else parts

    return Codec("S", write, read)


def _join_part(part: Any, joined: Joined) -> str:
    if joined.json:
        return orjson.dumps(to_jsonable_python(part)).decode().replace(joined.by, f"\\u{ord(joined.by):04x}")
    if joined.by in part or not part:
        raise ValueInvalid(f"{part!r} cannot be in a list that is stored joined by {joined.by!r}")
    return str(part)


def _prefix(codec: Codec, prefixed: Prefixed) -> Codec:
    def write(value: Any) -> Value:
        text = str(codec.encode(value)["S"])
        return {"S": prefixed.prefix + (text.upper() if prefixed.upper else text)}

    def read(value: Value) -> Any:
        text = value.get("S")
        return plain(value) if text is None else codec.decode({"S": text.removeprefix(prefixed.prefix)})

    return Codec("S", write, read, codec.step)


def _tolerate(codec: Codec, formerly: Formerly) -> Codec:
    def read(value: Value) -> Any:
        text = value.get("S", "")
        if formerly.nothing and text.startswith(formerly.nothing):
            return None
        found = next((prefix for prefix in formerly.prefixes if text.startswith(prefix)), None)
        if found is None:
            return codec.decode(value)
        return codec.decode({"S": text.removeprefix(found)}) if text != found else None

    return Codec(codec.tag, codec.encode, read, codec.step)


def encode(value: Any) -> Value:
    """Return any Python value as an attribute value, by what it is."""
    encoder = ENCODERS.get(type(value))
    if encoder is not None:
        return encoder(value)
    if isinstance(value, Enum):
        return encode(value.value)
    if isinstance(value, BaseModel):
        return encode({name: member for name, member in value if member is not None})
    for kind, inherited in ENCODERS.items():
        if isinstance(value, kind):
            return inherited(value)
    return encode(to_jsonable_python(value))


def _encode_number(value: Any) -> Value:
    number = Decimal(str(value))
    if not number.is_finite():
        raise ValueInvalid(f"{value!r} is no number that DynamoDB can hold")
    return {"N": f"{number:f}" if abs(number.adjusted()) < 40 else str(number)}


def _encode_set(value: Iterable[Any]) -> Value:
    parts = [encode(part) for part in value]
    tags = {tag for part in parts for tag in part}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        raise ValueInvalid("a set holds at least one value, all of them text, all numbers or all bytes")
    tag = tags.pop()
    return {f"{tag}S": sorted(part[tag] for part in parts)}


def plain(value: Value) -> Any:
    """Return an attribute value as plain Python: numbers as int where they are whole, sets as sets."""
    text = value.get("S")
    if text is not None:
        return text
    for tag, content in value.items():
        return DECODERS[tag](content)
    return None


def _decode_set(value: Value) -> Any:
    found = plain(value)
    return set(found) if isinstance(found, list) else found


def number_of(text: str) -> int | Decimal:
    """Return the text of a number as one: an int where it is whole."""
    try:
        return int(text)
    except ValueError:
        return _whole(Decimal(text))


def _whole(number: Decimal) -> int | Decimal:
    return int(number) if number == number.to_integral_value() and number.adjusted() < 40 else number


ENCODERS: dict[type, Callable[[Any], Value]] = {
    str: lambda value: {"S": value},
    bool: lambda value: {"BOOL": value},
    int: lambda value: {"N": str(value)},
    Decimal: _encode_number,
    float: _encode_number,
    bytes: lambda value: {"B": encode_binary(value)},
    type(None): lambda _: {"NULL": True},
    datetime: lambda value: {"S": show_time(utc(value))},
    date: lambda value: {"S": value.isoformat()},
    UUID: lambda value: {"S": str(value)},
    dict: lambda value: {"M": {str(name): encode(member) for name, member in value.items()}},
    list: lambda value: {"L": [encode(part) for part in value]},
    tuple: lambda value: {"L": [encode(part) for part in value]},
    set: _encode_set,
    frozenset: _encode_set,
}
DECODERS: dict[str, Callable[[Any], Any]] = {
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


def _read_text(value: Value) -> Any:
    text = value.get("S")
    return plain(value) if text is None else text


def _read_number(value: Value) -> Any:
    text = value.get("N")
    return plain(value) if text is None else number_of(text)


def read_texts(value: Value) -> Any:
    """Read a list of texts, which is what most lists are."""
    try:
        return [part["S"] for part in value["L"]]
    except KeyError:
        return plain(value)


def read_map(value: Value) -> Any:
    """Read a map of texts."""
    try:
        return {name: part["S"] for name, part in value["M"].items()}
    except KeyError:
        return plain(value)


_READ_TEXTS: dict[Any, Callable[[Value], Any]] = {list[str]: read_texts, dict[str, str]: read_map}
SIMPLE: dict[Any, Codec] = {
    str: Codec("S", ENCODERS[str], _read_text),
    bool: Codec("BOOL", ENCODERS[bool], plain),
    int: Codec("N", ENCODERS[int], _read_number),
    float: Codec("N", _encode_number, _read_number),
    Decimal: Codec("N", _encode_number, _read_number),
    bytes: Codec("B", ENCODERS[bytes], plain),
    date: Codec("S", ENCODERS[date], _read_text),
    UUID: Codec("S", ENCODERS[UUID], _read_text),
}
