"""The physical layout is the seed's: what the original system wrote is read here, and the other way round."""

import asyncio
import json

import pytest

from hashrange import dump_item, load_item
from hashrange_systems.kelifax.model.content import CONTENT_FIELDS
from hashrange_systems.kelifax.model.field_kind import Lesson
from hashrange_systems.kelifax.schema import Kelifax, Pending, Resource, Submission
from systems.tests.kelifax.entries import (
    EXAMPLE,
    NOON,
    approve,
    create_search_text,
    format_features_for_dynamo,
    format_learning_resources_for_dynamo,
    format_tags_for_dynamo,
    get_plain,
    make_submission,
    parse_learning_resources,
    put_plain,
    submit,
    to_plain,
    to_wire,
)

LESSONS = [
    Lesson(title="Getting Started Guide", url="https://docs.com", type="documentation"),
    Lesson(title="Video Tutorial Series", url="https://youtube.com/watch", type="video"),
]
FEATURES = [
    "Real-time collaboration with team members",
    "Integrated debugging and testing tools",
    "Automated code generation and refactoring",
]


def describe(database, name):
    return database.call("DescribeTable", {"TableName": name})["Table"]


def key_schema(description):
    return [(part["AttributeName"], part["KeyType"]) for part in description["KeySchema"]]


def test_the_table_has_the_seeds_key_and_indexes(db, database):
    table = describe(database, "kelifax-resources")
    indexes = {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}
    assert key_schema(table) == [("resourceSlug", "HASH")]
    assert key_schema(indexes["ResourceStatusIndex"]) == [("resourceStatus", "HASH"), ("createdAt", "RANGE")]
    assert key_schema(indexes["CategoryIndex"]) == [("category", "HASH"), ("createdAt", "RANGE")]
    assert {definition["AttributeType"] for definition in table["AttributeDefinitions"]} == {"S"}


def test_the_seeds_example_item_is_read_as_it_is_and_stored_back_to_the_letter(db, database):
    put_plain(database, EXAMPLE)
    entry = db.resource("amazing-dev-tool").required().run()
    assert type(entry) is Submission
    assert to_plain(dump_item(entry)) == EXAMPLE
    db.put(entry).run()
    assert get_plain(database, "amazing-dev-tool") == EXAMPLE


def test_every_attribute_of_the_example_means_what_the_seed_says(db, database):
    put_plain(database, EXAMPLE)
    entry = db.resource("amazing-dev-tool").required().run()
    assert (entry.resource_name, entry.submitter_phone, entry.last_viewed) == ("Amazing Dev Tool", "+1234567890", None)
    assert entry.tags == ["productivity", "development", "automation"]
    assert entry.use_cases == ["Rapid prototyping for startups", "Enterprise app development"]
    assert entry.learning_resources[1] == {"title": "Video Tutorial", "url": "https://video.com", "type": "video"}
    assert entry.created_at.isoformat() == "2025-10-25T10:30:00+00:00"
    assert (entry.featured, entry.view_count) == (False, 0)


@pytest.mark.parametrize(
    ("status", "more"),
    [
        ("approved", {"approvedAt": "2025-10-26T10:00:00Z"}),
        ("rejected", {"rejectedAt": "2025-10-26T10:00:00Z", "rejectionReason": "a dead link"}),
        ("rejected", {"rejectedAt": "2025-10-26T10:00:00Z"}),
    ],
)
def test_decided_resources_of_the_original_system_are_stored_back_to_the_letter(db, database, status, more):
    item = EXAMPLE | {"resourceStatus": status} | more
    put_plain(database, item)
    entry = db.resource("amazing-dev-tool").required().run()
    assert entry.resource_status == status
    assert to_plain(dump_item(entry)) == item


def test_an_item_of_the_seeds_function_with_nothing_optional_is_read(db, database):
    empty = ("submitterCompany", "submitterPhone", "logoImage", "tags", "keyFeatures", "useCases", "learningResources")
    put_plain(database, EXAMPLE | dict.fromkeys(empty, ""))
    entry = db.resource("amazing-dev-tool").required().run()
    assert type(entry) is Pending
    assert (entry.tags, entry.key_features, entry.use_cases, entry.learning_resources) == ([], [], [], [])
    assert to_plain(dump_item(entry)) == EXAMPLE | dict.fromkeys(empty, "")


def test_an_item_without_the_optional_search_and_analytics_attributes_is_read(db, database):
    optional = ("searchText", "featured", "viewCount", "lastViewed", "submitterDomain")
    put_plain(database, {name: value for name, value in EXAMPLE.items() if name not in optional})
    entry = db.resource("amazing-dev-tool").required().run()
    assert (entry.search_text, entry.featured, entry.view_count) == (None, False, 0)


def test_what_is_written_here_is_read_attribute_by_attribute_with_plain_getitem(db, database):
    submit(db, "pixel-kit", category="design", tags=["ui", "icons"], key_features=FEATURES, learning_resources=LESSONS)
    assert get_plain(database, "pixel-kit") == {
        "resourceSlug": "pixel-kit",
        "submissionId": "id-of-pixel-kit",
        "resourceStatus": "pending",
        "createdAt": "2026-01-15T12:00:00Z",
        "submittedAt": "2026-01-15T12:00:00Z",
        "approvedAt": "",
        "rejectedAt": "",
        "rejectionReason": "",
        "submitterFirstName": "Zoë",
        "submitterLastName": "Díaz",
        "submitterEmail": "zoe@techcorp.com",
        "submitterCompany": "",
        "submitterPhone": "",
        "submitterDomain": "techcorp.com",
        "resourceName": "Pixel Kit",
        "resourceUrl": "https://pixel-kit.example/",
        "usagePurpose": "It helps developers to do their work.",
        "category": "design",
        "logoImage": "",
        "tags": "ui,icons",
        "keyFeatures": "|".join(FEATURES),
        "useCases": "Rapid prototyping for startups",
        "learningResources": '{"title":"Getting Started Guide","url":"https://docs.com","type":"documentation"}'
        '|{"title":"Video Tutorial Series","url":"https://youtube.com/watch","type":"video"}',
        "searchText": "pixel kit development",
        "featured": False,
        "viewCount": 0,
        "lastViewed": "",
    }


def test_the_seeds_parsers_read_what_is_written_here(db, database):
    submit(db, "pixel-kit", tags=["ui", "icons"], key_features=FEATURES, learning_resources=LESSONS)
    item = get_plain(database, "pixel-kit")
    assert item["tags"].split(",") == ["ui", "icons"]
    assert item["keyFeatures"].split("|") == FEATURES
    assert parse_learning_resources(item["learningResources"]) == LESSONS


def test_what_the_seeds_formatters_write_is_read_here(db, database):
    written = {
        "tags": format_tags_for_dynamo(["ui", "icons"]),
        "keyFeatures": format_features_for_dynamo(FEATURES),
        "learningResources": format_learning_resources_for_dynamo(LESSONS),  # with json.dumps' spaces
        "searchText": create_search_text("Pixel Kit", ["ui", "icons"], "design", FEATURES),
    }
    put_plain(database, EXAMPLE | written)
    entry = db.resource("amazing-dev-tool").required().run()
    assert (entry.tags, entry.key_features, entry.learning_resources) == (["ui", "icons"], FEATURES, LESSONS)
    assert entry.search_text.startswith("pixel kit design ui icons real-time")


def test_a_decided_resource_has_the_seeds_attributes_and_only_the_added_index_keys_besides(db, database):
    approve(db, submit(db, "pixel-kit"), NOON)
    item = get_plain(database, "pixel-kit")
    assert set(item) - set(EXAMPLE) == {"publishedAt", "publicFeed", "publicCategory"}
    assert (item["approvedAt"], item["rejectedAt"], item["rejectionReason"]) == ("2026-01-15T12:00:00Z", "", "")


def test_categories_and_kinds_of_lessons_that_are_not_ours_are_readable(db, database):
    lesson = json.dumps({"title": "A talk", "url": "https://t.example", "type": "podcast"})
    put_plain(database, EXAMPLE | {"category": "marketing", "learningResources": lesson})
    entry = db.resource("amazing-dev-tool").required().run()
    assert type(entry) is Pending
    assert (entry.category, entry.learning_resources[0]["type"]) == ("marketing", "podcast")


def test_the_original_systems_own_attributes_survive_a_decision(db, database):
    put_plain(database, EXAMPLE | {"updatedAt": "2025-10-25T10:30:00Z", "homepageRank": 7})
    db.reject(db.resource("amazing-dev-tool").required().run(), NOON, "a dead link").run()
    item = get_plain(database, "amazing-dev-tool")
    assert (item["updatedAt"], item["homepageRank"], item["resourceStatus"]) == ("2025-10-25T10:30:00Z", 7, "rejected")


def test_the_guard_items_are_no_resources():
    for key in ("URL#https://a.example", "ALIAS#a", "VIEWS#a", "HOLD#a"):
        assert load_item([Resource], to_wire(EXAMPLE | {"resourceSlug": key})) is None


def test_an_item_stays_far_below_fifty_attributes():
    assert len(dump_item(make_submission())) < 50
    added = {each.name for each in CONTENT_FIELDS if each.kind.stored == set[str]}  # not stored while it is empty
    assert set(Kelifax.plans["resource"].needs) == {*EXAMPLE, *added, "damage"}


def test_records_of_earlier_versions_that_have_their_slug_only_in_the_key_are_read(kelifax):
    async def act():
        await kelifax.list_resource("Pixel Kit", tags=["icons"])
        scan = {"TableName": "kelifax-records"}
        for item in kelifax.database.call("Scan", scan)["Items"]:
            if item["pk"]["S"].startswith(("TAG#", "PERSON#")):
                old = {name: value for name, value in item.items() if name not in {"slug", "reference"}}
                kelifax.database.call("PutItem", {"TableName": "kelifax-records", "Item": old})
        assert [entry.slug for entry in await kelifax.db.tag_entries("icons")] == ["pixel-kit"]
        assert [link.reference for link in await kelifax.db.links("zoe@techcorp.com")] == ["pixel-kit"]

    asyncio.run(act())
