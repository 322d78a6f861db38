"""Consumed capacity and item-collection metrics: what a request costs, as the service reports it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hashrange.core.values import measure_item
from hashrange.core.wire import Wire

if TYPE_CHECKING:
    from hashrange.engine.table import Index, Table
    from hashrange.engine.write import WriteResult


READ_UNIT = 4096
WRITE_UNIT = 1024


def read_units(size: int, *, consistent: bool, transactional: bool = False) -> float:
    """Return the units for reading so many bytes at once, at least one unit's worth."""
    blocks = max(1, -(-size // READ_UNIT))
    if transactional:
        return 2.0 * blocks
    return float(blocks) if consistent else blocks / 2


def write_units(size: int) -> float:
    """Return the units for writing so many bytes."""
    return float(max(1, -(-size // WRITE_UNIT)))


class ConsumedCapacity:
    """What one table's part of a request consumed, by table and index."""

    def __init__(self, name: str, side: str | None = None) -> None:
        self.name = name
        self.side = side  # "Read" or "Write" on transactional operations
        self.table = 0.0
        self.indexes: dict[Index, float] = {}

    def add_table(self, units: float) -> None:
        """Add units to the table."""
        self.table += units

    def add_index(self, index: Index, units: float) -> None:
        """Add units to an index."""
        self.indexes[index] = self.indexes.get(index, 0.0) + units

    def add_write(self, change: WriteResult, factor: int = 1) -> None:
        """Add what a write costs; `factor` doubles the table's part in transactions."""
        old, new = change.old, change.new
        self.table += factor * write_units(max(old.size if old else 0, new.size if new else 0))
        first = 1 if change.table.ttl_attribute else 0
        for at, index in enumerate(change.table.indexes, first):
            units = _index_units(change, index, at)
            if units:
                self.add_index(index, units)

    def report(self, mode: str) -> Wire:
        """Return the ConsumedCapacity of the request in the asked detail."""
        total = self._units_of(self.table + sum(self.indexes.values()))
        wire: Wire = {"TableName": self.name, **total}
        if mode == "INDEXES":
            wire["Table"] = self._units_of(self.table)
            for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
                units_by_index = {
                    i.name: self._units_of(u) for i, u in self.indexes.items() if i.is_global is is_global
                }
                if units_by_index:
                    wire[member] = units_by_index
        return wire

    def _units_of(self, units: float) -> Wire:
        return {"CapacityUnits": units} | ({f"{self.side}CapacityUnits": units} if self.side else {})


def _index_units(change: WriteResult, index: Index, at: int) -> float:
    """Return what a write costs on one index: nothing, one entry written, or a delete and an insert."""
    before = change.old.columns[at] if change.old else None
    after = change.new.columns[at] if change.new else None
    removed = index.project(change.old.item) if before is not None and change.old else None
    added = index.project(change.new.item) if after is not None and change.new else None
    if removed == added:
        return 0.0
    out = 0.0 if removed is None else write_units(measure_item(removed))
    into = 0.0 if added is None else write_units(measure_item(added))
    return max(out, into) if before == after else out + into


def collection_metrics(table: Table, change: WriteResult) -> Wire | None:
    """Return the ItemCollectionMetrics of a write; only tables with local indexes have collections."""
    if not table.has_local_indexes:
        return None
    item = change.new.item if change.new else change.old.item if change.old else None
    if item is None:
        return None
    return {"ItemCollectionKey": {table.hash_name: item[table.hash_name]}, "SizeEstimateRangeGB": [0.0, 1.0]}


def report_capacity(costs: Iterable[ConsumedCapacity], mode: str) -> list[Wire]:
    """Return the ConsumedCapacity list of an operation on several tables."""
    return [cost.report(mode) for cost in costs]
