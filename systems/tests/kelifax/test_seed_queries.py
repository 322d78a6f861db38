"""The queries of seed 003, to the letter: on the demo, what visitors and admins do, and an item of each class."""

import asyncio
from decimal import Decimal

import pytest

import hashrange
from hashrange import ManualClock, dump_item
from hashrange_systems.kelifax.demo.demo_data import Demo
from hashrange_systems.kelifax.schema import Kelifax, Resource
from systems.tests.conftest import NOON
from systems.tests.kelifax.entries import EXAMPLE, put_plain
from systems.tests.kelifax.services import ANN, KelifaxServices
from systems.tests.seed_query import SeedItem, SeedQuery, scan

TABLE = "kelifax-resources"
TEXTS = (
    "submissionId", "resourceStatus", "createdAt", "submittedAt", "approvedAt", "rejectedAt", "rejectionReason",
    "submitterFirstName", "submitterLastName", "submitterEmail", "submitterCompany", "submitterPhone", "resourceName",
    "resourceUrl", "usagePurpose", "category", "logoImage", "tags", "keyFeatures", "useCases", "learningResources",
)  # fmt: skip
RESOURCE = SeedItem(
    table=TABLE,
    keys=("resourceSlug",),
    is_key=lambda item: "#" not in item["resourceSlug"],
    attributes=dict.fromkeys(TEXTS, str),
    optional={"searchText": str, "featured": bool, "viewCount": Decimal, "lastViewed": str, "submitterDomain": str},
    times=("createdAt", "submittedAt", "approvedAt", "rejectedAt", "lastViewed"),
)
OCTOBER = "2025-10-01"


def by_status(text, status, since=None, **request):
    recent = " AND createdAt > :since" if since else ""
    return SeedQuery(
        text=text,
        item=RESOURCE,
        request={
            "IndexName": "ResourceStatusIndex",
            "KeyConditionExpression": f"resourceStatus = :status{recent}",
            **request,
        },
        values=lambda _item: {":status": status} | ({":since": since} if since else {}),
        wants=lambda item, _values: item["resourceStatus"] == status and item["createdAt"] > (since or ""),
        ordered_by="createdAt",
    )


def by_category(text, since=None, status=None, **request):
    recent = " AND createdAt > :since" if since else ""
    given = ({":since": since} if since else {}) | ({":approved": status} if status else {})
    return SeedQuery(
        text=text,
        item=RESOURCE,
        request={"IndexName": "CategoryIndex", "KeyConditionExpression": f"category = :category{recent}", **request},
        values=lambda item: {":category": item["category"], **given},
        wants=lambda item, values: (
            item["category"] == values[":category"]
            and item["createdAt"] > (since or "")
            and status in (None, item["resourceStatus"])
        ),
        ordered_by="createdAt",
    )


NEWEST = {"ScanIndexForward": False}
QUERIES = [
    SeedQuery(
        text="Get Resource by Slug: Direct PK lookup",
        item=RESOURCE,
        operation="GetItem",
        values=lambda item: {"resourceSlug": item["resourceSlug"]},
        wants=lambda item, values: item["resourceSlug"] == values["resourceSlug"],
    ),
    by_status("Get all pending resources (admin): resourceStatus = 'pending'", "pending"),
    by_status("Get all approved resources (public): resourceStatus = 'approved'", "approved"),
    by_status("Get recently submitted: resourceStatus = 'pending', createdAt > '2025-10-01'", "pending", OCTOBER),
    by_status("List All Approved Resources, newest first", "approved", **NEWEST),
    by_category("Get all development resources: category = 'development'"),
    by_category("Get recent design tools: category = 'design', createdAt > '2025-10-01'", OCTOBER),
    by_category(
        "List Approved by Category: GSI query on CategoryIndex + FilterExpression",
        status="approved",
        FilterExpression="resourceStatus = :approved",
        **NEWEST,
    ),
    SeedQuery(
        text="Text Search: Scan with filter on searchText",
        item=RESOURCE,
        operation="Scan",
        request={"FilterExpression": "contains(searchText, :text)"},
        values=lambda item: {":text": item.get("searchText", "")[:8] or "automation tool"},
        wants=lambda item, values: values[":text"] in item.get("searchText", ""),
    ),
    SeedQuery(
        text="Analytics Queries: Filter by submitterDomain",
        item=RESOURCE,
        operation="Scan",
        request={"FilterExpression": "submitterDomain = :domain"},
        values=lambda item: {":domain": item.get("submitterDomain", "techcorp.com")},
        wants=lambda item, values: item.get("submitterDomain") == values[":domain"],
    ),
    SeedQuery(
        text="Analytics Queries: Filter by viewCount",
        item=RESOURCE,
        operation="Scan",
        request={"FilterExpression": "viewCount >= :views"},
        values=lambda item: {":views": item.get("viewCount", 1)},
        wants=lambda item, values: item.get("viewCount", -1) >= values[":views"],
    ),
]


async def use(services):
    """List, submit, reject and edit resources."""
    await Demo(services).fill()
    await services.list_resource("Pixel Kit")
    slug = await services.submit("Vector Kit", email="zoe@vector.example")
    await services.moderation.reject(slug, ANN, "It is sold.")


@pytest.fixture(scope="module")
def filled():
    clock = ManualClock(NOON)
    with hashrange.open(clock=clock) as database:
        services = KelifaxServices(database, clock)
        asyncio.run(use(services))
        put_plain(database, EXAMPLE | {"createdAt": "2025-09-01T10:30:00Z"})
        put_plain(database, EXAMPLE | {"resourceSlug": "old-tool", "resourceStatus": "approved"})
        samples = hashrange.sample(Kelifax)  # of every class in every state, also one that is added some day
        for sample in samples:
            if "resourceSlug" in dump_item(sample) and type(sample) is not Resource:  # which has no status
                services.db.batch([sample]).run()
        yield database


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query_of_seed_003_finds_exactly_the_seeds_items(filled, query):
    assert query.run(filled) > 0


def test_guards_and_aliases_are_in_no_index_of_the_seed(filled):
    added = [item for item in scan(filled, TABLE) if not RESOURCE.is_key(item)]
    assert {item["resourceSlug"].partition("#")[0] for item in added} == {"URL", "ALIAS"}
    for item in added:
        assert not {"resourceStatus", "category", "searchText", "submitterDomain", "viewCount"} & item.keys()
