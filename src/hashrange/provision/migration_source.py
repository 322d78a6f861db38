"""The source of a migration: reads its items, opens their secret fields, and converts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hashrange.client.keyring import Keyring
from hashrange.client.transport import Transport
from hashrange.core.errors import HashrangeError, KeyRefused, TransportError, UnsafeKeyFile
from hashrange.core.values import Item as Raw
from hashrange.provision.item_conversion import Functions, convert_item, is_of
from hashrange.provision.item_transfer import SEGMENTS, ReportCount
from hashrange.provision.key_collision import Collision, TableItem, digest_key, key_of_item
from hashrange.provision.live_table import describe_table
from hashrange.provision.migration_report import Conversion, MigrationReport
from hashrange.provision.table_plan import require_tables
from hashrange.provision.table_scan import BEGIN, scan_pages
from hashrange.schema.declare import introspection
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Declared, Table, find_mounted
from hashrange.session.batch import batch_get
from hashrange.session.runnable import Task
from hashrange.session.session import Session, clock_of

NO_KEYS = (KeyRefused, UnsafeKeyFile, TransportError)  # errors of the keyring, which are those of no single item


class MigrationSource:
    """The tables that a migration reads, and the functions that convert their items."""

    def __init__(
        self,
        declared: Declared,
        functions: Functions,
        targets: Sequence[Table],
        database: Transport,
        keys: Keyring | None = None,
    ) -> None:
        self.functions, self.targets, self.database = functions, targets, database
        self.tables = require_tables([declared])
        self.session = Session(database, clock=clock_of(database), keys=keys, mounted=find_mounted(self.tables))

    def leave_out_absent_tables(self) -> None:
        """Read only the tables that exist: the others have no items."""
        self.tables = tuple(
            table for table in self.tables if describe_table(self.database, table.physical_name) is not None
        )

    def count_items(self, table: Table) -> int:
        """Return the number of items in a table, as its description has it."""
        return int((describe_table(self.database, table.physical_name) or {}).get("ItemCount", 0))

    def convert_all(self, found: MigrationReport, report: ReportCount | None) -> Iterator[list[Conversion]]:
        """Yield what the items of each page of the source become."""
        done, total = 0, sum(map(self.count_items, self.tables))
        for table in self.tables:
            for page in scan_pages(self.database, table.physical_name, dict.fromkeys(range(SEGMENTS), BEGIN)):
                yield list(self.convert_page(table, page.items, found))
                done += len(page.items)
                if report is not None:
                    report(done, total)

    def convert_page(self, table: Table, items: Sequence[Raw], report: MigrationReport) -> Iterator[Conversion]:
        """Yield what items of a table become, and count those that are not converted and those that fail."""
        for raw in items:
            key = {attr: raw[attr] for attr in table.keys}
            try:
                item = self._load(table, raw)
                if item is None:
                    report.not_converted += 1
                    continue
                report.items += 1
                conversion = convert_item(self.functions, self.targets, item, (table, key))
            except NO_KEYS:
                raise
            except HashrangeError as error:
                report.add_failure((table, key), error)
                continue
            report.outcomes[conversion.outcome] += 1
            report.classes.update(map(type, conversion.targets))
            yield conversion

    def convert_raw(self, table: Table, raw: Raw) -> list[TableItem]:
        """Return what a stored item becomes, with the tables; nothing for one that the migration does not convert."""
        return self.convert_item(table, self._load(table, raw))

    def convert_item(self, table: Table, item: Item | None) -> list[TableItem]:
        """Return what an item becomes, with the tables; nothing for one that the migration does not convert."""
        if item is None or not isinstance(item, tuple(self.functions)):
            return []
        return list(convert_item(self.functions, self.targets, item, (table, {})).stored)

    def convert_now(self, sources: Sequence[TableItem]) -> list[list[TableItem] | None]:
        """Return what items of the source become as they are now, None for each that cannot be converted."""
        raws = self.read(sources, "collision")
        return [self._convert_or_none(table, raw) for (table, _), raw in zip(sources, raws, strict=True)]

    def _convert_or_none(self, table: Table, raw: Raw | None) -> list[TableItem] | None:
        try:
            return [] if raw is None else self.convert_raw(table, raw)
        except NO_KEYS:
            raise
        except HashrangeError:
            return None

    def find_collision(self, sources: Sequence[TableItem], target: TableItem) -> Collision | None:
        """Return the collision of the first two of these items that become a target key as they are now."""
        digest = digest_key(*target)
        current = [
            source
            for source, found in zip(sources, self.convert_now(sources), strict=True)
            if found is not None and any(digest_key(*item) == digest for item in found)
        ]
        return Collision(current[0], current[1], key_of_item(target)) if current[1:] else None

    def read(self, keys: Sequence[TableItem], pattern: str) -> list[Raw | None]:
        """Return the stored items of these keys as they are now, in the same order."""
        return Task(self.session, lambda: batch_get(self.session, keys, pattern, consistent=True)).run()

    def _load(self, table: Table, raw: Raw) -> Item | None:
        """Return a stored item with its secrets opened; None for one of a class that is not converted."""
        models = [model for model in self.functions if self.session.table_of(model) is table]
        roots = [introspection.root(model) for model in models]
        if not models:
            return None
        try:
            item: Item | None = self.session.load(table, roots, raw)
        except HashrangeError:
            if is_of(roots, raw):
                raise
            return None  # the secrets of other classes need not be opened
        return item if isinstance(item, tuple(models)) else None
