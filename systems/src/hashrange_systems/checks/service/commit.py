"""Writes several items in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hashrange import Write
from hashrange_systems.checks.schema import Checks


async def commit(db: Checks, writes: Iterable[Write[Any]]) -> None:
    """Write all or none. Does not read the items back: another process may already have changed them."""
    await db.transact_all(writes).unread()
