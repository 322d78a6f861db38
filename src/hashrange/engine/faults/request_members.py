"""What faults need to know of a request: its tables, its members, the two parts of a batch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hashrange.core.wire import Wire

LISTS = ("TransactItems", "TransactStatements", "Statements")
SELECTION = re.compile(r"\s*SELECT\b", re.IGNORECASE)
STATEMENT_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?([\w.-]+)', re.IGNORECASE | re.ASCII)


def list_tables(request: Wire) -> set[str]:
    """Return the names of the tables that a request is about; of one that makes no sense, those that can be found."""
    batch = request.get("RequestItems")
    named = [*(batch if isinstance(batch, dict) else ()), *_find_names(request)]
    for member in LISTS:
        for entry in _list_members(request, member):
            named += _find_names(entry)
            for action in entry.values():
                named += _find_names(action) if isinstance(action, dict) else ()
    return {name.rpartition("/")[2] for name in named}  # an ARN ends in the name


def _find_names(owner: Wire) -> Iterator[str]:
    name, statement = owner.get("TableName"), owner.get("Statement")
    if isinstance(name, str):
        yield name
    if isinstance(statement, str):
        yield from STATEMENT_TABLE.findall(statement)


def _list_members(request: Wire, member: str) -> list[Wire]:
    found = request.get(member)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def count_members(request: Wire) -> int:
    """Return how many items a transaction or batch has; another request has one."""
    batch = request.get("RequestItems")
    members = [_members_of(entry) for entry in batch.values()] if isinstance(batch, dict) else []
    return sum(map(len, members)) or max(1, *(len(_list_members(request, member)) for member in LISTS))


def is_selection(request: Wire) -> bool:
    """Tell whether a request is a single statement that reads."""
    return bool(SELECTION.match(request.get("Statement", "")))


def split_batch(entries: Wire, last: int) -> tuple[Wire, Wire]:
    """Return what is done of a batch and what is left, the last so many members in the order of the request."""
    done: Wire = {}
    left: Wire = {}
    room = count_members({"RequestItems": entries}) - last
    for table, entry in entries.items():
        members = _members_of(entry)
        cut = min(max(room, 0), len(members))
        room -= len(members)
        if cut:
            done[table] = _with_members(entry, members[:cut])
        if cut < len(members):
            left[table] = _with_members(entry, members[cut:])
    return done, left


def join_batches(first: Wire, second: Wire) -> Wire:
    """Return the members of two parts of a batch as one."""
    joined = dict(first)
    for table, entry in second.items():
        before = _members_of(first[table]) if table in first else []
        joined[table] = _with_members(entry, [*before, *_members_of(entry)])
    return joined


def _members_of(entry: Any) -> list[Any]:
    members: list[Any] = entry["Keys"] if isinstance(entry, dict) else entry
    return members


def _with_members(entry: Any, members: list[Any]) -> Any:
    return {**entry, "Keys": members} if isinstance(entry, dict) else members
