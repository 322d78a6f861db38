"""The queries of seed 002, to the letter, on an item of every class in every state and the seed's examples."""

from decimal import Decimal

import pytest

import hashrange
from hashrange import LocalKeys, ManualClock
from hashrange_systems.shuttle.schema import Job, Operator, Shuttle
from systems.tests.seed_query import SeedItem, SeedQuery
from systems.tests.shuttle.conftest import START
from systems.tests.shuttle.example import HISTORY, IMPORT_ITEM, JOB_ITEM, JOBS, SHOP_ITEM, SHOPS

NUMBERS = ("totalProducts", "processedProducts", "successfulProducts", "failedProducts", "progressPercentage")
SHOP = SeedItem(
    table=SHOPS,
    keys=("domain",),
    is_key=lambda item: "#" not in item["domain"],
    attributes={
        **dict.fromkeys(("name", "plan", "billingStatus"), str),
        **dict.fromkeys(("installedAt", "createdAt", "updatedAt"), Decimal),
        "settings": dict,
    },
    optional={"uninstalledAt": (Decimal, type(None)), "accessToken": str},
)
JOB = SeedItem(
    table=JOBS,
    keys=("jobId",),
    is_key=lambda _item: True,
    attributes={
        **dict.fromkeys(("shopDomain", "type", "status", "createdBy"), str),
        **dict.fromkeys((*NUMBERS, "shopifyApiCallsUsed", "createdAt", "updatedAt", "expiresAt"), Decimal),
        "isDryRun": bool,
        "errorSummary": dict,
    },
    optional={"mode": str, "s3Key": str, "startedAt": Decimal, "completedAt": Decimal},
)
IMPORT = SeedItem(
    table=HISTORY,
    keys=("shopDomain", "timestamp"),
    is_key=lambda _item: True,
    attributes={
        **dict.fromkeys(("jobId", "status"), str),
        **dict.fromkeys(("productsImported", "errorCount", "shopifyApiCallsUsed", "durationMs", "expiresAt"), Decimal),
    },
    optional={"mode": str},
)


def by_shop(text, condition, more, wants, **request):
    """A query of a shop's history."""
    return SeedQuery(
        text=text,
        item=IMPORT,
        request={"KeyConditionExpression": f"shopDomain = :shop{condition}", **request},
        values=lambda item: {":shop": item["shopDomain"], **more(item)},
        wants=lambda item, values: item["shopDomain"] == values[":shop"] and wants(item["timestamp"], values),
        ordered_by="timestamp",
    )


NEWEST = {"ScanIndexForward": False}
TIMESTAMP = {"ExpressionAttributeNames": {"#ts": "timestamp"}}
SHOP_BY_DOMAIN = SeedQuery(
    text="Get shop by domain: `GetItem(domain)`",
    item=SHOP,
    operation="GetItem",
    values=lambda item: {"domain": item["domain"]},
    wants=lambda item, values: item["domain"] == values["domain"],
)
ALL_SHOPS = SeedQuery(
    text="List all shops: `Scan`",
    item=SHOP,
    operation="Scan",
    values=lambda _item: {},
    wants=lambda _item, _values: True,
)
ACTIVE_SHOPS = SeedQuery(
    text="List active shops: `Scan` with filter `billingStatus = ACTIVE AND uninstalledAt = null`",
    item=SHOP,
    operation="Scan",
    request={"FilterExpression": "billingStatus = :active AND uninstalledAt = :null"},
    values=lambda _item: {":active": "ACTIVE", ":null": None},
    wants=lambda item, _values: item["billingStatus"] == "ACTIVE" and item.get("uninstalledAt") is None,
)
QUERIES = [
    SHOP_BY_DOMAIN,
    SeedQuery(
        text="Get job by ID: `GetItem(jobId)`",
        item=JOB,
        operation="GetItem",
        values=lambda item: {"jobId": item["jobId"]},
        wants=lambda item, values: item["jobId"] == values["jobId"],
    ),
    SeedQuery(
        text="List jobs for a shop: `Query GSI-1 WHERE shopDomain = '...' ORDER BY createdAt DESC`",
        item=JOB,
        request={
            "IndexName": "shopDomain-createdAt-index",
            "KeyConditionExpression": "shopDomain = :shopDomain",
            **NEWEST,
        },
        values=lambda item: {":shopDomain": item["shopDomain"]},
        wants=lambda item, values: item["shopDomain"] == values[":shopDomain"],
        ordered_by="createdAt",
    ),
    SeedQuery(
        text="List jobs by status: `Query GSI-2 WHERE status = 'PROCESSING' ORDER BY createdAt DESC`",
        item=JOB,
        request={
            "IndexName": "status-createdAt-index",
            "KeyConditionExpression": "#status = :status",
            "ExpressionAttributeNames": {"#status": "status"},
            **NEWEST,
        },
        values=lambda item: {":status": item["status"]},
        wants=lambda item, values: item["status"] == values[":status"],
        ordered_by="createdAt",
    ),
    SeedQuery(
        text="List recent jobs across all shops: `Scan` with filter",
        item=JOB,
        operation="Scan",
        request={"FilterExpression": "createdAt >= :since"},
        values=lambda item: {":since": item["createdAt"]},
        wants=lambda item, values: item["createdAt"] >= values[":since"],
    ),
    by_shop("Get import history for a shop, newest first", "", lambda _item: {}, lambda _at, _values: True, **NEWEST),
    by_shop(
        "Get recent imports for a shop: timestamp > ...",
        " AND #ts > :since",
        lambda item: {":since": item["timestamp"] - 1},
        lambda at, values: at > values[":since"],
        **TIMESTAMP,
        **NEWEST,
    ),
    by_shop(
        "Get imports within date range: timestamp BETWEEN start AND end",
        " AND #ts BETWEEN :start AND :end",
        lambda item: {":start": item["timestamp"], ":end": item["timestamp"] + 86_400_000},
        lambda at, values: values[":start"] <= at <= values[":end"],
        **TIMESTAMP,
    ),
]


@pytest.fixture
def filled():
    clock = ManualClock(START)
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Shuttle, Operator)
        samples = hashrange.sample(Shuttle, Operator)
        db = Operator.open(database, clock=clock, keys=LocalKeys.generate())
        db.batch([each for each in samples if type(each) is not Job]).run()  # which has no status
        for table, item in ((SHOPS, SHOP_ITEM), (JOBS, JOB_ITEM), (HISTORY, IMPORT_ITEM)):
            database.call("PutItem", {"TableName": table, "Item": item})
        yield database


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query_of_seed_002_finds_exactly_the_seeds_items(filled, query):
    assert query.run(filled) > 0


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="the counters of quotas stand in the table of shops")
def test_a_scan_of_all_shops_finds_exactly_the_seeds_items(filled):
    ALL_SHOPS.run(filled)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="trap 6: no null is stored, which this filter needs")
def test_the_seeds_filter_finds_the_active_shops(filled):
    ACTIVE_SHOPS.run(filled)
