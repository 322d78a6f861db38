"""Writes the demo data: once, however often it is called or interrupted.

It writes the start time first and derives everything else from it: a member, some shops of the demo, and prices of the
weeks before, so that histories are seen at once. The worker crawls and scrapes the shops for real.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hashrange import Clock, Item, Missing, Taken, Write
from hashrange_systems.aura.application import Application
from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN, DEMO_EMAIL, REGISTERED
from hashrange_systems.aura.demo.demo_server import DemoServer
from hashrange_systems.aura.demo.demo_shop import DemoShop, make_product
from hashrange_systems.aura.model.domain import find_core_name
from hashrange_systems.aura.model.page_url import canonicalise
from hashrange_systems.aura.schema import Price, Shop
from hashrange_systems.aura.work_schema import DemoProgress, Member, SavedSearch, Watch
from hashrange_systems.shared.accounts.schema import Channel
from hashrange_systems.shared.channels.channel_type import ParsedTarget
from hashrange_systems.shared.epoch import to_ms, to_second

MEMBER = "demo"
WITH_HISTORY = ("antik-mueller.test", "kontor-alster.test", "old-curiosity.test", "zuercher-antik.test")
DAYS_AGO = (42, 33, 25, 18, 11, 6, 3)
WATCHED = (("antik-mueller.test", 0), ("antik-mueller.test", 3), ("old-curiosity.test", 6))


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo data of a database; its shops are those of the demo."""

    services: Application
    demo_server: DemoServer

    @property
    def clock(self) -> Clock:
        """The clock of the services."""
        return self.services.clock

    async def fill(self) -> None:
        """Write what is missing, and tell the server when its prices began to change."""
        progress = await self._load_progress()
        self.demo_server.started_ms = to_ms(progress.started_at)
        if progress.complete:
            await self._update_addresses()
            return
        await self._add_member(progress.started_at)
        for domain in REGISTERED:
            await self._add_shop(BY_DOMAIN[domain], progress.started_at)
        for domain in WITH_HISTORY:
            await self.services.db.batch(list(self._past_prices(BY_DOMAIN[domain], progress.started_at)))
        await self.services.work.put(DemoProgress(started_at=progress.started_at, complete=True))

    async def _load_progress(self) -> DemoProgress:
        """Return the stored progress; create it if missing."""
        progress = DemoProgress(started_at=to_second(self.clock.millis()))
        try:
            return await self.services.work.create(progress)
        except Taken as taken:
            return taken.current if isinstance(taken.current, DemoProgress) else progress

    async def _add_member(self, at: datetime) -> None:
        work = self.services.work
        accounts = self.services.accounts
        channel = Channel(
            owner=MEMBER,
            channel_id="demo-mail",
            channel_type="EMAIL",
            shown=ParsedTarget.public(DEMO_EMAIL).shown,
            subscription="WATCHED",
            created_at=at,
            confirmed_at=at,
        )
        items: list[Item] = [
            Member(member_id=MEMBER, email=DEMO_EMAIL, created_at=at, operator=True),
            SavedSearch(member_id=MEMBER, search_id="demo-search", text="Kommode Rokoko", created_at=at),
            *(self._watch(BY_DOMAIN[domain], number, at) for domain, number in WATCHED),
        ]
        writes: list[Write[Any]] = [work.create(item) for item in items]
        writes += [accounts.logins.claim(DEMO_EMAIL, MEMBER), accounts.db.create(channel)]
        with suppress(Taken):
            await work.transact_all(writes)

    def _watch(self, shop: DemoShop, number: int, at: datetime) -> Watch:
        product = make_product(shop, number, 0)
        return Watch(
            member_id=MEMBER,
            domain=shop.domain,
            url=self._find_url(shop, product.path),
            title=product.title,
            created_at=at,
            percent=3,
            currency=shop.currency,
            base_minor=product.minor,
        )

    async def _add_shop(self, shop: DemoShop, at: datetime) -> None:
        db = self.services.db
        item = Shop(
            domain=shop.domain,
            core_domain_name=find_core_name(shop.domain),
            shop_name=shop.name,
            shop_type="AUCTION_HOUSE" if shop.markup == "auction" else "COMMERCIAL_DEALER",
            shop_country=shop.country,
            start_url=self.demo_server.find_url(shop.domain),
            registered_at=at,
        )
        with suppress(Taken):
            await db.transact(db.create(item), db.add_countries(countries={shop.country}))

    def _past_prices(self, shop: DemoShop, at: datetime) -> Iterator[Price]:
        """Yield prices of the weeks before, as a scrape records them: only those that differ from the one before."""
        for number in range(shop.products):
            product = make_product(shop, number, 0)
            if product.minor is None:
                continue
            days_ago = DAYS_AGO[number % 3 :: 1 + number % 2]
            amounts = [product.minor + product.minor // 50 * ((days + number) % 7) for days in days_ago]
            while amounts and amounts[-1] == product.minor:  # which the first scrape records
                amounts.pop()
            for days, minor, before in zip(days_ago, amounts, [None, *amounts], strict=False):
                if minor != before:
                    yield Price(
                        domain=shop.domain,
                        url=self._find_url(shop, product.path),
                        at=at - timedelta(days=days, minutes=number),
                        state="AVAILABLE",
                        price_minor=minor,
                        currency=shop.currency,
                    )

    def _find_url(self, shop: DemoShop, path: str) -> str:
        """Return the URL of a page as the crawl stores it."""
        url = f"http://{shop.domain}:{self.demo_server.port}{path}"
        return canonicalise(url) or url

    async def _update_addresses(self) -> None:
        """Update where the crawls begin, if the server has moved to another port."""
        for domain in REGISTERED:
            with suppress(Missing):
                await self.services.db.update_details(domain, start_url=self.demo_server.find_url(domain))
