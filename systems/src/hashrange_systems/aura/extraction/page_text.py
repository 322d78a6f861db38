"""Decodes the bytes of a page, whatever its headers claim, and bounds what the HTML parser gets.

UTF-8 is tried first: text in another encoding is hardly ever valid UTF-8. Then the declared encoding, if it is one of
those that shops use, then Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

MAX_BYTES = 4 << 20
MAX_TEXT = 5000  # characters that are read of one text or attribute
MAX_DEPTH = 500  # of nested elements; lexbor's time is quadratic in it: 10,000 take 2 s

BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
ENCODINGS = {  # Python's name by label, as browsers read them
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii", "windows-1252", "cp1252"), "cp1252"),
    **{f"windows-125{n}": f"cp125{n}" for n in range(10) if n != 2},
    **{f"iso-8859-{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 7, 9, 10, 13, 14, 15, 16)},
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "macintosh": "mac_roman",
    "shift_jis": "cp932",
    "euc-jp": "euc_jp",
    "gbk": "gbk",
    "gb2312": "gbk",
    "big5": "big5",
}
WIDE = {"utf-16": "utf-16-le", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}
DECLARED = re.compile(rb"""charset\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
NOT_NESTED = frozenset(  # void elements, and those that close themselves
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "dt",
        "dd",
        "option",
        "optgroup",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "colgroup",
        "rp",
        "rt",
        "html",
        "head",
        "body",
    ]
)


@dataclass(frozen=True, slots=True)
class DecodedPage:
    """The text of a page, and what was wrong with its bytes."""

    text: str
    charset: str
    problems: tuple[str, ...] = ()


def decode_page(body: bytes, content_type: str | None) -> DecodedPage:
    """Return the text of a page; bytes that mean nothing become replacement characters."""
    problems = [f"only the first {MAX_BYTES >> 20} MiB are read"] if len(body) > MAX_BYTES else []
    body = body[:MAX_BYTES]
    labels = find_labels(body, content_type)
    text, charset = decode_bytes(body, labels)
    if labels and ENCODINGS.get(labels[0], WIDE.get(labels[0], "utf-8")) != charset:
        problems.append(f"declared as {labels[0]}, but is {charset}")
    text = text.replace("\0", "")
    cut = find_depth_limit(text)
    if cut is not None:
        problems.append(f"elements are nested more than {MAX_DEPTH} deep; the rest is not read")
        text = text[:cut]
    return DecodedPage(text, charset, tuple(problems))


def find_labels(body: bytes, content_type: str | None) -> list[str]:
    """Return the encodings that the header and the page declare."""
    found = [DECLARED.search((content_type or "").encode("ascii", "replace")), DECLARED.search(body[:2048])]
    return [match[1].decode("ascii").lower() for match in found if match]


def decode_bytes(body: bytes, labels: list[str]) -> tuple[str, str]:
    """Return the text, and the name of the encoding that it turned out to be in."""
    for bom, name in BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, "replace"), name
    wide = next((WIDE[label] for label in labels if label in WIDE), None)
    if wide and b"\0" in body[:200]:
        return body.decode(wide, "replace"), wide
    text = body.decode("utf-8", "replace")
    if not is_damaged(text):
        return text, "utf-8"
    name = next((ENCODINGS[label] for label in labels if label in ENCODINGS), "cp1252")
    return body.decode(name, "replace"), name


def is_damaged(text: str) -> bool:
    """Return whether more characters were replaced than read, of those beyond ASCII."""
    replaced = text.count("\ufffd")
    if replaced <= 1:  # a character that was cut off at the end
        return False
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return replaced * 2 > beyond


def find_depth_limit(text: str) -> int | None:
    """Return where elements are nested too deeply; None if nowhere."""
    if text.count("<") <= MAX_DEPTH:
        return None
    depth = 0
    for match in TAG.finditer(text):
        if match[2].lower() in NOT_NESTED:
            continue
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > MAX_DEPTH:
            return match.start()
    return None
