"""Time to live: deletes expired items in the background, as the service does.

Expired items stay readable until they are deleted. Each is checked again inside the deleting transaction, so an item
whose expiry was moved into the future stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange.engine import sql, write

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext
    from hashrange.engine.table import Table

FIVE_YEARS = 5 * 365 * 24 * 3600  # an older value is not taken for a time
ITEMS_PER_SLICE = 200


def delete_expired(engine: CatalogContext) -> bool:
    """Delete a slice of expired items; return whether there may be more."""
    now = engine.clock.millis() // 1000
    tables = [table for table in engine.catalog.tables.values() if table.ttl_attribute]
    return sum(_delete_expired_of(engine, table, now) for table in tables) > 0


def _delete_expired_of(engine: CatalogContext, table: Table, now: int) -> bool:
    rows = engine.store.execute(sql.expired_keys(table.n, ITEMS_PER_SLICE), (now, now - FIVE_YEARS)).fetchall()
    if rows:
        engine.begin_transaction()
    for (key,) in rows:
        row = write.load_row(engine, table, key)
        expires = table.expiry_of(row.item) if row else None
        if row is not None and expires is not None and now - FIVE_YEARS < expires < now:
            write.apply(engine, table, key, row, None, write.TTL_SERVICE)
    return len(rows) == ITEMS_PER_SLICE
