"""Moves a table of the original to ours: converts its items with the migrations, and adds those that ours lacks.

Nothing in our table is replaced or deleted, and the source is only read. Each page is recorded when it is written, so
an interrupted migration goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hashrange import (
    Conflict,
    HashrangeError,
    Item,
    LocalKeys,
    ResourceNotFoundException,
    Transport,
    ValidationException,
    create_tables,
    load_item,
)
from hashrange.provision import Migration, MigrationReport
from hashrange_systems.aura import migration
from hashrange_systems.aura.schema import Aura, table
from hashrange_systems.aura.work_schema import MigrationProgress, Work
from hashrange_systems.shared.errors import ApplicationError
from hashrange_systems.shared.wire import Wire

PAGE = 200
AT_ONCE = 25
MAX_FAILURES = 10  # that are listed
LISTS, FLAGS = frozenset({"standards_used"}), frozenset({"is_product"})  # every other attribute is a text


class MigrationRefused(ApplicationError):
    """A migration that cannot be done; the text says how it can."""

    status = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationSummary:
    """What a migration did; `kept` were there before, `mended` lost an attribute of a wrong type."""

    layout: str
    items: int
    added: int
    kept: int
    mended: int
    undeclared: int
    unreadable: int
    failures: tuple[str, ...] = ()  # the first that could not be read: key and reason


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMigration:
    """The migration of one table; both databases may be the same if the tables have different names."""

    source: Transport
    target: Transport
    source_name: str
    same_database: bool

    def preview(self) -> MigrationReport:
        """Convert every item without writing."""
        return self._find_migration().open(self.source, self.target).preview()

    def run(self, report: Callable[[int], None] | None = None) -> MigrationSummary:
        """Add every item that the target lacks; go on where an earlier call was interrupted."""
        chosen = self._find_migration()
        create_tables(self.target, Aura, Work)
        return asyncio.run(self._run(chosen, report))

    async def _run(self, chosen: Migration, report: Callable[[int], None] | None) -> MigrationSummary:
        db, work = Aura.open(self.target), Work.open(self.target, keys=LocalKeys.generate())
        state = await work.migration_progress(self.source_name) or MigrationProgress(source=self.source_name)
        while True:
            request: Wire = {"TableName": self.source_name, "Limit": PAGE}
            if state.cursor is not None:
                request["ExclusiveStartKey"] = json.loads(state.cursor)
            page = await self.source.call_async("Scan", request)
            copy = PageCopy(chosen, db, state)
            await copy.add_all(page.get("Items", []))
            last = page.get("LastEvaluatedKey")
            if last is None:
                break
            state = await work.put(copy.state.model_copy(update={"cursor": json.dumps(last)}))
            if report is not None:
                report(state.items)
        await work.end_migration(self.source_name)
        counts = copy.state.model_dump(exclude={"source", "cursor", "failures"})
        return MigrationSummary(layout=chosen.name, failures=tuple(copy.state.failures), **counts)

    def _find_migration(self) -> Migration:
        """Return the migration for the layout of the source table."""
        keys = [each["AttributeName"] for each in self._describe()["KeySchema"]]
        if self.same_database and self.source_name == table.physical_name:
            raise MigrationRefused(self._explain_same_name(keys))
        match keys:
            case ["PK", "SK"]:
                return migration.first
            case ["pk", "sk"]:
                return migration.original
            case _:
                raise MigrationRefused(f"{self.source_name} has the keys {', '.join(keys)}: it is not a table of aura.")

    def _explain_same_name(self, keys: list[str]) -> str:
        if keys == ["pk", "sk"]:
            return f"{self.source_name} is the table that aura uses: hashrange aura repair completes it in place."
        return (
            f"{self.source_name} is also the name of the new table, whose keys differ: give that another name, "
            f"DYNAMODB_TABLE_NAME={self.source_name}-2 hashrange aura migrate --from {self.source_name}"
        )

    def _describe(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.source.call("DescribeTable", {"TableName": self.source_name})["Table"]
        except ResourceNotFoundException as error:
            raise MigrationRefused(f"There is no table {self.source_name} to migrate from.") from error
        return found


@dataclass(slots=True)
class PageCopy:
    """Adds one page of the source to the target, and counts what became of its items."""

    chosen: Migration
    db: Aura
    state: MigrationProgress

    async def add_all(self, items: list[Wire]) -> None:
        """Add the items that the target lacks, some at the same time."""
        for start in range(0, len(items), AT_ONCE):
            await asyncio.gather(*map(self._add, items[start : start + AT_ONCE]))

    async def _add(self, raw: Wire) -> None:
        try:
            targets = self._convert(raw)
            for target in targets:
                await self._create(target)
        except (ValidationException, ValueError) as error:
            self._note(raw, str(error))

    def _convert(self, raw: Wire) -> tuple[Item, ...]:
        """Return what an item becomes; nothing for one that cannot be read, or of another program."""
        models = list(self.chosen.functions)
        try:
            item = load_item(models, raw)
        except HashrangeError as error:
            item = self._load_usable(models, raw)
            if item is None:
                self._note(raw, str(error))
                return ()
        if not isinstance(item, tuple(models)):
            self._count("undeclared")
            return ()
        self._count("items")
        assert isinstance(item, Item)
        try:
            return self.chosen.apply_to(item).targets
        except HashrangeError as error:
            self._note(raw, str(error))
            return ()

    def _load_usable(self, models: list[type[Item]], raw: Wire) -> Item | None:
        """Return the item of those attributes that have the type they should have."""
        usable = keep_usable(raw)
        try:
            item = load_item(models, usable) if usable != raw else None
        except HashrangeError:
            return None
        if item is not None:
            self._count("mended")
        return item

    async def _create(self, target: Item) -> None:
        try:
            await self.db.create(target).imported()
        except Conflict:
            self._count("kept")
        else:
            self._count("added")

    def _note(self, raw: Wire, reason: str) -> None:
        self._count("unreadable")
        if len(self.state.failures) < MAX_FAILURES:
            key = " ".join(str(raw[name].get("S")) for name in ("PK", "SK", "pk", "sk") if name in raw)
            failures = [*self.state.failures, f"{key[:200]}: {reason[:300]}"]
            self.state = self.state.model_copy(update={"failures": failures})

    def _count(self, name: str) -> None:
        self.state = self.state.model_copy(update={name: getattr(self.state, name) + 1})


def keep_usable(raw: Wire) -> Wire:
    """Return the attributes that have the type that the original gives them; a set of texts is a list."""
    kept: Wire = {}
    for name, value in raw.items():
        if name in LISTS:
            texts = [{"S": each} for each in value.get("SS", ())] or [
                each for each in value.get("L", ()) if "S" in each
            ]
            kept |= {name: {"L": texts}} if texts else {}
        elif ("BOOL" if name in FLAGS else "S") in value:
            kept[name] = value
    return kept
