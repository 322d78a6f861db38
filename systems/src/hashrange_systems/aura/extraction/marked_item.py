"""Reads items that are marked in HTML, microdata and RDFa, into the shape of JSON-LD, in one walk over the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborNode

from hashrange_systems.aura.extraction.page_text import MAX_TEXT

MAX_MARKS = 5000  # marked elements of a page; the rest is not read
MAX_ANCESTORS = 60  # between a property and its item

LINKS = {"a": "href", "link": "href", "area": "href", "img": "src", "audio": "src", "video": "src", "source": "src"}
VALUES = {"time": "datetime", "data": "value", "meter": "value", "object": "data", **LINKS}


@dataclass(frozen=True, slots=True)
class Syntax:
    """The attributes of a way to mark items."""

    standard: str
    scope: str
    type: str
    property: str
    selector: str


MICRODATA = Syntax("microdata", "itemscope", "itemtype", "itemprop", "[itemscope], [itemprop]")
RDFA = Syntax("rdfa", "typeof", "typeof", "property", "[typeof], [property]:not(meta[property*=':'])")


@dataclass(slots=True)
class _Reading:
    syntax: Syntax
    items: dict[int, dict[str, Any]] = field(default_factory=dict)  # by the identity of the element
    roots: list[dict[str, Any]] = field(default_factory=list)


def read_items(nodes: Iterable[LexborNode], syntax: Syntax) -> list[dict[str, Any]]:
    """Return the items that belong to no other, as JSON-LD would write them."""
    reading = _Reading(syntax)
    for count, node in enumerate(nodes):
        if count >= MAX_MARKS:
            break
        _read_mark(reading, node)
    return reading.roots


def _read_mark(reading: _Reading, node: LexborNode) -> None:
    syntax, attributes = reading.syntax, node.attributes
    item: dict[str, Any] | None = None
    if syntax.scope in attributes:
        item = {"@type": (attributes.get(syntax.type) or "").split()}
        reading.items[node.mem_id] = item
    names = (attributes.get(syntax.property) or "").split()
    owner = _find_owner(reading, node) if names else None
    if owner is None:
        if item is not None:
            reading.roots.append(item)
        return
    value = item if item is not None else read_value(node)
    for name in names[:10]:
        owner.setdefault(name.rpartition(":")[2], []).append(value)


def _find_owner(reading: _Reading, node: LexborNode) -> dict[str, Any] | None:
    parent = node.parent
    for _ in range(MAX_ANCESTORS):
        if parent is None:
            return None
        found = reading.items.get(parent.mem_id)
        if found is not None:
            return found
        parent = parent.parent
    return None


def read_value(node: LexborNode) -> str:
    """Return the value of a property: an attribute of its element, or its text."""
    attributes = node.attributes
    if attributes.get("content") is not None:
        return (attributes["content"] or "")[:MAX_TEXT]
    name = VALUES.get(node.tag or "")
    if name and attributes.get(name) is not None:
        return (attributes[name] or "")[:MAX_TEXT]
    return " ".join(node.text(separator=" ")[:MAX_TEXT].split())
