"""The formats of fields in key templates: `{number:06d}`, `{at:month}`, `{name:fold}`. Each is one entry of FORMATS.

An entry says which types it is for, how a value becomes the text of a key and comes back, whether the texts sort as
the values do, and whether two values can have the same text. A new format is one entry more.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import IntEnum
from functools import cache, partial
from typing import Any

from msgspec import Struct

from hashrange.core.errors import ValueInvalid
from hashrange.schema.declare.field_kind import Codec, format_time, utc

DIGEST = 64  # hex digits of SHA-256
SHORTENED = re.compile(rf"~[0-9a-f]{{{DIGEST}}}\Z")
MAX_CHARACTER_BYTES = 4  # bytes of UTF-8: a value is not cut inside of a character
BELOW, ABOVE = "+", ":"  # texts that sort before and after those of all numbers
COMPLEMENT = str.maketrans("0123456789", "9876543210")


class Order(IntEnum):
    """How the texts of a format sort."""

    NONE = 0  # otherwise than the values
    COARSE = 1  # as the values do, but several values have the same text
    EXACT = 2  # as the values do


class ShardNumber(int):
    """The number of a shard, in place of a value whose hash chooses it."""


class KeyFormat(Struct, frozen=True):
    """How the values of a field stand in a key."""

    name: str  # as the template has it, after the colon
    types: tuple[type, ...]  # of the fields that may have it; none for all
    write: Callable[[Any, Codec, int], str]  # from the value, its codec and the bytes that are left in the key
    read: Callable[[str], Any] | None = None  # raises ValueError; None if the value cannot be read back
    pattern: str = ".+?"  # a regular expression of its texts
    order: Order = Order.NONE
    is_injective: bool = True  # different values have different texts
    ends_itself: bool = False  # no text is the start of another one, so that nothing needs to follow it
    bound: Callable[[Any, bool], str] | None = None  # returns the text of the next value downwards or upwards
    shards: int = 0  # the number of texts, each of which is a number

    @property
    def is_derived(self) -> bool:
        """Whether the key has less than the value: several values have the same text."""
        return not self.is_injective


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class Digits(Struct, frozen=True):
    """Digits of fixed width, with so many after the point; the digits of negative numbers are complemented."""

    width: int
    decimals: int
    signed: bool

    def write(self, value: Any, _codec: Codec, _room: int) -> str:
        """Return a number as text that sorts as the number does."""
        return self.format(value)

    def format(self, value: Any) -> str:
        """Return a number as text that sorts as the number does."""
        if not self.decimals and type(value) is int and 0 <= value < 10**self.width:  # most keys: no Decimal
            return str(value).zfill(self.width)
        if isinstance(value, bool):
            raise ValueInvalid(f"{value!r} is a bool, where a number is declared")
        scaled = Decimal(str(value)).scaleb(self.decimals)
        if scaled != scaled.to_integral_value():
            raise ValueInvalid(f"{value} has more than {self.decimals} decimals, and is part of a key")
        digits = str(abs(int(scaled))).zfill(self.width)
        if len(digits) > self.width:
            raise ValueInvalid(f"{value} does not fit into {self.width} digits of a key")
        if scaled >= 0:
            return self._with_point(digits)
        if not self.signed:
            raise ValueInvalid(f"{value} is negative, and part of a key that has no sign: declare a format with +")
        return "-" + self._with_point(digits.translate(COMPLEMENT))

    def _with_point(self, digits: str) -> str:
        return f"{digits[: -self.decimals]}.{digits[-self.decimals :]}" if self.decimals else digits

    def read(self, text: str) -> Any:
        """Return the number of a text."""
        if not self.decimals and len(text) == self.width and text.isascii() and text.isdigit():
            return int(text)
        if not re.fullmatch(self.pattern, text):
            raise ValueError(text)
        shown = text[1:].translate(COMPLEMENT) if text.startswith("-") else text
        number = Decimal(shown) if self.decimals else int(shown)
        return -number if text.startswith("-") else number

    def bound(self, value: Any, up: bool) -> str:
        """Return the text of the next number downwards or upwards that can be written; BELOW or ABOVE all of them."""
        number = Decimal(str(value))
        if number.is_nan():
            raise ValueInvalid(f"{value} cannot be the bound of a range")
        highest = Decimal(10**self.width - 1).scaleb(-self.decimals)
        if number > highest:
            return ABOVE
        if number < (-highest if self.signed else 0):
            return BELOW
        unit = Decimal(1).scaleb(-self.decimals)
        return self.format(number.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR))

    @property
    def pattern(self) -> str:
        """The regular expression of its texts."""
        sign, whole = "-?" if self.signed else "", self.width - self.decimals
        return rf"{sign}[0-9]{{{whole}}}\.[0-9]{{{self.decimals}}}" if self.decimals else f"{sign}[0-9]{{{whole}}}"


def _make_digits(found: re.Match[str]) -> KeyFormat:
    decimals = int(found["decimals"] or 0)
    width = int(found["width"]) - (1 if decimals else 0)
    digits = Digits(width, decimals, bool(found["sign"]))
    if width <= decimals:
        raise ValueInvalid(f"{found[0]} has no digit before the point")
    return KeyFormat(
        name=found[0],
        types=(Decimal, float) if decimals else (int,),
        write=digits.write,
        read=digits.read,
        pattern=digits.pattern,
        order=Order.EXACT,
        ends_itself=True,
        bound=digits.bound,
    )


# ── times ────────────────────────────────────────────────────────────────────────────────────────────────────────────
PERIODS = {  # how many characters of a time in ISO form they have, and the regular expression of these
    "year": (4, "[0-9]{4}"),
    "month": (7, "[0-9]{4}-[0-9]{2}"),
    "date": (10, "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "hour": (13, "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}"),
}


def _write_period(length: int, value: Any, _codec: Codec, _room: int) -> str:
    text = value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else format_time(utc(value))
    return text[:length]


def _make_period(found: re.Match[str]) -> KeyFormat:
    length, pattern = PERIODS[found[0]]
    return KeyFormat(
        name=found[0],
        types=(datetime, date) if found[0] in {"year", "month"} else (datetime,),
        write=partial(_write_period, length),
        pattern=pattern,
        order=Order.COARSE,
        is_injective=False,
        ends_itself=True,
    )


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def fold(text: str) -> str:
    """Return a text without the differences of case and of compatible characters, as Unicode's caseless matching."""
    once = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFKC", once.casefold())


def _make_fold(found: re.Match[str]) -> KeyFormat:
    def write(value: Any, codec: Codec, _room: int) -> str:
        return fold(codec.text(value))

    return KeyFormat(name=found[0], types=(str,), write=write, is_injective=False)


def _write_fit(value: Any, codec: Codec, room: int) -> str:
    text = codec.text(value)
    raw = text.encode()
    if len(raw) <= room:
        return text
    return f"{raw[: room - DIGEST - 1].decode(errors='ignore')}~{_digest(text)}"


def is_shortened(key: str, longest: int) -> bool:
    """Return whether a key ends with the digest of a value that did not fit: only keys of full length do."""
    return SHORTENED.search(key) is not None and len(key.encode()) > longest - MAX_CHARACTER_BYTES


def _make_fit(found: re.Match[str]) -> KeyFormat:
    return KeyFormat(name=found[0], types=(), write=_write_fit, pattern=".+")


# ── hashes ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _make_sha(found: re.Match[str]) -> KeyFormat:
    def write(value: Any, codec: Codec, _room: int) -> str:
        return _digest(codec.text(value))

    return KeyFormat(name=found[0], types=(), write=write, pattern=f"[0-9a-f]{{{DIGEST}}}", ends_itself=True)


def _make_shard(found: re.Match[str]) -> KeyFormat:
    count = int(found["count"])
    if not count:
        raise ValueInvalid("shard0 has no shards")

    def write(value: Any, codec: Codec, _room: int) -> str:
        return str(int(value) if isinstance(value, ShardNumber) else int(_digest(codec.text(value)), 16) % count)

    return KeyFormat(
        name=found[0], types=(), write=write, pattern="[0-9]+", is_injective=False, ends_itself=True, shards=count
    )


# ── the formats ──────────────────────────────────────────────────────────────────────────────────────────────────────
class FormatEntry(Struct, frozen=True):
    """A family of formats: what is written after the colon, an example, and how a format is made of it."""

    form: str
    example: str
    make: Callable[[re.Match[str]], KeyFormat]


FORMATS = (
    FormatEntry(
        r"(?P<sign>\+?)0(?P<width>\d{1,2})(?:d|\.(?P<decimals>\d{1,2})f)", "012d, +012d, 012.2f, +012.2f", _make_digits
    ),
    FormatEntry("|".join(PERIODS), "year, month, date, hour", _make_period),
    FormatEntry("fold", "fold", _make_fold),
    FormatEntry("fit", "fit", _make_fit),
    FormatEntry("sha", "sha", _make_sha),
    FormatEntry(r"shard(?P<count>\d{1,4})", "shard8", _make_shard),
)


def _write_plain(value: Any, codec: Codec, _room: int) -> str:
    return codec.text(value)


PLAIN = KeyFormat(name="", types=(), write=_write_plain, order=Order.EXACT)


@cache
def find_format(name: str) -> KeyFormat | None:
    """Return the format of a name; None if there is none."""
    if not name:
        return PLAIN
    for entry in FORMATS:
        found = re.fullmatch(entry.form, name)
        if found is not None:
            try:
                return entry.make(found)
            except ValueInvalid:
                return None
    return None


def list_formats() -> str:
    """Return examples of every format, for errors."""
    return ", ".join(entry.example for entry in FORMATS)
