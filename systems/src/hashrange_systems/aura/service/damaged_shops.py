"""Finds the shops that lists skip or that cannot be worked on: items that cannot be read, and wrong names.

`find()` reads every shop, for a command; `count()` does so at most every ten minutes, for pages and metrics.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hashrange import Unreadable
from hashrange_systems.aura.model.domain import is_host
from hashrange_systems.aura.schema import Aura, Shop

if TYPE_CHECKING:
    from hashrange import Clock

COMMAND = "hashrange aura list --damaged"
NO_HOST = "its key is not a host: register the host with hashrange aura add, and delete this item from the table"
MISNAMED = "its domain is not that of its key: hashrange aura repair"
COUNT_EVERY_MS = 600_000
AT_ONCE = 50  # shops that are read before other requests have their turn
SHOP_KEY = "SHOP#"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedShop:
    """A shop that is not worked on, by the domain of its key, with the reason."""

    domain: str
    reason: str


@dataclass(slots=True)
class DamagedShops:
    """Finds damaged shops."""

    db: Aura
    clock: Clock
    _count: int = 0
    _counted_at: int | None = None
    _counting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def count(self) -> int:
        """Return how many shops are damaged; at most ten minutes old."""
        async with self._counting:
            now = self.clock.millis()
            if self._counted_at is None or now - self._counted_at >= COUNT_EVERY_MS:
                self._count, self._counted_at = len(await self.find()), now
        return self._count

    async def find(self) -> list[DamagedShop]:
        """Return the shops that cannot be read, and those with a name that is not their key's, or no host."""
        found: list[DamagedShop] = []
        countries = await self.db.countries()
        for country in sorted(countries.countries) if countries else ():
            unreadable: list[Unreadable] = []
            shops = self.db.shops_in(country).whole().skip_unreadable(unreadable.append)
            waiting: list[Shop] = []
            async for shop in shops:
                waiting.append(shop)
                if len(waiting) >= AT_ONCE:
                    found += await self._find_misnamed(waiting)
                    waiting = []
            found += await self._find_misnamed(waiting)
            found += [describe_unreadable(error) for error in unreadable]
        return found

    async def _find_misnamed(self, shops: list[Shop]) -> list[DamagedShop]:
        await asyncio.sleep(0)  # an embedded database never suspends the task
        domains = list(dict.fromkeys(shop.domain for shop in shops))
        try:
            stored = await self.db.fetch([self.db.shop(domain) for domain in domains]) if domains else []
        except Unreadable:  # at least one is another item, which is damaged too
            suspects = domains
        else:
            known = {shop.domain for shop in stored if shop is not None}
            suspects = [domain for domain in domains if domain not in known or not is_host(domain)]
        reasons = [(shop.domain, await explain_name(self.db, shop)) for shop in shops if shop.domain in suspects]
        return [DamagedShop(domain=domain, reason=reason) for domain, reason in reasons if reason]


async def explain_name(db: Aura, shop: Shop) -> str | None:
    """Return why a shop cannot be worked on under its name; None if it can."""
    if not is_host(shop.domain):
        return NO_HOST
    try:
        return MISNAMED if await db.shop(shop.domain) is None else None
    except Unreadable:
        return MISNAMED  # another item, which is damaged too


def describe_unreadable(error: Unreadable) -> DamagedShop:
    """Return the shop of an item that cannot be read."""
    key = str(error.raw.get("pk", {}).get("S", "")) if error.raw else ""
    return DamagedShop(domain=key.removeprefix(SHOP_KEY), reason=str(error))
