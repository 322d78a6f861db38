"""Tables of the original: moved (seed 001, seed 000) or repaired in place, with items as its programs write them."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange_systems.aura import migration
from hashrange_systems.aura.errors import ShopDamaged
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.original import OriginalAura
from hashrange_systems.aura.schema import Aura, Crawled, Crawling, NeverCrawled, Price, Url
from hashrange_systems.aura.service import table_migration
from hashrange_systems.aura.service.products import Products
from hashrange_systems.aura.service.registry import Registry, ShopInput
from hashrange_systems.aura.service.repair import PAGE, Repair
from hashrange_systems.aura.service.table_migration import MigrationRefused, TableMigration
from systems.tests.aura.plain import TABLE, at, get_item, put_item, query

OLD = "old-aura"


@pytest.fixture
def source(monkeypatch):
    """The name of the source table."""
    monkeypatch.setenv("AURA_SOURCE_TABLE", OLD)
    return OLD


def put(database, pk, sk, names=("pk", "sk"), table=TABLE, **attributes):
    put_item(database, {names[0]: pk, names[1]: sk, **attributes}, table)


def repair(db, work, clock):
    registry = Registry(db, work, clock)
    return asyncio.run(Repair(db, work, clock, registry).run())


# ── in place ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def filled(database, db):
    """A table as the original's programs leave it."""
    shop = {"domain": "seed.de", "core_domain_name": "seed", "shop_name": "Seed", "shop_country": "COUNTRY#DE"}
    times = {"last_crawled_start": "2023-10-27T00:00:00Z", "last_crawled_end": "2023-10-27T23:59:59Z"}
    put(database, "SHOP#seed.de", "META#", **shop, **times)  # the seed's own example: no index keys
    put(database, "SHOP#www.bare.de", "META#", domain="www.bare.de", shop_country="FR", gsi2_pk="FR", gsi2_sk="NEVER#")
    put(database, "SHOP#never.de", "META#", domain="never.de", last_crawled_end="NEVER#", last_scraped_end="NEVER#")
    put(database, "SHOP#phantom.de", "META#", last_crawled_end="DONE#2026-01-10T00:00:00Z")
    put(database, "SHOP#seed.de", "URL#https://seed.de/a", url="https://seed.de/a", type="product", hash="f" * 64)
    put(database, "SHOP#seed.de", "URL#https://seed.de/b", hash="f" * 64)  # a phantom
    put(database, "SHOP#seed.de", "URL#https://seed.de/c", url="https://seed.de/c", is_product=True)
    put(database, "SHOP#seed.de", "URL#https://seed.de/d", url="https://seed.de/d", type="auction")
    put(database, "SHOP#orphan.at", "URL#https://orphan.at/", url="https://orphan.at/")
    db.add_countries({"IT"}).run()  # a country without shops
    return db


def test_repair_derives_every_index_key_and_rebuilds_the_countries(database, filled, work, clock):
    report = repair(filled, work, clock)
    assert report.unreadable == 0
    assert report.countries == ("DE", "FR", "ZZ")
    seed = get_item(database, "SHOP#seed.de")
    assert (seed["gsi2_pk"], seed["gsi2_sk"], seed["gsi3_sk"]) == ("COUNTRY#DE", "DONE#2023-10-27T23:59:59Z", "NEVER#")
    bare = get_item(database, "SHOP#www.bare.de")
    assert (bare["shop_country"], bare["gsi2_pk"], bare["core_domain_name"]) == ("COUNTRY#FR", "COUNTRY#FR", "bare")
    assert get_item(database, "SHOP#never.de")["gsi2_sk"] == "NEVER#"
    phantom = get_item(database, "SHOP#phantom.de")
    assert (phantom["domain"], phantom["core_domain_name"], phantom["gsi4_pk"]) == ("phantom.de", "phantom", "phantom")
    rows = query(database, "ProductTypeIndex", "gsi1_pk = :p", p="SHOP#seed.de")
    assert {row["sk"]: row["gsi1_sk"] for row in rows} == {
        "URL#https://seed.de/a": "product",
        "URL#https://seed.de/b": "other",
        "URL#https://seed.de/c": "product",
        "URL#https://seed.de/d": "auction",
    }
    assert get_item(database, "SHOP#seed.de", "URL#https://seed.de/a")["hash"] == "f" * 64
    assert get_item(database, "SHOP#orphan.at")["core_domain_name"] == "orphan"


def test_a_second_repair_changes_nothing(database, filled, work, clock):
    repair(filled, work, clock)
    before = database.call("Scan", {"TableName": TABLE})["Items"]
    again = repair(filled, work, clock)
    assert (again.completed, again.indexed) == (0, 0)
    assert database.call("Scan", {"TableName": TABLE})["Items"] == before


@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_an_interrupted_repair_goes_on_where_it_stopped(database, db, work, clock):
    shops = PAGE + 50
    for number in range(shops):
        put(database, f"SHOP#s{number}.de", "META#", domain=f"s{number}.de", shop_country="DE")

    class Stop(Exception):
        pass

    def stop(_count):
        raise Stop

    async def run(progress):
        return await Repair(db, work, clock, Registry(db, work, clock), progress=progress).run()

    with pytest.raises(Stop):
        asyncio.run(run(stop))
    assert work.repair_progress().required().run().repaired == PAGE
    report = asyncio.run(run(None))
    assert report.completed == shops
    assert work.repair_progress().run() is None
    assert db.never_crawled("DE").count().run() == shops


def test_phantom_rows_are_read_from_their_keys_before_any_repair(filled, work, clock):
    registry = Registry(filled, work, clock)
    products = Products(filled, work, clock, registry)

    async def read():
        shop = await registry.find("phantom.de")
        url = await products.find("seed.de", "https://seed.de/b")
        return shop, url, [each async for each in filled.urls("seed.de")]

    shop, url, urls = asyncio.run(read())
    assert (shop.domain, shop.core_domain_name) == ("phantom.de", None)
    assert (url.url, url.hash) == ("https://seed.de/b", "f" * 64)
    assert [each.url for each in urls] == [f"https://seed.de/{name}" for name in "abcd"]


ROW = st.fixed_dictionaries(
    {"path": st.text("abc/~.-0ä", min_size=1, max_size=80)},
    optional={
        "url": st.none(),
        "type": st.sampled_from(["product", "other", "auction", None]),
        "is_product": st.booleans(),
        "hash": st.sampled_from(["f" * 64, "a" * 32, "x", None]),
        "standards_used": st.lists(st.sampled_from(["json-ld", "rdfa", "hcard"]), max_size=3),
        "gsi1_pk": st.just("SHOP#any.de"),
    },
)


@pytest.mark.parametrize("database", ["embedded"], indirect=True)
def test_no_row_of_the_original_ends_a_list_or_is_missing_in_it(database, db, work, clock):
    """Any mixture of attributes, with or without `url`, before and after a repair: in every list, and found alone."""

    @settings(max_examples=40, deadline=None)
    @given(st.lists(ROW, min_size=1, max_size=8))
    def check(rows):
        urls = write_rows(database, rows)
        asyncio.run(compare(urls))

    async def compare(urls):
        products = Products(db, work, clock, Registry(db, work, clock))
        listed = [each.url async for each in db.urls("any.de")]
        assert sorted(listed) == sorted(urls)
        for url in urls:
            assert (await products.find("any.de", url)).url == url
        await Repair(db, work, clock, products.registry).run()
        kinds = {each.type async for each in db.urls("any.de")}
        pages = [await products.list_pages("any.de", kind) for kind in kinds]
        assert sorted(each.url for page in pages for each in page.items) == sorted(urls)
        assert {each.url for each in (await products.list_products("any.de")).items} <= set(urls)

    check()


def write_rows(database, rows):
    """Write rows as another program does, in place of those before; return their URLs."""
    for raw in database.call("Scan", {"TableName": TABLE})["Items"]:
        database.call("DeleteItem", {"TableName": TABLE, "Key": {"pk": raw["pk"], "sk": raw["sk"]}})
    urls = {f"https://any.de/{row['path']}": row for row in rows}
    for url, row in urls.items():
        given = {name: value for name, value in row.items() if name not in {"path", "url"}}
        if "url" not in row:
            given["url"] = url
        if given.get("type") and "gsi1_pk" in given:
            given["gsi1_sk"] = given["type"]
        put_item(database, {"pk": "SHOP#any.de", "sk": f"URL#{url}", **given})
    return list(urls)


def test_a_damaged_shop_is_named_and_costs_no_list(database, db, work, clock):
    registry = Registry(db, work, clock)
    bad = {"gsi2_pk": "COUNTRY#DE", "gsi2_sk": "DONE#2026-01-01T00:00:00Z", "shop_country": "COUNTRY#DE"}
    put(database, "SHOP#bad.de", "META#", domain="bad.de", last_crawled_end="DONE#soon", **bad)
    with pytest.raises(ShopDamaged, match=r"bad\.de is damaged"):
        asyncio.run(registry.find("bad.de"))
    assert asyncio.run(registry.crawled_between("DE", at("2025-01-01T00:00:00"), at("2027-01-01T00:00:00"))) == []


def test_a_type_of_shop_that_we_do_not_know_is_kept_in_place_and_moved(database, db, work, clock, source):
    """A shop of the original is not lost because its type is a new one."""
    hashrange.create_tables(database, OriginalAura)
    for table, domain in ((TABLE, "here.de"), (OLD, "there.de")):
        put(database, f"SHOP#{domain}", "META#", table=table, domain=domain, shop_country="DE", shop_type="FLEA_MARKET")
    assert asyncio.run(Registry(db, work, clock).find("here.de")).shop_type == "FLEA_MARKET"
    assert migrate(database).failures == ()
    assert repair(db, work, clock).unreadable == 0
    assert {(shop.domain, shop.shop_type) for shop in db.never_crawled("DE").whole()} == {
        ("here.de", "FLEA_MARKET"),
        ("there.de", "FLEA_MARKET"),
    }


# ── seed 001 ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def first(database, source):
    """A table of seed 001."""
    hashrange.create_tables(database, FirstAura)
    names = ("PK", "SK")
    put(database, "SHOP#example.com", "META#", names, OLD, domain="example.com", standards_used=["json-ld", "hcard"])
    for number in range(30):
        url = f"https://example.com/{number}"
        put(database, "SHOP#example.com", f"URL#{url}", names, OLD, url=url, is_product=number % 2 == 0, hash="a" * 32)
    put(
        database,
        "SHOP#example.com",
        "URL#https://example.com/x",
        names,
        OLD,
        url="https://example.com/x",
        type="auction",
    )
    put(database, "SHOP#lost.de", "URL#https://lost.de/", names, OLD, url="https://lost.de/")  # without META#
    put(database, "USER#1", "META#", names, OLD, name="of another program")
    return database


def migrate(database, **options):
    return TableMigration(source=database, target=database, source_name=OLD, **{"same_database": True, **options}).run()


def test_a_table_of_seed_001_is_moved(first, work, clock):
    summary = migrate(first)
    assert (summary.added, summary.failures, summary.undeclared) == (33, (), 1)
    db = Aura.open(first, clock=clock)
    repair(db, work, clock)
    assert db.products("example.com").count().run() == 15
    assert [url.url for url in db.pages("example.com", "auction")] == ["https://example.com/x"]
    shop = db.shop("example.com").required().run()
    assert (shop.shop_country, shop.core_domain_name, shop.standards_used) == ("ZZ", "example", ["json-ld"])
    assert isinstance(shop.crawl, NeverCrawled)
    assert {each.domain for each in db.never_crawled("ZZ")} == {"example.com", "lost.de"}
    assert db.url("example.com", "https://example.com/0").required().run().hash == "a" * 32
    again = migrate(first)
    assert (again.added, again.kept) == (0, 33)  # nothing is left to do


def test_a_migration_keeps_every_item_that_the_target_has(first, db, work, clock):
    registry = Registry(db, work, clock)
    asyncio.run(registry.add(ShopInput(address="own.de", name="Own", country="DE")))
    asyncio.run(registry.add(ShopInput(address="example.com", name="Ours", country="FR")))
    db.put(Url(domain="own.de", url="https://own.de/a", type="product", title="Vase")).run()
    db.put(Price(domain="own.de", url="https://own.de/a", at=at("12:00"), state="AVAILABLE", price_minor=1)).run()
    before = first.call("Scan", {"TableName": TABLE})["Items"]
    summary = migrate(first)
    repair(db, work, clock)
    after = first.call("Scan", {"TableName": TABLE})["Items"]
    assert [item for item in before if item not in after and item["pk"] != {"S": "COUNTRIES"}] == []
    assert (summary.added, summary.kept) == (32, 1)
    assert set(asyncio.run(registry.countries())) == {"DE", "FR", "ZZ"}
    assert db.shop("example.com").required().run().shop_name == "Ours"
    assert db.urls("example.com").count().run() == 31


def test_attributes_of_a_wrong_type_are_left_out(first, db):
    names, bad = ("PK", "SK"), "https://example.com/bad"
    put(first, "SHOP#example.com", f"URL#{bad}", names, OLD, url=bad, hash=12, standards_used="x", is_product="yes")
    summary = migrate(first)
    assert (summary.added, summary.mended, summary.unreadable) == (34, 1, 0)
    assert db.url("example.com", bad).required().run().hash is None


def test_an_interrupted_migration_goes_on_in_the_middle(first, work, clock, monkeypatch):
    monkeypatch.setattr(table_migration, "PAGE", 10)

    class Stop(Exception):
        pass

    def stop(_done):
        raise Stop

    moving = TableMigration(source=first, target=first, source_name=OLD, same_database=True)
    with pytest.raises(Stop):
        moving.run(stop)
    assert work.migration_progress(OLD).required().run().added <= 10
    summary = moving.run()
    assert (summary.added, summary.kept) == (33, 0)
    assert work.migration_progress(OLD).run() is None
    assert Aura.open(first, clock=clock).urls("example.com").count().run() == 31


def test_a_table_of_the_same_name_in_one_database_is_refused_with_the_way_out(first, monkeypatch):
    monkeypatch.setenv("DYNAMODB_TABLE_NAME", OLD)
    with pytest.raises(MigrationRefused, match=f"DYNAMODB_TABLE_NAME={OLD}-2 hashrange aura migrate --from {OLD}"):
        migrate(first)


def test_a_table_that_is_none_of_ours_is_refused(database, source):
    with pytest.raises(MigrationRefused, match="There is no table old-aura"):
        migrate(database)
    hashrange.create_tables(database, hashrange.Table(OLD, "id", deletion_protection=False))
    with pytest.raises(MigrationRefused, match="has the keys id"):
        migrate(database)


# ── seed 000 ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_table_of_seed_000_is_moved_with_its_states(database, source, work, clock):
    hashrange.create_tables(database, OriginalAura)
    done, busy = "DONE#2026-01-10T08:00:00Z", "PROGRESS#2026-01-11T08:00:00Z"
    common = {"shop_country": "DE", "core_domain_name": "a"}
    put(database, "SHOP#done.de", "META#", table=OLD, domain="done.de", last_crawled_end=done, gsi2_sk=done, **common)
    put(database, "SHOP#busy.de", "META#", table=OLD, domain="busy.de", last_crawled_end=busy, gsi2_sk=busy, **common)
    put(database, "SHOP#bad.de", "META#", table=OLD, domain="bad.de", shop_country="Germany")
    put(database, "SHOP#done.de", "URL#https://done.de/x", table=OLD, url="https://done.de/x", hash="f" * 64)
    put(database, "SHOP#done.de", "URL#https://done.de/y", table=OLD)  # a phantom
    summary = migrate(database)
    assert (summary.failures, summary.added) == ((), 5)
    db = Aura.open(database, clock=clock)
    assert repair(db, work, clock).countries == ("DE", "ZZ")
    crawls = {domain: db.shop(domain).required().run().crawl for domain in ("done.de", "busy.de", "bad.de")}
    assert crawls["done.de"] == Crawled(domain="done.de", last_crawled_end=at("2026-01-10T08:00:00"))
    assert isinstance(crawls["busy.de"], Crawling)
    assert isinstance(crawls["bad.de"], NeverCrawled)
    assert [url.url for url in db.urls("done.de")] == ["https://done.de/x", "https://done.de/y"]
    assert {each.domain for each in db.crawled("DE", at("12:00"))} == {"done.de"}


def test_an_item_that_cannot_be_read_costs_only_itself(database, source, work, clock):
    hashrange.create_tables(database, OriginalAura)
    put(database, "SHOP#bad.de", "META#", table=OLD, domain="bad.de", gsi2_sk="PROGRESS#garbage")
    put(database, "SHOP#good.de", "META#", table=OLD, domain="good.de", shop_country="DE")
    summary = migrate(database)
    assert (summary.added, summary.unreadable) == (1, 1)
    assert summary.failures[0].startswith("SHOP#bad.de META#: ")
    db = Aura.open(database, clock=clock)
    assert repair(db, work, clock).countries == ("DE",)
    assert {each.domain for each in db.never_crawled("DE")} == {"good.de"}


def test_both_migrations_have_a_name_for_the_command():
    assert {migration.first.name, migration.original.name} == {"aura seed 001", "aura seed 000"}
