"""Key templates such as `SHOP#{domain}`: rendered from values, and parsed back into them.

A format after a colon: `{url:fit}` shortens what is too long to a readable prefix and a
hash, `{url:sha}` is a hash, `{id:shard8}` one of eight shards, `{n:012d}` a number of fixed width. Only what has no
format, or a width, can be parsed back.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, cached_property

from msgspec import Struct

from hashrange.core.errors import ValueInvalid

FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")
FORMAT = re.compile(r"fit|sha|shard\d{1,4}|0\d{1,2}d")
DIGEST = 64  # hex digits of SHA-256
HIGHEST = "\U0010ffff"  # sorts after every other text


class Piece(Struct, frozen=True):
    """Fixed text, then a field in a format; the last piece of a template has no field."""

    literal: str
    field: str = ""
    format: str = ""


class Template(Struct, frozen=True, eq=False, dict=True):
    """A parsed key template; equal texts give the same object."""

    text: str
    pieces: tuple[Piece, ...]
    fields: tuple[str, ...]  # in order
    alone: str  # the field that is the whole key, so that the key has its type; or nothing
    recoverable: frozenset[str]  # the fields that can be read back from a key

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of the keys of this template."""
        return re.compile("".join(map(_as_pattern, self.pieces)), re.DOTALL)

    @property
    def prefix(self) -> str:
        """The fixed text it starts with."""
        return self.pieces[0].literal

    def parse(self, key: str) -> dict[str, str] | None:
        """Return the texts of the fields inside a key, or None when the key has another form."""
        found = self.pattern.fullmatch(key)
        return found.groupdict() if found else None


@cache
def read_template(text: str) -> Template:
    """Return the template of a text."""
    pieces: list[Piece] = []
    at = 0
    for match in FIELD.finditer(text):
        pieces.append(Piece(text[at : match.start()], match[1], match[2] or ""))
        at = match.end()
    fields = tuple(piece.field for piece in pieces)
    return Template(
        text=text,
        pieces=(*pieces, Piece(text[at:])),
        fields=fields,
        alone=fields[0] if len(fields) == 1 and text == f"{{{fields[0]}}}" else "",
        recoverable=frozenset(piece.field for piece in pieces if is_readable(piece.format)),
    )


def is_readable(form: str) -> bool:
    """Whether a value can be read back from a key in this format."""
    return not form or form.startswith("0")


def _as_pattern(piece: Piece) -> str:
    literal = re.escape(piece.literal)
    if not piece.field:
        return literal
    if piece.format == "sha":
        return f"{literal}[0-9a-f]{{{DIGEST}}}"
    if piece.format.startswith("shard"):
        return rf"{literal}\d+"
    return f"{literal}(?P<{piece.field}>.+?)" if is_readable(piece.format) else f"{literal}.+"


def format_field(text: str, form: str, room: int) -> str:
    """Return a field's text in its format; `room` is the number of bytes left in the key."""
    if not form:
        return text
    if form == "fit":
        return _fit(text, room)
    if form.startswith("0"):
        return _pad(text, int(form[1:-1]))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return digest if form == "sha" else str(int(digest, 16) % int(form[5:]))


def _fit(text: str, room: int) -> str:
    raw = text.encode()
    if len(raw) <= room:
        return text
    digest = hashlib.sha256(raw).hexdigest()
    return f"{raw[: room - DIGEST - 1].decode(errors='ignore')}~{digest}"


def _pad(text: str, width: int) -> str:
    if not text.isdigit() or len(text) > width:
        raise ValueInvalid(f"{text} does not fit into {width} digits of a key")
    return text.zfill(width)
