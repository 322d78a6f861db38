"""The pages as a browser without JavaScript uses them: on a real database, with the demo shops."""

import asyncio
import json
import re
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from hashrange import ManualClock
from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN
from hashrange_systems.aura.demo.demo_shop import make_product
from hashrange_systems.aura.schema import Product
from hashrange_systems.aura.service.price_recorder import Finding, PriceRecorder
from hashrange_systems.aura.service.products import ProductQuery
from hashrange_systems.aura.service.registry import ShopInput
from hashrange_systems.aura.web.page_view import link_product
from systems.tests.aura.web.hosted_aura import host_aura

SHOP = "silber-lang.test"
PAGES = ("/", "/add", "/import", "/changes", "/search", "/watch", "/explain", "/account", "/stuck", "/between")
FORMS = ("/add", "/import", "/product/watch", "/product/unwatch", "/search/save", "/search/remove", "/sign-out")
FORMS += ("/account/keys", "/account/keys/x/revoke", "/account/channels", "/account/channels/x/remove")
FORMS += ("/account/channels/x/ask", "/account/password", "/account/sign-out-everywhere")
FORMS += tuple(
    f"/shop/x.test/{each}" for each in ("crawl", "pause", "resume", "stop", "remove", "same", "options", "details")
)


def run(scenario):
    return asyncio.run(scenario())


def test_a_newcomer_tries_a_shop_adds_it_and_sees_a_price_change_arrive():
    clock = ManualClock()

    async def scenario():
        async with host_aura(clock, demo=True) as site:
            demo_server = site.services.demo_server
            address = demo_server.find_url(SHOP)
            linked = re.search(r'/add\?domain=([^"]+)"', (await site.get("/")).text)
            assert unquote(linked[1]) == address  # the banner's first step works as it is
            tried = await site.post("/add", 200, domain=address, name="Silber Lang", country="DE", **{"try": "1"})
            assert f"What a crawl of {SHOP} would find" in tried.text
            assert "json-ld" in tried.text
            await site.get(f"/shop/{SHOP}", 404)  # nothing is stored
            await site.post("/add", domain=address, name="Silber Lang", country="DE")
            await site.post(f"/shop/{SHOP}/crawl")
            first = await site.wait_until_scraped(SHOP)
            shop = await site.get(f"/shop/{SHOP}")
            assert "with a price" in shop.text
            assert "92 %" in shop.text

            before = len(demo_server.find_requests(SHOP))
            clock.advance(demo_server._period_ms / 1000)
            await site.post(f"/shop/{SHOP}/crawl")
            await site.wait_until_scraped(SHOP, first)
            await check_requests(demo_server, before)
            await check_change(site, address)
            await check_feeds(site)

    run(scenario)


async def check_requests(demo_server, before):
    requests = demo_server.find_requests(SHOP)
    assert not [each.path for each in requests if each.path.startswith("/intern") or "sort=" in each.path]
    assert {each.user_agent.split("/")[0] for each in requests} == {"hashrange-aura"}
    second = [each for each in requests[before:] if each.path.startswith("/produkt/")]
    assert all(each.conditional for each in second)
    assert {each.status for each in second} == {200, 304}, "only pages that changed are sent again"


async def check_change(site, address):
    product = make_product(BY_DOMAIN[SHOP], 0, 1)
    changes = await site.get("/changes")
    assert "Price" in changes.text
    page = await site.get(link_product(SHOP, address.rstrip("/") + product.path))
    assert f"{product.minor / 100:,.2f} EUR" in page.text
    assert page.text.count("<circle") == 2, "both prices are in the plot"
    found = await site.get(f"/search?q={product.title.split()[0]}")
    assert product.title in found.text


async def check_feeds(site):
    page = await site.get("/changes")
    token = re.search(r"/changes\.rss\?token=([^\"&]+)", page.text)[1]
    site.client.cookies.clear()
    rss = ET.fromstring((await site.get(f"/changes.rss?token={token}")).text)
    listed = json.loads((await site.get(f"/changes.json?token={token}")).text)["items"]
    assert len(rss.findall("./channel/item")) == len(listed) >= 12
    assert {"NEW", "PRICE"} <= {item["kind"] for item in listed}
    csv = (await site.get(f"/changes.csv?token={token}")).text
    assert csv.splitlines()[0].lstrip("\ufeff").startswith("at,kind,domain")
    await site.get("/changes.rss?token=nonsense", 404)
    site.client.headers["Host"] = "elsewhere.example"  # no visitor of the demo
    await site.get("/changes.json", 401)


def test_signing_out_ends_the_session_also_for_a_kept_cookie():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            await site.sign_up("ann@example.com")
            kept = dict(site.client.cookies)
            await site.post("/sign-out")
            site.client.cookies.clear()
            site.client.cookies.update(kept)
            assert (await site.get("/account", 303)).headers["Location"].startswith("/aura/sign-in")

    run(scenario)


def test_a_revoked_key_and_its_sessions_are_refused():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            ann = await site.sign_up("ann@example.com")
            keys = await site.services.accounts.keys.list_by_owner(ann.member.member_id)
            bob = await site.services.members.add("bob@example.com")
            others = await site.services.accounts.keys.list_by_owner(bob.member.member_id)
            await site.post(f"/account/keys/{others[0].key_id}/revoke", 404)  # of somebody else
            await site.post(f"/account/keys/{keys[0].key_id}/revoke")
            await site.get("/account", 303)
            assert (await site.client.post("/aura/sign-in", data={"key": ann.key})).status_code == 401
            assert (await site.client.post("/aura/sign-in", data={"key": bob.key})).status_code == 303

    run(scenario)


def test_a_long_list_of_shops_can_be_uploaded():
    rows = "domain,name,country\n" + "".join(f"shop{number}.example,{'x' * 90},DE\n" for number in range(1500))

    async def scenario():
        async with host_aura(ManualClock()) as site:
            await site.sign_up("ann@example.com")
            token = re.search(r'name="form_token" value="([^"]+)"', (await site.get("/import")).text)[1]
            files = {"file": ("shops.csv", rows.encode(), "text/csv")}
            response = await site.client.post("/aura/import", data={"form_token": token}, files=files)
            assert response.status_code == 200
            assert len(rows) > 128 * 1024
            assert len([shop async for shop in site.services.db.never_crawled("DE")]) == 1500

    run(scenario)


def test_every_page_and_form_needs_a_session():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            for path in (*PAGES, "/shop/x.test", "/product?domain=x&url=y", "/country/DE"):
                response = await site.get(path, 303)
                assert response.headers["Location"].startswith("/aura/sign-in")
            for path in FORMS:
                assert (await site.client.post(f"/aura{path}")).headers["Location"] == "/aura/sign-in"
            for path in ("/shops?country=DE", "/countries", "/changes", "/search?q=x", "/watches", "/explain?url=x"):
                await site.get(f"/api{path}", 401)

    run(scenario)


def test_every_page_renders_on_an_empty_database_and_forms_without_their_token_are_refused():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            await site.sign_up("one@example.com")
            for path in PAGES:
                await site.get(path)
            for path in FORMS:
                response = await site.client.post(f"/aura{path}", data={"form_token": "wrong"})
                assert response.status_code == 403, path
            for path in ("/shop/x.test", "/product?domain=x.test&url=y", "/nothing", "/product"):
                await site.get(path, 404)
            foreign = await site.client.post(
                "/aura/sign-in", data={"key": "x"}, headers={"Origin": "https://evil.test"}
            )
            assert foreign.status_code == 403

    run(scenario)


def test_a_worker_that_is_starting_is_no_health_and_asks_nobody_to_start_another():
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            await site.sign_up("one@example.com")
            assert "No worker is running yet: that of this process is starting" in (await site.get("/")).text
            assert (await site.get("/health", 503)).json()["problems"]
            await site.services.presence.write()
            await site.get("/health")
            clock.advance(3600)
            assert "No worker for 3600 s: start hashrange up" in (await site.get("/")).text

    run(scenario)


def test_silence_is_not_health():
    async def scenario():
        async with host_aura(ManualClock(), AURA_WORKERS="0") as site:
            await site.sign_up("one@example.com")
            board = await site.get("/")
            assert "No worker has ever run" in board.text
            health = await site.get("/health", 503)
            assert health.json()["workers"] == 0
            metrics = (await site.get("/metrics")).text
            assert 'hashrange_workers{system="aura"} 0.0' in metrics
            assert "aura_healthy 0.0" in metrics

    run(scenario)


def test_a_worker_is_seen_until_it_leaves_or_its_heartbeat_stops():
    async def scenario():
        clock = ManualClock()
        async with host_aura(clock) as site:
            presence = site.services.presence
            await presence.write()
            health = (await site.get("/health")).json()
            assert (health["status"], health["workers"], health["lateMs"]) == ("ok", 1, 0)
            await run_loops(site)
            clock.advance(39)
            await presence.write()
            health = (await site.get("/health", 503)).json()
            assert health["problems"] == ["The work is late by 37 s"]
            clock.advance(41)
            assert (await site.get("/health", 503)).json()["problems"][0].startswith("no worker for 41 s: start")
            await run_loops(site)
            await presence.write()
            await site.get("/health")
            await presence.leave()
            assert (await site.get("/health", 503)).json()["workers"] == 0

    run(scenario)


async def run_loops(site):
    """Let the worker of the process run until each of its loops has run."""
    loops = site.services.loops
    task = asyncio.create_task(loops.work())
    async with asyncio.timeout(60):
        await asyncio.sleep(0)  # it has begun
        while not all(state.done_at for state in loops._states.values()):  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def add_product(site, title="Vase", currency="EUR"):
    shop = await site.services.registry.add(ShopInput(address="haus.test", country="DE"))
    url = "https://haus.test/produkt/1"
    product = Product(domain=shop.domain, url=url, title=title, state="AVAILABLE", price_minor=5000, currency=currency)
    await site.services.db.put(product)
    await site.services.products.index_words(product, "DE")
    return url


@pytest.mark.parametrize(
    ("currency", "limit", "shown"), [("EUR", "40", "40.00"), ("EUR", "1250.5", "1250.50"), ("JPY", "4000", "4000")]
)
def test_a_limit_is_shown_in_its_form_as_it_was_entered(currency, limit, shown):
    async def scenario():
        async with host_aura(ManualClock()) as site:
            url = await add_product(site, currency=currency)
            await site.sign_up("one@example.com")
            await site.post("/product/watch", domain="haus.test", url=url, below=limit, states="on")
            page = await site.get(link_product("haus.test", url))
            value = re.search(r'name="below"[^>]*value="([^"]*)"', page.text)[1]
            assert value == shown
            await site.post("/product/watch", domain="haus.test", url=url, below=value, states="on")
            assert (await site.get(link_product("haus.test", url))).text.count(f'value="{shown}"') == 1

    run(scenario)


def test_a_product_without_a_price_shows_the_last_known_one_beside_its_state():
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            url = await add_product(site)
            await site.sign_up("one@example.com")
            product = await site.services.products.find("haus.test", url)
            recorder = PriceRecorder(site.services.db, site.services.work, clock)
            for state, minor in (("AVAILABLE", 123_400), ("SOLD", None)):
                clock.advance(60)
                product = await recorder.record(product, Finding(state=state, price_minor=minor, currency="EUR"), "DE")
            page = (await site.get(link_product("haus.test", url))).text
            assert re.search(r"SOLD|Sold", page)
            assert re.search(r"1,234\.00 EUR</b><small>last known", page)
            assert re.search(r"last known <span[^>]*>1,234\.00 EUR", (await site.get("/changes")).text)

    run(scenario)


def test_the_stuck_page_tells_abandoned_crawls_from_those_that_live():
    async def scenario():
        async with host_aura(clock := ManualClock()) as site:
            await site.sign_up("one@example.com")
            for name in ("dead", "live"):
                shop = await site.services.registry.add(ShopInput(address=f"{name}.test", country="DE"))
                lease = await site.services.crawls.start(shop, f"worker of {name}")
            clock.advance(3 * 3600)
            await site.services.crawls.extend(lease)
            page = (await site.get("/stuck")).text
            rows = {row.partition("</a>")[0].rpartition(">")[2]: row for row in page.split("<tr>")[2:]}
            assert "Abandoned" in rows["dead.test"]
            assert "worker of dead" in rows["dead.test"]
            assert "Alive" in rows["live.test"]
            assert (await site.get("/health", 503)).json()["problems"]

    run(scenario)


def test_watch_lists_searches_and_channels_belong_to_their_member():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            url = await add_product(site)
            one = (await site.sign_up("one@example.com")).member
            await site.post("/product/watch", domain="haus.test", url=url, below="40", percent="5", states="on")
            await site.post("/search/save", q="Vase", country="DE", currency="EUR")
            hook = {"channelType": "WEBHOOK", "target": "https://hooks.example.com/a"}
            await site.post("/account/channels", 422, **hook, subscription="SOMETHING")
            page = await site.post("/account/channels", 200, **hook, subscription="EVERYTHING")
            assert "These, and every change" in page.text
            (search,) = await site.services.watches.list_searches(one.member_id)
            (channel,) = await site.services.accounts.channels.list_by_owner(one.member_id)
            mine = await site.get("/watch")
            assert "below 40.00 EUR" in mine.text
            assert "Vase" in mine.text

            await site.sign_up("two@example.com")
            theirs = await site.get("/watch")
            assert "You watch nothing yet" in theirs.text
            await site.post("/search/remove", 404, search=search.search_id)
            await site.post(f"/account/channels/{channel.channel_id}/remove", 404)
            await site.post("/product/unwatch", 404, domain="haus.test", url=url)
            assert await site.services.watches.list_watches(one.member_id)
            assert await site.services.accounts.channels.list_by_owner(one.member_id)

    run(scenario)


def test_an_address_is_confirmed_by_the_button_behind_its_link_and_not_by_opening_it():
    async def scenario():
        async with host_aura(ManualClock(), demo=True) as site:
            one = (await site.sign_up("one@example.com")).member
            await site.post("/account/channels", channelType="EMAIL", target="ann@example.com")
            assert "not confirmed" in (await site.get("/account")).text
            await site.services.outbox.send_all()
            (mail,) = site.services.mailbox.mails(one.member_id)
            link = re.search(r"/aura(/confirm\?token=\S+)", mail.notification.text)[1]
            site.client.cookies.clear()  # the mailbox may be open in another browser
            assert "Confirm this address" in (await site.get(link)).text
            (channel,) = await site.services.accounts.channels.list_by_owner(one.member_id)
            assert channel.confirmed_at is None, "mail scanners open links"
            token = unquote(link.partition("token=")[2])
            refused = await site.client.post("/aura/confirm", data={"token": token + "x"})
            assert (refused.status_code, "not ours" in refused.text) == (400, True)
            done = await site.client.post("/aura/confirm", data={"token": token})
            assert "Messages are now sent to" in done.text
            (channel,) = await site.services.accounts.channels.list_by_owner(one.member_id)
            assert channel.confirmed_at is not None

            two = (await site.sign_up("two@example.com")).member
            assert two.member_id != one.member_id
            await site.post(f"/account/channels/{channel.channel_id}/ask", 404)

    run(scenario)


def test_what_a_stranger_wrote_is_text_on_pages_feeds_and_in_spreadsheets():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            evil = "=1+1<script>alert(1)</script>"
            url = await add_product(site, evil)
            await site.sign_up("one@example.com")
            for path in (link_product("haus.test", url), "/shop/haus.test", "/search?q=script"):
                page = await site.get(path)
                assert "<script>alert" not in page.text
                assert "&lt;script&gt;" in page.text
            found = await site.services.products.search(ProductQuery(text="script"))
            assert [each.title for each in found] == [evil]

    run(scenario)


def test_options_are_saved_refused_with_every_field_and_a_shop_is_paused_and_removed():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            await add_product(site)
            await site.sign_up("one@example.com")
            wrong = await site.post(
                "/shop/haus.test/options", 422, price_selector="[[", delay_ms="x", crawl_every_h="9999"
            )
            assert wrong.text.count('class="wrong"') == 3
            await site.post(
                "/shop/haus.test/options", price_selector=".p", crawl_every_h="6", excludes="/forum/\n/blog/"
            )
            options = await site.services.registry.options("haus.test")
            assert (options.price_selector, options.crawl_every_h, options.excludes) == (".p", 6, ["/forum/", "/blog/"])
            await site.post("/shop/haus.test/pause")
            assert "Paused." in (await site.get("/shop/haus.test")).text
            await site.post("/shop/haus.test/resume")
            await site.post("/shop/haus.test/details", name="Haus", country="AT")
            assert "Austria" in (await site.get("/")).text
            refused = await site.post("/shop/haus.test/remove", 403)
            assert "Only an operator" in refused.text
            await site.services.members.set_operator("one@example.com", operator=True)
            await site.post("/shop/haus.test/remove")
            assert "There are no shops yet" in (await site.get("/")).text

    run(scenario)


def test_a_csv_file_is_imported_row_by_row():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            await site.sign_up("one@example.com")
            rows = "domain,name,country\nhttps://www.Eins.test/shop,Eins,DE\nzwei.test,,xx\neins.test,Eins,DE\n"
            report = await site.post("/import", 200, rows=rows)
            assert "1 added, 1 known already, 1 refused." in report.text
            assert "zwei.test" in report.text
            assert "needs a first line" in (await site.post("/import", 422, rows="nonsense\n1\n")).text

    run(scenario)


@pytest.mark.parametrize(
    "path", ["/shops/haus.test", "/shops?country=de", "/product?domain=haus.test&url=https://haus.test/produkt/1"]
)
def test_the_api_answers_with_a_key(path):
    async def scenario():
        async with host_aura(ManualClock()) as site:
            await add_product(site)
            key = (await site.services.members.add("one@example.com")).key
            site.client.headers["Authorization"] = f"Bearer {key}"
            body = (await site.get(f"/api{path}")).json()
            assert "haus.test" in json.dumps(body)
            watch = {"domain": "haus.test", "url": "https://haus.test/produkt/1", "belowMinor": 100}
            assert (await site.client.post("/aura/api/watches", json=watch)).status_code == 201
            assert (await site.get("/api/watches")).json()["items"][0]["belowMinor"] == 100
            problem = await site.get("/api/shops/nothing.test", 404)
            assert problem.headers["content-type"] == "application/problem+json"

    run(scenario)


def test_a_key_of_another_member_neither_lists_nor_removes_watches_through_the_api():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            url = await add_product(site)
            watch = {"domain": "haus.test", "url": url}
            one, two = [(await site.services.members.add(f"{name}@example.com")) for name in ("one", "two")]
            site.client.headers["Authorization"] = f"Bearer {one.key}"
            assert (await site.client.post("/aura/api/watches", json={**watch, "belowMinor": 1})).status_code == 201
            site.client.headers["Authorization"] = f"Bearer {two.key}"
            assert (await site.get("/api/watches")).json()["items"] == []
            assert (await site.client.delete("/aura/api/watches", params=watch)).status_code == 404
            assert len(await site.services.watches.list_watches(one.member.member_id)) == 1

    run(scenario)


def test_only_an_operator_removes_a_shop_through_the_api():
    async def scenario():
        async with host_aura(ManualClock()) as site:
            await add_product(site)
            for operator, status in ((False, 403), (True, 204)):
                added = await site.services.members.add(f"{operator}@example.com", operator=operator)
                headers = {"Authorization": f"Bearer {added.key}"}
                answer = await site.client.delete("/aura/api/shops/haus.test", headers=headers)
                assert answer.status_code == status, answer.text
            assert await site.services.db.shop("haus.test") is None

    run(scenario)
