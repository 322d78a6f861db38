"""Moderation: the queue, decisions of several moderators, undo, features, edits, bulk, deletion."""

import asyncio
from datetime import timedelta

import pytest

from hashrange import CursorInvalid
from hashrange_systems.kelifax.errors import AlreadyListed, DecisionTaken, HeldByAnother, NotPermitted
from hashrange_systems.kelifax.schema import Pending, Published, Rejected
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing, StateConflict
from systems.tests.kelifax.entries import EXAMPLE, get_plain, put_plain
from systems.tests.kelifax.services import ANN, BOB, make_form

MINUTE, HOUR = 60, 3600


def run(coroutine):
    return asyncio.run(coroutine)


async def finish_confirmation(*attempts):
    """What came of each attempt, made at once."""
    return await asyncio.gather(*attempts, return_exceptions=True)


def test_of_two_moderators_one_wins_and_the_other_sees_who_and_what(services_anywhere):
    async def act(kelifax):
        await kelifax.submit()
        outcomes = await finish_confirmation(
            kelifax.moderation.approve("pixel-kit", ANN), kelifax.moderation.reject("pixel-kit", BOB, "No, thank you.")
        )
        (lost,) = [found for found in outcomes if isinstance(found, DecisionTaken)]
        (won,) = [found for found in outcomes if not isinstance(found, Exception)]
        assert lost.actor == won.actor
        assert lost.state == won.verdict
        assert [step.verdict for step in await kelifax.moderation.history("pixel-kit")] == [won.verdict, "submitted"]

    run(act(services_anywhere))


def test_a_double_click_decides_once(kelifax):
    async def act():
        await kelifax.submit()
        outcomes = await finish_confirmation(*(kelifax.moderation.approve("pixel-kit", ANN) for _ in range(5)))
        assert sum(isinstance(found, DecisionTaken) for found in outcomes) == 4
        assert len(await kelifax.messages.list_about("zoe@techcorp.com")) == 1

    run(act())


def test_a_held_resource_is_decided_by_its_holder_until_the_lease_ends(kelifax):
    async def act():
        await kelifax.submit()
        await kelifax.moderation.hold("pixel-kit", ANN)
        with pytest.raises(HeldByAnother, match="ann"):
            await kelifax.moderation.hold("pixel-kit", BOB)
        with pytest.raises(HeldByAnother):
            await kelifax.moderation.approve("pixel-kit", BOB)
        kelifax.clock.advance(11 * MINUTE)
        await kelifax.moderation.hold("pixel-kit", BOB)
        await kelifax.moderation.approve("pixel-kit", BOB)
        assert await kelifax.moderation.find_hold("pixel-kit") is None

    run(act())


def test_the_queue_is_oldest_first_in_pages_and_refuses_foreign_cursors(kelifax):
    async def act():
        for number in range(5):
            await kelifax.submit(f"Tool {number}")
            kelifax.clock.advance(MINUTE)
        first = await kelifax.moderation.queue(2)
        second = await kelifax.moderation.queue(2, first.cursor)
        third = await kelifax.moderation.queue(2, second.cursor)
        listed = [entry.resource_slug for page in (first, second, third) for entry in page.entries]
        assert listed == [f"tool-{number}" for number in range(5)]
        assert third.cursor is None
        with pytest.raises(CursorInvalid):
            await kelifax.moderation.rejected(2, first.cursor)

    run(act())


def test_the_mail_of_a_decision_waits_until_it_cannot_be_undone(kelifax):
    async def act():
        await kelifax.submit()
        await kelifax.moderation.reject("pixel-kit", ANN, "The page is empty.")
        assert await kelifax.send_mails() == []
        await kelifax.moderation.undo("pixel-kit", ANN)
        kelifax.clock.advance(HOUR)
        assert await kelifax.send_mails() == []
        await kelifax.moderation.approve("pixel-kit", ANN)
        kelifax.clock.advance(11 * MINUTE)
        (mail,) = await kelifax.send_mails()
        assert (mail.recipient, mail.notification.subject) == ("zoe@techcorp.com", "Pixel Kit is listed")
        with pytest.raises(StateConflict, match="too late"):
            await kelifax.moderation.undo("pixel-kit", ANN)

    run(act())


def test_each_decision_is_undone_to_what_was_there(services_anywhere):
    async def act(kelifax):
        await kelifax.submit()
        for decide in (
            kelifax.moderation.approve("pixel-kit", ANN),
            kelifax.moderation.reject("pixel-kit", ANN, "Empty."),
        ):
            await decide
            await kelifax.moderation.undo("pixel-kit", ANN)
            assert isinstance(await kelifax.db.resource("pixel-kit"), Pending)
            assert (await kelifax.directory.browse(Filters())).entries == []
            assert (await kelifax.directory.browse(Filters(tags=("icons",)))).entries == []
        await kelifax.moderation.approve("pixel-kit", ANN)
        before = await kelifax.db.resource("pixel-kit")
        kelifax.clock.advance(HOUR)
        await kelifax.moderation.unpublish("pixel-kit", ANN, "Sold to another company.")
        assert isinstance(await kelifax.db.resource("pixel-kit"), Rejected)
        await kelifax.moderation.undo("pixel-kit", ANN)
        after = await kelifax.db.resource("pixel-kit")
        assert isinstance(after, Published)
        assert (after.approved_at, after.published_at) == (before.approved_at, before.published_at)
        assert [entry.slug for entry in (await kelifax.directory.browse(Filters(tags=("icons",)))).entries] == [
            "pixel-kit"
        ]
        verdicts = [step.verdict for step in await kelifax.moderation.history("pixel-kit")]
        assert verdicts[:3] == ["undone", "unpublished", "approved"]

    run(act(services_anywhere))


def test_a_decision_is_undone_although_something_else_about_the_resource_was_decided_after_it(kelifax):
    async def act():
        slug = await kelifax.list_resource()
        review = {
            "rating": "5",
            "text": "A review that is long enough.",
            "displayName": "Bo",
            "email": "bo@example.com",
        }
        await kelifax.reviews.submit(slug, review, "c")
        await kelifax.reviews.confirm(await kelifax.find_token("confirm-review"))
        (waiting,), _ = await kelifax.reviews.waiting()
        await kelifax.reviews.publish(slug, waiting.reviewer, BOB)
        await kelifax.link_checks.report(slug, "c")
        await kelifax.link_checks.dismiss(slug, BOB)
        await kelifax.moderation.edit(slug, {"category": "ai"}, BOB)
        await kelifax.moderation.feature(slug, BOB)
        await kelifax.moderation.add_alias(slug, "pixelkit", ANN)
        with pytest.raises(DecisionTaken) as late:
            await kelifax.moderation.approve(slug, BOB)
        assert (late.value.state, late.value.actor) == ("approved", "ann")
        with pytest.raises(NotPermitted):
            await kelifax.moderation.undo(slug, BOB)
        await kelifax.moderation.undo(slug, ANN)
        assert isinstance(await kelifax.db.resource(slug), Pending)
        assert (await kelifax.directory.browse(Filters())).entries == []
        kelifax.clock.advance(HOUR)
        assert "submission-approved" not in [mail.notification.data["topic"] for mail in await kelifax.send_mails()]
        with pytest.raises(StateConflict, match="no decision"):
            await kelifax.moderation.undo(slug, ANN)

    run(act())


def test_a_moderator_does_not_undo_what_another_decided_and_an_admin_may(kelifax):
    async def act():
        await kelifax.submit()
        await kelifax.moderation.approve("pixel-kit", ANN)
        with pytest.raises(NotPermitted):
            await kelifax.moderation.undo("pixel-kit", BOB)
        await kelifax.moderation.undo("pixel-kit", ANN)
        with pytest.raises(StateConflict, match="no decision"):
            await kelifax.moderation.undo("pixel-kit", ANN)

    run(act())


def test_a_feature_starts_and_ends_at_its_times(kelifax):
    async def act():
        await kelifax.list_resource()
        now = from_ms(kelifax.clock.millis())
        await kelifax.moderation.feature("pixel-kit", ANN, now + timedelta(hours=1), now + timedelta(hours=2))
        seen = []
        for _ in range(4):
            await kelifax.moderation.run_due_features()
            seen.append([entry.slug for entry in await kelifax.directory.featured()])
            kelifax.clock.advance(40 * MINUTE)
        assert seen == [[], [], ["pixel-kit"], []]
        assert await kelifax.db.feature_plan("pixel-kit") is None
        with pytest.raises(InvalidInput):
            await kelifax.moderation.feature("pixel-kit", ANN, now + timedelta(hours=9), now + timedelta(hours=8))

    run(act())


def test_the_feature_of_a_resource_that_another_program_damaged_starts_and_ends_at_its_times(services_anywhere):
    async def act(kelifax):
        slug = await kelifax.list_resource()
        now = from_ms(kelifax.clock.millis())
        await kelifax.moderation.feature(slug, ANN, now + timedelta(hours=1), now + timedelta(hours=2))
        put_plain(kelifax.database, get_plain(kelifax.database, slug) | {"learningResources": "nonsense"})
        seen = []
        for _ in range(4):
            await kelifax.moderation.run_due_features()
            seen.append(bool(get_plain(kelifax.database, slug)["featured"]))
            kelifax.clock.advance(40 * MINUTE)
        assert seen == [False, False, True, False]
        assert await kelifax.db.feature_plan(slug) is None

    run(act(services_anywhere))


def test_a_feature_ends_with_an_unpublication_and_comes_back_with_its_end_when_that_is_undone(services_anywhere):
    async def act(kelifax):
        slug = await kelifax.list_resource()
        now = from_ms(kelifax.clock.millis())
        await kelifax.moderation.feature(slug, ANN, None, now + timedelta(hours=1))
        await kelifax.moderation.unpublish(slug, ANN, "Sold to another company.")
        assert not (await kelifax.db.resource(slug)).featured
        await kelifax.moderation.undo(slug, ANN)
        assert [entry.slug for entry in await kelifax.directory.featured()] == [slug]
        kelifax.clock.advance(2 * HOUR)
        await kelifax.moderation.run_due_features()
        assert await kelifax.directory.featured() == []

    run(act(services_anywhere))


def test_a_resource_that_is_approved_again_is_not_featured_by_what_was_decided_before(kelifax):
    async def act():
        slug = await kelifax.submit()
        await kelifax.moderation.approve(slug, ANN)
        await kelifax.moderation.feature(slug, ANN)
        await kelifax.moderation.undo(slug, ANN)  # the approval
        await kelifax.moderation.approve(slug, ANN)
        assert await kelifax.directory.featured() == []

    run(act())


def test_bulk_decides_each_on_its_own(kelifax):
    async def act():
        for name in ("One Tool", "Two Tool"):
            await kelifax.submit(name)
        outcomes = await kelifax.moderation.bulk("approve", ["one-tool", "none", "two-tool", "one-tool"], ANN)
        assert [(each.slug, each.error is None) for each in outcomes] == [
            ("one-tool", True),
            ("none", False),
            ("two-tool", True),
        ]

    run(act())


@pytest.mark.parametrize("reason", ["", "  ", "no", "x" * 501])
def test_a_rejection_says_why(kelifax, reason):
    async def act():
        await kelifax.submit()
        with pytest.raises(InvalidInput):
            await kelifax.moderation.reject("pixel-kit", ANN, reason)
        assert isinstance(await kelifax.db.resource("pixel-kit"), Pending)

    run(act())


def test_an_edit_changes_every_list_keeps_the_former_content_and_refuses_wrong_fields(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource()
        await kelifax.moderation.edit("pixel-kit", {"category": "ai", "tags": ["vector", "grid"]}, ANN)
        assert (await kelifax.directory.browse(Filters(category="design"))).entries == []
        for filters in (Filters(category="ai"), Filters(tags=("grid",)), Filters(tags=("vector", "grid"))):
            assert [entry.slug for entry in (await kelifax.directory.browse(filters)).entries] == ["pixel-kit"]
        assert (await kelifax.directory.browse(Filters(tags=("icons",)))).entries == []
        (revision,) = (await kelifax.moderation.read_detail("pixel-kit")).revisions
        assert (revision.content["category"], revision.content["tags"]) == ("design", ["icons", "vector"])
        with pytest.raises(InvalidInput):
            await kelifax.moderation.edit("pixel-kit", {"featured": True}, ANN)
        await kelifax.list_resource("Other", url="https://other.example.com/")
        with pytest.raises(AlreadyListed):
            await kelifax.moderation.edit("pixel-kit", {"resourceUrl": "https://other.example.com/"}, ANN)

    run(act(services_anywhere))


def test_an_entry_of_the_original_that_breaks_rules_can_be_edited_where_it_does_not(kelifax):
    async def act():
        tags = ",".join(f"tag{number}" for number in range(16))
        old = EXAMPLE | {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z", "tags": f"a, b,,{tags}"}
        put_plain(kelifax.database, old | {"keyFeatures": "short", "useCases": ""})
        await Adoption(kelifax.db, kelifax.clock, kelifax.deletion).adopt()
        await kelifax.moderation.edit("amazing-dev-tool", {"category": "ai", "keyFeatures": ["short"]}, ANN)
        stored = get_plain(kelifax.database, "amazing-dev-tool")
        assert (stored["category"], stored["tags"]) == ("ai", old["tags"])
        await kelifax.suggestions.suggest("amazing-dev-tool", {"category": "design"}, "c")
        with pytest.raises(InvalidInput) as refused:
            await kelifax.moderation.edit("amazing-dev-tool", {"keyFeatures": ["shorter"]}, ANN)
        assert {error.field.partition("[")[0] for error in refused.value.errors} == {"details.keyFeatures"}

    run(act())


def test_a_former_slug_leads_to_the_resource_and_cannot_be_taken(kelifax):
    async def act():
        await kelifax.list_resource()
        await kelifax.moderation.add_alias("pixel-kit", "pixelkit", ANN)
        assert (await kelifax.directory.find("pixelkit")).slug == "pixel-kit"
        with pytest.raises(AlreadyListed):
            await kelifax.submissions.submit(make_form("PixelKit", "https://new.example.com/"), "c")
        with pytest.raises(AlreadyListed):
            await kelifax.moderation.add_alias("pixel-kit", "pixelkit", ANN)
        for wrong in ("URL#x", "A b", ""):
            with pytest.raises(InvalidInput):
                await kelifax.moderation.add_alias("pixel-kit", wrong, ANN)

    run(act())


def test_deleting_leaves_the_audit_and_nothing_else(services_anywhere):
    async def act(kelifax):
        await kelifax.list_resource()
        await kelifax.moderation.add_alias("pixel-kit", "pixelkit", ANN)
        await kelifax.reviews.vote("pixel-kit", "visitor-1", "c")
        await kelifax.suggestions.suggest("pixel-kit", {"category": "ai"}, "c")
        kelifax.view_counts.count("pixel-kit")
        await kelifax.view_counts.store()
        with pytest.raises(NotPermitted):
            await kelifax.deletion.delete("pixel-kit", BOB)
        await kelifax.deletion.delete("pixel-kit", ANN, "asked by its owner")
        with pytest.raises(ResourceMissing):
            await kelifax.deletion.delete("pixel-kit", ANN)
        resources = kelifax.database.call("Scan", {"TableName": "kelifax-resources"})["Items"]
        records = kelifax.database.call("Scan", {"TableName": "kelifax-records"})["Items"]
        assert resources == []
        kinds = {item["pk"]["S"].partition("#")[0] for item in records}
        assert kinds <= {"PERSON", "QUOTA"}
        assert (await kelifax.moderation.history("pixel-kit"))[0].reason == "asked by its owner"
        assert await kelifax.submit() == "pixel-kit"

    run(act(services_anywhere))


def test_a_deleted_resource_cannot_be_decided(kelifax):
    async def act():
        await kelifax.submit()
        await kelifax.deletion.delete("pixel-kit", ANN)
        for late in (
            kelifax.moderation.approve("pixel-kit", ANN),
            kelifax.moderation.reject("pixel-kit", ANN, "Too late."),
        ):
            with pytest.raises(ResourceMissing):
                await late
        with pytest.raises(ResourceMissing):
            await kelifax.moderation.approve("URL#https://pixel-kit.example.com/", ANN)

    run(act())


def test_the_seeds_query_by_a_date_alone_is_answered_literally(kelifax):
    async def act():
        for slug, at in (
            ("before", "2025-09-30T23:59:59Z"),
            ("midnight", "2025-10-01T00:00:00Z"),
            ("fraction", "2025-10-01T00:00:00.000005Z"),
            ("later", "2025-10-02T08:00:00Z"),
        ):
            put_plain(kelifax.database, EXAMPLE | {"resourceSlug": slug, "createdAt": at})
        literal = kelifax.database.call(
            "Query",
            {
                "TableName": "kelifax-resources",
                "IndexName": "ResourceStatusIndex",
                "KeyConditionExpression": "resourceStatus = :s AND createdAt > :d",
                "ExpressionAttributeValues": {":s": {"S": "pending"}, ":d": {"S": "2025-10-01"}},
                "ScanIndexForward": False,
            },
        )
        found = await kelifax.moderation.submitted_since(from_ms(1_759_276_800_000))
        assert [item.resource_slug for item in found] == [item["resourceSlug"]["S"] for item in literal["Items"]]
        assert {item.resource_slug for item in found} == {"midnight", "fraction", "later"}

    run(act())
