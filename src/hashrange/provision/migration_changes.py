"""Brings the target of a migration in line with items of the source that have changed, as they are now.

An item of the target is what the only item of the source that becomes it becomes now. It is deleted when there is none.
When there are several, it stays as it was: which of them it should be is nobody's to guess. Therefore all items of the
source must be known, and are read once before the first change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from hashrange.core.errors import HashrangeError
from hashrange.provision.item_transfer import ReportCount
from hashrange.provision.key_collision import Collision, TableItem, TargetKeys, digest_key, key_of_item
from hashrange.provision.migration_report import MigrationReport
from hashrange.provision.migration_source import MigrationSource
from hashrange.provision.migration_target import MigrationTarget
from hashrange.session.item_change import ItemChange

FOLLOW = "follow"
ConvertedSource: TypeAlias = tuple[TableItem, dict[bytes, TableItem]]  # with what it becomes, by digest


class MigrationChanges:
    """Applies changes of the source: a changed item is read again, so that order and repetition do not matter."""

    def __init__(self, source: MigrationSource, target: MigrationTarget) -> None:
        self.source, self.target = source, target
        self.keys: TargetKeys | None = None  # of all items of the source; None before they were read
        self.collisions: dict[bytes, Collision] = {}  # by the digest of the target key
        self.changed = 0  # changes of items that are converted
        self.report: ReportCount | None = None

    def begin(self, report: ReportCount | None) -> None:
        """Begin to count changes."""
        self.changed, self.report = 0, report

    def apply(self, changes: Sequence[ItemChange[Any]]) -> None:
        """Write what the changed items become, and delete what they became before."""
        models = tuple(self.source.functions)
        self.changed += sum(isinstance(each.before, models) or isinstance(each.after, models) for each in changes)
        keys, changed, touched = self._read_keys(), self._convert_changed(changes), dict[bytes, TableItem]()
        for source, items in changed.values():
            touched |= items
            for digest in items:
                keys.add(source, digest)
        for change in changes:
            for item in self._convert_before(change):
                touched.setdefault(digest_key(*item), item)
        puts: list[TableItem] = []
        gone: list[TableItem] = []
        for digest, item in touched.items():
            found = self._find_current(keys, digest, changed)
            self.collisions.pop(digest, None)
            if len(found) > 1:
                (first, _), (second, _), *_ = found
                self.collisions[digest] = Collision(first, second, key_of_item(item))
            elif not found:
                gone.append(key_of_item(item))
            elif (only := found[0][1]) is not None:
                puts.append(only)
        self.target.put(puts, FOLLOW)
        self.target.delete(gone, FOLLOW)

    def find_collision(self, item: TableItem) -> Collision | None:
        """Return the collision of the items of the source that become an item of the target, if there are several."""
        sources = self._read_keys().sources_of(digest_key(*item))
        return self.source.find_collision(sources, item) if sources[1:] else None

    def _read_keys(self) -> TargetKeys:
        """Return the keys of what all items of the source become; note those that collide."""
        if self.keys is not None:
            return self.keys
        keys, shared = TargetKeys(), dict[bytes, TableItem]()
        pages = self.source.convert_all(MigrationReport(), self.report)
        for each in chain.from_iterable(pages):
            for item in each.stored:
                if keys.add((each.table, each.key), digest := digest_key(*item)):
                    shared[digest] = item
        for digest, item in shared.items():
            if collision := self.source.find_collision(keys.sources_of(digest), item):
                self.collisions[digest] = collision
        self.keys = keys
        return keys

    def _convert_changed(self, changes: Sequence[ItemChange[Any]]) -> dict[bytes, ConvertedSource]:
        """Return what each changed item becomes as it is now, by the digest of its key."""
        sources = {digest_key(change.table, change.keys): (change.table, change.keys) for change in changes}
        raws = self.source.read([*sources.values()], FOLLOW)
        converted = (
            [] if raw is None else self.source.convert_raw(table, raw)
            for (table, _), raw in zip(sources.values(), raws, strict=True)
        )
        return {
            digest: (source, {digest_key(*item): item for item in items})
            for (digest, source), items in zip(sources.items(), converted, strict=True)
        }

    def _find_current(
        self, keys: TargetKeys, digest: bytes, changed: Mapping[bytes, ConvertedSource]
    ) -> list[tuple[TableItem, TableItem | None]]:
        """Return the items of the source that become a target key as they are now, each with what it becomes.

        That is None for one that cannot be converted: it keeps what it has become before.
        """
        found: list[tuple[TableItem, TableItem | None]] = []
        for source in keys.sources_of(digest):
            known = changed.get(digest_key(*source))
            items = known[1] if known is not None else self._convert_now(source)
            if items is None:
                found.append((source, None))
            elif digest in items:
                found.append((source, items[digest]))
            else:
                keys.remove(source, digest)
        return found

    def _convert_now(self, source: TableItem) -> dict[bytes, TableItem] | None:
        (items,) = self.source.convert_now([source])
        return None if items is None else {digest_key(*item): item for item in items}

    def _convert_before(self, change: ItemChange[Any]) -> list[TableItem]:
        """Return what an item has become; nothing was written for one that could not be converted."""
        try:
            return self.source.convert_item(change.table, change.before)
        except HashrangeError:
            return []
