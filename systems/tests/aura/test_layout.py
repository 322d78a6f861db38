"""The table and its items are the seed's, to the letter: as made, as written, and as read by and for plain clients."""

import hashrange
from hashrange_systems.aura.schema import Aura, Crawled, NeverCrawled, NeverScraped, Product, Scraped, Shop
from systems.tests.aura.plain import TABLE, at, get_item, put_item

META = {
    "pk": "SHOP#example.com",
    "sk": "META#",
    "domain": "example.com",
    "core_domain_name": "example",
    "shop_name": "Example Shop",
    "shop_country": "COUNTRY#DE",
    "last_crawled_start": "2023-10-27T00:00:00Z",
    "last_crawled_end": "2023-10-27T23:59:59Z",
    "last_scraped_start": "2023-10-27T12:00:00Z",
    "last_scraped_end": "2023-10-27T23:59:59Z",
}
META_KEYS = {
    "gsi2_pk": "COUNTRY#DE",
    "gsi2_sk": "DONE#2023-10-27T23:59:59Z",
    "gsi3_pk": "COUNTRY#DE",
    "gsi3_sk": "DONE#2023-10-27T23:59:59Z",
    "gsi4_pk": "example",
    "gsi4_sk": "example.com",
}
URL = {
    "pk": "SHOP#example.com",
    "sk": "URL#https://example.com/products/item-123",
    "url": "https://example.com/products/item-123",
    "type": "product",
    "hash": "a1b2c3d4...",
}
URL_KEYS = {"gsi1_pk": "SHOP#example.com", "gsi1_sk": "product"}


def keys_of(described):
    return [(part["AttributeName"], part["KeyType"]) for part in described["KeySchema"]]


def test_the_table_that_is_made_has_the_seeds_keys_and_projections(database, db):
    table = database.call("DescribeTable", {"TableName": TABLE})["Table"]
    assert keys_of(table) == [("pk", "HASH"), ("sk", "RANGE")]
    assert {part["AttributeType"] for part in table["AttributeDefinitions"]} == {"S"}
    found = {
        index["IndexName"]: (
            keys_of(index),
            index["Projection"]["ProjectionType"],
            set(index["Projection"].get("NonKeyAttributes", ())),
        )
        for index in table["GlobalSecondaryIndexes"]
    }
    scraped = {"domain", "last_scraped_start", "last_scraped_end", "last_crawled_end"}
    assert found == {
        "ProductTypeIndex": ([("gsi1_pk", "HASH"), ("gsi1_sk", "RANGE")], "ALL", set()),
        "CountryLastCrawledIndex": (
            [("gsi2_pk", "HASH"), ("gsi2_sk", "RANGE")],
            "INCLUDE",
            {"domain", "last_crawled_start", "last_crawled_end"},
        ),
        "CountryLastScrapedIndex": ([("gsi3_pk", "HASH"), ("gsi3_sk", "RANGE")], "INCLUDE", scraped),
        "CoreDomainNameIndex": ([("gsi4_pk", "HASH"), ("gsi4_sk", "RANGE")], "KEYS_ONLY", set()),
    }
    assert "LocalSecondaryIndexes" not in table


def test_the_tables_name_comes_from_the_environment(database, clock, monkeypatch):
    monkeypatch.setenv("DYNAMODB_TABLE_NAME", "aura-elsewhere")
    assert hashrange.create_tables(database, Aura) == ["aura-elsewhere"]
    Aura.open(database, clock=clock).create(Shop(domain="a.de", core_domain_name="a")).run()
    assert get_item(database, "SHOP#a.de", table="aura-elsewhere")["domain"] == "a.de"


def test_the_shop_that_the_seed_prints_is_read_and_put_back_unchanged(database, db):
    put_item(database, META)
    shop = db.shop("example.com").required().run()
    assert (shop.domain, shop.core_domain_name, shop.shop_name) == ("example.com", "example", "Example Shop")
    assert shop.shop_country == "DE"
    started, ended = at("2023-10-27T00:00:00"), at("2023-10-27T23:59:59")
    assert shop.crawl == Crawled(domain="example.com", last_crawled_start=started, last_crawled_end=ended)
    assert isinstance(shop.scrape, Scraped)
    db.put(shop).run()
    assert get_item(database, "SHOP#example.com") == META | META_KEYS | {"crawl_attempts": 0, "scrape_attempts": 0}


def test_the_url_that_the_seed_prints_is_read_and_put_back_unchanged(database, db):
    put_item(database, URL)
    url = db.url("example.com", URL["url"]).required().run()
    assert (url.domain, url.url, url.type, url.hash) == ("example.com", URL["url"], "product", "a1b2c3d4...")
    db.put(url).run()
    assert get_item(database, URL["pk"], URL["sk"]) == URL | URL_KEYS | {"missing_count": 0}


def test_a_printed_shop_is_in_no_index_until_it_is_put_back(database, db):
    put_item(database, META)
    assert db.crawled("DE", at("12:00")).run() == []
    db.put(db.shop("example.com").required().run()).run()
    (crawl,) = db.crawled("DE", at("12:00")).run()
    db.start_crawl(crawl, at("10:00"), "w", at("10:05")).run()
    assert get_item(database, "SHOP#example.com")["gsi2_sk"] == "PROGRESS#2026-01-15T10:00:00Z"


def test_what_a_plain_client_writes_is_read_by_the_declared_items(database, db):
    put_item(database, META | META_KEYS)
    put_item(database, URL | URL_KEYS)
    shop, url = db.site("example.com").run()
    assert (type(shop), type(url)) == (Shop, Product)
    assert [product.url for product in db.products("example.com").run()] == [URL["url"]]
    assert [crawl.domain for crawl in db.crawled("DE", at("12:00")).run()] == ["example.com"]
    assert [related.domain for related in db.related("example").run()] == ["example.com"]


def test_what_the_declared_shop_writes_is_read_by_a_plain_client(database, db):
    db.create(Shop(domain="antik.de", core_domain_name="antik", shop_name="Antik", shop_country="DE")).run()
    assert get_item(database, "SHOP#antik.de") == {
        "pk": "SHOP#antik.de",
        "sk": "META#",
        "domain": "antik.de",
        "core_domain_name": "antik",
        "shop_name": "Antik",
        "shop_country": "COUNTRY#DE",
        "crawl_attempts": 0,
        "scrape_attempts": 0,
        "gsi2_pk": "COUNTRY#DE",
        "gsi2_sk": "NEVER#",
        "gsi3_pk": "COUNTRY#DE",
        "gsi3_sk": "NEVER#",
        "gsi4_pk": "antik",
        "gsi4_sk": "antik.de",
    }


def test_what_the_declared_url_writes_is_read_by_a_plain_client(database, db):
    db.mark_seen("antik.de", "https://antik.de/vase", "product", at("10:00"), at("10:00")).run()
    assert get_item(database, "SHOP#antik.de", "URL#https://antik.de/vase") == {
        "pk": "SHOP#antik.de",
        "sk": "URL#https://antik.de/vase",
        "url": "https://antik.de/vase",
        "type": "product",
        "first_seen": "2026-01-15T10:00:00Z",
        "last_seen": "2026-01-15T10:00:00Z",
        "gsi1_pk": "SHOP#antik.de",
        "gsi1_sk": "product",
    }


def test_attributes_that_nobody_declared_survive_a_step(database, db):
    put_item(database, META | META_KEYS | {"crawler_version": "7"})
    (crawl,) = db.crawled("DE", at("12:00")).run()
    db.start_crawl(crawl, at("10:00"), "w", at("10:05")).run()
    assert get_item(database, "SHOP#example.com")["crawler_version"] == "7"


def test_a_new_shop_was_never_crawled_nor_scraped(db):
    db.create(Shop(domain="a.de", core_domain_name="a")).run()
    shop = db.shop("a.de").required().run()
    assert (shop.crawl, shop.scrape) == (NeverCrawled(domain="a.de"), NeverScraped(domain="a.de"))
