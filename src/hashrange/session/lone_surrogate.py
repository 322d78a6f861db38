"""Finds the text of a request that UTF-8 cannot encode, after encoding the request has failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hashrange.core.errors import ValueInvalid
from hashrange.core.wire import Wire

SURROGATE = re.compile("[\ud800-\udfff]")
BEFORE = r"(#[\w.#\[\]]+)(?: (?:=|<>|<|<=|>|>=|BETWEEN) |, | )(?:if_not_exists\([^)]*, |list_append\([^)]*\), )?"


def refuse_lone_surrogates(request: Wire, label: str) -> None:
    """Raise ValueInvalid if a request has a text with half of a character, naming its attribute."""
    for path, text in _texts(request, ()):
        if SURROGATE.search(text):
            where = _attribute_of(request, path)
            raise ValueInvalid(f"{label}: {where} is {text!r}, which has half of a surrogate pair: it is no valid text")


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the texts of a request, with the names that lead to them."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield (*path, "the name of an attribute"), str(name)
            yield from _texts(member, (*path, str(name)))
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member, path)


def _attribute_of(request: Wire, path: tuple[str, ...]) -> str:
    """Return the attribute that a text is for: a value of an expression stands beside its name."""
    name = next((part for part in path if part.startswith(":")), "")
    if not name:
        return next((part for at, part in enumerate(path) if path[at - 1 : at] in (("Item",), ("Key",))), path[-1])
    for member in _requests_in(request):
        for found in (str(text) for kind, text in member.items() if kind.endswith("Expression")):
            if match := re.search(BEFORE + re.escape(name) + r"\b", found):
                return _resolve(match[1], member.get("ExpressionAttributeNames", {}))
    return "a value"


def _resolve(path: str, names: dict[str, str]) -> str:
    """Return a path with the attributes that its aliases stand for."""
    return re.sub(r"#\w+", lambda alias: names.get(alias[0], alias[0]), path)


def _requests_in(request: Wire) -> Iterator[Wire]:
    """Yield a request, and those of the entries of a transaction."""
    yield request
    for entry in request.get("TransactItems", ()):
        yield from entry.values()
