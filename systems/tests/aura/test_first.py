"""The first layout (seed 001): its items to the letter, its reads, and the migration to the second one."""

import pytest

import hashrange
from hashrange_systems.aura import first, schema
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.model.change import change_hash, is_change
from hashrange_systems.aura.schema import Aura
from systems.tests.aura.plain import TABLE, at, get_item, put_item

META = {
    "PK": "SHOP#example.com",
    "SK": "META#",
    "domain": "example.com",
    "standards_used": ["json-ld", "microdata"],
}
URL = {
    "PK": "SHOP#example.com",
    "SK": "URL#https://example.com/products/item-123",
    "url": "https://example.com/products/item-123",
    "standards_used": ["json-ld", "microdata"],
    "type": "product",
    "is_product": True,
    "hash": "5d41402abc4b2a76b9719d911017c592",
}
IMPRINT = {
    "PK": "SHOP#example.com",
    "SK": "URL#https://example.com/imprint",
    "url": "https://example.com/imprint",
    "standards_used": [],
    "type": "listing",
    "is_product": False,
}
NAMES = ("PK", "SK")


@pytest.fixture
def old(database, clock):
    """The patterns on their table."""
    hashrange.create_tables(database, FirstAura)
    return FirstAura.open(database, clock=clock)


def test_the_table_that_is_made_has_the_seeds_keys_and_no_index(database, old):
    table = database.call("DescribeTable", {"TableName": TABLE})["Table"]
    assert [(part["AttributeName"], part["KeyType"]) for part in table["KeySchema"]] == [
        ("PK", "HASH"),
        ("SK", "RANGE"),
    ]
    assert "GlobalSecondaryIndexes" not in table


def test_the_items_that_the_seed_prints_are_read_and_put_back_unchanged(database, old):
    put_item(database, META)
    put_item(database, URL)
    shop, url = old.shop("example.com").required().run(), old.url("example.com", URL["url"]).required().run()
    assert shop == first.Shop(domain="example.com", standards_used=["json-ld", "microdata"])
    assert (url.domain, url.type, url.is_product, url.hash) == ("example.com", "product", True, URL["hash"])
    old.batch([shop, url]).run()
    assert get_item(database, META["PK"], META["SK"], names=NAMES) == META
    assert get_item(database, URL["PK"], URL["SK"], names=NAMES) == URL


def test_what_the_declared_items_write_is_read_by_a_plain_client(database, old):
    old.create(first.Shop(domain="example.com", standards_used=["json-ld", "microdata"])).run()
    old.create(
        first.Url(
            domain="example.com",
            url=URL["url"],
            standards_used=["json-ld", "microdata"],
            type="product",
            is_product=True,
            hash=URL["hash"],
        )
    ).run()
    assert get_item(database, META["PK"], META["SK"], names=NAMES) == META
    assert get_item(database, URL["PK"], URL["SK"], names=NAMES) == URL


def test_a_site_is_its_shop_and_its_urls(database, old):
    put_item(database, META)
    put_item(database, URL)
    put_item(database, IMPRINT)
    assert [type(entry) for entry in old.site("example.com")] == [first.Shop, first.Url, first.Url]
    assert [url.url for url in old.urls("example.com")] == [IMPRINT["url"], URL["url"]]


def migrate(old, new, domain):
    """Copy a site into the second layout: keys cannot be renamed, so every item is made anew."""
    for entry in old.site(domain):
        match entry:
            case first.Shop():
                core = entry.domain.partition(".")[0]
                shop = schema.Shop(domain=entry.domain, core_domain_name=core, standards_used=entry.standards_used)
                new.create(shop).run()
            case first.Url():
                page = "product" if entry.is_product else "other"
                known = entry.type if entry.type in {"category", "listing"} else page
                new.create(
                    schema.Url(
                        domain=entry.domain,
                        url=entry.url,
                        type=known,
                        hash=entry.hash,
                        standards_used=entry.standards_used,
                    )
                ).run()


@pytest.fixture
def new(database, clock, old, monkeypatch):
    """The second layout beside the first, which keeps its name."""
    put_item(database, META)
    put_item(database, URL)
    put_item(database, IMPRINT)
    assert old.shop("example.com").run() is not None
    monkeypatch.setenv("DYNAMODB_TABLE_NAME", "aura-second")
    hashrange.create_tables(database, Aura)
    return Aura.open(database, clock=clock)


def test_trap_keys_cannot_be_renamed_so_items_are_copied_into_a_new_table(database, old, new):
    migrate(old, new, "example.com")
    assert get_item(database, "SHOP#example.com", table="aura-second") == {
        "pk": "SHOP#example.com",
        "sk": "META#",
        "domain": "example.com",
        "core_domain_name": "example",
        "shop_country": "COUNTRY#ZZ",
        "standards_used": ["json-ld", "microdata"],
        "crawl_attempts": 0,
        "scrape_attempts": 0,
        "gsi2_pk": "COUNTRY#ZZ",
        "gsi2_sk": "NEVER#",
        "gsi3_pk": "COUNTRY#ZZ",
        "gsi3_sk": "NEVER#",
        "gsi4_pk": "example",
        "gsi4_sk": "example.com",
    }
    stored = get_item(database, "SHOP#example.com", URL["SK"], table="aura-second")
    assert {name.lower(): value for name, value in URL.items() if name != "is_product"}.items() <= stored.items()
    assert "is_product" not in stored
    assert get_item(database, META["PK"], META["SK"], names=NAMES) == META  # the first table is as it was


def test_trap_is_product_becomes_the_type_and_products_are_found_by_it(old, new):
    migrate(old, new, "example.com")
    assert [url.url for url in new.products("example.com")] == [URL["url"]]
    assert [url.url for url in new.pages("example.com", "listing")] == [IMPRINT["url"]]


def test_trap_md5_of_the_first_layout_is_no_change_after_the_move(old, new):
    migrate(old, new, "example.com")
    url = new.url("example.com", URL["url"]).required().run()
    found = change_hash("AVAILABLE", 4200, "EUR")
    assert not is_change(url.hash, url.state, found)
    assert new.rehash(url, found, "AVAILABLE", 4200, "EUR").run().hash == found


def test_a_migrated_shop_starts_its_lifecycle(old, new):
    migrate(old, new, "example.com")
    (turn,) = new.crawl_due("ZZ", at("12:00")).run()
    assert new.start_crawl(turn, at("10:00"), "w", at("10:05")).run().domain == "example.com"
