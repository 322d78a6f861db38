"""The codec of a field: that of its kind, or the one that a marker beside its type chooses.

Encoding is exact. Decoding is lenient where older systems wrote otherwise: a time with a prefix, a number of another
form, a TTL in milliseconds if its table says so. pydantic validates what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, get_args, get_origin

import orjson
from msgspec.structs import replace
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from hashrange.core.errors import ValueInvalid
from hashrange.core.values import Value
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.field_kind import (
    EPOCH,
    KINDS,
    Codec,
    as_is,
    encode,
    keep_original,
    kind_of,
    make_iso_codec,
    original_of,
    utc,
)
from hashrange.schema.declare.marker import Epoch, Formerly, Iso, Joined, Marker, Prefixed
from hashrange.schema.declare.nested_time import make_time_reading
from hashrange.schema.declare.table import MILLIS_FROM

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC, microsecond=0)
DIGITS = re.compile(r"-?\d+")


def precision_of(hint: Any, metadata: Iterable[Any]) -> timedelta | None:
    """Return the smallest difference between two times of a field; None when it holds no time."""
    if hint is not datetime and (isinstance(hint, type) or hints.without_none(hint) is not datetime):
        return None
    given = tuple(marker for marker in metadata if isinstance(marker, Marker))
    return make_codec(hint, (*given, *hints.markers_of(hint))).step


def make_codec(hint: Any, markers: tuple[Marker, ...]) -> Codec:
    """Return the codec of a type with its markers; a type of no fixed kind is encoded by each value."""
    bare = hints.without_none(hint)
    if not markers:
        return _by_type(bare)
    codec = _by_marker(bare, markers) or _by_type(bare)
    if formerly := hints.find(markers, Formerly):
        codec = _accept_former(codec, formerly)
    if prefixed := hints.find(markers, Prefixed):
        codec = _prefix(codec, prefixed)
    return codec


def _by_marker(hint: Any, markers: tuple[Marker, ...]) -> Codec | None:
    if epoch := hints.find(markers, Epoch):
        return _epoch(epoch)
    if joined := hints.find(markers, Joined):
        return _joined(joined)
    if (iso := hints.find(markers, Iso)) and hint is datetime:
        return make_iso_codec(iso.digits)
    return None


def _by_type(hint: Any) -> Codec:
    codec, reading = _by_kind(hint), make_time_reading(hint)
    return codec if reading is None else replace(codec, decode=reading, parse=None)


def _by_kind(hint: Any) -> Codec:
    values = hints.literals(hint)
    if values or (isinstance(hint, type) and issubclass(hint, Enum)):
        return _choice_codec(values or tuple(member.value for member in hint))
    origin = get_origin(hint) or hint
    if origin in {set, frozenset, AbstractSet}:
        return replace(KINDS[set].codec, tag=_set_tag(hint))
    kind = KINDS.get(hint) or KINDS.get(origin)
    if kind is not None:
        return kind.codec
    is_map = isinstance(origin, type) and (issubclass(origin, dict | BaseModel) or hasattr(origin, "__total__"))
    return Codec("M" if is_map else "", encode, plain)


def _set_tag(hint: Any) -> str:
    """Return the DynamoDB type of a set, by that of its elements; a set of numbers where that is unknown."""
    kind = kind_of(next(iter(get_args(hint)), str))
    return f"{kind.codec.tag}S" if kind is not None and kind.codec.tag in {"S", "B"} else "NS"


def _choice_codec(values: tuple[Any, ...]) -> Codec:
    """Return the codec of a Literal or an Enum."""
    tags = {next(iter(encode(value))) for value in values if value is not None}
    tag = tags.pop() if len(tags) == 1 else ""
    return Codec(tag, encode, plain, parse=as_is if tag == "S" else None)


def _epoch(epoch: Epoch) -> Codec:
    unit = timedelta(seconds=1) / epoch.per_second

    def write(value: Any) -> Value:
        number = (utc(value) - EPOCH) // unit
        if epoch.was_millis and number >= MILLIS_FROM:
            raise ValueInvalid(
                f"a TTL in the year {value.year} would be read as milliseconds: its table has former_ttl"
            )
        return original_of(value, unit) or {"N": str(number)}

    def read(value: Value) -> Any:
        text = value.get("N") or value.get("S", "")
        if not DIGITS.fullmatch(text):
            return plain(value)
        number = int(text)
        if epoch.was_millis and number >= MILLIS_FROM:
            number //= 1000
        try:
            return EPOCH + number * unit
        except OverflowError:  # later than any datetime: still a time, so that the item can be read
            return keep_original(LAST if number > 0 else FIRST, value, unit)

    return Codec("N", write, read, unit)


def counts_millis(value: Value | None) -> bool:
    """Return whether a TTL is in milliseconds, in a table where another program wrote those."""
    text = (value or {}).get("N", "")
    return DIGITS.fullmatch(text) is not None and int(text) >= MILLIS_FROM


def _joined(joined: Joined) -> Codec:
    def write(value: Any) -> Value:
        return {"S": joined.by.join(_join_part(part, joined) for part in value)}

    def read(value: Value) -> Any:
        text = value.get("S")
        if text is None:
            return plain(value)
        parts = text.split(joined.by) if text else []
        if not joined.json:
            return parts
        try:
            return [orjson.loads(part) for part in parts if part]
        except orjson.JSONDecodeError:
            return text  # which is no list: the item is Unreadable, and says so

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
        if text is None:
            return plain(value)
        bare = text.removeprefix(prefixed.prefix)
        return codec.decode({"S": bare.upper() if prefixed.upper else bare})

    return Codec("S", write, read, codec.step)


def _accept_former(codec: Codec, formerly: Formerly) -> Codec:
    def read(value: Value) -> Any:
        text = value.get("S", "")
        if formerly.nothing and text.startswith(formerly.nothing):
            return None
        found = next((prefix for prefix in formerly.prefixes if text.startswith(prefix)), None)
        if found is None:
            return codec.decode(value)
        return codec.decode({"S": text.removeprefix(found)}) if text != found else None

    return Codec(codec.tag, codec.encode, read, codec.step)
