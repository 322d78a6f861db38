"""Repairs a table that the original's programs filled: completes items, derives every index key, lists the countries.

It can be interrupted and goes on where it stopped; running it again changes nothing. Other programs may read meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from hashrange import ConditionalCheckFailedException, Conflict, Transport
from hashrange.provision import backfill
from hashrange_systems.aura.migration import read_country
from hashrange_systems.aura.model.country import PREFIX, UNKNOWN
from hashrange_systems.aura.model.domain import find_core_name
from hashrange_systems.aura.schema import Aura, Shop, table
from hashrange_systems.aura.service.registry import Registry
from hashrange_systems.aura.work_schema import RepairProgress, Work
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.wire import Wire

if TYPE_CHECKING:
    from hashrange import Clock

PAGE = 200
SHOP_KEY, URL_KEY, META = "SHOP#", "URL#", "META#"
SHORTENED = re.compile(r"~[0-9a-f]{64}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What a repair did: items read, completed, shops made for URLs without one, index keys derived, countries."""

    scanned: int
    completed: int
    indexed: int
    countries: tuple[str, ...]
    unreadable: int


@dataclass(slots=True)
class Repair:
    """Repairs the table that the patterns are bound to."""

    db: Aura
    work: Work
    clock: Clock
    registry: Registry
    progress: Callable[[int], object] | None = None
    _shops: set[str] = field(default_factory=set)  # partitions of the current page that have META#

    async def run(self) -> RepairReport:
        """Repair everything."""
        state = await self._complete_items()
        reports = await asyncio.to_thread(backfill, self._database, Aura)
        await self._list_countries(state.countries)
        await self.work.end_repair()
        return RepairReport(
            scanned=sum(each.scanned for each in reports),
            completed=state.repaired,
            indexed=sum(each.repaired for each in reports),
            countries=await self.registry.countries(),
            unreadable=sum(each.unreadable for each in reports),
        )

    @property
    def _database(self) -> Transport:
        return self.db.session.transport

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────
    async def _complete_items(self) -> RepairProgress:
        """Give items the attributes that index keys follow from; each page is recorded when it is done."""
        name = table.physical_name
        state = await self.work.repair_progress()
        if state is None or state.table_name != name:
            state = RepairProgress(table_name=name)
        while not state.complete:
            request: Wire = {"TableName": name, "Limit": PAGE}
            if state.cursor is not None:
                request["ExclusiveStartKey"] = json.loads(state.cursor)
            page = await self._database.call_async("Scan", request)
            repaired, countries = 0, set(state.countries)
            for item in page.get("Items", ()):
                repaired += await self._complete(item, countries)
            last = page.get("LastEvaluatedKey")
            state = await self.work.put(
                RepairProgress(
                    table_name=name,
                    cursor=json.dumps(last) if last else None,
                    complete=last is None,
                    repaired=state.repaired + repaired,
                    countries=countries,
                )
            )
            if self.progress is not None:
                self.progress(state.repaired)
        return state

    async def _complete(self, item: Wire, countries: set[str]) -> int:
        """Complete one item; return whether it was changed."""
        pk, sk = item["pk"].get("S", ""), item["sk"].get("S", "")
        if not pk.startswith(SHOP_KEY):
            return 0
        domain = pk.removeprefix(SHOP_KEY)
        if sk == META:
            self._shops.add(domain)
            countries.add(read_country(read_text(item, "shop_country")))
            return await self._set(item, complete_shop(item, domain))
        if not sk.startswith(URL_KEY):
            return 0
        made = await self._make_shop(domain, countries)
        return made + await self._set(item, complete_url(item, sk))

    async def _make_shop(self, domain: str, countries: set[str]) -> int:
        """Write the shop of URLs that have none; return whether it was missing."""
        if domain in self._shops:
            return 0
        self._shops = {domain}  # the items of a partition follow each other
        try:
            shop = Shop(domain=domain, core_domain_name=find_core_name(domain), registered_at=self._now())
            await self.db.create(shop)
        except Conflict:
            return 0
        countries.add(UNKNOWN)
        return 1

    async def _set(self, item: Wire, wanted: dict[str, str]) -> int:
        """Write attributes, unless another program changed them meanwhile."""
        if not wanted:
            return 0
        names = {f"#{at}": name for at, name in enumerate(wanted)}
        values = {f":{at}": {"S": value} for at, value in enumerate(wanted.values())}
        conditions = []
        for at, name in enumerate(wanted):
            if name in item:
                values[f":old{at}"] = item[name]
                conditions.append(f"#{at} = :old{at}")
            else:
                conditions.append(f"attribute_not_exists(#{at})")
        request = {
            "TableName": table.physical_name,
            "Key": {"pk": item["pk"], "sk": item["sk"]},
            "UpdateExpression": "SET " + ", ".join(f"#{at} = :{at}" for at in range(len(wanted))),
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        try:
            await self._database.call_async("UpdateItem", request)
        except ConditionalCheckFailedException:
            return 0
        return 1

    # ── countries ────────────────────────────────────────────────────────────────────────────────────────────────────
    async def _list_countries(self, found: set[str]) -> None:
        """Rebuild the registry of countries, and take out those without shops."""
        if found:
            await self.db.add_countries(countries=found)
        for country in await self.registry.countries():
            if country not in found:
                await self.registry.forget_empty_country(country)

    def _now(self) -> datetime:
        return to_second(self.clock.millis())


def read_text(item: Wire, name: str) -> str | None:
    """Return a text attribute; None if it is missing or of another type."""
    value = item.get(name, {}).get("S")
    return value if isinstance(value, str) else None


def complete_shop(item: Wire, domain: str) -> dict[str, str]:
    """Return the attributes that a shop lacks, or has in an old form."""
    country = PREFIX + read_country(read_text(item, "shop_country"))
    wanted = {"domain": domain, "shop_country": country}
    wanted["core_domain_name"] = read_text(item, "core_domain_name") or find_core_name(domain)
    return {name: value for name, value in wanted.items() if read_text(item, name) != value}


def complete_url(item: Wire, sk: str) -> dict[str, str]:
    """Return the attributes that a URL lacks: its URL, from its key, and its type."""
    wanted = {}
    if not read_text(item, "url") and not SHORTENED.search(sk):
        wanted["url"] = sk.removeprefix(URL_KEY)
    if not read_text(item, "type"):
        wanted["type"] = "product" if item.get("is_product", {}).get("BOOL") else "other"
    return wanted
