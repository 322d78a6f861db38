"""Concurrent workers: of all that start the same crawl, one wins, and the others learn its name."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from hashrange import Conflict
from hashrange_systems.aura.schema import LeasedCrawl, Price
from systems.tests.aura.plain import at, domains, get_item, put_shop

WORKERS = 6


def race(attempt):
    """Run an attempt on several threads at once; return what each got."""
    barrier = Barrier(WORKERS)

    def run(number):
        barrier.wait()
        try:
            return attempt(number)
        except Conflict as refusal:
            return refusal

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(run, range(WORKERS)))


@pytest.mark.parametrize("state", ["NEVER#", "DONE#2026-01-10T00:00:00Z"])
def test_of_workers_that_start_a_crawl_exactly_one_wins(database, db, state):
    put_shop(database, "a.de", state)
    (turn,) = db.crawl_due("DE", at("12:00")).run()
    got = race(lambda number: db.start_crawl(turn, at("10:00"), f"w{number}", at("10:05")).run())
    (winner,) = [crawl for crawl in got if isinstance(crawl, LeasedCrawl)]
    others = [refusal for refusal in got if isinstance(refusal, Conflict)]
    assert len(others) == WORKERS - 1
    assert {refusal.current.crawl.crawl_owner for refusal in others} == {winner.crawl_owner}
    assert get_item(database, "SHOP#a.de")["crawl_owner"] == winner.crawl_owner


def test_workers_on_a_country_crawl_each_shop_once(database, db):
    expected = {f"shop-{number}.de" for number in range(8)}
    for domain in expected:
        put_shop(database, domain)

    def work(number):
        done = []
        for turn in db.crawl_due("DE", at("2026-01-13T00:00:00")):
            try:
                crawl = db.start_crawl(turn, at("10:00"), f"w{number}", at("10:05")).run()
            except Conflict:
                continue  # another worker was faster
            db.finish_crawl(crawl, at("11:00"), crawl.crawl_owner).run()
            done.append(crawl.domain)
        return done

    crawled = [domain for done in race(work) for domain in done]
    assert sorted(crawled) == sorted(expected)
    assert set(domains(db.crawled("DE", at("11:00")))) == expected


def test_of_workers_that_take_over_an_abandoned_crawl_exactly_one_wins(database, db):
    put_shop(database, "a.de", "PROGRESS#2026-01-15T08:00:00Z")
    (lost,) = db.crawling("DE").run()
    got = race(lambda number: db.take_crawl(lost, at("10:00"), at("10:00"), f"w{number}", at("10:05")).run())
    assert sum(isinstance(crawl, LeasedCrawl) for crawl in got) == 1


def test_of_workers_that_record_the_same_price_exactly_one_does(db):
    url = db.mark_seen("a.de", "https://a.de/vase", "product", at("10:00"), at("10:00")).run()

    def record(number):
        price = Price(
            domain="a.de", url=url.url, at=at(f"11:00:0{number}"), state="SOLD", price_minor=1, currency="EUR"
        )
        return db.transact(db.reprice(url, "same", "SOLD", 1, "EUR"), db.create(price)).run()

    race(record)
    assert len(db.prices("a.de", url.url).run()) == 1
