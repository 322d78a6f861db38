"""URLs and what is stored with them: types, prices, conditional requests, vanished pages; shops that are related."""

import pytest

from hashrange import Conflict, NotFound, Taken
from hashrange_systems.aura.model.change import change_hash
from hashrange_systems.aura.schema import Price, Product, RelatedShop, Shop, Url
from systems.tests.aura.plain import at, get_item, put_shop, query

VASE = "https://a.de/vase"


@pytest.fixture
def vase(db):
    return db.mark_seen("a.de", VASE, "product", last_seen=at("10:00"), first_seen=at("10:00")).run()


def record(db, url, state, amount, when):
    price = Price(domain=url.domain, url=url.url, at=when, state=state, price_minor=amount, currency="EUR")
    hashed = change_hash(state, amount, "EUR")
    return db.transact(db.reprice(url, hashed, state, amount, "EUR"), db.create(price)).run()


def test_a_shop_and_a_url_are_found_by_their_keys(db, vase):
    db.create(Shop(domain="a.de", core_domain_name="a")).run()
    assert db.shop("a.de").required().run().domain == "a.de"
    assert db.url("a.de", VASE).required().run().url == VASE
    assert db.shop("b.de").run() is None
    assert db.url("a.de", "https://a.de/none").run() is None


def test_products_of_a_shop_come_from_the_type_index(database, db, vase):
    db.mark_seen("a.de", "https://a.de/", "category", at("10:00"), at("10:00")).run()
    db.mark_seen("b.de", "https://b.de/lamp", "product", at("10:00"), at("10:00")).run()
    asked = query(database, "ProductTypeIndex", "gsi1_pk = :p AND gsi1_sk = :t", p="SHOP#a.de", t="product")
    found = db.products("a.de").run()
    assert [url.url for url in found] == [row["url"] for row in asked] == [VASE]
    assert type(found[0]) is Product
    assert [url.url for url in db.pages("a.de", "category").run()] == ["https://a.de/"]


def test_a_page_that_changes_its_type_moves_in_the_index(db, vase):
    db.mark_seen("a.de", VASE, "listing", at("11:00"), at("11:00")).run()
    assert db.products("a.de").run() == []
    assert [url.url for url in db.pages("a.de", "listing").run()] == [VASE]


def test_everything_about_a_shop_is_one_query(db, vase):
    db.create(Shop(domain="a.de", core_domain_name="a")).run()
    record(db, vase, "AVAILABLE", 12500, at("11:00"))
    assert [type(entry) for entry in db.site("a.de")] == [Price, Shop, Product]
    assert [type(entry) for entry in db.site("a.de").only(Price)] == [Price]
    assert [url.url for url in db.urls("a.de").run()] == [VASE]


def test_the_first_sight_of_a_page_is_kept(db, vase):
    again = db.mark_seen("a.de", VASE, "product", last_seen=at("12:00"), first_seen=at("12:00")).run()
    assert (again.first_seen, again.last_seen) == (at("10:00"), at("12:00"))


def test_prices_are_kept_newest_first(db, vase):
    record(db, vase, "AVAILABLE", 12500, at("11:00"))
    record(db, vase, "AVAILABLE", 9900, at("12:00"))
    changed, _ = record(db, vase, "SOLD", 9900, at("13:00"))
    assert (changed.state, changed.price_minor) == ("SOLD", 9900)
    history = db.prices("a.de", VASE).run()
    assert [(price.state, price.price_minor) for price in history] == [
        ("SOLD", 9900),
        ("AVAILABLE", 9900),
        ("AVAILABLE", 12500),
    ]
    assert db.prices("a.de", VASE).first().run().at == at("13:00")
    assert db.prices("a.de", "https://a.de/lamp").run() == []


def test_a_price_on_request_is_no_price(database, db, vase):
    record(db, vase, "AVAILABLE", 12500, at("11:00"))
    db.reprice(vase, change_hash("LISTED", None, None), "LISTED", None, None).run()
    stored = get_item(database, "SHOP#a.de", f"URL#{VASE}")
    assert stored["state"] == "LISTED"
    assert not {"price_minor", "currency"} & set(stored)


def test_the_same_change_is_recorded_once(db, vase):
    record(db, vase, "AVAILABLE", 12500, at("11:00"))
    with pytest.raises(Conflict):
        record(db, vase, "AVAILABLE", 12500, at("12:00"))
    assert len(db.prices("a.de", VASE).run()) == 1


def test_a_fetch_leaves_what_a_conditional_request_needs(db, vase):
    now, written = at("12:00"), "Thu, 15 Jan 2026"
    got = db.record_visit("a.de", VASE, "product", now, now, 200, '"1"', written, ["json-ld"], "Vase")
    url = got.run()
    assert (url.http_status, url.title, url.standards_used) == (200, "Vase", ["json-ld"])
    unchanged = db.record_unchanged("a.de", VASE, now, 304).run()
    assert (unchanged.http_status, unchanged.etag, unchanged.last_modified) == (304, '"1"', "Thu, 15 Jan 2026")


def test_a_page_that_stays_away_is_dropped_and_one_that_returns_is_not(db, vase):
    for _ in range(2):
        missing = db.record_missing("a.de", VASE, 404, missing_count=1).run()
    assert missing.missing_count == 2
    with pytest.raises(Conflict):
        db.drop_missing("a.de", VASE, missing_count=3).run()
    assert db.mark_seen("a.de", VASE, "product", at("12:00"), at("12:00")).run().missing_count == 0
    for _ in range(3):
        db.record_missing("a.de", VASE, 410, missing_count=1).run()
    db.drop_missing("a.de", VASE, missing_count=3).run()
    assert db.url("a.de", VASE).run() is None


def test_a_page_that_is_gone_is_not_missed_into_being(db, vase):
    db.drop("a.de", VASE).run()
    with pytest.raises(NotFound):
        db.record_missing("a.de", VASE, 404, missing_count=1).run()


def test_related_domains_share_their_core(database, db):
    for domain in ("example.com", "example.de", "other.de"):
        put_shop(database, domain)
    found = db.related("example").run()
    assert found == [
        RelatedShop(core_domain_name="example", domain="example.com"),
        RelatedShop(core_domain_name="example", domain="example.de"),
    ]
    rows = query(database, "CoreDomainNameIndex", "gsi4_pk = :core", core="example")
    assert all(set(row) == {"pk", "sk", "gsi4_pk", "gsi4_sk"} for row in rows)


def test_a_shop_is_registered_once_together_with_its_country(db):
    db.transact(db.create(Shop(domain="a.de", core_domain_name="a", shop_country="DE")), db.add_countries({"DE"})).run()
    with pytest.raises(Taken):
        db.transact(db.create(Shop(domain="a.de", core_domain_name="a")), db.add_countries({"ZZ"})).run()
    assert db.countries().required().run().countries == {"DE"}


def test_a_shop_moves_to_another_country_in_both_indexes(database, db):
    put_shop(database, "a.de", "DONE#2026-01-10T00:00:00Z", country="ZZ")
    db.move("a.de", "DE").run()
    assert [crawl.domain for crawl in db.crawled("DE", at("12:00"))] == ["a.de"]
    assert [scrape.domain for scrape in db.never_scraped("DE")] == ["a.de"]
    assert db.crawled("ZZ", at("12:00")).run() == []


def test_a_shop_is_portrayed_and_unregistered(db):
    db.create(Shop(domain="a.de", core_domain_name="a")).run()
    db.rename("a.de", "Antik").run()
    shop = db.update_details("a.de", shop_type="AUCTION_HOUSE", standards_used=["microdata"]).run()
    assert (shop.shop_name, shop.shop_type, shop.shop_image) == ("Antik", "AUCTION_HOUSE", None)
    db.unregister("a.de").run()
    assert db.shop("a.de").run() is None


def test_urls_are_put_by_the_batch(db):
    count = db.batch(Url(domain="a.de", url=f"https://a.de/{number}") for number in range(60)).run()
    assert count == len(db.urls("a.de").run()) == len(db.pages("a.de", "other").run()) == 60
