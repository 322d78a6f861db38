"""The target of a migration: writes what items of the source become, and compares it with what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from hashrange.client.keyring import Keyring, is_sealed
from hashrange.client.transport import Transport
from hashrange.core.errors import ConditionalCheckFailedException, Tampered
from hashrange.core.values import Item as Raw
from hashrange.provision.item_conversion import root_of
from hashrange.provision.key_collision import TableItem, digest_key
from hashrange.provision.table_plan import require_tables
from hashrange.schema.declare import introspection
from hashrange.schema.declare.table import Declared, Table, find_mounted
from hashrange.session.batch import batch_get, batch_write
from hashrange.session.runnable import Task
from hashrange.session.session import Session


class MigrationTarget:
    """The tables that a migration writes. Items are given and returned with their secrets open, and stored sealed."""

    def __init__(self, declared: Declared, database: Transport, keys: Keyring | None = None) -> None:
        self.database = database
        self.tables = require_tables([declared])
        self.session = Session(database, keys=keys, mounted=find_mounted(self.tables))

    def fetch(self, wanted: Sequence[TableItem]) -> list[Raw | None]:
        """Return what is stored under the keys of these items, as it is stored."""
        keys = [(table, {attr: raw[attr] for attr in table.keys}) for table, raw in wanted]
        return Task(self.session, lambda: batch_get(self.session, keys, "verify", consistent=True)).run()

    def holds(self, wanted: TableItem, raw: Raw) -> bool:
        """Return whether a stored item is as it would be written: with these values, and its secrets sealed for it."""
        table, item = wanted
        if any(not is_sealed(raw[name].get("S", "")) for name in self.session.secret_names(table) & raw.keys()):
            return False
        try:
            return self.session.decrypt_item(table, raw) == item
        except Tampered:
            return False

    def root_of(self, table: Table, raw: Raw) -> Any:
        """Return the class of a stored item, without its variant; None if it has none."""
        found = self.session.load_any(table, raw)
        return introspection.root(type(found)) if found is not None else root_of(table, raw)

    def put(self, items: Iterable[TableItem], pattern: str) -> int:
        """Write items, of several with one key the last, and return how many there were."""
        unique = {digest_key(table, raw): (table, self._seal(table, raw)) for table, raw in items}
        return Task(self.session, lambda: batch_write(self.session, list(unique.values()), (), pattern)).run()

    def put_missing(self, items: Iterable[TableItem]) -> int:
        """Write items, unless a program has written one under the same key meanwhile; return how many were written."""
        written = 0
        for table, raw in items:
            condition = {
                "ConditionExpression": "attribute_not_exists(#k)",
                "ExpressionAttributeNames": {"#k": table.pk},
            }
            request = {"TableName": table.physical_name, "Item": self._seal(table, raw), **condition}
            with suppress(ConditionalCheckFailedException):
                self.database.call("PutItem", request)
                written += 1
        return written

    def delete(self, keys: Sequence[TableItem], pattern: str) -> None:
        """Delete the items of these keys."""
        Task(self.session, lambda: batch_write(self.session, (), keys, pattern)).run()

    def _seal(self, table: Table, raw: Raw) -> Raw:
        return self.session.encrypt_item(table, dict(raw))
