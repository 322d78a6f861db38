"""Requests that no form of ours sends: whatever the values, each route answers and none fails."""

import asyncio
from itertools import product
from urllib.parse import quote

import pytest

from hashrange import ManualClock
from systems.tests.aura.web.hosted_aura import host_aura
from systems.tests.aura.web.test_pages import add_product

ODD = (
    "", "x", "DE", "Germany", "\x00", "%00", "ß", "ﬁ", "🏺", "../..", "'", "-1", "1e9", "NaN", "x" * 9000, "http://", "https://[",
    "https://a.test:99999/", "javascript:alert(1)", "http://10.0.0.1/", "0001-01-01T00:00:00+14:00", "0001-01-02",
    "9999-12-31T23:59:59-14:00", "2026-01-01", "haus.test", "https://haus.test/produkt/1", "\ud83d",
)  # fmt: skip
PAGES = {
    "/changes": ("country", "before"),
    "/changes.json": ("token", "country"),
    "/search": ("q", "country", "min", "max", "currency"),
    "/product": ("domain", "url"),
    "/explain": ("url",),
    "/add": ("domain",),
    "/between": ("country", "first", "last", "what"),
    "/shop/haus.test": ("type", "cursor"),
    "/country/DE": ("cursor",),
    "/confirm": ("token",),
    "/sign-in": ("next",),
    "/api/shops": ("country", "limit", "cursor"),
    "/api/shops/haus.test/products": ("type", "limit", "cursor"),
    "/api/product": ("domain", "url"),
    "/api/crawled": ("country", "first", "last"),
    "/api/scraped": ("country", "first", "last"),
    "/api/changes": ("country", "before", "limit"),
    "/api/search": ("q", "country"),
    "/api/explain": ("url",),
}
USUAL = {
    "domain": "haus.test",
    "url": "https://haus.test/produkt/1",
    "country": "DE",
    "first": "2026-01-01",
    "q": "Vase",
}
USUAL |= {"last": "2026-02-01"}
FORMS = {
    "/product/watch": ("domain", "url", "below", "above", "percent"),
    "/product/unwatch": ("domain", "url"),
    "/search/save": ("q", "country", "min", "max", "currency"),
    "/search/remove": ("search",),
    "/account/keys": ("key.name", "key.scope"),
    "/account/channels": ("channelType", "target", "subscription"),
    "/account/password": ("current", "password"),
    "/account/two-factor/confirm": ("code",),
    "/add": ("domain", "name", "country", "type"),
    "/import": ("rows",),
    "/shop/haus.test/details": ("name", "country"),
    "/shop/haus.test/same": ("other",),
    "/shop/haus.test/options": ("price_selector", "state_selector", "delay_ms", "max_pages", "excludes"),
}


def is_sendable(value):
    return value.isascii() or value.encode("utf-8", "replace").decode() == value


@pytest.mark.parametrize("path", PAGES)
def test_no_value_of_an_address_breaks_a_page_or_the_api(path):
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            await add_product(site)
            key = (await site.sign_up("one@example.com")).key
            if path.startswith("/api"):
                site.client.headers["Authorization"] = f"Bearer {key}"
            for name, value in product(PAGES[path], ODD):
                others = {each: USUAL[each] for each in PAGES[path] if each != name and each in USUAL}
                if not is_sendable(value):
                    continue
                answer = await site.client.get(f"/aura{path}", params={**others, name: value})
                assert answer.status_code < 500, (name, value, answer.text[:300])
                clock.advance(1)

    asyncio.run(scenario())


@pytest.mark.parametrize("path", FORMS)
def test_no_value_of_a_form_breaks_it(path):
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            await add_product(site)
            await site.sign_up("one@example.com")
            token = await site.find_token()
            for name, value in product(FORMS[path], ODD):
                others = {each: USUAL[each] for each in FORMS[path] if each != name and each in USUAL}
                if not is_sendable(value):
                    continue
                answer = await site.client.post(f"/aura{path}", data={**others, name: value, "form_token": token})
                assert answer.status_code < 500, (name, value, answer.text[:300])
                clock.advance(1)

    asyncio.run(scenario())


def test_no_domain_and_no_id_in_a_path_breaks_its_page():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            key = (await site.sign_up("one@example.com")).key
            token = await site.find_token()
            for value in filter(is_sendable, ODD):
                domain = quote(value or "-", safe="")
                for address in ("/shop/{}", "/country/{}", "/api/shops/{}", "/api/shops/{}/products"):
                    path = f"/aura{address.format(domain)}"
                    answer = await site.client.get(path, headers={"Authorization": f"Bearer {key}"})
                    assert answer.status_code < 500, (address, value, answer.text[:300])
                for action in ("crawl", "pause", "resume", "stop", "remove", "same", "options", "details"):
                    answer = await site.client.post(f"/aura/shop/{domain}/{action}", data={"form_token": token})
                    assert answer.status_code < 500, (action, value, answer.text[:300])
                for action in ("keys/{}/revoke", "channels/{}/ask", "channels/{}/remove"):
                    path = f"/aura/account/{action.format(domain)}"
                    answer = await site.client.post(path, data={"form_token": token})
                    assert answer.status_code < 500, (action, value, answer.text[:300])

    asyncio.run(scenario())
