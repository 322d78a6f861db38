"""The crawl of a shop: every query and every step that the seed gives for GSI2."""

import asyncio
from datetime import timedelta
from itertools import chain

import pytest

from hashrange import Conflict
from hashrange_systems.aura.schema import Crawled, Crawling, LeasedCrawl, NeverCrawled, Shop
from systems.tests.aura.plain import at, domains, get_item, put_shop, query

INDEX = "CountryLastCrawledIndex"
GERMANY = "COUNTRY#DE"


@pytest.fixture
def crawls(database, db):
    """Shops in every state, and one in another country."""
    put_shop(database, "never-a.de")
    put_shop(database, "never-b.de")
    put_shop(database, "running.de", "PROGRESS#2026-01-15T10:00:00Z")
    put_shop(database, "stuck.de", "PROGRESS#2026-01-15T08:00:00Z")
    put_shop(database, "old.de", "DONE#2026-01-10T00:00:00Z")
    put_shop(database, "cutoff.de", "DONE#2026-01-13T00:00:00Z")
    put_shop(database, "recent.de", "DONE#2026-01-13T00:00:01Z")
    put_shop(database, "never.fr", country="FR")
    return db


def start(db, domain="a.de", owner="worker", begun="10:00", lease="10:05"):
    shop = db.shop(domain).required().run()
    return db.start_crawl(shop.crawl, at(begun), owner, at(lease)).run()


def test_never_crawled_shops_begin_with_never(database, crawls):
    asked = query(database, INDEX, "gsi2_pk = :c AND begins_with(gsi2_sk, :s)", c=GERMANY, s="NEVER#")
    found = crawls.never_crawled("DE").run()
    assert sorted(domains(found)) == sorted(domains(asked)) == ["never-a.de", "never-b.de"]
    assert all(type(crawl) is NeverCrawled for crawl in found)


def test_shops_in_progress_are_between_progress_and_tilde(database, crawls):
    condition = "gsi2_pk = :c AND gsi2_sk BETWEEN :low AND :high"
    asked = query(database, INDEX, condition, c=GERMANY, low="PROGRESS#", high="PROGRESS#~")
    found = crawls.crawling("DE").run()
    assert domains(found) == domains(asked) == ["stuck.de", "running.de"]
    assert [crawl.last_crawled_start for crawl in found] == [at("08:00"), at("10:00")]


def test_shops_crawled_before_the_cutoff_include_the_cutoff(database, crawls):
    condition = "gsi2_pk = :c AND gsi2_sk BETWEEN :low AND :high"
    asked = query(database, INDEX, condition, c=GERMANY, low="DONE#", high="DONE#2026-01-13T00:00:00Z")
    found = crawls.crawled("DE", at("2026-01-13T00:00:00")).run()
    assert domains(found) == domains(asked) == ["old.de", "cutoff.de"]
    assert all(type(crawl) is Crawled for crawl in found)


def test_shops_crawled_within_a_date_range_include_both_ends(crawls):
    found = crawls.crawled_between("DE", (at("2026-01-10T00:00:00"), at("2026-01-13T00:00:00")))
    assert domains(found.run()) == ["old.de", "cutoff.de"]
    later = crawls.crawled_between("DE", (at("2026-01-10T00:00:01"), at("2026-01-13T00:00:01")))
    assert domains(later.run()) == ["cutoff.de", "recent.de"]


def test_crawls_in_progress_for_over_two_hours_are_stuck(database, crawls):
    condition = "gsi2_pk = :c AND gsi2_sk BETWEEN :low AND :high"
    asked = query(database, INDEX, condition, c=GERMANY, low="PROGRESS#", high="PROGRESS#2026-01-15T08:00:00Z")
    found = crawls.stuck_crawls("DE", at("10:00") - timedelta(hours=2)).run()
    assert domains(found) == domains(asked) == ["stuck.de"]
    assert crawls.stuck_crawls("DE", at("07:59:59")).run() == []


def test_shops_that_need_a_crawl_exclude_those_in_progress(crawls):
    found = crawls.crawl_due("DE", at("2026-01-13T00:00:00")).run()
    assert sorted(domains(found)) == ["cutoff.de", "never-a.de", "never-b.de", "old.de"]
    assert {type(crawl) for crawl in found} == {NeverCrawled, Crawled}


def test_pages_of_shops_that_need_a_crawl_go_on_from_never_to_done(crawls):
    cursor, pages = None, []
    while True:
        page = crawls.crawl_due("DE", at("2026-01-13T00:00:00")).page(3, after=cursor).run()
        pages.append(domains(page))
        cursor = page.cursor
        if cursor is None:
            break
    assert [len(page) for page in pages] == [3, 1]
    assert sorted(chain(*pages)) == ["cutoff.de", "never-a.de", "never-b.de", "old.de"]


def test_a_country_holds_its_own_shops_only(crawls):
    assert domains(crawls.never_crawled("FR").run()) == ["never.fr"]
    assert crawls.crawl_due("AT", at("12:00")).run() == []


def test_the_index_holds_what_the_seed_projects_and_nothing_else(database, crawls):
    (row,) = query(database, INDEX, "gsi2_pk = :c AND gsi2_sk = :s", c=GERMANY, s="DONE#2026-01-10T00:00:00Z")
    assert set(row) == {"pk", "sk", "gsi2_pk", "gsi2_sk", "domain", "last_crawled_start", "last_crawled_end"}


def test_the_lifecycle_of_the_seed_leaves_its_keys_to_the_letter(database, db):
    db.create(Shop(domain="a.de", core_domain_name="a", shop_country="DE")).run()
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "NEVER#"
    crawl = start(db)
    assert type(crawl) is LeasedCrawl
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "PROGRESS#2026-01-15T10:00:00Z"
    finished = db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "DONE#2026-01-15T12:00:00Z"
    assert finished == Crawled(domain="a.de", last_crawled_start=at("10:00"), last_crawled_end=at("12:00"))


def test_a_shop_never_disappears_from_the_index(database, db):
    def indexed():
        return [row["gsi2_sk"] for row in query(database, INDEX, "gsi2_pk = :c", c=GERMANY)]

    db.create(Shop(domain="a.de", core_domain_name="a", shop_country="DE")).run()
    seen = [indexed()]
    crawl = start(db)
    seen.append(indexed())
    db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    seen.append(indexed())
    assert seen == [["NEVER#"], ["PROGRESS#2026-01-15T10:00:00Z"], ["DONE#2026-01-15T12:00:00Z"]]


def test_every_step_writes_the_seeds_timestamps_and_the_lease(database, db):
    db.create(Shop(domain="a.de", core_domain_name="a", shop_country="DE")).run()
    crawl = start(db, owner="w1")
    running = get_item(database, "SHOP#a.de")
    assert running["last_crawled_start"] == "2026-01-15T10:00:00Z"
    assert (running["crawl_owner"], running["crawl_lease_until"]) == ("w1", "2026-01-15T10:05:00Z")
    assert "last_crawled_end" not in running
    db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    done = get_item(database, "SHOP#a.de")
    assert (done["last_crawled_start"], done["last_crawled_end"]) == ("2026-01-15T10:00:00Z", "2026-01-15T12:00:00Z")
    assert "crawl_owner" not in done
    assert "crawl_lease_until" not in done


def test_a_second_crawl_keeps_the_end_of_the_first_until_it_ends_itself(database, db):
    put_shop(database, "a.de", "DONE#2026-01-10T00:00:00Z")
    crawl = start(db)
    assert crawl.last_crawled_end == at("2026-01-10T00:00:00")
    assert get_item(database, "SHOP#a.de")["last_crawled_end"] == "2026-01-10T00:00:00Z"
    db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    assert get_item(database, "SHOP#a.de")["last_crawled_end"] == "2026-01-15T12:00:00Z"


def test_a_crawl_that_is_running_is_not_started_again(db, database):
    put_shop(database, "a.de")
    turn = db.never_crawled("DE").first().run()
    db.start_crawl(turn, at("10:00"), "w1", at("10:05")).run()
    with pytest.raises(Conflict) as refused:
        db.start_crawl(turn, at("10:01"), "w2", at("10:06")).run()
    assert refused.value.current.crawl.crawl_owner == "w1"


def test_a_heartbeat_extends_the_lease_and_leaves_the_index_alone(database, db):
    put_shop(database, "a.de")
    crawl = start(db)
    before = query(database, INDEX, "gsi2_pk = :c", c=GERMANY)
    crawl = db.extend_crawl(crawl, at("10:30"), crawl.crawl_owner).run()
    assert crawl.crawl_lease_until == at("10:30")
    assert query(database, INDEX, "gsi2_pk = :c", c=GERMANY) == before


def test_attempts_count_up_until_a_crawl_ends(database, db):
    put_shop(database, "a.de")
    for hour in ("09:00", "10:00"):
        turn = db.never_crawled("DE").first().run()
        crawl = db.start_crawl(turn, at(hour), "w", at(hour), crawl_attempts=1).run()
        db.fail_first_crawl(crawl, "connection refused", crawl.crawl_owner).run()
    shop = db.shop("a.de").required().run()
    assert (shop.crawl_attempts, shop.last_crawl_error) == (2, "connection refused")
    crawl = db.start_crawl(shop.crawl, at("11:00"), "w", at("11:05"), crawl_attempts=1).run()
    db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    shop = db.shop("a.de").required().run()
    assert (shop.crawl_attempts, shop.last_crawl_error) == (0, None)


def test_a_failed_crawl_goes_back_to_where_it_came_from(database, db):
    put_shop(database, "old.de", "DONE#2026-01-10T00:00:00Z")
    crawl = start(db, "old.de")
    with pytest.raises(Conflict):
        db.fail_first_crawl(crawl, "timeout", crawl.crawl_owner).run()  # it was crawled before
    db.fail_crawl(crawl, "timeout", crawl.last_crawled_end, crawl.crawl_owner).run()
    stored = get_item(database, "SHOP#old.de")
    assert (stored["gsi2_sk"], stored["last_crawl_error"]) == ("DONE#2026-01-10T00:00:00Z", "timeout")


def test_the_reaper_returns_stuck_crawls_to_where_they_came_from(database, db):
    async def reap(now):
        async for crawl in db.stuck_crawls("DE", now - timedelta(hours=2)):
            assert type(crawl) is Crawling
            if crawl.last_crawled_end is None:
                await db.forget_crawl(crawl, now, "lease expired")
            else:
                await db.revert_crawl(crawl, now, "lease expired", crawl.last_crawled_end)

    put_shop(database, "new.de")
    put_shop(database, "old.de", "DONE#2026-01-10T00:00:00Z")
    start(db, "new.de")
    start(db, "old.de")
    asyncio.run(reap(at("12:00")))
    new, old = get_item(database, "SHOP#new.de"), get_item(database, "SHOP#old.de")
    assert (new["gsi2_sk"], old["gsi2_sk"]) == ("NEVER#", "DONE#2026-01-10T00:00:00Z")
    assert new["last_crawl_error"] == old["last_crawl_error"] == "lease expired"
    assert not {"crawl_owner", "crawl_lease_until", "last_crawled_start"} & set(new)


def test_the_reaper_leaves_a_crawl_whose_lease_runs(database, db):
    put_shop(database, "a.de")
    crawl = start(db)
    db.extend_crawl(crawl, at("12:05"), crawl.crawl_owner).run()
    (stuck,) = db.stuck_crawls("DE", at("10:00")).run()
    with pytest.raises(Conflict) as refused:
        db.forget_crawl(stuck, at("12:00"), "lease expired").run()
    assert isinstance(refused.value.current.crawl, LeasedCrawl)


def test_an_abandoned_crawl_is_taken_over_and_its_first_worker_shut_out(database, db):
    put_shop(database, "a.de")
    lost = start(db, owner="w1", lease="10:05")
    (seen,) = db.crawling("DE").run()
    with pytest.raises(Conflict):
        db.take_crawl(seen, at("10:04"), at("10:04"), "w2", at("10:09")).run()
    taken = db.take_crawl(seen, at("10:06"), at("10:06"), "w2", at("10:11")).run()
    assert taken.crawl_owner == "w2"
    for late in (
        db.extend_crawl(lost, at("10:30"), lost.crawl_owner),
        db.finish_crawl(lost, at("10:30"), lost.crawl_owner),
    ):
        with pytest.raises(Conflict):
            late.run()
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "PROGRESS#2026-01-15T10:06:00Z"


def test_the_states_are_told_apart_by_match(database, crawls):
    start(crawls, "never-a.de", owner="w1")
    found = {}
    for domain in ("never-a.de", "never-b.de", "running.de", "old.de"):
        match crawls.shop(domain).required().run().crawl:
            case NeverCrawled():
                found[domain] = "never"
            case LeasedCrawl(crawl_owner=owner):
                found[domain] = owner
            case Crawling(last_crawled_start=begun):
                found[domain] = begun
            case Crawled(last_crawled_end=ended):
                found[domain] = ended
    assert found == {
        "never-a.de": "w1",
        "never-b.de": "never",
        "running.de": at("10:00"),
        "old.de": at("2026-01-10T00:00:00"),
    }


def test_the_whole_shops_behind_the_index_come_by_batch(crawls):
    shops = crawls.never_crawled("DE").whole().run()
    assert all(type(shop) is Shop for shop in shops)
    assert sorted(shop.core_domain_name for shop in shops) == ["never-a", "never-b"]
