"""The queries of seeds 000 and 001, to the letter: on crawled and scraped shops, the original's items, and one of each.

Seed 001 lists no query: what its table is asked for are its keys, and our migration only reads it.
"""

import asyncio

import pytest

import hashrange
from hashrange import ManualClock
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.service.site import make_sandbox
from hashrange_systems.aura.service.table_migration import TableMigration
from systems.tests.aura.plain import put_item, put_shop
from systems.tests.aura.services import AuraServices
from systems.tests.aura.shop_server import serving_shop
from systems.tests.conftest import NOON
from systems.tests.seed_query import SeedItem, SeedQuery, scan

TABLE = "aura-historia-data"
OLD = "old-aura"
TIMES = ("last_crawled_start", "last_crawled_end", "last_scraped_start", "last_scraped_end")

SHOP = SeedItem(
    table=TABLE,
    keys=("pk", "sk"),
    is_key=lambda item: item["pk"].startswith("SHOP#") and item["sk"] == "META#",
    attributes={"domain": str, "core_domain_name": str, "shop_country": str},
    optional={"shop_name": str, **dict.fromkeys(TIMES, str)},
    times=TIMES,
)
URL = SeedItem(
    table=TABLE,
    keys=("pk", "sk"),
    is_key=lambda item: item["sk"].startswith("URL#"),
    attributes={"url": str, "type": str},
    optional={"hash": str},  # until a page was scraped there is none
)
CRAWL = frozenset({"domain", "last_crawled_start", "last_crawled_end"})
SCRAPE = frozenset({"domain", "last_scraped_start", "last_scraped_end", "last_crawled_end"})


def by_state(number, text, key, projected, wants, **request):
    """A query of the index by country and state of the crawl (2) or the scrape (3)."""
    condition, state = key
    index = {2: "CountryLastCrawledIndex", 3: "CountryLastScrapedIndex"}[number]
    return SeedQuery(
        text=text,
        item=SHOP,
        request={
            "IndexName": index,
            "KeyConditionExpression": f"gsi{number}_pk = :country AND {condition.format(sk=f'gsi{number}_sk')}",
            **request,
        },
        values=lambda item: {":country": item["shop_country"], **state},
        wants=lambda item, values: (
            item["shop_country"] == values[":country"] and wants(item.get(f"gsi{number}_sk", ""), item)
        ),
        projected=projected,
        ordered_by=f"gsi{number}_sk",
    )


def between(low, high):
    return "{sk} BETWEEN :low AND :high", {":low": low, ":high": high}


def is_between(low, high):
    return lambda state, _item: low <= state <= high


def is_new(item):
    return item.get("last_crawled_end", "") > item["last_scraped_end"]


NEVER = "begins_with({sk}, :never)", {":never": "NEVER#"}
QUERIES = [
    SeedQuery(
        text="Query all URLs of a specific type (e.g., products) within a shop",
        item=URL,
        request={"IndexName": "ProductTypeIndex", "KeyConditionExpression": "gsi1_pk = :pk AND gsi1_sk = :type"},
        values=lambda item: {":pk": item["pk"], ":type": item["type"]},
        wants=lambda item, values: (item["pk"], item["type"]) == (values[":pk"], values[":type"]),
    ),
    by_state(2, "Get never-crawled shops", NEVER, CRAWL, lambda state, _item: state == "NEVER#"),
    by_state(
        2,
        "Get shops crawled before cutoff",
        between("DONE#", "DONE#2026-01-13T00:00:00Z"),
        CRAWL,
        is_between("DONE#", "DONE#2026-01-13T00:00:00Z"),
    ),
    by_state(
        2,
        "In Progress: gsi2_sk BETWEEN 'PROGRESS#' AND 'PROGRESS#~'",
        between("PROGRESS#", "PROGRESS#~"),
        CRAWL,
        lambda state, _item: state.startswith("PROGRESS#"),
    ),
    by_state(
        2,
        "Find crawls in-progress > 2 hours",
        between("PROGRESS#", "PROGRESS#2026-01-15T08:00:00Z"),
        CRAWL,
        is_between("PROGRESS#", "PROGRESS#2026-01-15T08:00:00Z"),
    ),
    by_state(
        3,
        "Get never-scraped shops (after crawl completed)",
        NEVER,
        SCRAPE,
        lambda state, item: state == "NEVER#" and "last_crawled_end" in item,
        FilterExpression="attribute_exists(last_crawled_end)",
    ),
    by_state(
        3,
        "Get shops scraped before cutoff, with new crawl data",
        between("DONE#", "DONE#2026-01-13T00:00:00Z"),
        SCRAPE,
        lambda state, item: "DONE#" <= state <= "DONE#2026-01-13T00:00:00Z" and is_new(item),
        FilterExpression="last_crawled_end > last_scraped_end",
    ),
    by_state(
        3,
        "In Progress: gsi3_sk BETWEEN 'PROGRESS#' AND 'PROGRESS#~'",
        between("PROGRESS#", "PROGRESS#~"),
        SCRAPE,
        lambda state, _item: state.startswith("PROGRESS#"),
    ),
    by_state(
        3,
        "Find scrapes in-progress > 2 hours",
        between("PROGRESS#", "PROGRESS#2026-01-15T09:00:00Z"),
        SCRAPE,
        is_between("PROGRESS#", "PROGRESS#2026-01-15T09:00:00Z"),
    ),
    SeedQuery(
        text="Associate different domains that share the same core domain name",
        item=SHOP,
        request={"IndexName": "CoreDomainNameIndex", "KeyConditionExpression": "gsi4_pk = :core"},
        values=lambda item: {":core": item["core_domain_name"]},
        wants=lambda item, values: item["core_domain_name"] == values[":core"],
        projected=frozenset(),
        ordered_by="gsi4_sk",
    ),
    SeedQuery(
        text="Partition key: 'SHOP#' + domain, sort key: 'META#'",
        item=SHOP,
        operation="GetItem",
        values=lambda item: {"pk": f"SHOP#{item['domain']}", "sk": "META#"},
        wants=lambda item, values: item["pk"] == values["pk"],
    ),
    SeedQuery(
        text="Partition key: 'SHOP#' + domain, sort key: 'URL#<full_url>'",
        item=URL,
        request={"KeyConditionExpression": "pk = :pk AND begins_with(sk, :urls)"},
        values=lambda item: {":pk": item["pk"], ":urls": "URL#"},
        wants=lambda item, values: item["pk"] == values[":pk"],
        ordered_by="sk",
    ),
]


def add_shops_of_the_original(database):
    """Write shops in each state, before and after the seed's times."""
    for number, crawl in enumerate(
        ("NEVER#", "PROGRESS#2026-01-15T07:59:00Z", "PROGRESS#2026-01-15T10:00:00Z", "DONE#2026-01-12T12:00:00Z",
         "DONE#2026-01-15T11:00:00Z")
    ):  # fmt: skip
        for other, scrape in enumerate(
            ("NEVER#", "PROGRESS#2026-01-15T08:30:00Z", "PROGRESS#2026-01-15T11:30:00Z", "DONE#2026-01-11T12:00:00Z",
             "DONE#2026-01-14T12:00:00Z")
        ):  # fmt: skip
            put_shop(database, f"antik{number}.{'de' if other % 2 else 'fr'}-{other}", crawl, scrape)


async def use(services):
    """Crawl and scrape a shop twice, whose prices change; register others."""
    async with serving_shop() as server:
        server.page("/", "/vase", "/lamp", "/about")
        server.product("/vase", title="Vase")
        server.product("/lamp", title="Lamp", price="80.00")
        server.page("/about")
        await services.add(server)
        for price in ("100.00", "120.00"):
            server.product("/vase", title="Vase", price=price)
            await services.crawl(server)
            services.clock.advance(3600)
            await services.scrape(server)
            services.clock.advance(86_400)


@pytest.fixture(scope="module")
def filled():
    clock = ManualClock(NOON)
    with hashrange.open(clock=clock) as database:
        sandbox = make_sandbox()
        services = AuraServices(database, clock, sandbox)
        asyncio.run(use(services))
        sandbox.close()
        add_shops_of_the_original(database)
        names = {
            "Shop.core_domain_name": lambda number: f"core{number // 2}"
        }  # every shop that a service makes has one
        services.db.batch(hashrange.sample(Aura, values=names)).run()  # of every class in every state
        yield database


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query_of_seed_000_finds_exactly_the_seeds_items(filled, query):
    assert query.run(filled) > 0


def test_beside_the_seeds_items_a_shops_partition_has_only_its_prices(filled):
    """No query of the seed reads a whole partition; who does finds the histories of prices before the shop."""
    stored = [item for item in scan(filled, TABLE) if item["pk"].startswith("SHOP#")]
    kinds = {item["sk"].partition("#")[0] for item in stored if not (SHOP.is_key(item) or URL.is_key(item))}
    assert kinds == {"HIST"}


# ── seed 001 ─────────────────────────────────────────────────────────────────────────────────────────────────────────
FIRST_SHOP = SeedItem(
    table=OLD,
    keys=("PK", "SK"),
    is_key=lambda item: item["SK"] == "META#",
    attributes={"domain": str, "standards_used": list},
)
FIRST_URL = SeedItem(
    table=OLD,
    keys=("PK", "SK"),
    is_key=lambda item: item["SK"].startswith("URL#"),
    attributes={"url": str, "standards_used": list, "type": str, "is_product": bool, "hash": str},
)
FIRST_QUERIES = [
    SeedQuery(
        text="Partition key: 'SHOP#' + domain, sort key: 'META#'",
        item=FIRST_SHOP,
        operation="GetItem",
        values=lambda item: {"PK": item["PK"], "SK": "META#"},
        wants=lambda item, values: item["PK"] == values["PK"],
    ),
    SeedQuery(
        text="Partition key: 'SHOP#' + domain, sort key: 'URL#<full_url>'",
        item=FIRST_URL,
        request={"KeyConditionExpression": "PK = :pk AND begins_with(SK, :urls)"},
        values=lambda item: {":pk": item["PK"], ":urls": "URL#"},
        wants=lambda item, values: item["PK"] == values[":pk"],
        ordered_by="SK",
    ),
]


@pytest.fixture
def first(monkeypatch):
    """A table of seed 001, after it was migrated."""
    monkeypatch.setenv("AURA_SOURCE_TABLE", OLD)
    with hashrange.open() as database:
        hashrange.create_tables(database, FirstAura)
        for domain in ("example.com", "antik.de"):
            keys = {"PK": f"SHOP#{domain}", "SK": "META#"}
            put_item(database, {**keys, "domain": domain, "standards_used": ["json-ld", "microdata"]}, OLD)
            for number in range(3):
                url = f"https://{domain}/products/{number}"
                rest = {"standards_used": [], "type": "product", "is_product": number > 0, "hash": "a" * 32}
                put_item(database, {"PK": f"SHOP#{domain}", "SK": f"URL#{url}", "url": url, **rest}, OLD)
        before = scan(database, OLD)
        moved = TableMigration(source=database, target=database, source_name=OLD, same_database=True).run()
        assert moved.added == len(before) == 8
        assert scan(database, OLD) == before
        yield database


@pytest.mark.parametrize("query", FIRST_QUERIES, ids=str)
def test_a_query_of_seed_001_finds_exactly_the_seeds_items(first, query):
    assert query.run(first) == len([item for item in scan(first, OLD) if query.item.is_key(item)])
