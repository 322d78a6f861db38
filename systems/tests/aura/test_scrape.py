"""The scrape of a shop: every query and every step that the seed gives for GSI3."""

import pytest

from hashrange import Conflict
from hashrange_systems.aura.schema import Crawled, LeasedScrape, NeverScraped, Scraped, Scraping, Shop
from systems.tests.aura.plain import at, domains, get_item, put_shop, query

INDEX = "CountryLastScrapedIndex"
GERMANY = "COUNTRY#DE"
CUTOFF = at("2026-01-13T00:00:00")


@pytest.fixture
def scrapes(database, db):
    """Shops in every state of a scrape, with and without a crawl that ended."""
    put_shop(database, "uncrawled.de")
    put_shop(database, "being-crawled.de", "PROGRESS#2026-01-15T10:00:00Z")
    put_shop(database, "ready.de", "DONE#2026-01-14T00:00:00Z")
    put_shop(database, "running.de", "DONE#2026-01-14T00:00:00Z", "PROGRESS#2026-01-15T11:00:00Z")
    put_shop(database, "stuck.de", "DONE#2026-01-14T00:00:00Z", "PROGRESS#2026-01-15T09:00:00Z")
    put_shop(database, "fresh.de", "DONE#2026-01-09T00:00:00Z", "DONE#2026-01-10T00:00:00Z")
    put_shop(database, "again.de", "DONE#2026-01-12T00:00:00Z", "DONE#2026-01-11T00:00:00Z")
    put_shop(database, "cutoff.de", "DONE#2026-01-14T00:00:00Z", "DONE#2026-01-13T00:00:00Z")
    put_shop(database, "recent.de", "DONE#2026-01-15T00:00:00Z", "DONE#2026-01-13T00:00:01Z")
    return db


@pytest.fixture
def ready(database, db):
    """A shop that is crawled and was never scraped."""
    put_shop(database, "a.de", "DONE#2026-01-15T10:00:00Z")
    return db.shop("a.de").required().run()


def begin(db, shop, begun="11:00"):
    return db.start_scrape(shop.scrape, shop.crawl, at(begun), "w1", at("11:05")).run()


def test_never_scraped_shops_begin_with_never_and_have_been_crawled(database, scrapes):
    asked = query(database, INDEX, "gsi3_pk = :c AND begins_with(gsi3_sk, :s)", c=GERMANY, s="NEVER#")
    assert sorted(domains(asked)) == ["being-crawled.de", "ready.de", "uncrawled.de"]
    found = scrapes.never_scraped("DE").run()
    assert domains(found) == [row["domain"] for row in asked if "last_crawled_end" in row] == ["ready.de"]
    assert type(found[0]) is NeverScraped


def test_scrapes_in_progress_are_between_progress_and_tilde(database, scrapes):
    condition = "gsi3_pk = :c AND gsi3_sk BETWEEN :low AND :high"
    asked = query(database, INDEX, condition, c=GERMANY, low="PROGRESS#", high="PROGRESS#~")
    found = scrapes.scraping("DE").run()
    assert domains(found) == domains(asked) == ["stuck.de", "running.de"]
    assert all(type(scrape) is Scraping for scrape in found)


def test_shops_scraped_before_the_cutoff_are_eligible_when_crawled_since(database, scrapes):
    condition = "gsi3_pk = :c AND gsi3_sk BETWEEN :low AND :high"
    asked = query(database, INDEX, condition, c=GERMANY, low="DONE#", high="DONE#2026-01-13T00:00:00Z")
    assert domains(asked) == ["fresh.de", "again.de", "cutoff.de"]
    eligible = [row for row in asked if row["last_crawled_end"] > row["last_scraped_end"]]
    found = scrapes.scraped("DE", CUTOFF).run()
    assert domains(found) == domains(eligible) == ["again.de", "cutoff.de"]
    assert all(type(scrape) is Scraped for scrape in found)


def test_shops_scraped_within_a_date_range_include_both_ends(scrapes):
    found = scrapes.scraped_between("DE", (at("2026-01-11T00:00:00"), CUTOFF)).run()
    assert domains(found) == ["again.de", "cutoff.de"]


def test_scrapes_in_progress_for_over_two_hours_are_stuck(database, scrapes):
    condition = "gsi3_pk = :c AND gsi3_sk BETWEEN :low AND :high"
    asked = query(database, INDEX, condition, c=GERMANY, low="PROGRESS#", high="PROGRESS#2026-01-15T09:00:00Z")
    found = scrapes.stuck_scrapes("DE", at("09:00")).run()
    assert domains(found) == domains(asked) == ["stuck.de"]


def test_shops_that_need_a_scrape_exclude_those_in_progress(scrapes):
    waiting = {*domains(scrapes.never_scraped("DE").run()), *domains(scrapes.scraped("DE", at("12:00")).run())}
    assert waiting == {"ready.de", "again.de", "cutoff.de", "recent.de"}


def test_the_index_holds_what_the_seed_projects_and_nothing_else(database, scrapes):
    (row,) = query(database, INDEX, "gsi3_pk = :c AND gsi3_sk = :s", c=GERMANY, s="DONE#2026-01-13T00:00:00Z")
    assert set(row) == {
        *("pk", "sk", "gsi3_pk", "gsi3_sk", "domain"),
        *("last_scraped_start", "last_scraped_end", "last_crawled_end"),
    }


def test_the_lifecycle_of_the_seed_leaves_its_keys_to_the_letter(database, db, ready):
    assert get_item(database, "SHOP#a.de")["gsi3_sk"] == "NEVER#"
    scrape = begin(db, ready)
    assert get_item(database, "SHOP#a.de")["gsi3_sk"] == "PROGRESS#2026-01-15T11:00:00Z"
    db.finish_scrape(scrape, at("13:00"), "w1").run()
    assert get_item(database, "SHOP#a.de")["gsi3_sk"] == "DONE#2026-01-15T13:00:00Z"
    assert db.scraped("DE", at("23:00")).run() == []
    shop = db.shop("a.de").required().run()
    crawl = db.start_crawl(shop.crawl, at("14:00"), "w", at("14:05")).run()
    db.finish_crawl(crawl, at("15:00"), crawl.crawl_owner).run()
    assert get_item(database, "SHOP#a.de")["gsi3_sk"] == "DONE#2026-01-15T13:00:00Z"
    assert domains(db.scraped("DE", at("23:00")).run()) == ["a.de"]


def test_a_shop_is_scraped_again_only_when_it_was_crawled_since(db, ready):
    db.finish_scrape(begin(db, ready), at("13:00"), "w1").run()
    shop = db.shop("a.de").required().run()
    assert isinstance(shop.scrape, Scraped)
    assert isinstance(shop.crawl, Crawled)
    with pytest.raises(Conflict):
        db.restart_scrape(shop.scrape, shop.crawl, at("14:00"), "w2", at("14:05")).run()
    crawl = db.start_crawl(shop.crawl, at("14:00"), "w", at("14:05")).run()
    crawled = db.finish_crawl(crawl, at("15:00"), crawl.crawl_owner).run()
    again = db.restart_scrape(shop.scrape, crawled, at("16:00"), "w2", at("16:05")).run()
    assert (again.last_scraped_start, again.last_scraped_end) == (at("16:00"), at("13:00"))


def test_the_crawl_keeps_its_state_while_a_scrape_runs(database, db, ready):
    scrape = begin(db, ready)
    db.finish_scrape(scrape, at("13:00"), "w1").run()
    stored = get_item(database, "SHOP#a.de")
    assert stored["gsi2_sk"] == "DONE#2026-01-15T10:00:00Z"
    assert (stored["last_scraped_start"], stored["last_scraped_end"]) == (
        "2026-01-15T11:00:00Z",
        "2026-01-15T13:00:00Z",
    )


def test_a_scrape_is_leased_by_its_worker_and_no_other_can_extend_or_end_it(db, ready):
    scrape = begin(db, ready)
    assert type(scrape) is LeasedScrape
    assert db.extend_scrape(scrape, at("11:10"), "w1").run().scrape_lease_until == at("11:10")
    for refused in (
        db.extend_scrape(scrape, at("11:20"), "w2"),
        db.finish_scrape(scrape, at("11:20"), "w2"),
        db.fail_first_scrape(scrape, "lost", "w2"),
    ):
        with pytest.raises(Conflict) as conflict:
            refused.run()
        assert conflict.value.current.scrape.scrape_owner == "w1"


def test_finishing_a_scrape_gives_the_lease_back(database, db, ready):
    db.finish_scrape(begin(db, ready), at("13:00"), "w1").run()
    assert not {"scrape_owner", "scrape_lease_until"} & set(get_item(database, "SHOP#a.de"))


def test_a_crawl_that_ends_inside_a_scrape_makes_the_shop_eligible_again(db, ready):
    scrape = begin(db, ready)  # at 11:00
    crawl = db.start_crawl(ready.crawl, at("11:30"), "w", at("11:35")).run()
    db.finish_crawl(crawl, at("12:00"), "w").run()
    db.finish_scrape(scrape, at("13:00"), "w1").run()
    assert domains(db.scraped("DE", at("23:00")).run()) == ["a.de"]
    shop = db.shop("a.de").required().run()
    again = db.restart_scrape(shop.scrape, shop.crawl, at("14:00"), "w1", at("14:05")).run()
    db.finish_scrape(again, at("15:00"), "w1").run()
    assert db.scraped("DE", at("23:00")).run() == []


@pytest.mark.parametrize("end", ["NEVER#", "PROGRESS#2026-01-15T10:00:00Z"])
def test_a_crawl_that_never_ended_is_not_scraped(database, db, end):
    put_shop(database, "a.de", end, last_crawled_end=end)  # as the original stores it
    assert db.never_scraped("DE").run() == []


def test_the_reaper_returns_a_first_scrape_to_never(database, db, ready):
    begin(db, ready)
    (stuck,) = db.stuck_scrapes("DE", at("11:00")).run()
    with pytest.raises(Conflict):
        db.forget_scrape(stuck, at("11:05"), "lease expired").run()  # not yet
    db.forget_scrape(stuck, at("11:06"), "lease expired").run()
    stored = get_item(database, "SHOP#a.de")
    assert (stored["gsi3_sk"], stored["last_scrape_error"]) == ("NEVER#", "lease expired")
    assert domains(db.never_scraped("DE").run()) == ["a.de"]


def test_the_reaper_returns_a_later_scrape_to_the_end_of_the_one_before(database, db):
    put_shop(database, "a.de", "DONE#2026-01-14T00:00:00Z", "DONE#2026-01-13T00:00:00Z")
    shop = db.shop("a.de").required().run()
    db.restart_scrape(shop.scrape, shop.crawl, at("09:00"), "w2", at("09:05")).run()
    (stuck,) = db.stuck_scrapes("DE", at("10:00")).run()
    with pytest.raises(Conflict):
        db.forget_scrape(stuck, at("12:00"), "stuck").run()  # it was scraped before
    db.revert_scrape(stuck, at("12:00"), "stuck", stuck.last_scraped_end).run()
    assert get_item(database, "SHOP#a.de")["gsi3_sk"] == "DONE#2026-01-13T00:00:00Z"
    assert domains(db.scraped("DE", at("12:00")).run()) == ["a.de"]


def test_a_new_shop_waits_for_its_first_scrape(db):
    db.create(Shop(domain="a.de", core_domain_name="a", shop_country="DE")).run()
    assert db.shop("a.de").required().run().scrape == NeverScraped(domain="a.de")
    assert db.never_scraped("DE").run() == []
