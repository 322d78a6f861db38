"""The risks of this design, each with a test that shows how it is avoided."""

import re
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hashrange import Conflict, NotFound, Taken, ValueInvalid, dump_item
from hashrange_systems.aura.model.change import change_hash, is_change
from hashrange_systems.aura.schema import Aura, Crawled, LeasedCrawl, LeasedScrape, Price, Product, Scraped, Shop, Url
from systems.tests.aura.plain import at, domains, get_item, put_item, put_shop, query

LONG = "https://a.de/" + "x" * 2000
VASE = "https://a.de/vase"
GRAMMAR = {"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "ADD", "REMOVE", "DELETE", "begins_with", "contains", "size",
           "attribute_exists", "attribute_not_exists", "attribute_type", "if_not_exists", "list_append"}  # fmt: skip


def test_trap_url_longer_than_1024_bytes_is_found_by_the_same_url(database, db):
    db.mark_seen("a.de", LONG, "product", at("10:00"), at("10:00")).run()
    db.mark_seen("a.de", LONG + "y", "product", at("10:00"), at("10:00")).run()
    assert db.url("a.de", LONG).required().run().url == LONG
    assert sorted(url.url for url in db.urls("a.de")) == [LONG, LONG + "y"]
    rows = query(database, "ProductTypeIndex", "gsi1_pk = :p", p="SHOP#a.de")
    assert all(re.fullmatch(r"URL#https://a\.de/x+~[0-9a-f]{64}", row["sk"]) for row in rows)
    assert {len(row["sk"].encode()) for row in rows} == {1024}
    db.drop("a.de", LONG).run()
    assert [url.url for url in db.urls("a.de")] == [LONG + "y"]


@given(st.text(min_size=1, max_size=1500))
def test_trap_no_url_makes_a_key_that_is_too_long(url):
    key = dump_item(Url(domain="a.de", url=url))["sk"]["S"]
    assert len(key.encode()) <= 1024
    assert key == f"URL#{url}" or len(f"URL#{url}".encode()) > 1024


def test_trap_domain_is_always_that_of_the_key(database, db):
    db.create(Shop(domain="a.de", core_domain_name="a")).run()
    stored = get_item(database, "SHOP#a.de")
    assert stored["pk"] == "SHOP#" + stored["domain"]
    assert stored["gsi4_sk"] == stored["domain"]


def test_trap_core_domain_name_is_a_hint_and_no_identity(database, db):
    db.create(Shop(domain="one.myshopify.com", core_domain_name="myshopify", shop_name="One")).run()
    db.create(Shop(domain="two.myshopify.com", core_domain_name="myshopify", shop_name="Two")).run()
    assert [shop.shop_name for shop in db.related("myshopify").whole()] == ["One", "Two"]


def test_trap_empty_core_domain_name_is_refused_before_it_is_sent(db):
    with pytest.raises(ValueInvalid, match="gsi4_pk"):
        db.create(Shop(domain="localhost", core_domain_name="")).run()


def test_trap_country_prefix_stays_inside_the_table(database, db):
    db.create(Shop(domain="a.de", core_domain_name="a", shop_country="de")).run()
    assert get_item(database, "SHOP#a.de")["shop_country"] == "COUNTRY#DE"
    assert db.shop("a.de").required().run().shop_country == "DE"
    assert db.move("a.de", "fr").run().shop_country == "FR"
    assert domains(db.never_crawled("FR")) == domains(db.never_crawled("fr")) == ["a.de"]


@pytest.mark.parametrize("country", ["Germany", "COUNTRY#DE", "", "D", "1A"])
def test_trap_country_that_is_no_code_is_refused(db, country):
    with pytest.raises(ValidationError):
        Shop(domain="a.de", core_domain_name="a", shop_country=country)
    with pytest.raises(ValueInvalid):
        db.move("a.de", country)


def test_trap_shop_without_country_is_in_country_zz(database, db):
    db.create(Shop(domain="a.de", core_domain_name="a")).run()
    assert domains(db.never_crawled("ZZ")) == ["a.de"]
    assert [row["gsi3_sk"] for row in query(database, "CountryLastScrapedIndex", "gsi3_pk = :c", c="COUNTRY#ZZ")] == [
        "NEVER#"
    ]


def test_trap_all_countries_are_listed_in_a_registry(db):
    for domain, country in (("a.de", "DE"), ("b.fr", "FR"), ("c.de", "DE")):
        shop = Shop(domain=domain, core_domain_name=domain[0], shop_country=country)
        db.transact(db.create(shop), db.add_countries({country})).run()
    listed = db.countries().required().run().countries
    assert listed == {"DE", "FR"}
    assert sorted(domain for country in listed for domain in domains(db.never_crawled(country))) == [
        "a.de",
        "b.fr",
        "c.de",
    ]


def test_trap_state_strings_in_last_crawled_end_are_read(database, db):
    put_shop(database, "done.de", "DONE#2026-01-10T00:00:00Z", last_crawled_end="DONE#2026-01-10T00:00:00Z")
    put_shop(database, "busy.de", "PROGRESS#2026-01-15T10:00:00Z", last_crawled_end="PROGRESS#2026-01-15T10:00:00Z")
    put_shop(database, "never.de", "NEVER#", last_crawled_end="NEVER#")
    assert db.shop("done.de").required().run().crawl.last_crawled_end == at("2026-01-10T00:00:00")
    busy = db.shop("busy.de").required().run().crawl
    assert (busy.last_crawled_start, busy.last_crawled_end) == (at("10:00"), None)
    turn = db.shop("never.de").required().run().crawl
    crawl = db.start_crawl(turn, at("10:00"), "w", at("10:05")).run()
    assert crawl.last_crawled_end is None
    db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    assert get_item(database, "SHOP#never.de")["last_crawled_end"] == "2026-01-15T12:00:00Z"


def test_trap_ends_are_written_as_times_without_a_state(database, db):
    put_shop(database, "a.de")
    crawl = db.start_crawl(db.never_crawled("DE").first().run(), at("10:00"), "w", at("10:05")).run()
    db.finish_crawl(crawl, at("12:00"), crawl.crawl_owner).run()
    stored = get_item(database, "SHOP#a.de")
    assert stored["last_crawled_end"] == "2026-01-15T12:00:00Z"
    assert stored["gsi2_sk"] == "DONE#" + stored["last_crawled_end"]


def test_trap_standards_used_are_kept_on_shops_and_urls(database, db):
    db.create(Shop(domain="a.de", core_domain_name="a", standards_used=["json-ld"])).run()
    db.create(Url(domain="a.de", url=VASE, type="product", standards_used=["microdata"])).run()
    assert get_item(database, "SHOP#a.de")["standards_used"] == ["json-ld"]
    assert db.url("a.de", VASE).required().run().standards_used == ["microdata"]


def test_trap_pages_that_are_no_products_are_in_the_type_index(db):
    db.create(Url(domain="a.de", url="https://a.de/imprint")).run()
    assert [url.url for url in db.pages("a.de", "other")] == ["https://a.de/imprint"]


def test_trap_unknown_page_type_is_refused(db):
    with pytest.raises(ValidationError):
        Url(domain="a.de", url=VASE, type="prodcut")
    with pytest.raises(ValueInvalid):
        db.mark_seen("a.de", VASE, "prodcut", at("10:00"), at("10:00"))


def test_trap_a_page_type_of_another_program_is_read_and_kept(database, db):
    db.create(Url(domain="a.de", url=VASE)).run()
    key = {"pk": {"S": "SHOP#a.de"}, "sk": dump_item(Url(domain="a.de", url=VASE))["sk"]}
    database.call(
        "UpdateItem",
        {
            "TableName": Aura.tables()[0].physical_name,
            "Key": key,
            "UpdateExpression": "SET #type = :auction",
            "ExpressionAttributeNames": {"#type": "type"},
            "ExpressionAttributeValues": {":auction": {"S": "auction"}},
        },
    )
    [url] = db.urls("a.de")
    assert url.type == "auction"
    assert db.put(url).run().type == "auction"


def test_trap_many_products_share_one_index_key_and_pages_see_each_once(db):
    db.batch(Product(domain="a.de", url=f"https://a.de/{number}") for number in range(30)).run()
    seen, cursor = [], None
    while True:
        page = db.products("a.de").page(7, after=cursor).run()
        seen += [url.url for url in page]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(f"https://a.de/{number}" for number in range(30))


def test_trap_recrawl_never_wipes_the_hash(database, db):
    url = db.mark_seen("a.de", VASE, "product", at("10:00"), at("10:00")).run()
    db.reprice(url, change_hash("AVAILABLE", 12500, "EUR"), "AVAILABLE", 12500, "EUR").run()
    again = db.mark_seen("a.de", VASE, "product", at("11:00"), at("11:00")).run()
    assert not is_change(again.hash, again.state, change_hash("AVAILABLE", 12500, "EUR"))
    assert get_item(database, "SHOP#a.de", f"URL#{VASE}")["price_minor"] == 12500


def test_trap_md5_hash_is_replaced_without_a_change(database, db):
    md5 = "5d41402abc4b2a76b9719d911017c592"
    put_item(database, {"pk": "SHOP#a.de", "sk": f"URL#{VASE}", "url": VASE, "type": "product", "hash": md5})
    url = db.url("a.de", VASE).required().run()
    found = change_hash("AVAILABLE", 12500, "EUR")
    assert url.hash == md5
    assert not is_change(url.hash, url.state, found)
    db.rehash(url, found, "AVAILABLE", 12500, "EUR").run()
    assert get_item(database, "SHOP#a.de", f"URL#{VASE}")["hash"] == found
    with pytest.raises(Conflict):  # from now on a new hash is a change, and goes into the history
        db.rehash(url, change_hash("SOLD", 12500, "EUR"), "SOLD", 12500, "EUR").run()
    assert db.prices("a.de", VASE).run() == []


def test_trap_hash_is_not_written_unless_the_change_is_recorded(database, db):
    url = db.mark_seen("a.de", VASE, "product", at("10:00"), at("10:00")).run()
    price = Price(domain="a.de", url=VASE, at=at("11:00"), state="AVAILABLE", price_minor=100, currency="EUR")
    db.create(price).run()
    with pytest.raises(Taken):
        db.transact(db.reprice(url, "new", "AVAILABLE", 100, "EUR"), db.create(price)).run()
    assert "hash" not in get_item(database, "SHOP#a.de", f"URL#{VASE}")


def test_trap_history_is_never_taken_for_a_url(db):
    db.create(Url(domain="a.de", url=VASE)).run()
    db.create(Price(domain="a.de", url=VASE, at=at("11:00"), state="SOLD")).run()
    assert [type(entry) for entry in db.urls("a.de")] == [Url]
    assert [type(entry) for entry in db.prices("a.de", VASE)] == [Price]


def test_trap_update_never_makes_a_phantom_shop(database, db):
    put_shop(database, "a.de")
    turn = db.never_crawled("DE").first().run()
    db.unregister("a.de").run()
    for write in (
        db.start_crawl(turn, at("10:00"), "w", at("10:05")),
        db.rename("a.de", "Antik"),
        db.update_details("a.de", shop_image="x.png"),
        db.move("a.de", "FR"),
    ):
        with pytest.raises(NotFound):
            write.run()
    assert get_item(database, "SHOP#a.de") is None


def test_trap_scrape_does_not_start_while_a_crawl_runs(database, db):
    put_shop(database, "a.de", "DONE#2026-01-10T00:00:00Z")
    shop = db.shop("a.de").required().run()
    db.start_crawl(shop.crawl, at("10:00"), "w", at("10:05")).run()
    (waiting,) = db.never_scraped("DE").run()  # the index does not show the crawl
    with pytest.raises(Conflict):
        db.start_scrape(waiting, shop.crawl, at("10:01"), "w", at("10:06")).run()
    assert get_item(database, "SHOP#a.de")["gsi3_sk"] == "NEVER#"


def test_trap_stale_index_row_starts_nothing(database, db):
    put_shop(database, "a.de", "DONE#2026-01-10T00:00:00Z")
    (stale,) = db.crawled("DE", at("12:00")).run()
    put_shop(database, "a.de", "DONE#2026-01-11T00:00:00Z")
    with pytest.raises(Conflict):
        db.start_crawl(stale, at("10:00"), "w", at("10:05")).run()
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "DONE#2026-01-11T00:00:00Z"


def test_trap_related_domains_get_their_names_by_batch(database, db):
    put_shop(database, "example.de", shop_name="Antik")
    assert [shop.shop_name for shop in db.related("example").whole()] == ["Antik"]


def test_trap_batch_of_more_than_1000_urls_is_written_whole(db):
    assert db.batch(Url(domain="a.de", url=f"https://a.de/{number}") for number in range(1010)).run() == 1010
    assert sum(1 for _ in db.urls("a.de")) == 1010


def test_trap_time_without_a_zone_is_refused(database, db):
    put_shop(database, "a.de")
    naive = datetime(2026, 1, 15, 10)  # noqa: DTZ001 - that is the trap
    turn = db.never_crawled("DE").first().run()
    with pytest.raises(ValueInvalid, match="no time zone"):
        db.start_crawl(turn, naive, "w", at("10:05")).run()
    with pytest.raises(ValueInvalid, match="no time zone"):
        db.crawled("DE", naive).run()
    assert get_item(database, "SHOP#a.de")["gsi2_sk"] == "NEVER#"


def test_trap_times_have_one_width_and_sort_as_text(database, db):
    moments = [datetime(2026, 1, 15, 10, 0, 0, micros, UTC) for micros in (0, 5, 999_999)]
    for number, moment in enumerate(moments):
        put_shop(database, f"{number}.de")
        turn = db.shop(f"{number}.de").required().run().crawl
        db.start_crawl(turn, moment, "w", at("10:05")).run()
        assert get_item(database, f"SHOP#{number}.de")["gsi2_sk"] == "PROGRESS#2026-01-15T10:00:00Z"
    assert len(db.stuck_crawls("DE", at("10:00")).run()) == 3


class Recorder:
    """A database that keeps the expressions it is sent."""

    def __init__(self, database):
        self.database, self.texts = database, []

    def call(self, operation, request, *read):
        self.texts += [text for name, text in request.items() if name.endswith("Expression")]
        return self.database.call(operation, request, *read)


def read_arguments(now):
    """Return arguments for each pattern that reads, or names an item by its key."""
    day = (at("2026-01-13T00:00:00"), now)
    return {
        **dict.fromkeys(["shop", "site", "urls", "products", "unregister"], ("a.de",)),
        **dict.fromkeys(["never_crawled", "crawling", "never_scraped", "scraping", "shops_in"], ("DE",)),
        **dict.fromkeys(["stuck_crawls", "crawled", "crawl_due", "stuck_scrapes", "scraped"], ("DE", now)),
        **dict.fromkeys(["crawled_between", "scraped_between"], ("DE", day)),
        **dict.fromkeys(["url", "prices", "drop"], ("a.de", VASE)),
        "pages": ("a.de", "product"),
        "related": ("a",),
        **dict.fromkeys(["countries", "shops"], ()),
    }


def step_arguments(shop, now):
    """Return arguments for each step of a crawl or scrape."""
    crawl = LeasedCrawl(domain="a.de", last_crawled_start=now, crawl_owner="w", crawl_lease_until=now)
    crawled, scraping = (
        Crawled(domain="a.de", last_crawled_end=now),
        LeasedScrape(domain="a.de", last_scraped_start=now, scrape_owner="w", scrape_lease_until=now),
    )
    return {
        "start_crawl": (shop.crawl, now, "w", now, 1),
        "take_crawl": (crawl, now, now, "w", now, 1),
        "extend_crawl": (crawl, now, "w"),
        "release_crawl": (crawl, now, "w", -1),
        "finish_crawl": (crawl, now, "w"),
        "fail_first_crawl": (crawl, "down", "w"),
        "fail_crawl": (crawl, "down", now, "w"),
        "forget_crawl": (crawl, now, "stuck"),
        "revert_crawl": (crawl, now, "stuck", now),
        "start_scrape": (shop.scrape, crawled, now, "w", now, 1),
        "restart_scrape": (Scraped(domain="a.de", last_scraped_end=now), crawled, now, "w", now, 1),
        "take_scrape": (scraping, now, now, "w", now, 1),
        "extend_scrape": (scraping, now, "w"),
        "release_scrape": (scraping, now, "w", -1),
        "finish_scrape": (scraping, now, "w"),
        "fail_first_scrape": (scraping, "down", "w"),
        "fail_scrape": (scraping, "down", now, "w"),
        "forget_scrape": (scraping, now, "stuck"),
        "revert_scrape": (scraping, now, "stuck", now),
    }


def write_arguments(shop, url, now):
    """Return arguments for each other pattern that writes."""
    return {
        "mark_seen": ("a.de", VASE, "product", now, now),
        "record_visit": ("a.de", VASE, "product", now, now, 200, "etag", "date", ["json-ld"], "Vase"),
        "record_unchanged": ("a.de", VASE, now, 304),
        "record_missing": ("a.de", VASE, 404, 1),
        "record_product": (url, now, 200, "Vase", *(None for _ in range(14))),
        "record_scrape": (url, now, 304),
        "drop_missing": ("a.de", VASE, 3),
        "reprice": (url, "hash", "SOLD", 1, "EUR"),
        "rehash": (url, "hash", "SOLD", 1, "EUR"),
        "rename": ("a.de", "Antik"),
        "update_details": ("a.de", "x.png", "MARKETPLACE", ["json-ld"], VASE),
        "move": ("a.de", "FR"),
        "complete": (shop, "a", "DE"),
        "add_countries": ({"DE"},),
        "drop_countries": ({"DE"},),
    }


def test_trap_reserved_words_are_never_written_bare(database, db, clock):
    recorder, now = Recorder(database), at("10:00")
    recorded = Aura.open(recorder, clock=clock)
    shop = db.create(Shop(domain="a.de", core_domain_name="a", shop_country="DE")).run()
    url = db.mark_seen("a.de", VASE, "product", now, now).run()
    arguments = read_arguments(now) | step_arguments(shop, now) | write_arguments(shop, url, now)
    assert set(arguments) == set(Aura.plans)
    for name, values in arguments.items():
        with suppress(Conflict):
            getattr(recorded, name)(*values).run()
    assert len(recorder.texts) > len(arguments)
    for text in recorder.texts:
        assert set(re.findall(r"(?<![#:\w])[A-Za-z_]\w*", text)) <= GRAMMAR, text
