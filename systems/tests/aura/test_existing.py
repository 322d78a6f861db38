"""A table as the first deployment made it: indexes under other names, with other projections, states at key ends."""

import pytest

from hashrange import Conflict
from hashrange_systems.aura.schema import Aura, Crawled, Crawling, Scraped
from systems.tests.aura.plain import TABLE, at, domains, get_item, put_item, put_shop

PROJECTIONS = {
    1: {"ProjectionType": "ALL"},
    2: {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["domain"]},
    3: {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["domain", "last_crawled_end"]},
    4: {"ProjectionType": "ALL"},
}


def schema(pk, sk):
    return [{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}]


@pytest.fixture
def old(database, clock):
    """The patterns on such a table."""
    names = ["pk", "sk", *(f"gsi{number}_{part}" for number in PROJECTIONS for part in ("pk", "sk"))]
    indexes = [
        {"IndexName": f"GSI{n}", "KeySchema": schema(f"gsi{n}_pk", f"gsi{n}_sk"), "Projection": projection}
        for n, projection in PROJECTIONS.items()
    ]
    database.call(
        "CreateTable",
        {
            "TableName": TABLE,
            "KeySchema": schema("pk", "sk"),
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
            "GlobalSecondaryIndexes": indexes,
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    return Aura.open(database, clock=clock)


def put_old(database, domain, crawl, scrape="NEVER#", **more):
    """Write a shop as the first deployment did: its ends hold the states, which the index keys mirror."""
    put_shop(database, domain, crawl, scrape, **{"last_crawled_end": crawl, "last_scraped_end": scrape, **more})


def test_indexes_under_other_names_are_found_by_their_keys(database, old):
    put_shop(database, "example.de")
    put_shop(database, "example.com", "PROGRESS#2026-01-15T08:00:00Z")
    put_shop(database, "done.de", "DONE#2026-01-10T00:00:00Z", "DONE#2026-01-09T00:00:00Z")
    put_item(
        database,
        {
            "pk": "SHOP#example.de",
            "sk": "URL#https://example.de/vase",
            "url": "https://example.de/vase",
            "type": "product",
            "gsi1_pk": "SHOP#example.de",
            "gsi1_sk": "product",
        },
    )
    assert [url.url for url in old.products("example.de")] == ["https://example.de/vase"]
    assert domains(old.never_crawled("DE")) == ["example.de"]
    assert domains(old.stuck_crawls("DE", at("10:00"))) == ["example.com"]
    assert domains(old.crawled("DE", at("12:00"))) == ["done.de"]
    assert domains(old.scraped("DE", at("12:00"))) == ["done.de"]
    assert domains(old.related("example")) == ["example.com", "example.de"]


def test_a_narrow_index_still_gives_what_its_keys_hold(database, old):
    put_shop(database, "a.de", "DONE#2026-01-10T00:00:00Z", "DONE#2026-01-09T00:00:00Z")
    assert old.crawled("DE", at("12:00")).run() == [Crawled(domain="a.de", last_crawled_end=at("2026-01-10T00:00:00"))]
    assert old.scraped("DE", at("12:00")).run() == [Scraped(domain="a.de", last_scraped_end=at("2026-01-09T00:00:00"))]


def test_the_rest_is_read_behind_a_narrow_index(database, old):
    put_shop(database, "a.de", "DONE#2026-01-10T00:00:00Z")
    (shop,) = old.crawled("DE", at("12:00")).whole().run()
    assert shop.crawl.last_crawled_start == at("2026-01-10T00:00:00")


@pytest.mark.parametrize("written", ["2026-01-10T08:00:00Z", "2026-01-10T08:00:00.123456", "2026-01-10T08:00:00+00:00"])
def test_a_crawl_goes_on_from_a_state_that_the_first_deployment_wrote(database, old, written):
    put_old(database, "a.de", f"DONE#{written}")
    (turn,) = old.crawl_due("DE", at("12:00")).run()
    assert turn.last_crawled_end == at("2026-01-10T08:00:00")
    crawl = old.start_crawl(turn, at("10:00"), "w", at("10:05")).run()
    assert crawl.last_crawled_end == at("2026-01-10T08:00:00")
    old.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    stored = get_item(database, "SHOP#a.de")
    assert (stored["gsi2_sk"], stored["last_crawled_end"]) == ("DONE#2026-01-15T12:00:00Z", "2026-01-15T12:00:00Z")


def test_a_crawl_that_the_first_deployment_left_in_progress_has_no_end_and_is_forgotten(database, old):
    put_old(database, "a.de", "PROGRESS#2026-01-10T08:00:00Z")
    (stuck,) = old.stuck_crawls("DE", at("10:00")).run()
    assert stuck == Crawling(domain="a.de", last_crawled_start=at("2026-01-10T08:00:00"))
    assert old.shop("a.de").required().run().crawl.last_crawled_end is None
    old.forget_crawl(stuck, at("12:00"), "stuck for days").run()
    stored = get_item(database, "SHOP#a.de")
    assert stored["gsi2_sk"] == "NEVER#"
    assert "last_crawled_end" not in stored


def test_the_reaper_is_told_of_an_end_that_a_narrow_index_does_not_show(database, old):
    put_shop(database, "a.de", "PROGRESS#2026-01-15T08:00:00Z", last_crawled_end="2026-01-10T00:00:00Z")
    (stuck,) = old.stuck_crawls("DE", at("10:00")).run()
    assert stuck.last_crawled_end is None
    with pytest.raises(Conflict) as refused:
        old.forget_crawl(stuck, at("12:00"), "stuck").run()
    crawl = refused.value.current.crawl
    old.revert_crawl(crawl, at("12:00"), "stuck", crawl.last_crawled_end).run()
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "DONE#2026-01-10T00:00:00Z"


def test_a_shop_crawled_since_an_old_scrape_is_scraped_again(database, old):
    put_old(database, "a.de", "DONE#2026-01-10T00:00:00Z", "DONE#2026-01-11T00:00:00Z")
    crawl = old.start_crawl(old.shop("a.de").required().run().crawl, at("10:00"), "w", at("10:05")).run()
    old.finish_crawl(crawl, at("11:00"), crawl.crawl_owner).run()
    assert domains(old.scraped("DE", at("12:00"))) == ["a.de"]
    shop = old.shop("a.de").required().run()
    scrape = old.restart_scrape(shop.scrape, shop.crawl, at("11:30"), "w", at("11:35")).run()
    old.finish_scrape(scrape, at("11:45"), "w").run()
    stored = get_item(database, "SHOP#a.de")
    assert (stored["gsi3_sk"], stored["last_scraped_end"]) == ("DONE#2026-01-15T11:45:00Z", "2026-01-15T11:45:00Z")
    shop = old.shop("a.de").required().run()
    with pytest.raises(Conflict):  # a narrow index shows it still; the table knows better
        old.restart_scrape(shop.scrape, shop.crawl, at("12:00"), "w", at("12:05")).run()


def test_a_page_without_a_type_is_another_page(database, old):
    put_item(database, {"pk": "SHOP#a.de", "sk": "URL#https://a.de/", "url": "https://a.de/"})
    assert old.url("a.de", "https://a.de/").required().run().type == "other"
