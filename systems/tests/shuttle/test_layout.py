"""What plain requests write as the seed describes it, the declared items read; what they write, plain requests read.

The tables are made by hand from the seed's text. They expire nothing: the seed's examples are of 2023, and a server
would be right to delete them.
"""

from datetime import UTC, datetime, timedelta

import pytest

from hashrange_systems.shuttle.schema import ActiveShop, Import, InstalledShop, Operator, Processing, Shop, Shuttle
from systems.tests.shuttle.example import (
    DOMAIN,
    HISTORY,
    IMPORT_ITEM,
    INSTALLED,
    JOB_ID,
    JOB_ITEM,
    JOBS,
    NINETY_DAYS,
    SHOP_ITEM,
    SHOPS,
    YEAR,
    read_plain,
)

AT = datetime.fromtimestamp(INSTALLED, UTC)


def key(name, kind="HASH"):
    return {"AttributeName": name, "KeyType": kind}


def make_table(name, attributes, keys, **more):
    types = [{"AttributeName": attr, "AttributeType": tag} for attr, tag in attributes.items()]
    return {
        "TableName": name,
        "KeySchema": keys,
        "AttributeDefinitions": types,
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }


def make_index(name, partition):
    keys = [key(partition), key("createdAt", "RANGE")]
    return {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}


@pytest.fixture
def by_hand(database, clock):
    clock.set(INSTALLED)
    indexes = [
        make_index("shopDomain-createdAt-index", "shopDomain"),
        make_index("status-createdAt-index", "status"),
    ]
    for request in (
        make_table(SHOPS, {"domain": "S"}, [key("domain")]),
        make_table(
            JOBS,
            {"jobId": "S", "shopDomain": "S", "status": "S", "createdAt": "N"},
            [key("jobId")],
            GlobalSecondaryIndexes=indexes,
        ),
        make_table(HISTORY, {"shopDomain": "S", "timestamp": "N"}, [key("shopDomain"), key("timestamp", "RANGE")]),
    ):
        database.call("CreateTable", request)
    return database


@pytest.fixture
def operator(by_hand, clock, keys):
    return Operator.open(by_hand, clock=clock, keys=keys)


@pytest.fixture
def shuttle(by_hand, clock):
    return Shuttle.open(by_hand, clock=clock)


def put_plain(database, table, item):
    database.call("PutItem", {"TableName": table, "Item": item})


def test_the_seeds_shop_is_read(by_hand, operator):
    put_plain(by_hand, SHOPS, SHOP_ITEM)
    found = operator.shop(DOMAIN).required().run()
    assert isinstance(found, ActiveShop)
    assert found == InstalledShop(
        domain=DOMAIN,
        name="My Store",
        access_token="shpat_...",
        plan="FREE",
        installed_at=AT,
        billing_status="ACTIVE",
        settings={"theme": "dark"},
        created_at=AT,
        updated_at=AT,
    )


def test_the_seeds_uninstalled_shop_is_read(by_hand, operator):
    gone = {"uninstalledAt": {"N": "1699564800000"}, "billingStatus": {"S": "CANCELLED"}, "plan": {"S": "LARGE"}}
    put_plain(by_hand, SHOPS, SHOP_ITEM | gone)
    found = operator.shop(DOMAIN).required().run()
    assert (type(found), found.billing_status, found.uninstalled_at, found.plan) == (Shop, "CANCELLED", AT, "LARGE")


def test_the_seeds_job_is_read(by_hand, shuttle):
    put_plain(by_hand, JOBS, JOB_ITEM)
    assert shuttle.job(DOMAIN, JOB_ID).run() == Processing(
        job_id=JOB_ID,
        shop_domain=DOMAIN,
        type="IMPORT",
        mode="OVERWRITE_EXISTING",
        is_dry_run=False,
        total_products=1000,
        processed_products=250,
        successful_products=240,
        failed_products=10,
        progress_percentage=25,
        started_at=AT,
        estimated_completion_at=AT + timedelta(seconds=800),
        s3_key="imports/mystore.myshopify.com/01ARZ3.../source.json",
        error_summary={"VALIDATION_ERROR": 5, "API_ERROR": 5},
        shopify_api_calls_used=100,
        created_by="user@example.com",
        created_at=AT,
        updated_at=AT + timedelta(seconds=100),
        expires_at=AT + timedelta(days=90),
    )


def test_the_seeds_import_is_read(by_hand, shuttle):
    put_plain(by_hand, HISTORY, IMPORT_ITEM)
    assert shuttle.imports(DOMAIN).run() == [
        Import(
            shop_domain=DOMAIN,
            timestamp=AT,
            job_id=JOB_ID,
            products_imported=1000,
            status="COMPLETED",
            error_count=5,
            mode="OVERWRITE_EXISTING",
            shopify_api_calls_used=100,
            duration_ms=300_000,
            expires_at=AT + timedelta(days=365),
        )
    ]


def test_a_shop_is_written_as_the_seed_has_it(by_hand, operator):
    put_plain(by_hand, SHOPS, SHOP_ITEM)
    operator.put(operator.shop(DOMAIN).required().run()).run()
    stored = read_plain(by_hand, SHOPS, domain=DOMAIN)
    token = stored.pop("accessToken")
    assert token["S"].startswith("hr1:")  # encrypted, as the seed asks
    expected = SHOP_ITEM.keys() - {"accessToken", "uninstalledAt"}  # no NULL is stored
    assert stored == {name: SHOP_ITEM[name] for name in expected}


def test_a_job_is_written_as_the_seed_has_it(by_hand, shuttle):
    put_plain(by_hand, JOBS, JOB_ITEM)
    shuttle.put(shuttle.job(DOMAIN, JOB_ID).required().run()).run()
    seconds = {"N": str(INSTALLED + NINETY_DAYS)}
    added = {"attempts": {"N": "0"}}
    assert read_plain(by_hand, JOBS, jobId=JOB_ID) == JOB_ITEM | {"expiresAt": seconds} | added


def test_an_import_is_written_as_the_seed_has_it(by_hand, shuttle):
    put_plain(by_hand, HISTORY, IMPORT_ITEM)
    shuttle.put(shuttle.imports(DOMAIN).run()[0]).run()
    where = {name: IMPORT_ITEM[name] for name in ("shopDomain", "timestamp")}
    stored = by_hand.call("GetItem", {"TableName": HISTORY, "Key": where})["Item"]
    seconds = {"N": str(INSTALLED + YEAR)}
    added = {"type": {"S": "IMPORT"}, "isDryRun": {"BOOL": False}, "failed": {"N": "0"}}
    assert stored == IMPORT_ITEM | {"expiresAt": seconds} | added


def test_the_seeds_example_queries_find_what_the_declared_items_write(by_hand, shuttle):
    shuttle.put(shuttle.session.load(Shuttle.plan("job").table, Shuttle.plan("job").models, JOB_ITEM)).run()
    by_shop = {
        "TableName": JOBS,
        "IndexName": "shopDomain-createdAt-index",
        "KeyConditionExpression": "shopDomain = :shopDomain",
        "ExpressionAttributeValues": {":shopDomain": {"S": DOMAIN}},
        "ScanIndexForward": False,
        "Limit": 20,
    }
    by_status = {
        "TableName": JOBS,
        "IndexName": "status-createdAt-index",
        "KeyConditionExpression": "#status = :status",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": {":status": {"S": "PROCESSING"}},
        "ScanIndexForward": False,
    }
    for request in (by_shop, by_status):
        assert [item["jobId"]["S"] for item in by_hand.call("Query", request)["Items"]] == [JOB_ID]


@pytest.mark.parametrize("mode", ["OVERWRITE_EXISTING", "NEW_ONLY", "NEW_AND_DRAFT", "WIPE_AND_RESTORE"])
@pytest.mark.parametrize("status", ["QUEUED", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"])
def test_every_mode_and_status_of_the_seed_is_read(by_hand, shuttle, mode, status):
    completed = {"completedAt": {"N": "1699565400000"}}
    put_plain(by_hand, JOBS, JOB_ITEM | completed | {"mode": {"S": mode}, "status": {"S": status}})
    found = shuttle.job(DOMAIN, JOB_ID).required().run()
    assert (found.mode, found.status, type(found).__name__.upper()) == (mode, status, status)
    if status == "COMPLETED":
        assert found.completed_at - found.started_at == timedelta(minutes=10)
