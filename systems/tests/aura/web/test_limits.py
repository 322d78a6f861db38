"""What one member may ask of the pages and the API, so that others are served too."""

import asyncio

from hashrange import ManualClock
from hashrange_systems.aura.service import registry as registry_module
from hashrange_systems.aura.service.registry import ShopInput
from hashrange_systems.aura.web.app import IMPORTS, PREVIEWS
from systems.tests.aura.web.hosted_aura import host_aura


def run(scenario):
    return asyncio.run(scenario())


def test_explanations_and_trials_of_a_member_are_limited_on_pages_and_in_the_api():
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            await site.services.registry.add(ShopInput(address="haus.test", country="DE"))
            added = await site.sign_up("one@example.com")
            refused = "http://10.0.0.1/"
            key = {"Authorization": f"Bearer {added.key}"}
            options = {"try": "1", "try_url": refused}

            async def look():
                return [
                    (await site.client.get("/aura/explain", params={"url": refused})).status_code,
                    (await site.client.get("/aura/api/explain", params={"url": refused}, headers=key)).status_code,
                    (await site.post_any("/add", domain=refused, **{"try": "1"})).status_code,
                    (await site.post_any("/shop/haus.test/options", **options)).status_code,
                ]

            first = [await look() for _ in range(PREVIEWS // 4)]
            assert not any(429 in each for each in first)
            await look()
            assert await look() == [429] * 4
            await site.sign_up("two@example.com")
            assert (await site.client.get("/aura/explain", params={"url": refused})).status_code != 429
            clock.advance(60)
            assert 429 not in await look()

    run(scenario)


def test_imports_of_a_member_are_limited_by_the_hour_and_shops_of_operators_are_not_counted(monkeypatch):
    monkeypatch.setattr(registry_module, "MAX_SHOPS_ADDED", 1)

    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            added = await site.sign_up("one@example.com")
            for number in range(IMPORTS):
                await site.post("/import", 200, rows=f"domain\na{number}.de\n")
            assert "wait" in (await site.post("/import", 429, rows="domain\nb.de\n")).text
            clock.advance(600)
            assert "at most 1 shops" in (await site.post("/import", 200, rows="domain\nb.de\n")).text
            await site.post("/add", 403, domain="c.de")
            key = {"Authorization": f"Bearer {added.key}"}
            refused = await site.client.post("/aura/api/shops", json={"domain": "c.de"}, headers=key)
            assert refused.status_code == 403
            await site.sign_up("two@example.com", operator=True)
            page = await site.post("/import", 200, rows="domain\nc.de\nd.de\n")
            assert "2 added" in page.text
            await site.post("/add", domain="e.de")

    run(scenario)
