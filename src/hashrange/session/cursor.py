"""Page cursors: signed texts that continue a list; each is valid for its own list only.

In base64url: version (1 byte) | marks of the secret, the list and its parameters (4 each) | HMAC-SHA256 (16) | the
position as JSON. The marks only say what is wrong with a cursor that the HMAC refuses. It is signed, not encrypted.
"""

from __future__ import annotations

import hmac

import orjson

from hashrange.client import base64url
from hashrange.core.errors import CursorInvalid
from hashrange.core.wire import Wire

VERSION = 1
MAX_CURSOR_LENGTH = 32_768  # a table's key and an index's take up to 6 KB, and more as JSON
MIN_SECRET_LENGTH = 16
MARK_SIZE = 4
TAG_SIZE = 16
HEAD_SIZE = 1 + 3 * MARK_SIZE
BETWEEN = b"\0"

DAMAGED = "The cursor is damaged: it must be passed back exactly as it was given out."
NEWER = "The cursor was made by a newer version of the program: begin again from the first page."
OTHER_SECRET = "The cursor was made with another secret: begin again from the first page."  # noqa: S105 - no secret
OTHER_LIST = "The cursor is not from this list: pass it to the list that gave it out."
OTHER_PARAMETERS = "The cursor is from this list with other parameters: pass the same ones, or begin again."
TOO_LONG = f"The cursor is longer than {MAX_CURSOR_LENGTH} characters, which none is that was given out."


def scope_of(pattern: str, parameters: Wire) -> bytes:
    """Return what a cursor is bound to: the list's name and its parameters, as JSON."""
    return pattern.encode() + BETWEEN + orjson.dumps(parameters, option=orjson.OPT_SORT_KEYS)


def seal_cursor(secret: bytes, scope: bytes, position: Wire) -> str:
    """Return the cursor that continues the list of that scope after that position."""
    head, body = _make_head(secret, scope), orjson.dumps(position)
    text = base64url.encode(head + _sign(secret, head, scope, body) + body)
    if len(text) > MAX_CURSOR_LENGTH:
        raise CursorInvalid(
            f"The keys at the end of this page are too long for a cursor of {MAX_CURSOR_LENGTH} characters."
        )
    return text


def open_cursor(secret: bytes, scope: bytes, text: str) -> Wire:
    """Return the position in a cursor that was made with this secret for this scope, or raise CursorInvalid."""
    if len(text) > MAX_CURSOR_LENGTH:
        raise CursorInvalid(TOO_LONG)
    data = base64url.decode(text)
    if not data or data[0] == 0:
        raise CursorInvalid(DAMAGED)
    if data[0] > VERSION:
        raise CursorInvalid(NEWER)
    head, tag, body = data[:HEAD_SIZE], data[HEAD_SIZE : HEAD_SIZE + TAG_SIZE], data[HEAD_SIZE + TAG_SIZE :]
    if not hmac.compare_digest(tag, _sign(secret, head, scope, body)):
        raise CursorInvalid(_message_for_mismatch(secret, scope, head))
    position: Wire = orjson.loads(body)
    return position


def _make_head(secret: bytes, scope: bytes) -> bytes:
    pattern = scope.partition(BETWEEN)[0]
    marks = _digest(secret, b"secret"), _digest(secret, b"list", pattern), _digest(secret, b"scope", scope)
    return bytes([VERSION]) + b"".join(mark[:MARK_SIZE] for mark in marks)


def _sign(secret: bytes, head: bytes, scope: bytes, body: bytes) -> bytes:
    return _digest(secret, b"cursor", head, scope, body)[:TAG_SIZE]


def _digest(secret: bytes, *parts: bytes) -> bytes:
    """Return the HMAC of the parts; length prefixes keep different parts apart."""
    if len(secret) < MIN_SECRET_LENGTH:
        raise ValueError(f"The secret of cursors needs at least {MIN_SECRET_LENGTH} bytes.")
    return hmac.digest(secret, b"".join(len(part).to_bytes(8) + part for part in parts), "sha256")


def _message_for_mismatch(secret: bytes, scope: bytes, head: bytes) -> str:
    """Return the message for the first mark that differs from those of this secret and scope."""
    own = _make_head(secret, scope)
    if len(head) < HEAD_SIZE:
        return DAMAGED
    for at, problem in enumerate((OTHER_SECRET, OTHER_LIST, OTHER_PARAMETERS)):
        start = 1 + at * MARK_SIZE
        if not hmac.compare_digest(head[start : start + MARK_SIZE], own[start : start + MARK_SIZE]):
            return problem
    return DAMAGED
