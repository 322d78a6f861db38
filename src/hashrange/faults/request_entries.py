"""What fault injection needs to know of a request: its tables, its entries, the two parts of a batch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hashrange.core.wire import Wire
from hashrange.engine.operation import Operation

SELECT = re.compile(r"\s*SELECT\b", re.IGNORECASE)
STATEMENT_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?([\w.-]+)', re.IGNORECASE | re.ASCII)


def list_tables(operation: Operation, request: Wire) -> set[str]:
    """Return the names of the tables that a request names; of an invalid request, those that can be found."""
    named = list(_find_names(request))
    entries = _find_entries(operation, request)
    if isinstance(entries, dict):  # a batch, by table
        named += entries
    else:
        for entry in entries:
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


def _find_entries(operation: Operation, request: Wire) -> Wire | list[Wire]:
    found = request.get(operation.entries) if operation.entries else None
    if isinstance(found, dict):
        return found
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def count_entries(operation: Operation, request: Wire) -> int:
    """Return how many items a transaction or batch has; another request has one."""
    entries = _find_entries(operation, request)
    return count_batch(entries) if isinstance(entries, dict) else max(1, len(entries))


def count_batch(batch: Wire) -> int:
    """Return how many entries a batch has, over all tables."""
    return sum(len(_entries_of(content)) for content in batch.values())


def is_select(request: Wire) -> bool:
    """Return whether a request is a single statement that reads."""
    return bool(SELECT.match(request.get("Statement", "")))


def split_batch(batch: Wire, last: int) -> tuple[Wire, Wire]:
    """Return the part of a batch to process and its last so many entries, in the order of the request."""
    done: Wire = {}
    left: Wire = {}
    room = count_batch(batch) - last
    for table, content in batch.items():
        entries = _entries_of(content)
        cut = min(max(room, 0), len(entries))
        room -= len(entries)
        if cut:
            done[table] = _with_entries(content, entries[:cut])
        if cut < len(entries):
            left[table] = _with_entries(content, entries[cut:])
    return done, left


def join_batches(first: Wire, second: Wire) -> Wire:
    """Return the entries of two parts of a batch as one."""
    joined = dict(first)
    for table, content in second.items():
        before = _entries_of(first[table]) if table in first else []
        joined[table] = _with_entries(content, [*before, *_entries_of(content)])
    return joined


def _entries_of(content: Any) -> list[Any]:
    entries: list[Any] = content["Keys"] if isinstance(content, dict) else content
    return entries


def _with_entries(content: Any, entries: list[Any]) -> Any:
    return {**content, "Keys": entries} if isinstance(content, dict) else entries
