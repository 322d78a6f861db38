"""What the type checkers accept also works: the typed uses are run, on the real engine."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

import hashrange
from hashrange import LocalKeys, ManualClock
from hashrange_systems.aura import first
from hashrange_systems.checks import schema as checks
from hashrange_systems.shuttle import schema as shuttle
from tests.typing import annotations, declarations, uses
from tests.typing.designs import aura, kelifax

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
JOB = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def database():
    with hashrange.open(clock=ManualClock(NOW.timestamp())) as opened:
        yield opened


@pytest.fixture
def db(database):
    """Aura with one shop in Germany."""
    hashrange.create_tables(database, aura.Aura)
    opened = aura.Aura.open(database)
    opened.create(aura.Shop(domain="antik.de", core_domain_name="antik", shop_country="DE")).run()
    return opened


def test_every_word_of_the_vocabulary_works(database):
    library = declarations.open_library(LocalKeys(None), database)
    sold = declarations.lend_a_book(library, NOW, NOW + timedelta(days=30))
    assert (sold.shelf, sold.languages, sold.remarks, sold.first_lent) == ("B2", {"de"}, ["stained"], NOW)


def test_a_declaration_is_used_in_another_table(database):
    assert [book.title for book in declarations.use_the_other_library(database, LocalKeys(None))] == ["Other", "Other"]


def test_a_worker_crawls_what_is_due(db):
    assert uses.crawl_country(db, "DE", "worker", NOW) == 1
    assert uses.describe(db, "antik.de") == "crawled until 12:00"
    assert uses.crawl_country(db, "DE", "worker", NOW) == 0


async def scrape_after_crawl(db):
    uses.crawl_country(db, "DE", "worker", NOW)
    return await uses.scrape(db, "DE", NOW)


def test_a_scraper_waits_without_blocking(db):
    assert asyncio.run(scrape_after_crawl(db)) == 1


def test_a_stuck_crawl_is_taken_back(db):
    [seen] = db.never_crawled("DE").run()
    db.start_crawl(seen, NOW - timedelta(hours=3), "gone", NOW - timedelta(hours=2)).run()
    asyncio.run(uses.reap(db, "DE", NOW))
    assert uses.describe(db, "antik.de") == "never crawled"


def test_a_price_and_its_history_are_one_transaction(db):
    url = db.mark_seen("antik.de", "https://antik.de/clock", "product", NOW, NOW).run()
    kept = asyncio.run(uses.record_price(db, url, 12_000, NOW))
    assert db.prices("antik.de", url.url).run() == [kept]
    assert [product.price_minor for product in uses.everything(db, "antik.de")] == [12_000]


def test_whole_items_come_from_behind_a_narrow_index(db):
    assert [shop.core_domain_name for shop in asyncio.run(uses.overview(db, "DE"))] == ["antik"]


def test_batches_fetches_and_counts(db):
    uses.keep_counts(db, "antik.de")
    assert len(db.urls("antik.de").run()) == 30
    assert all(uses.explain(db, "antik.de"))


def test_the_first_layout_is_carried_over(db):
    with hashrange.open() as other:
        hashrange.create_tables(other, first.FirstAura)
        old = first.FirstAura.open(other)
        old.create(first.Shop(domain="alt.de", standards_used=["og"])).run()
        old.create(first.Url(domain="alt.de", url="https://alt.de/1", is_product=True)).run()
        uses.migrate(old, db, "alt.de")
    assert db.shop("alt.de").required().run().standards_used == ["og"]
    assert [product.url for product in db.products("alt.de")] == ["https://alt.de/1"]


def test_a_shop_cancels_and_lists_its_jobs(database):
    hashrange.create_tables(database, shuttle.Shuttle, shuttle.Operator)
    db, operator = shuttle.Shuttle.open(database), shuttle.Operator.open(database, keys=LocalKeys(None))
    queued = shuttle.Queued(job_id=JOB, shop_domain="a.myshopify.com", type="IMPORT", created_by="me", created_at=NOW)
    db.create(queued).run()
    [done] = uses.work(operator, "worker", NOW)
    assert done.successful_products == 48
    assert asyncio.run(uses.cancel(db, "a.myshopify.com", JOB, NOW)) == "already completed at 12:00"
    assert [job.status for job in uses.list_jobs(db, "a.myshopify.com", None)] == ["COMPLETED"]
    assert uses.list_jobs(db, "a.myshopify.com", "forged") is None
    assert asyncio.run(uses.last_month(db, "a.myshopify.com", NOW)) == 48
    assert [asyncio.run(uses.take_quota(db, "a.myshopify.com", NOW.date())) for _ in range(4)] == [
        True,
        True,
        True,
        False,
    ]
    uses.watch(operator, NOW)


def test_a_resource_is_submitted_approved_and_listed(database):
    hashrange.create_tables(database, kelifax.Kelifax)
    db = kelifax.Kelifax.open(database)
    draft = kelifax.Pending(
        resource_slug="pixel",
        submission_id="1",
        created_at=NOW,
        submitted_at=NOW,
        submitter_first_name="A",
        submitter_last_name="B",
        submitter_email="a@example.com",
        submitter_domain="example.com",
        resource_name="Pixel",
        resource_url="https://pixel.example",
        usage_purpose="to draw what is to be drawn",
        category="design",
        tags=["art", "grid"],
        key_features=["fast"],
        use_cases=["icons"],
        search_text="pixel",
    )
    assert asyncio.run(uses.submit(db, draft))
    assert not asyncio.run(uses.submit(db, draft))
    assert uses.moderate(db, "me", NOW) == 1
    assert asyncio.run(uses.home(db)) == ["Pixel: art, grid"]
    assert [uses.decide_again(db, "pixel", NOW).resource_status for _ in range(2)] == ["rejected", "pending"]
    assert [asyncio.run(uses.count_view(db, "pixel", NOW)) for _ in range(2)] == [1, 2]


def test_a_check_is_added_run_paused_and_scheduled(database):
    hashrange.create_tables(database, checks.Checks)
    db = checks.Checks.open(database)
    user = checks.ActiveUser(
        userid="u1", email="A@example.com", tier="FREE", check_limit=1, check_count=0, created_at=NOW, updated_at=NOW
    )
    asyncio.run(uses.sign_up(db, user))
    check = checks.Scheduled(
        checkid="c1",
        userid="u1",
        url="https://example.com",
        check_type="AVAILABILITY",
        delay_ms=300_000,
        created_at=NOW,
        updated_at=NOW,
        next_run_at=NOW,
    )
    assert asyncio.run(uses.add_check(db, "u1", check)) == check
    assert sum(asyncio.run(uses.run_due(db, str(shard), NOW)) for shard in range(8)) == 1
    assert [uses.toggle(db, "c1", NOW) for _ in range(2)] == ["PAUSED", "ACTIVE"]
    assert uses.toggle(db, "none", NOW) == "gone"


def test_what_is_annotated_works(database):
    checkpoints = hashrange.Table("checkpoints", "consumer", "shard")
    hashrange.create_tables(database, declarations.Library, checkpoints)
    db = annotations.open_library(database, keys=LocalKeys(None))
    assert annotations.session_of(db).transport is database
    assert annotations.costs(declarations.Library)["book"].verb == "Get"
    assert annotations.codes(declarations.Library.lint())
