"""What a service, a worker and a web handler write on the declared schemas, with the type of everything they get.

Both type checkers are clean on this file, strictly; `test_uses.py` also runs it.
"""

# ruff: noqa: T201
# what is printed is used

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Literal, assert_never, assert_type

import hashrange
from hashrange import Conflict, CursorInvalid, Get, Latest, ManualClock, NotFound, Page, Query, Scan, Taken
from hashrange_systems.aura import first
from hashrange_systems.checks import schema as checks
from hashrange_systems.checks.field_types import Result
from hashrange_systems.checks.history_schema import Run
from hashrange_systems.shuttle import schema as shuttle
from hashrange_systems.shuttle.schema import Cancelled, Completed, Failed, Operator, Processing, Queued, Shuttle
from tests.typing.designs import aura, kelifax
from tests.typing.designs.aura import Aura, Crawled, Crawling, LeasedCrawl, NeverCrawled


# ── opening: embedded, over the wire, on AWS ─────────────────────────────────────────────────────────────────────────
def open_everywhere(path: str, endpoint: str, clock: ManualClock) -> None:
    database = hashrange.open(path)
    assert_type(hashrange.create_tables(database, Aura, shuttle.jobs), list[str])
    embedded = Aura.open(database, clock=clock)
    wire = Shuttle.open(hashrange.connect(endpoint), keys=hashrange.LocalKeys("keys.json"), secret="signs cursors")
    assert_type(embedded, Aura)
    assert_type(wire, Shuttle)

    def tell(event: hashrange.Event) -> None:
        print(event.operation, event.pattern, event.seconds)

    assert_type(Operator.open(hashrange.connect(), hooks=[tell]), Operator)


# ── aura: a crawl worker, which waits for each answer ────────────────────────────────────────────────────────────────
def crawl_country(db: Aura, country: str, worker: str, now: datetime) -> int:
    done = 0
    for turn in db.crawl_due(shop_country=country, last_crawled_end=now - timedelta(days=2)):
        assert_type(turn, NeverCrawled | Crawled)
        try:
            crawl = db.start_crawl(turn, now, crawl_owner=worker, crawl_lease_until=now + timedelta(minutes=5)).run()
        except Conflict:
            continue  # another worker was faster
        assert_type(crawl, LeasedCrawl)
        for page in ("/", "/shop"):
            seen = db.mark_seen(crawl.domain, crawl.domain + page, "other", last_seen=now, first_seen=now).run()
            assert_type(seen, aura.Url)
            crawl = db.extend_crawl(crawl, crawl_lease_until=now + timedelta(minutes=5)).run()
        finished = db.finish_crawl(crawl, last_crawled_end=now).run()
        assert_type(finished, Crawled)
        assert_type(finished.last_crawled_end, datetime)  # and not datetime | None
        done += 1
    return done


# ── aura: the reaper and the scraper, which do not block ─────────────────────────────────────────────────────────────
async def reap(db: Aura, country: str, now: datetime) -> None:
    async for crawl in db.stuck_crawls(country, last_crawled_start=now - timedelta(hours=2)):
        assert_type(crawl, Crawling)  # the index does not show the lease
        assert_type(crawl.last_crawled_end, datetime | None)
        if crawl.last_crawled_end is None:
            never = await db.forget_crawl(crawl, now=now, last_crawl_error="lease expired")
            assert_type(never, NeverCrawled)
        else:
            assert_type(crawl.last_crawled_end, datetime)
            back = await db.revert_crawl(crawl, now, "lease expired", last_crawled_end=crawl.last_crawled_end)
            assert_type(back, Crawled)


async def scrape(db: Aura, country: str, now: datetime) -> int:
    done = 0
    async for waiting in db.never_scraped(country):
        assert_type(waiting, aura.NeverScraped)
        shop = await db.shop(waiting.domain).required()  # the index does not show whether a crawl is running
        assert_type(shop, aura.Shop)
        assert_type(shop.crawl, NeverCrawled | Crawling | Crawled)
        if isinstance(shop.crawl, Crawled):
            running = await db.start_scrape(waiting, shop.crawl, last_scraped_start=now)
            assert_type(running, aura.Scraping)
            assert_type(await db.finish_scrape(running, last_scraped_end=now), aura.Scraped)
            done += 1
    async for again in db.scraped(country, last_scraped_end=now - timedelta(days=1)).whole():
        assert_type(again, aura.Shop)
        if isinstance(again.scrape, aura.Scraped) and isinstance(again.crawl, Crawled):
            await db.restart_scrape(again.scrape, again.crawl, last_scraped_start=now)
    return done


async def record_price(db: Aura, url: aura.Url, minor: int, now: datetime) -> aura.Price:
    """Price and history in one transaction."""
    price = aura.Price(domain=url.domain, url=url.url, at=now, state="AVAILABLE", price_minor=minor, currency="EUR")
    changed, kept = await db.transact(
        db.reprice(url, hash=f"{minor:x}", state="AVAILABLE", price_minor=minor, currency="EUR"), db.create(price)
    )
    assert_type(changed, aura.Url)
    assert_type(kept, aura.Price)
    newest = await db.prices(url.domain, url.url).first()
    assert_type(newest, aura.Price | None)
    return kept


def describe(db: Aura, domain: str) -> str:
    shop = db.shop(domain).run()
    assert_type(shop, aura.Shop | None)
    if shop is None:
        return "unknown"
    match shop.crawl:  # every state, and the type checker knows that it is every state
        case NeverCrawled():
            crawl = "never crawled"
        case LeasedCrawl(crawl_owner=owner):
            assert_type(owner, str)
            crawl = f"being crawled by {owner}"
        case Crawling(last_crawled_start=start):
            crawl = f"being crawled since {start:%H:%M}"
        case Crawled(last_crawled_end=end):
            crawl = f"crawled until {end:%H:%M}"
        case _ as rest:
            assert_never(rest)
    assert_type(shop.scrape, aura.NeverScraped | aura.Scraping | aura.Scraped)
    return crawl


async def overview(db: Aura, country: str) -> Sequence[aura.Shop]:
    views = db.never_crawled(country)
    assert_type(views, Query[NeverCrawled])
    assert_type(views.whole(), Query[aura.Shop])  # BatchGetItem behind the narrow index
    assert_type(views.whole().page(10).run(), Page[aura.Shop])
    assert_type(await views.limit(3), list[NeverCrawled])
    return await views.whole().limit(20)


def everything(db: Aura, domain: str) -> list[aura.Product]:
    for entry in db.site(domain):
        assert_type(entry, aura.Shop | aura.Url | aura.Price)
        match entry:
            case aura.Shop():
                print(entry.shop_name)
            case aura.Url(type="product", price_minor=int() as minor):
                print(minor)
            case aura.Url():
                assert_type(entry.type, Literal["product", "category", "listing", "other"])
            case aura.Price():
                print(entry.price_minor, entry.at)
            case _ as rest:
                assert_never(rest)
    assert_type(db.site(domain).only(aura.Price), Query[aura.Price])
    assert_type(db.site(domain).only(aura.Price).run(), list[aura.Price])
    assert_type(db.prices(domain, "https://a.de/"), Latest[aura.Price])
    assert_type(db.related("example").first().run(), aura.RelatedShop | None)
    products = db.products(domain).run()
    assert_type(products, list[aura.Product])
    for product in products:
        assert_type(product.type, Literal["product"])
    return products


def keep_counts(db: Aura, domain: str) -> None:
    assert_type(db.add_countries({"DE", "FR"}).run(), aura.Countries)
    assert_type(db.countries().required().run().countries, set[str])
    assert_type(db.move(domain, shop_country="FR").run(), aura.Shop)
    assert_type(db.drop(domain, f"https://{domain}/old").run(), aura.Url | None)
    shops = db.fetch([db.shop(domain), db.shop("nowhere.example")]).run()
    assert_type(shops, list[aura.Shop | None])
    urls = [aura.Url(domain=domain, url=f"https://{domain}/{at}", type="other") for at in range(33)]
    assert_type(db.batch(urls[:30], delete=urls[30:]).run(), int)
    written = db.transact_all(db.put(url) for url in urls[:10]).run()
    assert_type(written, tuple[aura.Url, ...])


def explain(db: Aura, domain: str) -> list[str]:
    renamed = db.rename(domain, shop_name="Antik")
    texts = [db.shop(domain).explain(), db.products(domain).explain(), renamed.explain(), Aura.plan("shop").explain()]
    renamed.run()
    assert_type(texts, list[str])
    assert_type([table.name for table in Aura.tables()], list[str])
    return texts


def migrate(old: first.FirstAura, new: Aura, domain: str) -> None:
    for entry in old.site(domain):
        assert_type(entry, first.Shop | first.Url)
        match entry:
            case first.Shop(domain=name, standards_used=used):
                new.create(aura.Shop(domain=name, core_domain_name=name, standards_used=used)).imported().run()
            case first.Url():
                page: Literal["product", "other"] = "product" if entry.is_product else "other"
                new.put(aura.Url(domain=entry.domain, url=entry.url, type=page)).run()
            case _ as rest:
                assert_never(rest)


# ── shuttle: a web handler sees its own shop, a worker sees all ──────────────────────────────────────────────────────
async def cancel(db: Shuttle, shop: str, job_id: str, now: datetime) -> str:
    job = await db.job(shop_domain=shop, job_id=job_id)
    assert_type(job, Queued | Processing | Completed | Failed | Cancelled | None)
    if job is None:
        return "404"
    if job.status == "QUEUED" or job.status == "PROCESSING":  # noqa: PLR1714 - only this form narrows the union
        assert_type(job, Queued | Processing)
        gone = await db.cancel(shop, job, completed_at=now)
        assert_type(gone, Cancelled)
        assert_type(gone.started_at, datetime | None)
        return "cancelled"
    assert_type(job, Completed | Failed | Cancelled)
    return f"already {job.status.lower()} at {job.completed_at:%H:%M}"


def list_jobs(db: Shuttle, shop: str, cursor: str | None) -> Page[shuttle.AnyJob] | None:
    try:
        page = db.jobs(shop).page(20, after=cursor).run()
    except CursorInvalid:
        return None
    assert_type(page.cursor, str | None)
    assert_type(page.items, Sequence[Queued | Processing | Completed | Failed | Cancelled])
    assert_type(len(page), int)
    for job in page:
        assert_type(job.status, Literal["QUEUED", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"])
    return page


async def last_month(db: Shuttle, shop: str, now: datetime) -> int:
    imports = await db.imports_between(shop, timestamp=(now - timedelta(days=30), now))
    assert_type(imports, list[shuttle.Import])
    return sum(entry.products_imported for entry in imports)


async def take_quota(db: Shuttle, shop: str, today: date) -> bool:
    try:
        used = await db.use_quota(shop, today, imports=1, limit=3)
    except Conflict as full:
        print(full.current)
        return False
    assert_type(used, shuttle.Usage)
    assert_type(used.day, date)
    return True


def work(db: Operator, worker: str, now: datetime) -> list[Completed]:
    done: list[Completed] = []
    for job in db.next_queued().limit(1):
        assert_type(job, Queued)
        busy = db.start(job, started_at=now, worker=worker, lease_until=now + timedelta(minutes=5)).run()
        assert_type(busy, shuttle.Leased)
        busy = db.progress(busy, worker, 50, 48, 2, progress_percentage=5, lease_until=now).run()
        row = shuttle.Import(
            shop_domain=busy.shop_domain,
            timestamp=now,
            job_id=busy.job_id,
            status="COMPLETED",
            products_imported=busy.successful_products,
            duration_ms=int((now - busy.started_at).total_seconds() * 1000),
        )
        finished, kept = db.transact(db.complete(busy, worker, completed_at=now), db.create(row)).run()
        assert_type(finished, Completed)
        assert_type(kept.expires_at, datetime)
        done.append(finished)
    return done


def watch(db: Operator, now: datetime) -> None:
    assert_type(db.recent(now), Scan[Queued | Processing | Completed | Failed | Cancelled])
    assert_type(db.recent(now).only(Failed), Query[Failed])
    assert_type(db.processing().limit(5), Latest[Processing])
    for shop in db.active_shops():
        assert_type(shop.uninstalled_at, None)
        assert_type(shop.access_token, str | None)
        gone = db.uninstall(shop, uninstalled_at=now).run()
        assert_type(gone, shuttle.UninstalledShop)
        assert_type(gone.access_token, None)


# ── kelifax: moderation, and a public list without personal data ─────────────────────────────────────────────────────
async def submit(db: kelifax.Kelifax, draft: kelifax.Pending) -> bool:
    claim = kelifax.UrlClaim(resource_url=draft.resource_url, claimed_by=draft.resource_slug)
    try:
        kept, _ = await db.transact(db.create(draft), db.create(claim))
    except Taken:
        return False
    assert_type(kept, kelifax.Pending)
    return True


def moderate(db: kelifax.Kelifax, actor: str, now: datetime) -> int:
    count = 0
    for entry in db.pending():
        audit = kelifax.Decision(resource_slug=entry.resource_slug, decided_at=now, actor=actor, verdict="approved")
        live, noted = db.transact(db.approve(entry, approved_at=now, published_at=now), db.create(audit)).run()
        assert_type(live, kelifax.Published)
        assert_type(noted, kelifax.Decision)
        db.feature(live, featured=True).run()
        count += 1
    return count


def decide_again(db: kelifax.Kelifax, slug: str, now: datetime) -> kelifax.AnyResource:
    entry = db.resource(slug).required().run()
    assert_type(entry, kelifax.Pending | kelifax.Approved | kelifax.Rejected)
    match entry.resource_status:  # the fixed field tells the states apart
        case "pending":
            return db.reject(entry, now, rejection_reason="dead link").run()
        case "approved":
            return db.unpublish(entry, now, rejection_reason="dead link").run()
        case "rejected":
            return db.resubmit(entry, submitted_at=now).run()


async def home(db: kelifax.Kelifax) -> list[str]:
    page = await db.listing("design").page(10)
    assert_type(page, Page[kelifax.Listing])
    assert_type(db.feed().whole(), Query[kelifax.Published])
    assert_type(await db.search("pixel"), list[kelifax.Approved])
    return [f"{entry.resource_name}: {', '.join(entry.tags)}" for entry in page]


async def count_view(db: kelifax.Kelifax, slug: str, now: datetime) -> int:
    return (await db.viewed(slug, views=1, last_viewed=now)).views


# ── checks: quota and guard in one transaction, the due index claims a check once ─────────────────────────────────────
async def add_check(db: checks.Checks, userid: str, check: checks.Scheduled) -> checks.Scheduled | None:
    user = await db.user(userid).required()
    assert_type(user, checks.User)
    if not isinstance(user, checks.ActiveUser):
        return None
    charged, kept = await db.transact(db.reserve_check(user, check_count=1), db.create(check))
    assert_type(charged, checks.ActiveUser)
    return kept


async def sign_up(db: checks.Checks, user: checks.ActiveUser) -> None:
    guard = checks.EmailClaim(address=user.email.casefold(), owner=user.userid)
    await db.transact(db.create(user), db.create(guard))
    assert_type(await db.login(user.email), list[checks.Login])


async def run_due(db: checks.Checks, shard: str, now: datetime) -> int:
    runs = 0
    async for due in db.due(due_shard=shard, next_run_at=now):
        assert_type(due, checks.Due)
        try:
            check = await db.claim_run(due, next_run_at=due.next_run_at + timedelta(minutes=5))
        except NotFound:
            continue  # deleted meanwhile
        assert_type(check, checks.Scheduled)  # the update answers with the whole item
        seen: Result = {"status": "UP", "responseTime": 250}
        assert_type(await db.record(check, last_executed_at=now, last_result=seen), checks.Active)
        await db.create(Run(checkid=check.checkid, at=now, result=seen))
        runs += 1
    return runs


def toggle(db: checks.Checks, checkid: str, now: datetime) -> str:
    one = db.check(checkid).consistent()
    assert_type(one, Get[checks.Active | checks.Paused | checks.Failed | checks.ForeignCheck])
    match check := one.run():
        case None:
            return "gone"
        case checks.Active():
            return db.pause(check, updated_at=now, seen=check.state).run().status
        case checks.Paused() | checks.Failed():
            return db.schedule(check, updated_at=now, next_run_at=now).run().status
        case checks.ForeignCheck():
            return f"not ours: {check.status}"
