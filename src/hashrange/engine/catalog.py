"""Which tables exist, and the physical side of changing that: rows, index columns, change logs.

Whether a change is allowed is decided before (`engine.control_plane`). Every method runs inside the caller's
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Protocol

import orjson
from msgspec.structs import replace

from hashrange.core.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from hashrange.core.wire import Wire
from hashrange.engine import sql
from hashrange.engine.context import EngineContext
from hashrange.engine.definition import (
    Definition,
    GlobalIndexDefinition,
    StreamDefinition,
    TimeToLive,
    dump_definition,
    load_definition,
)
from hashrange.engine.job_state import ClearColumn, FillExpiry, FillIndex, Purge
from hashrange.engine.table import Index, Table


class Catalog:
    """The tables by name."""

    def __init__(self, engine: EngineContext, keep_deleted: Callable[[Table], None]) -> None:
        self._engine = engine
        self._keep_deleted = keep_deleted  # keeps the rows of a deleted table as a backup
        self.tables: dict[str, Table] = {}
        self.retired: dict[int, Table] = {}  # deleted, but with a stream that may still be read
        self.deleting: dict[str, tuple[int, Wire]] = {}  # deleted, but shown as DELETING where a delay is configured
        self._dirty: set[Table] = set()  # whose counters have changed since they were last written
        self.touch = self._dirty.add
        self.version = 0  # grows with each change of a definition
        self.reload()

    def reload(self) -> None:
        """Read everything from the database again, as after a rollback."""
        execute = self._engine.store.execute
        self.version += 1
        self.tables, self.retired = {}, {}
        self.deleting.clear()
        self._dirty.clear()
        for n, name, definition in execute(sql.LOAD_TABLES).fetchall():
            table = Table(n, load_definition(definition))
            if name is None:
                self.retired[n] = table
            else:
                self.tables[name] = table
                self.find_rowid_collisions(table)
        for n, items, size, indexes in execute(sql.LOAD_COUNTS).fetchall():
            self._restore_counts(n, items, size, orjson.loads(indexes))
        if self._engine.store.in_memory:  # where counters are not written with each commit
            for table in self.tables.values():
                self.recount(table)

    def _restore_counts(self, n: int, items: int, size: int, indexes: dict[str, list[int]]) -> None:
        table = next((table for table in self.tables.values() if table.n == n), None)
        if table is None:
            return
        table.item_count, table.size_bytes = items, size
        for index in table.indexes:
            index.item_count, index.size_bytes = indexes.get(index.name, (0, 0))

    def write_counts(self) -> None:
        """Write the counters that changed since they were last written."""
        for table in self._dirty:
            counts = table.counts
            if counts != table.counts_written:
                self._engine.store.run(
                    sql.SAVE_COUNTS,
                    (table.n, table.item_count, table.size_bytes, orjson.dumps(counts[2])),
                )
                table.counts_written = counts
        self._dirty.clear()

    def find_rowid_collisions(self, table: Table) -> None:
        """Check whether a table has rows whose rowid is not the one of their key."""
        found = self._engine.store.execute(sql.find_rowid_collision(table.n)).fetchone()
        table.has_collisions = found is not None

    def recount(self, table: Table) -> None:
        """Count a table's rows and index entries again."""
        execute = self._engine.store.execute
        counted = iter(execute(sql.sum_sizes(table.n, [index.column for index in table.indexes])).fetchone())
        table.item_count, table.size_bytes = next(counted), next(counted)
        for index in table.indexes:
            index.item_count, index.size_bytes = next(counted), next(counted)
            if not index.keeps_all:  # the size of a narrow entry is known only from the item
                bodies = execute(sql.indexed_items(table.n, index.column))
                index.size_bytes = sum(index.measure_entry(orjson.loads(body)) for (body,) in bodies)
        self._dirty.add(table)

    @property
    def live_numbers(self) -> set[int]:
        """Return the numbers of all tables that are not deleted."""
        return {table.n for table in self.tables.values()}

    def names(self) -> list[str]:
        """Return all table names in byte order."""
        return sorted(self.tables, key=str.encode)

    def get(self, name_or_arn: str) -> Table | None:
        """Return a table by name or ARN, if it exists."""
        return self.tables.get(name_or_arn) or self.tables.get(self.name_in(name_or_arn))

    def find(self, name_or_arn: str) -> Table:
        """Return the table of a request for items; raise if there is none, or it is being loaded or restored."""
        table = self.tables.get(name_or_arn) or self.get(name_or_arn)
        if table is None or table.is_hidden:
            raise ResourceNotFoundException
        return table

    def locate(self, name_or_arn: str) -> Table:
        """Return the table of a request about tables, in any status; raise if there is none."""
        table = self.get(name_or_arn)
        if table is None:
            name = self.name_in(name_or_arn)
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
        return table

    def name_in(self, name_or_arn: str) -> str:
        """Return the table name in a name or table ARN, refusing ARNs of another account or region."""
        if not name_or_arn.startswith("arn:"):
            return name_or_arn
        parts = name_or_arn.split(":", 5)
        settings = self._engine.settings
        if len(parts) < 6 or parts[2] != "dynamodb" or not parts[5].startswith("table/") or "/" in parts[5][6:]:
            raise ValidationException(f"1 validation error detected: Invalid table ARN: {name_or_arn}")
        if parts[4] != settings.account:
            raise AccessDeniedException("Access is denied")
        if parts[3] != settings.region:
            raise ValidationException(f"1 validation error detected: Invalid AWS region in '{name_or_arn}'")
        return parts[5][6:]

    def create(self, definition: Definition) -> Table:
        """Make a table with its rows, index columns and log."""
        execute = self._engine.store.execute
        n = self.next_number()
        for statement in sql.create_rows(n, definition.columns):
            execute(statement)
        table = Table(n, definition)
        self.tables[table.name] = table
        self._store(table, table.name)
        self._dirty.add(table)
        return table

    def next_number(self) -> int:
        """Return a number that no rows and no log have, not even those of a table that was deleted."""
        taken = self._engine.store.execute(sql.HIGHEST_TABLE_NUMBER).fetchone()
        return int((taken and taken[0]) or 0) + 1

    def save(self, table: Table, definition: Definition) -> None:
        """Store a table's changed definition and use it."""
        table.load(definition)
        self._store(table, table.name if self.tables.get(table.name) is table else None)

    def _store(self, table: Table, name: str | None) -> None:
        self.version += 1
        self._engine.written += 1
        if table.logged:
            self._engine.store.execute(sql.create_log(table.n))
        self._engine.store.execute(
            sql.SAVE_TABLE,
            (table.n, name, dump_definition(table.definition)),
        )

    def drop(self, table: Table) -> None:
        """Delete a table; its rows are purged in slices or stay as a backup, its streams are readable for a day."""
        self.version += 1
        del self.tables[table.name]
        self._dirty.discard(table)
        execute = self._engine.store.execute
        execute(sql.DELETE_COUNTS, (table.n,))
        self._engine.jobs.drop(table.n)
        left = [f"t{table.n}"]
        if table.definition.recovery is not None:
            self._keep_deleted(table)
            left = []
        if table.definition.stream is not None:
            self.close_stream(table)
        if table.definition.streams:
            self.retired[table.n] = table
            self.save(table, replace(table.definition, pitr=None))
        else:
            execute(sql.DELETE_TABLE, (table.n,))
            left += [f"c{table.n}"] if table.definition.has_log else []
        if left and not table.definition.copying:  # else when the backup is complete
            self._engine.jobs.start(table.n, Purge(tuple(left)))

    def delete_retired(self, table: Table) -> None:
        """Delete what is left of a deleted table, once its streams have expired."""
        self.retired.pop(table.n, None)
        self._engine.store.execute(sql.DELETE_TABLE, (table.n,))
        self._engine.store.execute(sql.drop_table(f"c{table.n}"))

    def add_index(self, table: Table, index: GlobalIndexDefinition) -> Index:
        """Give a new global index a column and start putting the existing items into it."""
        definition = table.definition
        column = self._free_column(table)
        added = replace(index, column=column, backfill=True)
        columns = max(definition.columns, column + 1)
        self.save(table, replace(definition, columns=columns, global_indexes=(*definition.global_indexes, added)))
        self._dirty.add(table)
        self._engine.jobs.start(table.n, FillIndex(index.name))
        return table.indexes_by_name[index.name]

    def _free_column(self, table: Table) -> int:
        """Return the lowest column that no index uses; add one when there is none."""
        used = {index.column for index in table.indexes} | set(table.definition.clearing)
        columns = table.definition.columns
        free = next((column for column in range(columns) if column not in used), None)
        if free is not None:
            return free
        for statement in sql.add_column(table.n, columns):
            self._engine.store.execute(statement)
        return columns

    def remove_index(self, table: Table, name: str) -> None:
        """Remove a global index; its column is cleared in slices before it can be used again."""
        column = table.indexes_by_name[name].column
        if table.indexes_by_name[name].backfilling:
            self._engine.jobs.drop(table.n, FillIndex)
        definition = table.definition
        kept = tuple(index for index in definition.global_indexes if index.name != name)
        self.save(table, replace(definition, global_indexes=kept, clearing=(*definition.clearing, column)))
        self._dirty.add(table)
        self._engine.jobs.start(table.n, ClearColumn(column))

    def set_ttl(self, table: Table, attribute: str | None) -> None:
        """Set or remove the attribute that items expire by."""
        self.save(table, replace(table.definition, ttl=TimeToLive(attribute) if attribute else None))
        self._engine.jobs.start(table.n, FillExpiry())

    def open_stream(self, table: Table, view: str) -> StreamDefinition:
        """Enable a stream: a new label, starting at the next change."""
        now, definition = self._engine.now(), table.definition
        same_name = [table, *(other for other in self.retired.values() if other.name == table.name)]
        label = self._new_label(now, (stream.label for other in same_name for stream in other.definition.streams))
        stream = StreamDefinition(label=label, view=view, start=self._engine.next_sequence(), created=now)
        self.save(table, replace(definition, streams=(*definition.streams, stream)))
        return stream

    def _new_label(self, now: int, taken: Iterable[str]) -> str:
        known = set(taken)
        while True:
            moment = datetime.fromtimestamp(now / 1000, UTC)
            label = moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now % 1000:03d}"
            if label not in known:
                return label
            now += 1

    def close_stream(self, table: Table) -> None:
        """Disable the stream; what it holds stays readable for a day."""
        stream = table.definition.stream
        if stream is not None:
            closed = replace(stream, end=self._engine.next_sequence(), closed=self._engine.now())
            self.save(table, replace(table.definition, streams=(*table.definition.streams[:-1], closed)))


class CatalogContext(EngineContext, Protocol):
    """An engine, as far as the parts above the catalog use it."""

    @property
    def catalog(self) -> Catalog:
        """The tables by name."""
        ...
