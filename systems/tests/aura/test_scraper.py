"""The scraper on a real site: what becomes of states and prices, with their history and their events."""

import asyncio
import json
from collections import Counter

import pytest

from hashrange_systems.aura.model.change import change_hash
from hashrange_systems.aura.model.price_alert import AlertRule
from hashrange_systems.aura.schema import Scraped, Url
from hashrange_systems.aura.service.products import ProductQuery
from hashrange_systems.aura.work_schema import ShopOptions
from systems.tests.aura.plain import get_item, put_item
from systems.tests.aura.shop_server import Answer, ShopServer, serving_shop

embedded = pytest.mark.parametrize("database", ["embedded"], indirect=True)

DAY = 86400
CAPTCHA = b"<html><title>Just a moment...</title><body>Please verify you are a human: captcha</body></html>"


class RepeatedScrape:
    """A shop with one vase that is crawled and scraped again and again while its page changes."""

    def __init__(self, services, clock):
        self.services, self.clock = services, clock

    def run(self, *steps, prepare=None):
        """Scrape before the first step and after each; return the scraped vase after every scrape."""

        async def run():
            seen = []
            async with serving_shop() as server:
                self.server = server
                server.page("/", "/vase")
                server.product("/vase", title="Blue vase")
                await self.services.add(server)
                if prepare is not None:
                    await prepare(server)
                for step in (None, *steps):
                    if step is not None:
                        self.clock.advance(3 * DAY)
                        step(server)
                    await self.services.crawl(server)
                    self.clock.advance(60)
                    shop = await self.services.scrape(server)
                    assert isinstance(shop.scrape, Scraped), shop.last_scrape_error
                    seen.append((await self.services.stored(server))["/vase"])
                history = await self.services.products.history(server.domain, seen[-1].url)
                changes = await self.services.changes.latest()
                return seen, history, changes

        return asyncio.run(run())


@pytest.fixture
def repeated_scrape(services, clock):
    return RepeatedScrape(services, clock)


def test_a_new_price_is_recorded_with_its_history_and_an_event(repeated_scrape):
    seen, history, changes = repeated_scrape.run(
        lambda server: server.product("/vase", title="Blue vase", price="80.00"),
        lambda server: server.product("/vase", title="Blue vase", price="80.00", availability="SoldOut"),
    )
    assert [(url.state, url.price_minor, url.currency) for url in seen] == [
        ("AVAILABLE", 10000, "EUR"),
        ("AVAILABLE", 8000, "EUR"),
        ("SOLD", 8000, "EUR"),
    ]
    assert seen[2].hash == change_hash("SOLD", 8000, "EUR")
    assert [(price.state, price.price_minor) for price in history.prices] == [
        ("AVAILABLE", 10000),
        ("AVAILABLE", 8000),
        ("SOLD", 8000),
    ]
    assert [(change.kind, change.old_price_minor, change.price_minor) for change in changes] == [
        ("STATE", 8000, 8000),
        ("PRICE", 10000, 8000),
        ("NEW", None, 10000),
    ]
    assert changes[0].title == "Blue vase"


@embedded
def test_a_page_that_is_the_same_changes_nothing(repeated_scrape):
    seen, history, changes = repeated_scrape.run(lambda server: None, lambda server: None)
    assert len(history.prices) == len(changes) == 1
    assert seen[2].scraped_at > seen[0].scraped_at


def test_a_known_page_is_asked_for_conditionally_but_not_before_it_was_scraped(repeated_scrape):
    def change(server):
        server.product("/vase", title="Blue vase", price="80.00", ETag='"2"')

    async def conditional(server):
        server.product("/vase", title="Blue vase", ETag='"1"')

    seen, history, _ = repeated_scrape.run(lambda server: None, change, prepare=conditional)
    assert [url.price_minor for url in seen] == [10000, 10000, 8000]  # the crawl's 200 does not hide the change
    asked = [head for _, path, head in repeated_scrape.server.log if path == "/vase"]
    assert ["If-None-Match" in head for head in asked] == [False, False, True, True, True, True]
    assert len(history.prices) == 2


@embedded
@pytest.mark.parametrize(
    "answer",
    [
        Answer(CAPTCHA, 200, {"Content-Type": "text/html"}),
        Answer(b"", 500),
        Answer(b"<html><body>Error</body></html>", 200, {"Content-Type": "text/html"}),
        Answer(b"%PDF", 200, {"Content-Type": "application/pdf"}),
    ],
    ids=["captcha", "error", "nothing", "no page"],
)
def test_a_page_that_proves_nothing_takes_nothing_back(repeated_scrape, answer):
    def fail(server):
        server.answers["/vase"] = answer

    seen, history, changes = repeated_scrape.run(fail)
    assert (seen[1].state, seen[1].price_minor) == ("AVAILABLE", 10000)
    assert len(history.prices) == len(changes) == 1


def test_a_product_is_removed_when_it_is_missing_twice_or_gone_for_good(repeated_scrape):
    def vanish(server):
        server.answers["/vase"] = Answer(b"not found", 404)

    seen, history, changes = repeated_scrape.run(vanish)
    assert (seen[1].missing_count, seen[1].state) == (2, "REMOVED")  # the crawl and the scrape both missed it
    assert changes[0].kind == "REMOVED"
    assert history.last_price.price_minor == 10000


@embedded
def test_a_product_that_is_gone_before_its_first_scrape_is_no_news(services, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/vase")
            server.product("/vase")
            await services.add(server)
            await services.crawl(server)
            server.answers["/vase"] = Answer(b"gone", 410)
            clock.advance(60)
            await services.scrape(server)
            return (await services.stored(server))["/vase"], await services.changes.latest()

    url, changes = asyncio.run(run())
    assert (url.state, url.hash) == ("REMOVED", change_hash("REMOVED", None, None))
    assert changes == []


@pytest.mark.parametrize("known", ["5d41402abc4b2a76b9719d911017c592", "f" * 64])
def test_trap_a_hash_of_another_program_is_replaced_without_an_event(repeated_scrape, database, services, known):
    async def write(server):
        url = f"{server.url}vase"
        item = {"pk": f"SHOP#{server.domain}", "sk": f"URL#{url}", "url": url, "type": "product", "hash": known}
        put_item(database, item)

    seen, history, changes = repeated_scrape.run(
        lambda server: server.product("/vase", title="Blue vase", price="80.00"), prepare=write
    )
    assert seen[0].hash == change_hash("AVAILABLE", 10000, "EUR")
    assert [change.kind for change in changes] == ["PRICE"]  # of the second scrape only
    assert len(history.prices) == 2


def test_auction_data_that_change_are_events(repeated_scrape):
    def lot(server, estimate, **more):
        body = f"<p>Lot 12</p><p>Estimate: {estimate}</p>"
        server.product("/vase", title="Blue vase", **more)
        answer = server.answers["/vase"]
        answer.body = answer.body.replace(b"</body>", f"{body}</body>".encode())

    async def first(server):
        lot(server, "EUR 100 - 200")

    seen, _, changes = repeated_scrape.run(lambda server: lot(server, "EUR 300 - 400"), prepare=first)
    assert (seen[1].estimate_min_minor, seen[1].estimate_max_minor) == (30000, 40000)
    (change,) = [change for change in changes if change.kind == "ESTIMATE"]
    assert change.detail == "100.00 EUR to 200.00 EUR → 300.00 EUR to 400.00 EUR"


def test_a_hash_is_never_written_without_its_history(services, database, monkeypatch):
    async def run():
        url = await services.db.create(Url(domain="a.de", url="https://a.de/vase", type="product"))
        await services.recorder.record(url, finding("AVAILABLE", 100), "DE")
        return await services.recorder.record(url, finding("SOLD", 100), "DE")  # within the same second: no history

    assert asyncio.run(run()) is None
    stored = get_item(database, "SHOP#a.de", "URL#https://a.de/vase")
    assert stored["hash"] == change_hash("AVAILABLE", 100, "EUR")


def finding(state, minor):
    from hashrange_systems.aura.service.price_recorder import Finding

    return Finding(state=state, price_minor=minor, currency="EUR")


def test_a_shop_that_breaks_silently_raises_an_alarm_and_mends(services, clock):
    names = [f"/vase-{number}" for number in range(6)]

    def serve(server: ShopServer, kind):
        for path in names:
            server.product(path) if kind == "product" else server.page(path, title="Vase")

    async def subscribe(hooks, subscription):
        member = (await services.members.add(f"{subscription}@example.com")).member
        path = f"{hooks.url}{subscription.lower()}"
        hooks.text(f"/{subscription.lower()}", "")
        await services.accounts.channels.add(member.member_id, "WEBHOOK", path, subscription)

    async def run():
        async with serving_shop() as server, serving_shop() as hooks:
            server.page("/", *names)
            await services.add(server)
            for subscription in ("WATCHED", "ALARMS", "EVERYTHING"):
                await subscribe(hooks, subscription)
            broken = []
            for kind in ("product", "product", "product", "page", "product"):
                serve(server, "product")
                clock.advance(3 * DAY)
                await services.crawl(server)
                serve(server, kind)
                clock.advance(60)
                await services.scrape(server)
                (report, *_) = await services.products.scrape_reports(server.domain)
                broken.append(report.broken)
            await services.watches.notify_changes()
            await services.outbox.send_all()
            await services.outbox.send_all()  # nothing is sent twice
            return broken, await services.changes.latest(), Counter(hooks.paths)

    broken, changes, sent = asyncio.run(run())
    assert [each is not None for each in broken] == [False, False, False, True, False]
    assert "0% of the products have a price" in broken[3]
    assert [change.kind for change in changes if change.kind in {"BROKEN", "MENDED"}] == ["MENDED", "BROKEN"]
    assert len(changes) == 8
    assert sent == {"/alarms": 2, "/everything": 8}


def test_a_price_alert_is_told_once_and_armed_again(services, clock, repeated_scrape):
    async def watch(server):
        member = (await services.members.add("ann@example.com")).member
        await services.accounts.channels.add(member.member_id, "WEBHOOK", "https://hooks.example.com/x")
        repeated_scrape.member = member.member_id

    async def watch_vase(server):
        await services.watches.watch(
            repeated_scrape.member,
            server.domain,
            f"{server.url}vase",
            AlertRule(below_minor=9000, currency="EUR", states=False),
        )

    async def run():
        async with serving_shop() as server:
            server.page("/", "/vase")
            server.product("/vase")
            await services.add(server)
            await watch(server)
            counts = []
            for price in ("100.00", "80.00", "70.00", "95.00", "85.00"):
                server.product("/vase", price=price)
                clock.advance(3 * DAY)
                await services.crawl(server)
                clock.advance(60)
                await services.scrape(server)
                await services.watches.notify_changes()
                await services.watches.notify_changes()  # nothing is sent twice
                if price == "100.00":
                    await watch_vase(server)
                counts.append(len(await services.notices.list_messages(repeated_scrape.member)))
            return counts

    assert asyncio.run(run()) == [0, 1, 1, 1, 2]


def test_a_saved_search_tells_new_products_and_prices_that_fall_into_its_range_once(services, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/vase", "/lamp")
            server.product("/lamp", title="Old lamp", price="50.00")
            await services.add(server)
            member = (await services.members.add("ann@example.com")).member.member_id
            await services.accounts.channels.add(member, "WEBHOOK", "https://hooks.example.com/x")
            query = ProductQuery(text="blue vase", country="DE", max_minor=9000, currency="EUR")
            await services.watches.save_search(member, query)
            await services.watches.save_search(member, ProductQuery(text="lamp"), notify=False)
            counts = []
            for price in ("100.00", "80.00", "70.00", "100.00", "90.00"):
                server.product("/vase", title="Blue vase", price=price)
                clock.advance(3 * DAY)
                await services.crawl(server)
                clock.advance(60)
                await services.scrape(server)
                await services.watches.notify_changes()
                await services.watches.notify_changes()  # nothing is sent twice
                counts.append(len(await services.notices.list_messages(member)))
            return counts, await services.notices.list_messages(member)

    counts, messages = asyncio.run(run())
    assert counts == [0, 1, 1, 1, 2], "when the price falls into the range, and not again while it is there"
    assert all("found by your search: blue vase" in message.content["text"] for message in messages)


# ── proofs ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def serve_offer(server, **offer):
    """Serve the vase with an offer that has only some of its fields."""
    data = {"@type": "Product", "name": "Blue vase", "offers": {"@type": "Offer", **offer}}
    server.page("/vase", title="Blue vase", body=f'<script type="application/ld+json">{json.dumps(data)}</script>')


@embedded
def test_a_state_stays_when_the_page_only_lost_its_mark(repeated_scrape):
    seen, _, changes = repeated_scrape.run(
        lambda server: server.product("/vase", title="Blue vase", availability="SoldOut"),
        lambda server: serve_offer(server, price="100.00", priceCurrency="EUR"),
        lambda server: serve_offer(server, price="90.00", priceCurrency="EUR"),
    )
    assert [(url.state, url.price_minor) for url in seen[1:]] == [("SOLD", 10000), ("SOLD", 10000), ("SOLD", 9000)]
    assert [change.kind for change in changes] == ["PRICE", "STATE", "NEW"]


@embedded
def test_a_price_stays_until_the_page_says_that_it_is_on_request(repeated_scrape):
    seen, _, changes = repeated_scrape.run(
        lambda server: serve_offer(server, availability="InStock"),
        lambda server: serve_offer(server, availability="InStock", price="Preis auf Anfrage"),
    )
    assert [url.price_minor for url in seen] == [10000, 10000, None]
    assert [change.kind for change in changes] == ["PRICE", "NEW"]


@embedded
def test_a_product_that_returns_is_not_removed_any_more(repeated_scrape):
    def vanish(server):
        server.answers["/vase"] = Answer(b"gone", 410)

    seen, _, _ = repeated_scrape.run(vanish, lambda server: serve_offer(server, price="100.00", priceCurrency="EUR"))
    assert [(url.state, url.price_minor) for url in seen[1:]] == [("REMOVED", None), ("UNKNOWN", 10000)]


@embedded
def test_a_page_that_shows_nothing_for_once_stays_a_product(repeated_scrape):
    def empty(server):
        server.page("/vase", title="", body="<p>We are back soon.</p>")

    seen, _, changes = repeated_scrape.run(
        empty, lambda server: server.product("/vase", title="Blue vase", price="80.00")
    )
    assert [(url.type, url.title, url.price_minor) for url in seen] == [
        ("product", "Blue vase", 10000),
        ("product", "Blue vase", 10000),
        ("product", "Blue vase", 8000),
    ]
    assert [change.kind for change in changes] == ["PRICE", "NEW"]


@embedded
def test_new_selectors_read_a_page_again_that_did_not_change(repeated_scrape, services):
    def serve(server):
        server.product("/vase", title="Blue vase", ETag='"1"')
        answer = server.answers["/vase"]
        answer.body = answer.body.replace(b"</h1>", b'</h1><b class="mine">77,00 \xe2\x82\xac</b>')

    async def tell():
        async with serving_shop() as server:
            server.page("/", "/vase")
            serve(server)
            await services.add(server)
            prices = []
            for selector in (None, ".mine", ".mine", None):
                await services.registry.save_options(ShopOptions(domain=server.domain, price_selector=selector))
                services.clock.advance(3 * DAY)
                await services.crawl(server)
                server.log.clear()
                services.clock.advance(60)
                await services.scrape(server)
                (head,) = [head for _, path, head in server.log if path == "/vase"]
                price = (await services.stored(server))["/vase"].price_minor
                prices.append((price, "If-None-Match" in head))
            return prices

    assert asyncio.run(tell()) == [(10000, False), (7700, False), (7700, True), (10000, False)]


@embedded
def test_the_event_of_a_hammer_price_has_the_price_and_state_after_it(repeated_scrape):
    def lot(server, *lines):
        server.page("/vase", title="Blue vase", body="".join(f"<p>{line}</p>" for line in ("Lot 12", *lines)))

    async def first(server):
        lot(server, "Starting bid: EUR 100", "Estimate: EUR 100 - 200")

    _, _, changes = repeated_scrape.run(
        lambda server: lot(server, "Hammer price: EUR 300", "Estimate: EUR 100 - 200"), prepare=first
    )
    (hammer,) = [change for change in changes if change.kind == "HAMMER"]
    assert (hammer.state, hammer.price_minor, hammer.currency) == ("SOLD", 30000, "EUR")
    assert hammer.detail == "nothing → 300.00 EUR"


# ── spellings ────────────────────────────────────────────────────────────────────────────────────────────────────────
def put_vase(database, server, path):
    """Write a product as another program spells it."""
    url = f"{server.url}{path}"
    item = {"pk": f"SHOP#{server.domain}", "sk": f"URL#{url}", "url": url, "type": "product", "hash": "f" * 32,
            "gsi1_pk": f"SHOP#{server.domain}", "gsi1_sk": "product"}  # fmt: skip
    put_item(database, item)


@embedded
@pytest.mark.parametrize("path", ["x?b=1&a=2", "m\u00f6bel", "vase#top"])
def test_a_url_in_the_spelling_of_another_program_is_scraped(services, database, clock, path):
    async def run():
        async with serving_shop() as server:
            server.page("/")
            for served in ("/x?b=1&a=2", "/m%C3%B6bel", "/vase"):
                server.product(served)
            await services.add(server)
            await services.crawl(server)
            put_vase(database, server, path)
            clock.advance(60)
            await services.scrape(server)
            return (await services.stored(server))[f"/{path}"], await services.changes.latest()

    url, changes = asyncio.run(run())
    assert (url.state, url.price_minor, changes) == ("AVAILABLE", 10000, [])


def test_a_crawl_moves_a_url_to_its_canonical_spelling_so_that_it_is_stored_once(services, database, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/x?a=2&b=1")
            server.product("/x?a=2&b=1")
            await services.add(server)
            put_vase(database, server, "x?b=1&a=2")
            await services.crawl(server)
            clock.advance(60)
            await services.scrape(server)
            return await services.stored(server), await services.changes.latest()

    stored, changes = asyncio.run(run())
    assert sorted(stored) == ["/", "/x?a=2&b=1"]
    assert stored["/x?a=2&b=1"].price_minor == 10000
    assert changes == []  # the product is not new


@embedded
def test_products_that_may_not_be_visited_are_counted(services, clock):
    async def run():
        async with serving_shop() as server:
            server.page("/", "/vase", "/private/vase")
            server.product("/vase")
            server.product("/private/vase")
            await services.add(server)
            await services.crawl(server)
            server.text("/robots.txt", "User-agent: *\nDisallow: /private")
            clock.advance(60)
            await services.scrape(server)
            (report,) = await services.products.scrape_reports(server.domain)
            return report

    report = asyncio.run(run())
    assert (report.products, report.skipped) == (1, 1)
