"""Searches and comparisons of lists, maps, sets and binaries, remembered for the item that is evaluated.

A condition of 4 KB has 140 calls of `contains`, and a large list has 130,000 elements: without a memory each call looks
at all of them. With it the time for an item grows with the item, and hardly with the number of clauses.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.json import Encoder

from hashrange.core.values import Item, Value
from hashrange.expr.operators import tag_of

MEMBERS = {"SS": "S", "NS": "N", "BS": "B"}  # the sets and the type of their members
SEARCHED = frozenset({"L", *MEMBERS})
DOCUMENTS = frozenset({"M", *SEARCHED})  # what takes longer to compare the larger it is
MANY = 100  # members; fewer are searched as fast as they are remembered

# Gives the same bytes for equal contents: sets and numbers are canonical already. orjson needs twenty times as long for
# a small value.
encode = Encoder(order="sorted").encode
Remembered: TypeAlias = dict[tuple[str, int, int | str], tuple[Any, Any, Any]]


def contains(value: Value, part: Value) -> bool:
    """Return whether a string or binary has a part, or a set or list a member."""
    for tag, content in value.items():  # noqa: B007 - the one entry
        break
    match tag:
        case "S":
            return "S" in part and part["S"] in content
        case "B":
            return "B" in part and a2b_base64(part["B"]) in a2b_base64(content)
        case "L":
            return part in content
        case "SS" | "NS" | "BS":
            return part.get(MEMBERS[tag]) in content
        case _:
            return False


def is_document(value: Value) -> bool:
    """Return whether a value is a list, map or set."""
    return tag_of(value) in DOCUMENTS


class LargeValues:
    """What was found in the last item. Entries hold the values that they are about, so that no id is used twice."""

    def __init__(self) -> None:
        self._last: tuple[Item, Remembered] = {}, {}

    def contains(self, item: Item, value: Value, part: Value) -> bool:
        """Return whether a value of the item, or of the request that reads it, contains another."""
        tag, content = next(iter(value.items()))
        member, wanted = next(iter(part.items()))
        if tag == member == "B" and len(content) >= MANY:
            return a2b_base64(wanted) in self._decode(item, content)
        if tag not in SEARCHED:
            return contains(value, part)
        if len(content) < MANY:
            if member in DOCUMENTS:  # the elements may be large
                return self._compare(item, "contains", value, part, contains)
            return contains(value, part)
        if MEMBERS.get(tag, member) != member:
            return False
        members = self._find_members(item, content, member, is_list=tag == "L")
        return (wanted if type(wanted) is str else encode(wanted)) in members

    def are_equal(self, item: Item, left: Value, right: Value | None) -> bool:
        """Return whether two values of the item, or of the request that reads it, are equal."""
        if right is None or not is_document(left):
            return left == right
        return self._compare(item, "=", left, right, _are_equal)

    def _remember(self, item: Item) -> Remembered:
        last = self._last
        if last[0] is not item:
            last = self._last = item, {}
        return last[1]

    def _compare(
        self, item: Item, what: str, left: Value, right: Value, compare: Callable[[Value, Value], bool]
    ) -> bool:
        remembered = self._remember(item)
        key = what, id(left), id(right)
        found = remembered.get(key)
        if found is None or found[0] is not left or found[1] is not right:
            found = remembered[key] = left, right, compare(left, right)
        return bool(found[2])

    def _decode(self, item: Item, content: str) -> bytes:
        remembered = self._remember(item)
        key = "bytes", id(content), "B"
        found = remembered.get(key)
        if found is None or found[0] is not content:
            found = remembered[key] = content, None, a2b_base64(content)
        decoded: bytes = found[2]
        return decoded

    def _find_members(self, item: Item, content: list[Any], tag: str, *, is_list: bool) -> frozenset[Any]:
        """Return the members of one type: strings as they are, anything else encoded."""
        remembered = self._remember(item)
        key = "members", id(content), tag
        found = remembered.get(key)
        if found is None or found[0] is not content:
            given = [element[tag] for element in content if tag in element] if is_list else content
            members = frozenset([each if type(each) is str else encode(each) for each in given])
            found = remembered[key] = content, None, members
        return found[2]


def _are_equal(left: Value, right: Value) -> bool:
    return left == right


LARGE_VALUES = LargeValues()
