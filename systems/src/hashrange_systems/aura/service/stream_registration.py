"""Registers shops that other programs write: reads new META# items from the table's stream, as the original's did.

Each gets its core name, its index keys and its country; relatives by core name are asked "same shop?".
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hashrange import Conflict, Consumer, ItemChange, StreamTrimmed, Taken, create_tables
from hashrange_systems.aura.model.domain import find_core_name
from hashrange_systems.aura.schema import Aura, Shop
from hashrange_systems.aura.work_schema import SameShop, Work, checkpoints
from hashrange_systems.shared.epoch import to_second

if TYPE_CHECKING:
    from hashrange import Clock

log = logging.getLogger(__name__)

CONSUMER = "registrar"


@dataclass(slots=True)
class Registrar:
    """Handles new shops in the stream; one process at a time does."""

    db: Aura
    work: Work
    clock: Clock
    _consumer: Consumer | None = field(default=None, init=False)

    async def register_new(self) -> int:
        """Register the shops that were written since the last time; return the number of changes that were read."""
        if self._consumer is None:
            await asyncio.to_thread(create_tables, self.db.session.transport, checkpoints)
            self._consumer = self._make_consumer()
        consumer = self._consumer
        try:
            return await consumer
        except Conflict:
            return 0  # another process reads the stream
        except StreamTrimmed:
            log.warning("the stream was not read for a day: hashrange aura repair finds the shops that it had")
            await consumer.forget()
            return 0

    def _make_consumer(self) -> Consumer:
        consumer = self.db.consumer(CONSUMER, checkpoints)

        @consumer.on(Shop)
        async def register(change: ItemChange[Shop]) -> None:
            if change.event_name == "INSERT" and change.after is not None:
                await self.register(change.after)

        return consumer

    async def register(self, shop: Shop) -> None:
        """Complete a shop that was just written, and ask about its relatives; doing it again changes nothing."""
        core = shop.core_domain_name or find_core_name(shop.domain)
        try:
            await self.db.transact(
                self.db.complete(shop, core_domain_name=core, shop_country=shop.shop_country),
                self.db.add_countries(countries={shop.shop_country}),
            ).unread()
        except Conflict:
            return  # it is gone
        relatives = [each.domain async for each in self.db.related(core) if each.domain != shop.domain]
        pairs = [(shop.domain, other) for other in relatives]
        for one, two in [*pairs, *((two, one) for one, two in pairs)]:
            with suppress(Taken):
                await self.work.create(SameShop(domain=one, other=two, decided_at=to_second(self.clock.millis())))
