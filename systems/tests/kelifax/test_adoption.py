"""An original table is adopted, its code may go on writing, and damaged items hide nothing."""

import asyncio
import json
from datetime import timedelta

import pytest

import hashrange
from hashrange import PlanError, Table
from hashrange_systems.kelifax.errors import AlreadyListed, DecisionTaken
from hashrange_systems.kelifax.model.web_address import normalise_url
from hashrange_systems.kelifax.schema import Decision, Kelifax, Pending, Published
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.damaged_resource import reject_damaged
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.service.resource_read import find_any, find_stored, next_moment
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.kelifax.visitor_item import TagEntry
from hashrange_systems.shared.errors import StateConflict
from systems.tests.kelifax.entries import EXAMPLE, NOON, get_plain, put_plain
from systems.tests.kelifax.services import ANN, KelifaxServices

APPROVED = {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z"}
DAMAGED = {
    "raw pipe": '{"title":"A","url":"https://a.example/?q=1|2","type":"video"}',
    "extra key": '{"title":"A","url":"https://a.example/","type":"video","level":"easy"}',
    "missing type": '{"title":"A","url":"https://a.example/"}',
}


def run(coroutine):
    return asyncio.run(coroutine)


def make_original(database):
    """The table as the original system has it: two indexes, no stream."""
    names = ("resourceSlug", "resourceStatus", "category", "createdAt")

    def index(name, key):
        keys = [{"AttributeName": key, "KeyType": "HASH"}, {"AttributeName": "createdAt", "KeyType": "RANGE"}]
        return {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}

    database.call(
        "CreateTable",
        {
            "TableName": "kelifax-resources",
            "KeySchema": [{"AttributeName": "resourceSlug", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
            "GlobalSecondaryIndexes": [index("StatusIdx", "resourceStatus"), index("CategoryIndex", "category")],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


def put_original(database, slug, **more):
    item = EXAMPLE | {"resourceSlug": slug, "resourceUrl": f"https://{slug.encode().hex()}.example/"} | more
    put_plain(database, item)
    return item


class Shop(KelifaxServices):
    """Services on a table that the original system made; the other tables are made by the adoption."""

    def __init__(self, database, clock):
        self.make = super().__init__
        self.database, self.clock = database, clock

    async def adopt(self, **options):
        db = Kelifax.open(self.database, clock=self.clock)
        from hashrange_systems.kelifax.service.deletion import Deletion

        report = await Adoption(db, self.clock, Deletion(db, self.clock)).adopt(**options)
        if not options.get("dry_run"):
            self.make(self.database, self.clock)
            self.adoption = Adoption(self.db, self.clock, self.deletion)
        return report


@pytest.fixture
def shop(database, clock):
    make_original(database)
    return Shop(database, clock)


def test_an_original_table_is_adopted_and_a_second_time_changes_nothing(shop):
    put_original(shop.database, "amazing-dev-tool", **APPROVED)
    put_original(shop.database, "my_tool-kit", **APPROVED | {"approvedAt": "2025-11-01T10:00:00.123456Z"})
    put_original(shop.database, "日本語ツール", **APPROVED | {"category": "marketing", "searchText": ""})
    put_original(shop.database, "same-url", resourceUrl="http://www.616d617a696e672d6465762d746f6f6c.example")
    put_original(shop.database, "broken", **APPROVED | {"learningResources": DAMAGED["raw pipe"]})

    async def act():
        report = await shop.adopt()
        assert any("PublicFeedIndex" in step for step in report.steps)
        described = shop.database.call("DescribeTable", {"TableName": "kelifax-resources"})["Table"]
        assert described["DeletionProtectionEnabled"], "as the page says"
        assert (report.resources, report.published, report.completed) == (5, 4, 1)
        (conflict,) = report.conflicts
        assert {conflict.kept, conflict.other} == {"amazing-dev-tool", "same-url"}
        assert list(report.damaged) == ["broken"]
        listed = (await shop.directory.browse(Filters())).entries
        assert listed[0].slug == "my_tool-kit"
        assert {entry.slug for entry in listed} == {"amazing-dev-tool", "my_tool-kit", "日本語ツール", "broken"}
        assert [entry.slug for entry in listed if entry.damage] == ["broken"]
        assert (await shop.directory.find("日本語ツール")).category == "marketing"
        assert [entry.slug for entry in (await shop.directory.browse(Filters(category="marketing"))).entries] == [
            "日本語ツール"
        ]
        tagged = (await shop.directory.browse(Filters(tags=("automation",)))).entries
        assert {entry.slug for entry in tagged} == {entry.slug for entry in listed}, "damaged ones too"
        again = await shop.adopt()
        assert (again.steps, again.published, again.claimed, again.completed) == ([], 0, 0, 0)

    run(act())
    item = get_plain(shop.database, "amazing-dev-tool")
    assert item["publishedAt"] == item["approvedAt"] == "2025-10-26T10:00:00Z"
    assert {name: item[name] for name in EXAMPLE if name not in {*APPROVED, "resourceUrl"}} == {
        name: value for name, value in EXAMPLE.items() if name not in {*APPROVED, "resourceUrl"}
    }


def test_a_dry_run_changes_nothing_and_a_table_of_another_kind_is_refused(shop, clock):
    put_original(shop.database, "amazing-dev-tool", **APPROVED)
    before = get_plain(shop.database, "amazing-dev-tool")

    async def act():
        report = await shop.adopt(dry_run=True)
        assert (report.published, report.claimed) == (1, 1)
        assert get_plain(shop.database, "amazing-dev-tool") == before
        assert shop.database.call("ListTables", {})["TableNames"] == ["kelifax-resources"]
        with hashrange.open(clock=clock) as other:
            hashrange.create_tables(other, Table("kelifax-resources", "id", deletion_protection=False))
            with pytest.raises(PlanError):
                await Shop(other, clock).adopt()

    run(act())


def test_a_dry_run_reports_what_the_real_run_reports(shop):
    put_original(shop.database, "first", **APPROVED | {"resourceUrl": "https://same.example/"})
    put_original(shop.database, "second", **APPROVED | {"resourceUrl": "http://www.same.example"})
    put_original(shop.database, "third", resourceUrl="https://same.example/#top", searchText="")
    put_original(shop.database, "broken", **APPROVED | {"learningResources": DAMAGED["raw pipe"]})
    put_original(shop.database, "broken-twin", **APPROVED | {"learningResources": DAMAGED["raw pipe"]})
    put_original(shop.database, "twin", resourceUrl=f"https://{b'broken-twin'.hex()}.example/")
    put_original(shop.database, "odd", resourceStatus="published")
    odd = EXAMPLE | APPROVED | {"resourceSlug": "no-category"}
    put_plain(shop.database, {name: value for name, value in odd.items() if name not in {"category", "resourceUrl"}})

    async def act():
        dry, real = await shop.adopt(dry_run=True), await shop.adopt()
        assert (dry.resources, dry.published, dry.claimed, dry.completed) == (8, 5, 4, 1)
        assert len(dry.conflicts) == 3
        assert set(dry.damaged) == {"broken", "broken-twin", "odd", "no-category"}
        assert dry == real

    run(act())


def test_the_url_of_what_the_originals_code_approves_is_claimed_damaged_or_not(kelifax):
    async def act():
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        consumer = adoption.make_consumer()
        put_original(kelifax.database, "beside", **APPROVED | {"resourceUrl": "https://beside.example.org/"})
        broken = {"resourceUrl": "https://broken.example.org/", "learningResources": DAMAGED["extra key"]}
        put_original(kelifax.database, "broken", **APPROVED | broken)
        await adoption.follow(consumer)
        for url, slug in (("https://www.beside.example.org", "beside"), ("http://broken.example.org", "broken")):
            with pytest.raises(AlreadyListed) as refused:
                await kelifax.submit(f"Twin of {slug}", url=url)
            assert (refused.value.existing.slug, refused.value.existing.status) == (slug, "published")
        put_original(kelifax.database, "beside", **APPROVED | {"resourceUrl": "https://moved.example.org/"})
        await adoption.follow(consumer)
        assert await kelifax.submit("A twin", url="https://beside.example.org/") == "a-twin"
        with pytest.raises(AlreadyListed):
            await kelifax.submit("Another twin", url="https://moved.example.org/")

    run(act())


def test_what_the_originals_code_writes_beside_ours_is_repaired(services_anywhere):
    async def act(kelifax):
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        consumer = adoption.make_consumer()
        await kelifax.list_resource("Pixel Kit")
        put_original(kelifax.database, "new-tool", **APPROVED)
        put_original(kelifax.database, "odd-tool", **APPROVED | {"learningResources": DAMAGED["missing type"]})
        ours = get_plain(kelifax.database, "pixel-kit")
        put_plain(kelifax.database, ours | {"resourceStatus": "rejected", "rejectedAt": "2026-01-15T13:00:00Z"})
        assert [entry.slug for entry in (await kelifax.directory.browse(Filters())).entries] == []
        await adoption.follow(consumer)
        assert {entry.slug for entry in (await kelifax.directory.browse(Filters())).entries} == {"new-tool", "odd-tool"}
        assert isinstance(await kelifax.db.resource("new-tool"), Published)
        assert "publicFeed" not in get_plain(kelifax.database, "pixel-kit")
        claims = [claim.claimed_by for claim in await kelifax.db.claims()]
        assert "pixel-kit" in claims
        kelifax.database.call(
            "DeleteItem", {"TableName": "kelifax-resources", "Key": {"resourceSlug": {"S": "pixel-kit"}}}
        )
        await adoption.follow(consumer)
        assert "pixel-kit" not in [claim.claimed_by for claim in await kelifax.db.claims()]
        assert await kelifax.db.link("pixel-kit") is None
        for tag in ("icons", "vector"):
            assert "pixel-kit" not in [entry.slug for entry in await kelifax.db.tag_entries(tag)]

    run(act(services_anywhere))


def test_what_is_approved_while_it_is_deleted_leaves_nothing_behind(services_anywhere):
    async def act(kelifax):
        consumer = (adoption := Adoption(kelifax.db, kelifax.clock, kelifax.deletion)).make_consumer()
        slug = await kelifax.submit()
        read = await find_any(kelifax.db, slug)
        await kelifax.moderation.approve(slug, ANN)
        at = await next_moment(kelifax.db, kelifax.clock, slug)
        decision = Decision(resource_slug=slug, decided_at=at, actor="ann", verdict="deleted")
        await kelifax.deletion._delete_readable(read, decision)  # what was read before the approval
        await adoption.follow(consumer)
        assert await find_stored(kelifax.db, slug) is None
        assert await kelifax.db.tag_entries("icons") == []
        assert await kelifax.db.link(slug) is None

    run(act(services_anywhere))


def test_what_the_originals_code_lists_again_is_once_in_the_list_of_its_tag(kelifax):
    async def act():
        consumer = (adoption := Adoption(kelifax.db, kelifax.clock, kelifax.deletion)).make_consumer()
        await kelifax.list_resource("Pixel Kit")
        ours = get_plain(kelifax.database, "pixel-kit")
        put_plain(kelifax.database, ours | {"resourceStatus": "rejected", "rejectedAt": "2026-01-15T13:00:00Z"})
        await adoption.follow(consumer)
        theirs = get_plain(kelifax.database, "pixel-kit")
        again = {"resourceStatus": "approved", "approvedAt": "2026-01-16T13:00:00.25Z", "rejectedAt": ""}
        put_plain(kelifax.database, theirs | again)
        await adoption.follow(consumer)
        await kelifax.list_resource("Vector Pen")
        pages = [await kelifax.directory.browse(Filters(tags=("icons",)), 1)]
        while pages[-1].cursor:
            pages.append(await kelifax.directory.browse(Filters(tags=("icons",)), 1, pages[-1].cursor))
        assert [entry.slug for page in pages for entry in page.entries] == ["pixel-kit", "vector-pen"]

    run(act())


# ── damaged items ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("lesson", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_item_shows_in_the_queue_and_can_be_rejected_and_deleted_and_nothing_else(kelifax, lesson):
    async def act():
        kelifax.clock.advance(-3600)
        await kelifax.submit("Before")
        kelifax.clock.advance(3600)
        put_original(kelifax.database, "broken", learningResources=lesson, createdAt="2026-01-15T11:30:00Z")
        await kelifax.submit("After")
        before = get_plain(kelifax.database, "broken")
        queue = (await kelifax.moderation.queue()).entries
        assert [entry.resource_slug for entry in queue] == ["before", "broken", "after"]
        assert isinstance(queue[1], DamagedItem)
        assert queue[1].text("learningResources") == lesson
        pages = [await kelifax.moderation.queue(1)]
        while pages[-1].cursor:
            pages.append(await kelifax.moderation.queue(1, pages[-1].cursor))
        assert {entry.resource_slug for page in pages for entry in page.entries} == {"before", "broken", "after"}
        assert isinstance((await kelifax.moderation.read_detail("broken")).resource, DamagedItem)
        for refused in (kelifax.moderation.approve("broken", ANN), kelifax.moderation.unpublish("broken", ANN, "No.")):
            with pytest.raises(StateConflict, match="damaged"):
                await refused
        assert get_plain(kelifax.database, "broken") == before
        await kelifax.moderation.reject("broken", ANN, "The lessons cannot be read.")
        after = get_plain(kelifax.database, "broken")
        assert (after["resourceStatus"], after["learningResources"]) == ("rejected", lesson)
        assert (await kelifax.moderation.history("broken"))[0].verdict == "rejected"
        await kelifax.deletion.delete("broken", ANN)
        assert [entry.resource_slug for entry in (await kelifax.moderation.queue()).entries] == ["before", "after"]

    run(act())


def test_a_damaged_item_shows_in_lists_search_export_and_on_its_page_without_personal_data(kelifax):
    async def act():
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        await kelifax.list_resource()
        put_original(kelifax.database, "broken", **APPROVED | {"learningResources": DAMAGED["extra key"]})
        await adoption.adopt()
        listed = (await kelifax.directory.browse(Filters())).entries
        assert [(entry.slug, bool(entry.damage)) for entry in listed] == [("pixel-kit", False), ("broken", True)]
        page = await kelifax.directory.find("broken")
        assert page.raw["learningResources"] == DAMAGED["extra key"]
        exported = {entry.slug: entry async for entry in kelifax.directory.list_all()}
        assert set(exported) == {"pixel-kit", "broken"}
        assert [entry.slug for entry in await kelifax.directory.scan("automation")] == ["broken"]
        for shown in (listed, page, json.dumps(exported["broken"].to_json())):
            assert not [word for word in ("John", "techcorp", "Doe", "+1234567890") if word in repr(shown)]

    run(act())


def test_a_damaged_item_that_was_mended_meanwhile_is_not_touched(kelifax):
    async def act():
        put_original(kelifax.database, "broken", learningResources=DAMAGED["extra key"])
        seen = (await kelifax.moderation.read_detail("broken")).resource
        put_original(kelifax.database, "broken", learningResources="")
        from hashrange_systems.kelifax.schema import Decision
        from hashrange_systems.kelifax.service.damaged_resource import reject_damaged
        from hashrange_systems.shared.epoch import from_ms

        now = from_ms(kelifax.clock.millis())
        decision = Decision(resource_slug="broken", decided_at=now, actor="ann", verdict="rejected", reason="No.")
        with pytest.raises(DecisionTaken):
            await reject_damaged(kelifax.db, seen, decision, now)
        assert get_plain(kelifax.database, "broken")["resourceStatus"] == "pending"
        assert await kelifax.moderation.history("broken") == []

    run(act())


def test_a_slug_with_a_number_sign_is_reported_and_left_alone(shop):
    async def act():
        stored = put_original(shop.database, "a#b", **APPROVED)
        put_original(shop.database, "a-b", **APPROVED)
        report = await shop.adopt()
        assert list(report.damaged) == ["a#b"]
        assert "cannot be told from the key of a claim" in report.damaged["a#b"]
        assert [entry.slug for entry in (await shop.directory.browse(Filters())).entries] == ["a-b"]
        assert get_plain(shop.database, "a#b") == stored

    run(act())


def test_a_tag_that_is_longer_than_a_key_hides_neither_its_resource_nor_others(shop):
    put_original(shop.database, "good", **APPROVED)
    put_original(shop.database, "long", **APPROVED | {"tags": f"{'x' * 3000},icons"})

    async def act():
        assert (await shop.adopt()).published == 2
        listed = (await shop.directory.browse(Filters())).entries
        assert {entry.slug for entry in listed} == {"good", "long"}
        assert [entry.slug for entry in (await shop.directory.browse(Filters(tags=("icons",)))).entries] == ["long"]
        await shop.moderation.unpublish("long", ANN, "Its tags are nonsense.")
        assert (await shop.directory.browse(Filters(tags=("icons",)))).entries == []

    run(act())


@pytest.mark.parametrize("item", [{}, {"viewCount": "many"}, {"resourceStatus": "archived", "createdAt": "2025"}])
def test_an_item_with_almost_nothing_can_be_deleted(shop, item):
    put_plain(shop.database, {"resourceSlug": "bare"} | item)

    async def act():
        assert list((await shop.adopt()).damaged) == ["bare"]
        await shop.deletion.delete("bare", ANN)
        assert await find_stored(shop.db, "bare") is None

    run(act())


@pytest.mark.parametrize("attribute", ["usagePurpose", "submitterEmail", "submissionId"])
def test_an_item_that_another_program_completes_meanwhile_is_not_touched(shop, attribute):
    whole = put_original(shop.database, "lacking")
    put_plain(shop.database, {name: value for name, value in whole.items() if name != attribute})

    async def act():
        await shop.adopt()
        read = await find_any(shop.db, "lacking")
        put_plain(shop.database, get_plain(shop.database, "lacking") | {attribute: whole[attribute]})
        decision = Decision(resource_slug="lacking", decided_at=NOON, actor="ann", verdict="rejected", reason="Empty.")
        with pytest.raises(DecisionTaken):
            await reject_damaged(shop.db, read, decision, NOON)
        assert isinstance(await find_any(shop.db, "lacking"), Pending)

    run(act())


def test_a_category_or_tags_that_another_program_changes_move_the_resource_in_the_lists(services_anywhere):
    async def act(kelifax):
        adoption = Adoption(kelifax.db, kelifax.clock, kelifax.deletion)
        consumer = adoption.make_consumer()
        slug = await kelifax.list_resource()
        broken = APPROVED | {"learningResources": DAMAGED["raw pipe"]}
        put_original(kelifax.database, "broken", **broken)
        await adoption.follow(consumer)
        for changed in (slug, "broken"):
            item = get_plain(kelifax.database, changed)
            put_plain(kelifax.database, item | {"category": "marketing", "tags": "icons,canvas"})
        await adoption.follow(consumer)

        async def read(**filters):
            return {entry.slug for entry in (await kelifax.directory.browse(Filters(**filters))).entries}

        assert await read(category="marketing") == await read(tags=("canvas",)) == {slug, "broken"}
        assert await read(category="design") == await read(category="development") == set()
        assert await kelifax.db.tag_entries("vector") == []
        await kelifax.moderation.unpublish(slug, ANN, "It is for another directory.")
        assert await read(tags=("canvas",)) == {"broken"}

    run(act(services_anywhere))


def test_adopting_again_mends_categories_that_another_program_changed_while_nothing_followed(shop):
    put_original(shop.database, "moved", **APPROVED)

    async def act():
        await shop.adopt()
        put_plain(shop.database, get_plain(shop.database, "moved") | {"category": "design"})
        await shop.adopt()
        assert (await shop.directory.browse(Filters(category="development"))).entries == []
        assert [entry.slug for entry in (await shop.directory.browse(Filters(category="design"))).entries] == ["moved"]

    run(act())


def test_adopting_again_repairs_the_lists_of_tags_and_says_how_many_entries(shop):
    put_original(shop.database, "moved", **APPROVED)
    put_original(shop.database, "rejected", **APPROVED)
    put_original(shop.database, "broken", **APPROVED | {"learningResources": DAMAGED["raw pipe"]})
    put_original(shop.database, "late", **APPROVED | {"approvedAt": "2025-11-01T10:00:00.25Z"})

    async def act():
        assert (await shop.adopt()).tags == 0
        for slug in ("moved", "broken"):
            put_plain(shop.database, get_plain(shop.database, slug) | {"tags": "canvas"})
        put_plain(shop.database, get_plain(shop.database, "rejected") | {"resourceStatus": "rejected"})
        old = TagEntry(tag="canvas", published_at=NOON - timedelta(days=400), slug="moved")  # of an earlier version
        await shop.db.put(old)
        await shop.db.put(TagEntry(tag="canvas", published_at=NOON, slug="gone"))
        former = len(str(EXAMPLE["tags"]).split(","))
        dry, real = await shop.adopt(dry_run=True), await shop.adopt()
        assert dry.tags == real.tags == 3 * former + 2 + 2
        assert {entry.slug for entry in await shop.db.tag_entries("canvas")} == {"moved", "broken"}
        assert {entry.slug for entry in await shop.db.tag_entries("automation")} == {"late"}
        canvas = (await shop.directory.browse(Filters(tags=("canvas",)))).entries
        assert {entry.slug for entry in canvas} == {"moved", "broken"}
        assert (await shop.adopt()).tags == 0

    run(act())


def test_of_resources_with_one_url_the_approved_one_keeps_the_claim_then_the_oldest(shop):
    same = {"resourceUrl": "https://same.example/"}
    put_original(shop.database, "a-pending", **same | {"createdAt": "2024-01-01T10:00:00Z"})
    put_original(shop.database, "b-pending", **same | {"createdAt": "2023-01-01T10:00:00Z"})

    async def act():
        await shop.adopt()
        assert (await shop.db.claim(normalise_url("https://same.example/"))).claimed_by == "b-pending"
        put_original(shop.database, "c-young", **same | APPROVED | {"createdAt": "2025-02-01T10:00:00.5Z"})
        put_original(shop.database, "d-old", **same | APPROVED | {"createdAt": "2025-02-01T10:00:00Z"})
        dry, real = await shop.adopt(dry_run=True), await shop.adopt()
        assert (dry.claimed, dry.conflicts) == (real.claimed, real.conflicts)
        assert (await shop.db.claim(normalise_url("https://same.example/"))).claimed_by == "d-old"
        assert [(each.kept, each.other) for each in real.conflicts] == [
            ("d-old", "c-young"), ("d-old", "b-pending"), ("d-old", "a-pending")
        ]  # fmt: skip
        assert (await shop.adopt()).claimed == 0

    run(act())
