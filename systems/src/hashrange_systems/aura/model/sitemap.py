"""Sitemaps: XML, index, RSS or text, also compressed. No I/O; they are untrusted, so they are read in the sandbox."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass
from typing import Literal

MAX_LOCATIONS = 50_000  # of one file, as the protocol has it
MAX_BYTES = 50 * 1024 * 1024  # of one file, decompressed
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """The locations of a sitemap; those of an index are sitemaps themselves. `problem` says why there are no more."""

    kind: Literal["index", "urls"] = "urls"
    locations: tuple[str, ...] = ()
    problem: str | None = None


def read_sitemap(body: bytes) -> Sitemap:
    """Return the locations of a sitemap in any of its forms; what was read before an error counts."""
    try:
        content = _decompress(body)
    except (OSError, EOFError, zlib.error):
        return Sitemap(problem="it is not a valid gzip file")
    if content.lstrip()[:1] != b"<":
        return _read_text(content)
    return _read_xml(content)


def _decompress(body: bytes) -> bytes:
    if not body.startswith(GZIP):
        return body[:MAX_BYTES]
    with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
        return file.read(MAX_BYTES)


def _read_text(content: bytes) -> Sitemap:
    lines = (line.strip() for line in content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines())
    found = [line for line in lines if re.match(r"https?://", line, re.IGNORECASE)]
    return Sitemap(locations=tuple(found[:MAX_LOCATIONS]))


def _read_xml(content: bytes) -> Sitemap:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    found: list[str] = []
    kind: Literal["index", "urls"] = "urls"
    problem = None
    try:
        for event, element in iterparse(io.BytesIO(content), events=("start", "end"), forbid_dtd=True):
            name = element.tag.rpartition("}")[2].lower()
            if event == "start":
                kind = "index" if name == "sitemapindex" else kind
                continue
            if name in {"loc", "link"} and element.text and len(found) < MAX_LOCATIONS:
                found.append(element.text.strip())
            if name in {"url", "sitemap", "item"}:
                element.clear()
    except DefusedXmlException:
        problem = "it declares entities, which are not read"
    except ParseError as error:
        problem = f"it is not valid XML: {error}"
    return Sitemap(kind=kind, locations=tuple(found), problem=problem)
