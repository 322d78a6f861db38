"""Compares the items of two tables. Memory does not grow with the tables: each page is looked up in the other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from hashrange.client.transport import Transport
from hashrange.core.errors import PlanError
from hashrange.core.values import Item as Raw
from hashrange.provision.item_transfer import SEGMENTS, ReportCount, require_table
from hashrange.provision.table_scan import BEGIN, scan_pages
from hashrange.schema.declare.table import Table
from hashrange.session.batch import batch_get
from hashrange.session.runnable import Task
from hashrange.session.session import Session

DifferenceKind: TypeAlias = Literal["only in first", "only in second", "changed"]
SETS = frozenset({"SS", "NS", "BS"})


class ItemDifference(Struct, frozen=True):
    """An item that only one of two tables has, or that they have in different forms."""

    kind: DifferenceKind
    key: Raw
    first: Raw | None
    second: Raw | None

    @property
    def attributes(self) -> list[str]:
        """The attributes that differ."""
        first, second = self.first or {}, self.second or {}
        return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def diff_items(
    first: Transport,
    table: str,
    second: Transport,
    other: str | None = None,
    *,
    segments: int = SEGMENTS,
    report: ReportCount | None = None,
) -> Iterator[ItemDifference]:
    """Yield the differences between the items of two tables with the same keys."""
    name = other or table
    one, two = require_table(first, table), require_table(second, name)
    if one["KeySchema"] != two["KeySchema"]:
        raise PlanError(f"{table} and {name} have different keys: their items cannot be compared.")
    keys = [key["AttributeName"] for key in one["KeySchema"]]
    progress = _Progress(one.get("ItemCount", 0) + two.get("ItemCount", 0), report)
    for item, match in _look_up(second, name, first, table, keys, segments, progress):
        if match is None:
            yield ItemDifference("only in second", {key: item[key] for key in keys}, None, item)
    for item, match in _look_up(first, table, second, name, keys, segments, progress):
        if match is None or _normalise(item) != _normalise(match):
            kind: DifferenceKind = "only in first" if match is None else "changed"
            yield ItemDifference(kind, {key: item[key] for key in keys}, item, match)


class _Progress:
    """Counts the items that were looked up."""

    def __init__(self, total: int, report: ReportCount | None) -> None:
        self.done, self.total, self.report = 0, total, report

    def add(self, items: int) -> None:
        """Count items, and report."""
        self.done += items
        if self.report is not None:
            self.report(self.done, self.total)


def _look_up(
    database: Transport,
    name: str,
    elsewhere: Transport,
    there: str,
    keys: Sequence[str],
    segments: int,
    progress: _Progress,
) -> Iterator[tuple[Raw, Raw | None]]:
    """Yield each item of a table with the item that another table has under its key."""
    session, other = Session(elsewhere), Table(there, *keys)

    def fetch(items: Sequence[Raw]) -> list[Raw | None]:
        wanted = [(other, {key: item[key] for key in keys}) for item in items]
        return Task(session, lambda: batch_get(session, wanted, "diff", consistent=True)).run()

    for page in scan_pages(database, name, dict.fromkeys(range(segments), BEGIN)):
        yield from zip(page.items, fetch(page.items), strict=True)
        progress.add(len(page.items))


def _normalise(value: Any) -> Any:
    """Return a value with its sets in order, which has no meaning."""
    if isinstance(value, dict):
        return {
            name: sorted(inner) if name in SETS and isinstance(inner, list) else _normalise(inner)
            for name, inner in value.items()
        }
    return [_normalise(one) for one in value] if isinstance(value, list) else value
