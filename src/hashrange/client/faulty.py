"""A database in this process whose calls go wrong on purpose; on an event loop, its delays hold up nobody else."""

from __future__ import annotations

import asyncio

from hashrange.client.database import Database, read_as_json
from hashrange.client.transport import DecodeResponse, decode_all
from hashrange.core.wire import Wire
from hashrange.engine.faults.faulty_engine import FaultyEngine


class FaultyDatabase(Database):
    """An open database with faults."""

    engine: FaultyEngine

    async def call_async(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Do the same as `call` in an event loop, which goes on while a delay lasts."""
        await asyncio.sleep(self.engine.faults.take_delay(operation, request or {}))
        answer = self.engine.call_at_once(operation, request or {}, read_as_json)
        return read(answer) if answer else {}
