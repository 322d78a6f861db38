"""Planted mistakes in use: both type checkers refuse each line that is marked `# E code: what`, and no other.

The code is mypy's, and the only one that it gives the line: one line, one mistake. Nothing here is ever run.
`misdeclared.py` holds the mistakes in declarations.
"""

# ruff: noqa: T201
# what is printed is used: a checker that complains of unused values finds none

from datetime import datetime
from typing import assert_never

import hashrange
from hashrange import Consumer, Gsi, ItemChange, Page, Table
from hashrange_systems.checks import schema as checks
from hashrange_systems.shuttle import schema as shuttle
from tests.typing.declarations import Asked, Book, Bought, Branch, Chair, Isbn, Lent, Library, OnShelf, Requests, Visits
from tests.typing.designs import aura, kelifax
from tests.typing.designs.aura import (
    Aura,
    Crawled,
    Crawling,
    LeasedCrawl,
    NeverCrawled,
    NeverScraped,
    Scraped,
    Scraping,
    Shop,
    Url,
)


def states(db: Aura, never: NeverCrawled, busy: LeasedCrawl, seen: Crawling, done: Crawled, t: datetime) -> None:
    db.finish_crawl(never, last_crawled_end=t).run()  # E arg-type: never started
    db.finish_crawl(done, last_crawled_end=t).run()  # E arg-type: already finished
    db.finish_crawl(seen, last_crawled_end=t).run()  # E arg-type: seen in the index, but the lease is another's
    db.start_crawl(busy, t, crawl_owner="w", crawl_lease_until=t).run()  # E arg-type: is running
    db.start_crawl(never, t, crawl_owner="w").run()  # E call-arg: forgets the lease
    db.start_crawl(never, "now", crawl_owner="w", crawl_lease_until=t).run()  # E arg-type: text for a time
    db.start_crawl(never, t, crawl_owner=7, crawl_lease_until=t).run()  # E arg-type: a number for a name
    db.start_crawl(never, t, "w", t).run().finish()  # E attr-defined: a state has no such method
    db.extend_crawl(busy, t, 5).run()  # E call-arg: one argument too many
    db.start_crawl(never, t, "w", crawl_owner="w", crawl_lease_until=t).run()  # E misc: an argument twice
    db.extend_crawl(done, crawl_lease_until=t).run()  # E arg-type: nothing to extend
    db.forget_crawl(never, now=t, last_crawl_error="x").run()  # E arg-type: nothing to forget
    db.revert_crawl(seen, t, "x", last_crawled_end=seen.last_crawled_end).run()  # E arg-type: no end to go back to
    print(never.last_crawled_start)  # E attr-defined: never crawled has no start
    print(seen.crawl_owner)  # E attr-defined: the index does not project the owner
    ended: LeasedCrawl = db.finish_crawl(busy, last_crawled_end=t).run()  # E assignment: it is Crawled now
    print(ended)


def lifecycles(db: Aura, shop: Shop, scraped: Scraped, waiting: NeverScraped, done: Crawled, t: datetime) -> None:
    db.start_crawl(scraped, t, crawl_owner="w", crawl_lease_until=t).run()  # E arg-type: a scrape is no crawl
    db.start_scrape(done, done, last_scraped_start=t).run()  # E arg-type: a crawl is no scrape
    db.start_scrape(scraped, done, last_scraped_start=t).run()  # E arg-type: scraped before: restart_scrape
    db.start_scrape(waiting, shop.crawl, last_scraped_start=t).run()  # E arg-type: a crawl may be running
    db.start_scrape(waiting, last_scraped_start=t).run()  # E call-arg: the crawl was not looked at
    db.finish_scrape(waiting, last_scraped_end=t).run()  # E arg-type: not started
    db.start_crawl(shop.crawl, t, crawl_owner="w", crawl_lease_until=t).run()  # E arg-type: the state was not looked at
    db.start_crawl(shop, t, crawl_owner="w", crawl_lease_until=t).run()  # E arg-type: the shop is not its crawl
    match shop.scrape:
        case NeverScraped() | Scraped():
            pass
        case _ as rest:
            assert_never(rest)  # E arg-type: Scraping is not handled
    if isinstance(shop.crawl, Crawling):
        print(shop.crawl.last_crawled_end.year)  # E union-attr: a first crawl has no end before it


def reads(db: Aura, t: datetime) -> None:
    db.never_crawled(country="DE").run()  # E call-arg: the field is shop_country
    db.never_crawled().run()  # E call-arg: no partition key
    db.never_crawled(49).run()  # E arg-type: a number for a country
    db.stuck_crawls("DE", "2026-01-15").run()  # E arg-type: text for a time
    db.stuck_crawl("DE", t).run()  # E attr-defined: no such pattern
    print(db.shop("a.de").run().domain)  # E union-attr: may be None
    print(db.shop("a.de").domain)  # E attr-defined: forgot run()
    print(db.shop("a.de").first())  # E attr-defined: one item has no first
    for shop in db.never_crawled("DE"):
        print(shop.shop_name)  # E attr-defined: not projected by the index
    for related in db.related("example"):
        print(related.shop_country)  # E attr-defined: the index holds keys only
    for entry in db.site("a.de"):
        print(entry.price_minor)  # E union-attr: a Shop has no price
    for _ in db.shop("a.de"):  # E attr-defined: one item is nothing to iterate
        pass
    db.urls("a.de").whole().run()  # E misc: whole items already
    print(db.products("a.de").first().run().hash)  # E union-attr: may be None
    print(db.products("a.de")[0])  # E index: read it before taking one
    print(db.site("a.de").only(str))  # E type-var: text is no item
    prices: list[aura.Price] = db.site("a.de").run()  # E assignment: shops and URLs are in it too
    print(prices)


def pages(db: Aura, page: Page[Shop], t: datetime) -> None:
    db.urls("a.de").page().run()  # E call-arg: how many?
    db.urls("a.de").page("20").run()  # E arg-type: text for a count
    db.urls("a.de").page(20, after=page).run()  # E arg-type: the page is not its cursor
    db.urls("a.de").page(20, page.cursor, 3).run()  # E call-arg: one argument too many
    db.urls("a.de").limit(t).run()  # E arg-type: a time for a count
    print(page.cursor.upper())  # E union-attr: the last page has none
    print(page.items[0].url)  # E attr-defined: a Shop has no url
    page.cursor = None  # E misc: pages are frozen
    urls: Page[Url] = page  # E assignment: a page of shops
    print(urls)


def writes(db: Aura, shop: Shop, url: Url, seen: NeverCrawled, t: datetime) -> None:
    db.mark_seen("a.de", "https://a.de/", "prodcut", t, t).run()  # E arg-type: misspelt type
    db.mark_seen("a.de", "https://a.de/", "product", t).run()  # E call-arg: when it was first seen
    db.create(seen).run()  # E type-var: a state is no item
    db.create({"domain": "a.de"}).run()  # E type-var: a dict is no item
    db.create(Shop).run()  # E type-var: the class, not an item of it
    print(db.put(shop).run().url)  # E attr-defined: it is a Shop again
    db.add_countries("DE").run()  # E arg-type: one text for a set
    db.reprice(shop, hash="h", state="SOLD", price_minor=1, currency="EUR").run()  # E arg-type: a Shop has no price
    db.reprice(url, hash="h", state="SOLD", price_minor=1.5, currency="EUR").run()  # E arg-type: half a cent
    db.batch([shop, seen]).run()  # E list-item: a state is no item
    db.fetch([db.urls("a.de")]).run()  # E arg-type: a query is no Get
    print(db.fetch([db.shop("a.de")]).run()[0].domain)  # E union-attr: may be None


def transactions(db: Aura, shop: Shop, url: Url, price: aura.Price) -> None:
    db.transact(db.create(shop), url).run()  # E call-overload: an item is no write
    db.transact(db.create(shop), db.shop("a.de")).run()  # E call-overload: a read is no write
    db.transact(db.create(shop), db.create(price).run()).run()  # E call-overload: run already
    db.transact(db.transact(db.create(shop)), db.create(price)).run()  # E call-overload: a transaction in a transaction
    db.transact().run()  # E call-overload: nothing to do
    _, _, _ = db.transact(db.create(shop), db.create(price)).run()  # E misc: two writes, three outcomes
    first, second = db.transact(db.create(shop), db.create(price)).run()
    print(first.domain, second.shop_name)  # E attr-defined: the second is the Price


async def waits(db: Aura, running: Scraping, t: datetime) -> None:
    async for scrape in db.scraping("DE"):
        await db.finish_crawl(scrape, last_crawled_end=t)  # E arg-type: wrong lifecycle
    print((await db.products("a.de")).hash)  # E attr-defined: a list
    print((await db.shop("a.de")).domain)  # E union-attr: may be None
    await db.finish_scrape(running, last_scraped_end=t).run()  # E misc: awaited and run
    async for _ in await db.never_crawled("DE"):  # E attr-defined: awaited, it is a list
        pass
    text: str = await db.urls("a.de").page(20)  # E assignment: a page is no text
    print(text)


def values(shop: Shop, t: datetime) -> None:
    shop.shop_name = "x"  # E misc: frozen
    shop.crawl = NeverCrawled(domain="a.de")  # E misc: frozen, states too
    Shop(domain="a.de")  # E call-arg: core_domain_name missing
    Shop("a.de", "a")  # E call-arg: fields are given by name
    Shop(domain="a.de", core_domain_name="a", crawl=NeverScraped(domain="a.de"))  # E arg-type: wrong lifecycle
    Crawled(domain="a.de", last_crawled_start=t)  # E call-arg: Crawled needs its end
    Crawled(domain="a.de", last_crawled_start=t, last_crawled_end=None)  # E arg-type: and not None
    aura.Product(domain="a", url="u", type="listing")  # E arg-type: a product is of type product
    Url(domain="a", url="u", type="other", prize_minor=3)  # E call-arg: misspelt field
    Url(domain="a", url="u", type="other", first_seen="2026-01-15")  # E arg-type: text for a time


def shuttles(db: shuttle.Shuttle, op: shuttle.Operator, queued: shuttle.Queued, t: datetime) -> None:
    db.job(job_id="01AR").run()  # E call-arg: no tenant
    db.next_queued().run()  # E attr-defined: operators only
    op.complete(queued, "w", completed_at=t).run()  # E arg-type: not started
    op.progress(queued, "w", 1, 1, 0, 5, t).run()  # E arg-type: not started
    print(queued.started_at)  # E attr-defined: not started
    db.imports_between("a", timestamp=t).run()  # E arg-type: a range is a pair
    db.imports_between("a", timestamp=(t,)).run()  # E arg-type: a pair has two ends
    db.use_quota("a", t, 1, limit="3").run()  # E arg-type: text for a limit
    job = db.job("a", "01AR").required().run()
    db.cancel("a", job, completed_at=t).run()  # E arg-type: it may be over
    if job.status == "COMPLETED":
        db.cancel("a", job, t).run()  # E arg-type: it is over
    if job.status == "DONE":  # E comparison-overlap: no such status
        print(job)
    for shop in op.active_shops():
        print(shop.uninstalled_at.year)  # E attr-defined: an active shop was never uninstalled
        gone = op.uninstall(shop, t).run()
        op.suspend(gone).run()  # E arg-type: it has left
        op.fail(job, "w", t, {}).run()  # E arg-type: nobody holds its lease


def directory(db: kelifax.Kelifax, ok: kelifax.Approved, no: kelifax.Rejected, t: datetime) -> None:
    db.approve(ok, approved_at=t, published_at=t).run()  # E arg-type: approved already
    db.approve(no, approved_at=t, published_at=t).run()  # E arg-type: rejected: resubmit first
    db.unpublish(ok, rejected_at=t).run()  # E call-arg: without a reason
    db.listing("cooking").run()  # E arg-type: no such category
    print(db.listing("design").run()[0].submitter_email)  # E attr-defined: personal data is not in the public index
    print(ok.published_at)  # E attr-defined: those of the original system are not in the feed
    live: kelifax.Published = db.feature(ok, featured=True).run()  # E assignment: featured is not published
    print(live)


def monitors(db: checks.Checks, active: checks.Active, paused: checks.Paused, t: datetime) -> None:
    db.pause(paused, updated_at=t, seen=None).run()  # E arg-type: paused already
    db.schedule(paused, updated_at=t).run()  # E call-arg: without a next run
    print(paused.next_run_at)  # E attr-defined: a paused check is not scheduled
    print(active.next_run_at)  # E attr-defined: an active check of the original system has no due time
    db.by_type("AVAILABILITY", "DELETED").run()  # E arg-type: no such status
    print(db.by_type("EBAY", "ACTIVE").run()[0].url)  # E attr-defined: not projected
    db.reserve_check(db.user("u").required().run(), check_count=1).run()  # E arg-type: a user may be suspended
    db.claim_run(active, next_run_at=t).run()  # E arg-type: a check is not the view that is claimed
    db.record(active, last_executed_at=t, last_result={"status": "SLOW"}).run()  # E typeddict-item: no such result
    db.record(active, last_executed_at=t, last_result={"took": 3}).run()  # E typeddict-unknown-key: no such key


def opening(path: str) -> None:
    Aura.open(path).shop("a.de").run()  # E arg-type: a path is no database
    Aura.open(hashrange.open(path), hooks=[print, 3]).shop("a.de").run()  # E list-item: a number is no hook
    Aura.open(hashrange.open(path), clock=0).shop("a.de").run()  # E arg-type: a number is no clock
    Aura.shop(domain="a.de").run()  # E call-arg: not opened
    Aura.open(hashrange.open(path)).job("a", "b").run()  # E attr-defined: a pattern of another schema
    shuttle.Shuttle.open(hashrange.open(path)).shop("a").run()  # E attr-defined: a pattern of the operators


def optional(db: Library, main: Branch) -> None:
    db.search(main, 7).run()  # E arg-type: a number for the start of a title
    db.search(main, state="new").run()  # E arg-type: a list is no single text
    db.search(main, state=[1]).run()  # E list-item: numbers for texts
    db.search(None).run()  # E arg-type: the partition key cannot be left out
    db.search(main, languages=None).run()  # E arg-type: left out, or a text
    db.search(main, page=3).run()  # E call-arg: misspelt filter
    db.sent("reader", ["fax"]).run()  # E list-item: no such channel
    db.sent("reader", "mail").run()  # E arg-type: one channel is no list
    db.sent("reader").run()  # E call-arg: the list is required


def filters(db: Library, main: Branch) -> None:
    db.search(main).filter(db.in_channel(["mail"])).run()  # E arg-type: a filter of reminders
    db.reminders("reader").filter(db.by_post("post")).run()  # E arg-type: a filter of letters only
    db.search(main).filter("pages > 3").run()  # E arg-type: text is no filter
    db.search(main).filter(db.search(main)).run()  # E arg-type: a query is no filter
    db.longer(3).run()  # E attr-defined: a filter is not run
    db.longer("3")  # E arg-type: text for a number
    db.longer()  # E call-arg: longer than what?
    print(db.longer(3) + db.longer(4))  # E operator: filters are combined with & and |
    db.search(main).filter(db.longer(3) & db.by_post("post")).run()  # E operator: nothing is both


def explorations(db: Library) -> None:
    db.explore("Book").query().run()  # E arg-type: a name is no class
    db.explore(str).query().run()  # E type-var: text is no item
    db.explore(OnShelf).where(3).query().run()  # E arg-type: a condition is text
    db.explore(OnShelf).where("isbn = {isbn}", "3").query().run()  # E call-arg: values are given by name
    db.explore(OnShelf).run()  # E attr-defined: by a query, or by a scan?
    print(db.explore(OnShelf).query().run()[0].title)  # E attr-defined: a state has no title
    print(db.explore(OnShelf).cost().read_units)  # E attr-defined: forgot run()


def counts(db: Library, main: Branch, isbn: Isbn, t: datetime) -> None:
    found: list[int] = db.search(main).count().run()  # E assignment: a count is a number
    print(found, db.book(main, isbn).count())  # E attr-defined: one item is not counted
    db.search(main).parallel(4).run()  # E attr-defined: a query has no segments
    db.tagged("de", "lost").parallel("4").run()  # E arg-type: text for a number of segments
    db.tagged("de", "lost").parallel(4, 2).run()  # E call-arg: workers are given by name
    db.tagged("de", "lost").parallel(4).page(3).run()  # E attr-defined: segments have no order to page through
    db.snapshot(db.search(main)).run()  # E call-overload: a query is no Get
    db.snapshot().run()  # E call-overload: nothing to read
    book, reminder = db.snapshot(db.book(main, isbn), db.reminder("reader", t)).run()
    print(book.title)  # E union-attr: it may not be there
    print(reminder and reminder.title)  # E attr-defined: the second is the Reminder
    print(db.snapshot_all([db.book(main, isbn)]).run()[0].title)  # E union-attr: may be None


def distinct(db: Library, main: Branch, isbn: Isbn, loan: OnShelf) -> None:
    db.book(isbn, main).run()  # E arg-type: swapped, and both are text: NewType tells them apart
    db.book("main", isbn).run()  # E arg-type: text is not yet a branch
    db.move(main, isbn, "B2").run()  # E call-arg: given by name only
    db.note(main, isbn, remarks="stained", languages={"de"}).run()  # E arg-type: one text for a list
    db.forget(main, isbn, ["la"]).run()  # E arg-type: a list for a set
    db.give_back(loan).run()  # E arg-type: on the shelf already
    print(db.sell(main, isbn).run().title)  # E union-attr: it may not have been there


def later_writes(
    db: Library, requests: Requests, main: Branch, isbn: Isbn, book: Book, asked: Asked, lent: Lent
) -> None:
    db.rate(main, isbn, 7, 5).run()  # E arg-type: the name of a member is text
    db.rate(main, isbn, "reader", "5").run()  # E arg-type: text for a number inside a field
    db.rate(main, isbn, stars=5).run()  # E call-arg: whose stars?
    db.correct(main, isbn, "0", "clean").run()  # E arg-type: a position is a number
    db.unrate(main, isbn, "reader", 0).run()  # E arg-type: None removes
    was: OnShelf = db.give_back(lent).returning_old().run()  # E assignment: it was lent
    now: Bought = requests.buy(asked).returning_old().run()  # E assignment: it was asked for
    print(was, now, db.remind("r", lent.due, "post").returning_old().run().sent)  # E union-attr: it may be new
    print(db.put(book).returning_old().run().title)  # E union-attr: there may have been none
    db.transact(db.give_back(lent).returning_old()).run()  # E call-overload: a transaction returns no old items
    db.put(book).when(db.book(main, isbn)).run()  # E arg-type: a read is no condition
    db.put(book).when(db.check_state(main, isbn, "new"), or_absent="yes").run()  # E arg-type: text for a truth value
    db.create(book).if_absent().run()  # E attr-defined: create always is
    db.transact(db.put(book)).with_token(17).run()  # E arg-type: a token is text
    db.transact(db.put(book)).with_token().run()  # E call-arg: without a token
    db.put(book).with_token("t").run()  # E attr-defined: only transactions have tokens
    print(hashrange.Conflict("x").failures[0].member)  # E attr-defined: it is called write
    print(hashrange.Conflict("x").failures[0].write.run())  # E attr-defined: any object that was passed
    db.book(main, isbn).with_expired(True).run()  # E call-arg: takes nothing
    db.move(branch=main, isbn=isbn, shelf="A").with_expired().run()  # E attr-defined: a write hides nothing


def derived(db: Visits, main: Branch, t: datetime) -> None:
    db.in_month(main, "2027-01").run()  # E arg-type: a time of the month, not its text
    db.in_month(main).run()  # E call-arg: without a month
    db.visits(main, t, ["an"]).run()  # E arg-type: a list for the start of a name
    print(db.in_month(main, at=t).run().visitor)  # E attr-defined: a query finds many


def indexes() -> None:
    print(Gsi("ByTitle", {"title"}))  # E arg-type: a set has no order
    print(Gsi("ByTitle", ["title", 3]))  # E list-item: a number is no name
    print(Gsi("ByTitle", "title", ("year", None)))  # E arg-type: nothing is no name


def consumers(db: Library, shelves: Table, queue: Consumer) -> None:
    def on_book(change: ItemChange[Book]) -> None:
        print(change.after.title)  # E union-attr: it may have been removed
        print(change.before.title if change.before else change.old)  # E attr-defined: it is called before

    def on_loan(change: ItemChange[OnShelf]) -> None:
        print(change.after.due if change.after else None)  # E attr-defined: a book on the shelf is not due

    def on_text(text: str) -> None:
        print(text)

    def count(change: ItemChange[Book]) -> int:
        return 1 if change.after else 0

    queue.on(Book)(on_loan)  # E arg-type: handles another class
    queue.on(Book)(on_text)  # E arg-type: a handler gets a change
    queue.on(Book)(count)  # E type-var: what a handler returns would be lost
    queue.on(OnShelf)(on_book)  # E arg-type: a view is not its item
    queue.on("Book")(on_book)  # E arg-type: a class, not its name
    print(queue.on(str))  # E type-var: text is no item
    db.consumer("queue").run()  # E call-arg: where are the checkpoints?
    db.consumer("queue", "checkpoints").run()  # E arg-type: a name is no table
    db.consumer("queue", shelves, after_attempts="retry").run()  # E arg-type: set aside, or stop
    queue.follow(every="1s").run()  # E arg-type: text for seconds
    queue.run(5)  # E call-arg: everything that is there
    database: hashrange.Database = hashrange.connect("http://localhost")  # E assignment: that is a Remote
    print(database)


def unreadable_items(db: Library, branch: Branch, names: list[str]) -> None:
    db.books(branch).skip_unreadable(names.append).run()  # E arg-type: an error is no text
    db.books(branch).skip_unreadable("skip").run()  # E arg-type: a function is called for each
    print(db.books(branch).skip_unreadable().run().skipped)  # E attr-defined: a list has no count
    Library.open(hashrange.open(), on_unreadable=names)  # E arg-type: a list is not called
    print(Chair(name="a", use="lobby"))  # E arg-type: not in the list


def patches(db: Library, book: Book, unreadable: hashrange.WrittenUnreadable) -> None:
    print(hashrange.patch_boto3(region=3))  # E call-overload: a region is text
    print(hashrange.patch_boto3(clock="now"))  # E call-overload: text is no clock
    print(hashrange.patch_boto3(database=hashrange.connect("http://localhost")))  # E call-overload: not in this process
    db.create(book).imported(True).run()  # E call-arg: takes no value
    print(unreadable.item)  # E attr-defined: the attributes are in raw
