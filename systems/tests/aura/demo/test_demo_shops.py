"""The demo shops: what their pages say is what the extraction reads, and their log tells who asked for what."""

import asyncio
import gzip

import httpx
import pytest

from hashrange import ManualClock
from hashrange_systems.aura.demo.demo_catalogue import BY_DOMAIN, REGISTERED, SHOPS
from hashrange_systems.aura.demo.demo_server import DemoResolver, DemoServer
from hashrange_systems.aura.demo.demo_shop import make_product
from hashrange_systems.aura.demo.demo_site import DemoVisit, respond
from hashrange_systems.aura.extraction.page_extraction import extract_page
from hashrange_systems.aura.extraction.page_facts import PageFacts
from hashrange_systems.shared.fetching.errors import NameUnresolved

SELLING = [shop for shop in SHOPS if shop.behaviour in {"usual", "wrong-charset"} and shop.markup != "auction"]


def ask(shop, path, step=0, **more):
    return respond(DemoVisit(shop=shop, origin=f"http://{shop.domain}", path=path, step=step, **more))


def read(shop, path, step=0) -> PageFacts:
    response = ask(shop, path, step)
    assert response.status == 200
    return extract_page(f"http://{shop.domain}{path}", response.body, dict(response.headers)["Content-Type"])


def test_the_demo_has_more_than_thirty_shops_with_a_case_each():
    assert len(SHOPS) >= 30
    assert len(BY_DOMAIN) == len(SHOPS)
    assert all(shop.case for shop in SHOPS)
    assert set(REGISTERED) <= set(BY_DOMAIN)


@pytest.mark.parametrize("shop", SELLING, ids=lambda shop: shop.domain)
def test_every_product_is_read_as_it_is_sold(shop):
    for step in (0, 7):
        for number in range(min(13, shop.products)):
            product = make_product(shop, number, step)
            facts = read(shop, product.path, step)
            state = "LISTED" if shop.markup == "opengraph" and product.state == "RESERVED" else product.state
            assert (facts.type, facts.title, facts.price_minor) == ("product", product.title, product.minor)
            assert facts.state in {state, product.state}
            assert facts.currency == (shop.currency if product.minor else None)


@pytest.mark.parametrize(
    ("domain", "standards"),
    [
        ("antik-mueller.test", ("json-ld",)),
        ("tiefes-json.test", ("json-ld",)),
        ("moebel-huber.test", ("microdata",)),
        ("widerspruch.test", ("json-ld", "microdata")),
        ("brocante-leroy.test", ("opengraph",)),
        ("antichita-rossi.test", ("rdfa",)),
        ("gamla-ting.test", ()),
    ],
)
def test_the_standards_of_a_shop_are_named_exactly(domain, standards):
    shop = BY_DOMAIN[domain]
    facts = read(shop, make_product(shop, 0, 0).path)
    assert facts.standards_used == standards


@pytest.mark.parametrize("shop", SELLING, ids=lambda shop: shop.domain)
def test_lists_and_other_pages_are_told_from_products(shop):
    assert read(shop, "/kategorie/moebel").type in {"category", "listing"}
    assert read(shop, "/impressum").type == "other"
    assert read(shop, "/").type in {"listing", "other"}


def test_a_lot_goes_from_its_starting_bid_to_the_hammer():
    shop = BY_DOMAIN["auktionshaus-stern.test"]
    path = make_product(shop, 0, 0).path
    read_facts = [(facts.state, facts.price_minor) for step in range(5) for facts in [read(shop, path, step)]]
    assert [state for state, _ in read_facts] == ["LISTED", "LISTED", "LISTED", "SOLD", "SOLD"]
    assert read_facts[0][1] < read_facts[1][1] < read_facts[2][1] < read_facts[3][1] == read_facts[4][1]
    withdrawn = read(shop, make_product(shop, 5, 0).path, 2)
    assert (withdrawn.state, withdrawn.auction.lot, withdrawn.auction.sale_date) == ("REMOVED", "6", "2027-03-12")


def test_a_contradiction_is_reported_and_decided_by_the_price_shown():
    shop = BY_DOMAIN["widerspruch.test"]
    facts = read(shop, make_product(shop, 1, 0).path)
    assert facts.price_minor == make_product(shop, 1, 0).minor
    assert [each.field for each in facts.disagreements] == ["price"]


def test_faults_are_no_products():
    captcha = BY_DOMAIN["mensch-oder-maschine.test"]
    assert read(captcha, make_product(captcha, 0, 0).path).blocked
    polite = BY_DOMAIN["hoeflich-404.test"]
    assert read(polite, make_product(polite, 11, 0).path).missing


def test_validators_save_the_body_until_a_price_changes():
    for domain, header, validator in (
        ("antik-mueller.test", "ETag", "if_none_match"),
        ("kontor-alster.test", "Last-Modified", "if_modified_since"),
    ):
        shop = BY_DOMAIN[domain]
        path = make_product(shop, 0, 0).path
        first = ask(shop, path)
        known = {validator: dict(first.headers)[header]}
        assert ask(shop, path, **known).status == 304
        assert ask(shop, path, step=1, **known).status == 200


def test_the_large_sitemap_names_every_product():
    shop = BY_DOMAIN["grosses-lager.test"]
    index = ask(shop, "/sitemap.xml").body
    assert index.count(b"<loc>") == 2
    counts = [gzip.decompress(ask(shop, f"/sitemap-{part}.xml.gz").body).count(b"<loc>") for part in (0, 1)]
    assert sum(counts) == 50_000 + 4


def test_the_demo_serves_by_host_and_logs_who_asked_for_what():
    async def run():
        demo_server = DemoServer(ManualClock())
        await demo_server.start()
        try:
            async with httpx.AsyncClient(headers={"User-Agent": "tester"}) as client:
                url = f"http://127.0.0.1:{demo_server.port}/kategorie/uhren?page=1"
                first = await client.get(url, headers={"Host": f"www.antik-mueller.test:{demo_server.port}"})
                again = {"Host": "antik-mueller.test", "If-None-Match": first.headers["ETag"]}
                second = await client.get(url, headers=again)
                other = await client.get(url, headers={"Host": "unknown.test"})
            return demo_server, [first.status_code, second.status_code, other.status_code]
        finally:
            await demo_server.close()

    demo_server, statuses = asyncio.run(run())
    assert statuses == [200, 304, 404]
    requests = demo_server.find_requests("antik-mueller.test")
    assert [(each.path, each.status, each.conditional) for each in requests] == [
        ("/kategorie/uhren?page=1", 200, False),
        ("/kategorie/uhren?page=1", 304, True),
    ]
    assert {each.user_agent for each in requests} == {"tester"}


def test_only_the_demos_own_names_lead_to_this_machine():
    assert list(asyncio.run(DemoResolver().resolve("www.antik-mueller.test"))) == ["127.0.0.1"]
    with pytest.raises(NameUnresolved):
        asyncio.run(DemoResolver().resolve("other.test"))
