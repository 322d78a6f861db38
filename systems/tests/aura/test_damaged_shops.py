"""Shops that other programs damaged: named and counted, skipped by workers, and no surprise on the board."""

import asyncio
import logging

from typer.testing import CliRunner

import hashrange
from hashrange import ManualClock
from hashrange_systems.aura.cli import app
from hashrange_systems.aura.schema import Aura, NeverCrawled
from hashrange_systems.aura.service import due_shops as due_shops_module
from hashrange_systems.aura.service.damaged_shops import MISNAMED, NO_HOST, DamagedShops
from hashrange_systems.aura.service.repair import Repair
from hashrange_systems.aura.work_schema import Work
from systems.tests.aura.plain import get_item, put_item, put_shop
from systems.tests.aura.web.hosted_aura import host_aura


def put_damaged(database):
    """A good shop, one whose domain is not its key's, one whose key is no host, and one whose state is none."""
    for domain in ("good.example", "www.misnamed.example", "https://url.example/"):
        put_shop(database, domain)
    put_item(database, get_item(database, "SHOP#www.misnamed.example") | {"domain": "misnamed.example"})
    put_shop(database, "stateless.example", "WEIRD#")


def test_damaged_shops_are_named_with_the_reason(tmp_path):
    with hashrange.open(tmp_path / "data") as database:
        hashrange.create_tables(database, Aura, Work)
        put_damaged(database)
        Aura.open(database).add_countries(countries={"DE"}).run()
        found = {
            each.domain: each.reason for each in asyncio.run(DamagedShops(Aura.open(database), ManualClock()).find())
        }
    assert set(found) == {"misnamed.example", "https://url.example/", "stateless.example"}
    assert found["misnamed.example"] == MISNAMED
    assert found["https://url.example/"] == NO_HOST
    printed = CliRunner().invoke(app, ["list", "--damaged", "--json", "--data", str(tmp_path / "data")])
    assert printed.exit_code == 0
    assert all(domain in printed.stdout for domain in found)


def test_the_board_health_and_metrics_count_damaged_shops_and_a_url_as_key_has_no_link():
    async def act():
        clock = ManualClock()
        async with host_aura(clock, AURA_WORKERS="0") as site:
            await site.sign_up("one@example.com")
            assert "list --damaged" not in (await site.get("/")).text
            put_damaged(site.services.db.session.transport)
            await site.services.db.add_countries(countries={"DE"})
            clock.advance(601)
            board = (await site.get("/")).text
            assert "3 shops are damaged" in board
            assert "hashrange aura list --damaged" in board
            assert 'href="/aura/shop/good.example"' in board
            assert "/shop/https" not in board
            assert "its key is not a host" in board
            assert (await site.get("/health", 503)).json()["damagedShops"] == 3
            assert "aura_damaged_shops 3.0" in (await site.get("/metrics")).text

    asyncio.run(act())


def test_a_worker_skips_a_shop_whose_domain_is_not_that_of_its_key_until_it_is_repaired(caplog):
    async def act():
        clock = ManualClock()
        async with host_aura(clock) as site:
            services, due_shops = site.services, site.services.due_shops
            database = services.db.session.transport
            put_damaged(database)
            await services.db.add_countries(countries={"DE"})
            await services.registry.pause("good.example", paused=True)
            with caplog.at_level(logging.WARNING, due_shops_module.__name__):
                for _ in range(2):
                    assert await due_shops.start_due() == 0
            assert [record.getMessage() for record in caplog.records if record.name == due_shops_module.__name__] == [
                "a shop is skipped"
            ] * 2, "once for each"
            assert isinstance((await services.db.shop("www.misnamed.example")).crawl, NeverCrawled)
            await Repair(services.db, services.work, clock, services.registry).run()
            assert await due_shops.start_due() == 1
            assert list(due_shops._running) == ["crawl www.misnamed.example"]

    asyncio.run(act())
