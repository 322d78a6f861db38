"""Brings the target of a migration in line with items of the source that have changed, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hashrange.core.errors import HashrangeError
from hashrange.provision.key_collision import TableItem, digest_key
from hashrange.provision.migration_source import MigrationSource
from hashrange.provision.migration_target import MigrationTarget
from hashrange.session.item_change import ItemChange

FOLLOW = "follow"


class MigrationChanges:
    """Applies changes of the source: a changed item is read again, so that order and repetition do not matter."""

    def __init__(self, source: MigrationSource, target: MigrationTarget) -> None:
        self.source, self.target = source, target
        self.changed = 0  # changes of items that are converted

    def apply(self, changes: Sequence[ItemChange[Any]]) -> None:
        """Write what the changed items become, and delete what they became before."""
        models = tuple(self.source.functions)
        self.changed += sum(isinstance(each.before, models) or isinstance(each.after, models) for each in changes)
        keys = list({digest_key(change.table, change.keys): (change.table, change.keys) for change in changes}.values())
        raws = self.source.read(keys, FOLLOW)
        puts = [
            item
            for (table, _), raw in zip(keys, raws, strict=True)
            if raw
            for item in self.source.convert_raw(table, raw)
        ]
        kept = {digest_key(table, target) for table, target in puts}
        old_keys = [item for change in changes for item in self._convert_before(change)]
        gone = {digest: one for one in old_keys if (digest := digest_key(*one)) not in kept}
        self.target.put(puts, FOLLOW)
        self.target.delete(
            [(table, {attr: target[attr] for attr in table.keys}) for table, target in gone.values()], FOLLOW
        )

    def _convert_before(self, change: ItemChange[Any]) -> list[TableItem]:
        """Return what an item has become; nothing was written for one that could not be converted."""
        try:
            return self.source.convert_item(change.table, change.before)
        except HashrangeError:
            return []
