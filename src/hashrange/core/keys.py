"""Key encoding: bytes that sort as DynamoDB sorts, by which rows and index entries are ordered on disk.

    key       = crc32(hash part) as 4 bytes | length of hash part as 2 bytes | hash part | range part
    part      = all components but the last delimited, the last one not
    S, B      = the UTF-8 or raw bytes; delimited: 00 becomes 00 FF, then 00 00 ends it
    N         = sign and exponent | pairs of digits | terminator; complemented when negative

The checksum at the start spreads partitions over the scan order, so that a scan segment is one range of keys.

    rowid     = 1 | 25 bits of the checksum | 21 bits of the checksum of all but the last two bytes | the last two bytes

The rowid is derived from the key, so that a get is one B-tree search. In rowid order, the rows of a partition are
together, and keys that differ only at the end (`#0041`, `#0042`) keep their order. Two keys may have the same rowid,
though rarely: a rowid collision.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER, Item, measure

pack_head = Struct(">IH").pack
unpack_checksum = Struct(">I").unpack_from
FIRST_ROWID = 1 << 62
MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024
HASH_TOO_LONG = (
    f"{INVALID_PARAMETER}Size of hashkey has exceeded the maximum size limit of{MAX_PARTITION_KEY_BYTES} bytes"
)
RANGE_TOO_LONG = (
    f"{INVALID_PARAMETER}Aggregated size of all range keys has exceeded the size limit of {MAX_SORT_KEY_BYTES} bytes"
)
TYPE_NAMES = {"S": "string", "B": "binary"}  # a number is never empty
COMPLEMENT = bytes(255 - byte for byte in range(256))


def encode_number(text: str) -> bytes:
    """Return a canonical number as bytes in numeric order; no such encoding is a prefix of another."""
    if text == "0":
        return b"\x80"
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    digits, exponent = _spread_digits(whole, fraction)
    pairs = bytes(int(digits[at : at + 2].ljust(2, "0")) + 1 for at in range(0, len(digits), 2))
    body = (exponent + 131).to_bytes(2, "big") + pairs + b"\x00"
    return b"\x7f" + body.translate(COMPLEMENT) if negative else b"\x81" + body


def _spread_digits(whole: str, fraction: str) -> tuple[str, int]:
    if whole != "0":
        return (whole + fraction).rstrip("0"), len(whole) - 1
    digits = fraction.lstrip("0")
    return digits, len(digits) - len(fraction) - 1


def rowid_of(key: bytes) -> int:
    """Return the rowid under which the row of a key is stored, unless another key has it."""
    checksum: int = unpack_checksum(key)[0]
    run = crc32(key[:-2]) & 0x1FFFFF
    return FIRST_ROWID | checksum >> 7 << 37 | run << 16 | key[-2] << 8 | key[-1]


Encode = Callable[[Item], bytes | None]
ENCODERS: dict[str, Callable[[str], bytes]] = {"S": str.encode, "N": encode_number, "B": a2b_base64}


def delimit(tag: str, part: bytes) -> bytes:
    """Return an encoded component with a delimiter, so that another component may follow in the right order."""
    return part if tag == "N" else part.replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def successor(prefix: bytes) -> bytes | None:
    """Return the smallest bytes greater than everything that starts with a prefix; None when there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


class KeyAttribute(NamedTuple):
    """A key attribute: its name and its type (S, N or B)."""

    name: str
    tag: str


def check_key_size(hash_bytes: int, range_bytes: int, error: type[ValidationException] = ValidationException) -> None:
    """Raise for a partition key or a sort key whose attributes are too long together."""
    if hash_bytes > MAX_PARTITION_KEY_BYTES:
        raise error(HASH_TOO_LONG)
    if range_bytes > MAX_SORT_KEY_BYTES:
        raise error(RANGE_TOO_LONG)


def message_for_empty_key(attribute: KeyAttribute) -> str:
    """Return the text that refuses an empty value of a key attribute."""
    return (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        f"{TYPE_NAMES[attribute.tag]} value. Key: {attribute.name}"
    )


class KeyEncoder:
    """Encodes the key of a table or an index as bytes."""

    __slots__ = ("attributes", "encode", "hashes", "ranges")

    def __init__(self, hashes: tuple[KeyAttribute, ...], ranges: tuple[KeyAttribute, ...]) -> None:
        self.hashes = hashes
        self.ranges = ranges
        self.attributes = hashes + ranges
        # Encodes the key of an item; None when a key attribute is missing or has a wrong type or length.
        self.encode: Encode = _make_encoder(
            _make_joiner(hashes, MAX_PARTITION_KEY_BYTES), _make_joiner(ranges, MAX_SORT_KEY_BYTES) if ranges else None
        )

    def partition(self, parts: Sequence[str]) -> bytes:
        """Return the prefix that all keys of a partition share, from the contents of its hash values."""
        if len(parts) == 1:
            head = ENCODERS[self.hashes[0].tag](parts[0])
        else:
            encoded = [ENCODERS[attribute.tag](part) for attribute, part in zip(self.hashes, parts, strict=True)]
            head = _concatenate(self.hashes, encoded)
        return pack_head(crc32(head), len(head)) + head

    def range_part(self, position: int, content: str) -> bytes:
        """Return a range component as encoded at a position (delimited unless it is the last)."""
        attribute = self.ranges[position]
        part = ENCODERS[attribute.tag](content)
        return part if position == len(self.ranges) - 1 else delimit(attribute.tag, part)

    def range_prefix(self, position: int, content: str) -> bytes:
        """Return the prefix of all range components that start with a content."""
        attribute = self.ranges[position]
        part = ENCODERS[attribute.tag](content)
        return part if position == len(self.ranges) - 1 else part.replace(b"\x00", b"\x00\xff")


def _make_encoder(join_hashes: Encode, join_ranges: Encode | None) -> Encode:
    def encode(item: Item) -> bytes | None:
        head = join_hashes(item)
        if head is None:
            return None
        if join_ranges is None:
            return pack_head(crc32(head), len(head)) + head
        tail = join_ranges(item)
        if tail is None:
            return None
        return pack_head(crc32(head), len(head)) + head + tail

    return encode


def _make_joiner(attributes: tuple[KeyAttribute, ...], limit: int) -> Encode:
    """Return the encoder of the hash or range part; a closure, because every read and write calls it."""
    if len(attributes) > 1:
        return lambda item: _join(attributes, limit, item)
    name, tag, encode_part = attributes[0].name, attributes[0].tag, ENCODERS[attributes[0].tag]

    def join(item: Item) -> bytes | None:
        value = item.get(name)
        content = value.get(tag) if value is not None else None
        part = encode_part(content) if content else None  # a value of another type, or an empty one, is not a key
        return part if part is None or len(part) <= limit else None

    return join


def _join(attributes: tuple[KeyAttribute, ...], limit: int, item: Item) -> bytes | None:
    encoded = [_make_joiner((attribute,), limit)(item) for attribute in attributes]
    present = [part for part in encoded if part is not None]
    if len(present) < len(attributes) or sum(measure(item[a.name]) for a in attributes) > limit:
        return None
    return _concatenate(attributes, present)


def _concatenate(attributes: tuple[KeyAttribute, ...], encoded: Sequence[bytes]) -> bytes:
    delimited = [delimit(a.tag, part) for a, part in zip(attributes[:-1], encoded[:-1], strict=True)]
    return b"".join(delimited) + encoded[-1]


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """Return the key range of a scan segment: from the first bytes (included) to the second (excluded)."""
    low = -(-(segment << 32) // total)
    high = -(-((segment + 1) << 32) // total)
    return low.to_bytes(4, "big"), None if high > 0xFFFFFFFF else high.to_bytes(4, "big")


def segment_of(key: bytes, total: int) -> int:
    """Return the scan segment that contains a key."""
    return (int.from_bytes(key[:4], "big") * total) >> 32
