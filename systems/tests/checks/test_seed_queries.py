"""The queries of seed 004, to the letter, on a database with the demo, what users do, and an item of every class."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pyotp
import pytest

import hashrange
from hashrange import ManualClock
from hashrange_systems.checks.demo.demo_data import Demo
from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.schema import Check, Checks, EndedSession
from hashrange_systems.checks.service.deployment import DeploymentSettings
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.checks.service.two_factor import SecondFactors
from hashrange_systems.shared.work.presence import Presence
from systems.tests.checks.check_items import CHECK, NOON, USER, put_plain
from systems.tests.checks.services import ServiceSet, do
from systems.tests.seed_query import SeedItem, SeedQuery, read_all, scan, to_wire

USER_ITEM = SeedItem(
    table="USER",
    keys=("PK", "SK"),
    is_key=lambda item: item["SK"] == "USER",
    attributes={"email": str, "tier": str, "checkLimit": Decimal, "status": str, "createdAt": str, "updatedAt": str},
    times=("createdAt", "updatedAt"),
)
CHECK_ITEM = SeedItem(
    table="CHECK",
    keys=("PK", "SK"),
    is_key=lambda item: item["SK"] == "CHECK",
    attributes={
        "userid": str,
        "url": str,
        "checkType": str,
        "delayMs": Decimal,
        "status": str,
        "attributes": dict,
        "createdAt": str,
        "updatedAt": str,
    },
    optional={"lastExecutedAt": str, "lastResult": dict},
    times=("createdAt", "updatedAt", "lastExecutedAt"),
)

GET_USER = SeedQuery(
    text="Get a specific user: Query USER table with PK = userid",
    item=USER_ITEM,
    request={"KeyConditionExpression": "PK = :userid"},
    values=lambda item: {":userid": item["PK"]},
    wants=lambda item, values: item["PK"] == values[":userid"],
)
GET_CHECK = SeedQuery(
    text="Get a specific check: Query CHECK table with PK = checkid",
    item=CHECK_ITEM,
    request={"KeyConditionExpression": "PK = :checkid"},
    values=lambda item: {":checkid": item["PK"]},
    wants=lambda item, values: item["PK"] == values[":checkid"],
)
BY_INDEX = [
    SeedQuery(
        text="Get all checks for a user: Query User-Check GSI with userid",
        item=CHECK_ITEM,
        request={"IndexName": "User-Check-Index", "KeyConditionExpression": "userid = :userid"},
        values=lambda item: {":userid": item["userid"]},
        wants=lambda item, values: item["userid"] == values[":userid"],
        ordered_by="PK",
    ),
    SeedQuery(
        text="Find user by email: Use the Email GSI in USER table",
        item=USER_ITEM,
        request={"IndexName": "Email-Index", "KeyConditionExpression": "email = :email"},
        values=lambda item: {":email": item["email"]},
        wants=lambda item, values: item["email"] == values[":email"],
        projected=frozenset({"email", "tier", "status"}),
    ),
    SeedQuery(
        text="Get checks by type and status: Use the Type-Status GSI in CHECK table",
        item=CHECK_ITEM,
        request={
            "IndexName": "Type-Status-Index",
            "KeyConditionExpression": "checkType = :type AND #status = :status",
            "ExpressionAttributeNames": {"#status": "status"},
        },
        values=lambda item: {":type": item["checkType"], ":status": item["status"]},
        wants=lambda item, values: (item["checkType"], item["status"]) == (values[":type"], values[":status"]),
        projected=frozenset({"checkType", "status", "userid", "createdAt"}),
    ),
]
MOVING = "keys, channels, sessions, second factors and alerts move to the table of accounts"
TO_ACCOUNTS = {"USER": {"APIKEY", "CHANNEL", "SIGNOUT", "TOTP"}, "CHECK": {"ALERT"}}


def use(services):
    """Do what users do, so that there is an item of each class."""
    ann, bob = services.sign_up("ann", "BUSINESS").user.userid, services.sign_up("bob").user.userid
    carl, dora = services.sign_up("carl"), services.sign_up("dora")
    for channel in do(services.channels.list_by_user(ann)):
        services.db.verify(ann, channel.channel_id, verified_at=NOON).run()
    do(services.channels.add(ann, "WEBHOOK", "https://ann.example/hook"))
    do(services.keys.add(ann, "more"))
    services.checks = replace(services.checks, manual_runs=ManualRunLimit(services.db, services.clock))
    shop, api, blog = services.add(ann, 3, attributes={"retries": 0})
    services.run(ann, shop, "uddudd")
    do(services.checks.pause(ann, api))
    do(services.checks.delete(ann, blog))
    services.add(bob, 2)
    services.add(carl.user.userid)
    do(services.users.suspend(carl.user.userid))
    services.add(dora.user.userid)
    do(services.users.delete(dora.user.userid))
    do(services.pages.publish(ann, "acme", PageContent(title="Acme", checks=[shop])))
    do(services.users.request_email(bob, "robert@example.com"))
    do(services.users.change_email(bob, "bob@example.org"))
    factors = SecondFactors(services.db, services.clock)
    secret = do(factors.begin(ann)).secret
    do(factors.confirm(ann, pyotp.TOTP(secret).at(services.clock.millis() // 1000)))
    services.db.put(EndedSession(userid=ann, session_id="s1", expires_at=NOON + timedelta(days=9))).run()
    services.clock.advance(2 * 86_400)
    services.run(ann, shop, "u")
    do(History(services.db, services.clock).finalise_days(services.check(shop)))


def add_items_of_the_original(database):
    """Write the seed's examples, and a check in a status and of a type that are not ours."""
    put_plain(database, "USER", USER)
    put_plain(database, "CHECK", CHECK)
    put_plain(database, "CHECK", CHECK | {"PK": "ghijkl", "checkType": "AI CHECK", "status": "ARCHIVED"})


@pytest.fixture(scope="module")
def filled():
    clock = ManualClock(NOON.timestamp())
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Checks)
        services = ServiceSet(database, clock)
        demo = Demo(db=services.db, clock=clock, site="http://127.0.0.1:8003", secure_site="https://127.0.0.1:8004")
        asyncio.run(demo.fill())
        use(services)
        add_items_of_the_original(database)
        deployment = DeploymentSettings(services.db, clock)
        deployment.agree_on_policy(None)
        deployment.verify_keys(kept=True)
        asyncio.run(Presence(services.db, WorkerPresence, clock).write())
        samples = hashrange.sample(Checks)  # of every class in every state, also one that is added some day
        services.db.batch([each for each in samples if type(each) is not Check]).run()  # which has no status
        yield database


@pytest.mark.parametrize("query", BY_INDEX, ids=str)
def test_a_query_of_an_index_finds_exactly_the_seeds_items(filled, query):
    assert query.run(filled) == len([item for item in scan(filled, query.item.table) if query.item.is_key(item)])


@pytest.mark.parametrize("query", [GET_USER, GET_CHECK], ids=str)
@pytest.mark.xfail(strict=True, raises=AssertionError, reason=MOVING)
def test_a_query_of_a_partition_finds_exactly_the_seeds_item(filled, query):
    query.run(filled)


@pytest.mark.parametrize("query", [GET_USER, GET_CHECK], ids=str)
def test_beside_the_seeds_item_a_partition_has_only_what_moves_to_the_table_of_accounts(filled, query):
    """Runs, roll-ups, incidents, status pages, budgets and what processes share are in none of these partitions."""
    kinds = set()
    for item in filter(query.item.is_key, scan(filled, query.item.table)):
        found = query.send(filled, query.values(item))
        kinds |= {each["SK"].partition("#")[0] for each in found if not query.item.is_key(each)}
    assert kinds == TO_ACCOUNTS[query.item.table]


def test_a_user_or_a_check_that_is_not_there_is_not_found(filled):
    for query, name in ((GET_USER, ":userid"), (GET_CHECK, ":checkid")):
        request = {"TableName": query.item.table, **query.request}
        assert read_all(filled, "Query", request | {"ExpressionAttributeValues": to_wire({name: "nobody"})}) == []
