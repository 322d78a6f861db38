"""Damaged items: what the public reads about them, how they are erased, mended, rejected and taken back."""

import asyncio
import json

import pytest

from hashrange_systems.kelifax.logos.logo_consumer import LogoConsumer
from hashrange_systems.kelifax.logos.logo_schema import LogoRecords
from hashrange_systems.kelifax.schema import Published
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.search.query import SearchQuery
from hashrange_systems.kelifax.search.search import Search
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.analytics import Analytics
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.shared.errors import StateConflict
from systems.tests.kelifax.entries import EXAMPLE, get_plain, put_plain, to_wire
from systems.tests.kelifax.services import ANN

APPROVED = EXAMPLE | {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z"}
LESSON = '{"title":"A","url":"https://a.example/?q=1|2","type":"video"}'
PRIVATE = {
    "submitterPhone": 4930123456789,
    "submitterCompany": {"name": "Secret Person: Input", "mail": "secret.person@private.example"},
    "submitterFirstName": ["Secretfirst"],
    "submitterEmail": {"address": "secret.person@private.example"},
    "submissionId": ["secret-submission"],
}
SECRETS = ("4930123456789", "Secret", "secret", "private.example", "submitter", "submission")


def run(coroutine):
    return asyncio.run(coroutine)


def store(kelifax, slug="odd-tool", **more):
    put_plain(kelifax.database, APPROVED | {"resourceSlug": slug, "resourceUrl": f"https://{slug}.example/"} | more)


def find_secrets(*shown):
    return [word for word in SECRETS if word in repr(shown)]


def read_index(kelifax, name):
    return kelifax.database.call("Scan", {"TableName": "kelifax-resources", "IndexName": name})["Items"]


# ── personal data ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("attribute", PRIVATE)
def test_the_public_reads_neither_the_value_nor_the_name_of_a_private_attribute_that_is_damaged(kelifax, attribute):
    async def act():
        store(kelifax, **{attribute: PRIVATE[attribute]})
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        await adoption.adopt()
        listed = (await kelifax.directory.browse(Filters())).entries
        page = await kelifax.directory.find("odd-tool")
        exported = [entry.to_json() async for entry in kelifax.directory.list_all()]
        assert listed[0].damage == page.damage == "an attribute that is not public cannot be read"
        assert find_secrets(listed, page, json.dumps(exported), await kelifax.directory.scan("automation")) == []
        for index in ("PublicFeedIndex", "PublicCategoryIndex"):
            assert find_secrets(read_index(kelifax, index)) == []
        with pytest.raises(StateConflict) as refused:
            await kelifax.reviews.vote("odd-tool", "visitor", "client")
        assert find_secrets(str(refused.value)) == []
        assert (await kelifax.moderation.read_detail("odd-tool")).resource.reason == f"{attribute} must be a text"

    run(act())


def test_a_reason_names_the_attribute_and_the_rule_and_never_the_value(kelifax):
    async def act():
        store(kelifax, "pipe", learningResources=LESSON)
        store(kelifax, "time", approvedAt="yesterday at noon")
        store(kelifax, "nothing", resourceName="")
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        reasons = {slug: (await kelifax.directory.find(slug)).damage for slug in ("pipe", "time", "nothing")}
        assert reasons == {
            "pipe": "learningResources must be JSON objects with title, url and type, joined by pipes",
            "time": "approvedAt must be a time such as 2026-01-15T12:00:00Z",
            "nothing": "resourceName is missing",
        }

    run(act())


def test_a_reason_that_was_stored_with_a_value_is_not_shown_and_adoption_replaces_it(kelifax):
    async def act():
        old = {"publishedAt": "2025-10-26T10:00:00Z", "publicFeed": "approved", "publicCategory": "development"}
        store(kelifax, **old, submitterPhone=4930123456789, damage={"Approved.submitter_phone is 4930123456789: no"})
        listed = (await kelifax.directory.browse(Filters())).entries
        assert (bool(listed[0].damage), find_secrets(listed)) == (True, [])
        report = await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        assert report.published == 0
        assert find_secrets(read_index(kelifax, "PublicFeedIndex")) == []

    run(act())


def test_the_worker_replaces_reasons_that_earlier_versions_stored_with_values_once(kelifax):
    async def act():
        public = {"publishedAt": "2025-10-26T10:00:00Z", "publicFeed": "approved", "publicCategory": "development"}
        quoting = {"damage": {"Approved.submitter_phone is 4930123456789: no"}}
        rejected = {"resourceStatus": "rejected", "rejectedAt": "2025-10-27T10:00:00Z", "rejectionReason": "no"}
        store(kelifax, "listed", **public, **quoting, submitterPhone={"number": 1})
        store(kelifax, "mended", **public, **quoting)
        store(kelifax, "rejected", **quoting, **rejected)
        store(kelifax, "text", **public, damage="Approved.submitter_phone is 4930123456789")
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        assert await adoption.replace_reasons() == 4
        for index in (None, "PublicFeedIndex", "PublicCategoryIndex", "ResourceStatusIndex", "CategoryIndex"):
            where = {"IndexName": index} if index else {}
            stored = kelifax.database.call("Scan", {"TableName": "kelifax-resources", **where})["Items"]
            assert "4930123456789" not in repr(stored), index
        damage = {slug: get_plain(kelifax.database, slug).get("damage") for slug in ("listed", "mended", "rejected")}
        assert damage == {
            "listed": {"an attribute that is not public cannot be read"},
            "mended": None,
            "rejected": None,
        }
        store(kelifax, "later", **public, **quoting)
        assert await adoption.replace_reasons() == 0, "the table is read once, not every hour"

    run(act())


def test_erasing_a_person_clears_the_damage_and_finds_items_of_any_status(kelifax):
    async def act():
        person = {"submitterEmail": "jane@leaky.example.org", "submitterDomain": "leaky.example.org"}
        store(kelifax, "phone", **person, submitterPhone=4930123456789)
        store(kelifax, "lesson", **person, submitterPhone=4930123456789, learningResources=LESSON)
        store(kelifax, "status", **person, resourceStatus="published")
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        report = await kelifax.privacy.erase_person("jane@leaky.example.org", ANN)
        assert sorted(report.resources) == ["lesson", "phone", "status"]
        stored = kelifax.database.call("Scan", {"TableName": "kelifax-resources"})["Items"]
        assert not [word for word in ("leaky", "4930123456789", "John") if word in repr(stored)]
        assert "damage" not in get_plain(kelifax.database, "phone")
        damage = {entry.slug: entry.damage for entry in (await kelifax.directory.browse(Filters())).entries}
        assert damage["phone"] is None
        assert damage["lesson"].startswith("learningResources must")

    run(act())


# ── mended, undone, unknown ──────────────────────────────────────────────────────────────────────────────────────────
def test_an_item_that_another_program_mended_is_no_longer_marked(kelifax):
    async def act():
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        consumer = adoption.make_consumer()
        store(kelifax, learningResources=LESSON)
        await adoption.follow(consumer)
        assert (await kelifax.directory.browse(Filters())).entries[0].damage
        put_plain(kelifax.database, get_plain(kelifax.database, "odd-tool") | {"learningResources": ""})
        await adoption.follow(consumer)
        assert (await kelifax.directory.browse(Filters())).entries[0].damage is None
        assert "damage" not in get_plain(kelifax.database, "odd-tool")

    run(act())


def test_the_rejection_of_a_damaged_item_can_be_undone_and_everything_is_as_it_was(kelifax):
    async def act():
        store(kelifax, learningResources=LESSON)
        store(kelifax, "waiting", resourceStatus="pending", approvedAt="", learningResources=LESSON)
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        before = {slug: get_plain(kelifax.database, slug) for slug in ("odd-tool", "waiting")}
        for slug in before:
            await kelifax.moderation.reject(slug, ANN, "The lessons cannot be read.")
            assert get_plain(kelifax.database, slug)["resourceStatus"] == "rejected"
        assert (await kelifax.directory.browse(Filters())).entries == []
        for slug, item in before.items():
            await kelifax.moderation.undo(slug, ANN)
            assert get_plain(kelifax.database, slug) == item
        with pytest.raises(StateConflict):
            await kelifax.moderation.undo("odd-tool", ANN)

    run(act())


def test_undoing_the_rejection_of_an_item_that_was_mended_meanwhile_lists_it_again(kelifax):
    async def act():
        store(kelifax, learningResources=LESSON)
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        await kelifax.moderation.reject("odd-tool", ANN, "The lessons cannot be read.")
        put_plain(kelifax.database, get_plain(kelifax.database, "odd-tool") | {"learningResources": ""})
        await kelifax.moderation.undo("odd-tool", ANN)
        assert isinstance(await kelifax.db.resource("odd-tool"), Published)

    run(act())


def test_an_approved_item_without_the_time_of_its_approval_or_a_category_is_in_the_lists(kelifax):
    async def act():
        await kelifax.list_resource()
        store(kelifax, "no-time", approvedAt="")
        item = {name: value for name, value in APPROVED.items() if name not in {"category", "approvedAt"}}
        put_plain(kelifax.database, item | {"resourceSlug": "no-category", "resourceUrl": "https://other.example/"})
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        listed = {entry.slug: entry for entry in (await kelifax.directory.browse(Filters())).entries}
        assert set(listed) == {"pixel-kit", "no-time", "no-category"}
        assert (listed["no-time"].published_at.year, listed["no-time"].damage) == (2025, "approvedAt is missing")
        other = (await kelifax.directory.browse(Filters(category="other"))).entries
        assert [entry.slug for entry in other] == ["no-category"]

    run(act())


def test_an_item_of_an_unknown_status_can_be_opened_counted_and_deleted_and_holds_its_slug(kelifax):
    async def act():
        store(kelifax, "pixel-kit", resourceStatus="published")
        found = (await kelifax.moderation.read_detail("pixel-kit")).resource
        assert isinstance(found, DamagedItem)
        assert found.reason == "resourceStatus must be pending, approved or rejected"
        assert (await Analytics(kelifax.db).report()).damaged == 1
        assert (await kelifax.submissions.duplicates.find_by_slug("pixel-kit")).status == "damaged"
        with pytest.raises(StateConflict):
            await kelifax.moderation.approve("pixel-kit", ANN)
        await kelifax.deletion.delete("pixel-kit", ANN)
        assert kelifax.database.call("Scan", {"TableName": "kelifax-resources"})["Items"] == []

    run(act())


def test_an_item_that_cannot_be_followed_in_the_stream_leaves_no_copy_of_itself(kelifax):
    async def act():
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        consumer = adoption.make_consumer()
        odd = {name: value for name, value in APPROVED.items() if name != "resourceUrl"}
        wire = to_wire(odd | {"resourceSlug": "no-url", "viewCount": {}, "logoImage": 7})
        kelifax.database.call("PutItem", {"TableName": "kelifax-resources", "Item": wire | {"tags": {"NS": ["1"]}}})
        index_consumer = IndexConsumer(kelifax.db)
        await index_consumer.catch_up()
        await adoption.follow(consumer)
        await index_consumer.catch_up()
        await LogoConsumer(kelifax.db, LogoRecords.open(kelifax.database, clock=kelifax.clock)).catch_up()
        found = await Search(kelifax.db, index_consumer).find(SearchQuery(text="automation"))
        assert [(hit.document.slug, bool(hit.document.damage)) for hit in found.hits] == [("no-url", True)]
        stored = kelifax.database.call("Scan", {"TableName": "kelifax-checkpoints"})["Items"]
        assert "techcorp" not in repr(stored)

    run(act())
