"""Every query of the seed, and every step of a resource's life."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from hashrange import Conflict, NotFound
from hashrange_systems.kelifax.schema import Alias, Approved, Listing, Pending, Published, Rejected, Submission
from systems.tests.kelifax.entries import EXAMPLE, NOON, approve, get_plain, put_plain, resubmit, slugs, submit

LATER = NOON + timedelta(hours=1)


@pytest.fixture
def directory(db):
    """Two approved tools, an approved and a pending design, one rejected; submitted in this order."""
    for minute, (slug, category) in enumerate(
        [("hammer", "development"), ("brush", "design"), ("saw", "development"), ("pencil", "design"), ("glue", "ai")]
    ):
        submit(db, slug, minute, category=category)
    for minute, slug in enumerate(("saw", "brush", "hammer")):
        approve(db, db.resource(slug).required().run(), LATER + timedelta(minutes=minute))
    db.reject(db.resource("glue").required().run(), LATER, "not a tool").run()
    return db


def test_a_resource_is_found_by_its_slug(directory):
    assert directory.resource("saw").required().run().resource_name == "Saw"
    assert directory.resource("nail").run() is None


def test_a_resource_that_is_not_approved_is_not_shown_by_its_slug(directory):
    assert type(directory.published("saw").run()) is Published
    assert directory.published("pencil").run() is None
    assert directory.published("glue").run() is None


def test_all_approved_resources_come_newest_first(directory):
    assert slugs(directory.approved()) == ["saw", "brush", "hammer"]


def test_approved_resources_of_a_category_come_newest_first(directory):
    assert slugs(directory.approved_in("development")) == ["saw", "hammer"]
    assert slugs(directory.approved_in("design")) == ["brush"]
    assert slugs(directory.approved_in("analytics")) == []


def test_all_resources_of_a_category_come_in_their_states(directory):
    assert [type(entry) for entry in directory.in_category("design")] == [Submission, Published]
    assert slugs(directory.in_category("design")) == ["pencil", "brush"]


def test_recent_resources_of_a_category_are_found_by_date(directory):
    assert slugs(directory.approved_in_since("development", NOON)) == ["saw"]
    assert slugs(directory.approved_in_since("development", NOON - timedelta(seconds=1))) == ["saw", "hammer"]


def test_the_moderation_queue_is_oldest_first_and_can_be_read_newest_first(db):
    for minute, slug in enumerate(("one", "two", "three")):
        submit(db, slug, minute)
    assert slugs(db.pending()) == ["one", "two", "three"]
    assert slugs(db.pending_since(datetime(2025, 10, 1, tzinfo=UTC))) == ["three", "two", "one"]


def test_recently_submitted_ones_are_those_after_a_date(db, database):
    put_plain(database, EXAMPLE | {"resourceSlug": "old", "createdAt": "2025-09-30T23:59:59Z"})
    put_plain(database, EXAMPLE | {"resourceSlug": "new", "createdAt": "2025-10-01T00:00:01Z"})
    assert slugs(db.pending_since(datetime(2025, 10, 1, tzinfo=UTC))) == ["new"]


def test_rejected_ones_are_listed_with_their_reason(directory):
    assert [(entry.resource_slug, entry.rejection_reason) for entry in directory.rejected()] == [("glue", "not a tool")]


def test_text_search_scans_for_approved_resources_that_contain_a_text(directory):
    assert set(slugs(directory.search("development"))) == {"hammer", "brush", "saw"}
    assert slugs(directory.search("saw")) == ["saw"]
    assert slugs(directory.search("pencil")) == []


def test_analytics_filter_by_the_submitters_domain_and_by_views(directory):
    submit(directory, "nail", submitter_domain="nail.example")
    assert slugs(directory.from_domain("nail.example")) == ["nail"]
    assert len(directory.from_domain("techcorp.com").run()) == 5
    directory.count_views(directory.published("saw").required().run(), view_count=7, last_viewed=LATER).run()
    assert [(entry.resource_slug, entry.view_count) for entry in directory.popular(5)] == [("saw", 7)]


def test_the_public_lists_show_what_is_approved_and_whole_behind_it(directory):
    assert [type(entry) for entry in directory.feed()] == [Listing] * 3
    assert slugs(directory.listing("design")) == ["brush"]
    assert [type(entry) for entry in directory.listing("development").whole()] == [Published] * 2
    assert slugs(directory.find("saw")) == ["saw"]


def test_lists_can_be_awaited(directory):
    async def read():
        return [entry.resource_slug async for entry in directory.feed()], await directory.resource("glue")

    found, glue = asyncio.run(read())
    assert (found, type(glue)) == (["hammer", "brush", "saw"], Rejected)


def test_a_resource_goes_from_pending_to_approved(db, database):
    live = approve(db, submit(db, "saw"), LATER)
    assert (type(live), live.approved_at, live.published_at) == (Published, LATER, LATER)
    assert get_plain(database, "saw")["resourceStatus"] == "approved"
    assert slugs(db.pending()) == []


def test_a_resource_goes_from_pending_to_rejected_and_back_to_pending(db, database):
    gone = db.reject(submit(db, "saw"), LATER, rejection_reason="a dead link").run()
    assert (type(gone), gone.rejected_at, gone.rejection_reason) == (Rejected, LATER, "a dead link")
    again = resubmit(db, gone, LATER).run()
    assert isinstance(again, Pending)
    item = get_plain(database, "saw")
    assert (item["rejectedAt"], item["rejectionReason"], item["submittedAt"]) == ("", "", "2026-01-15T13:00:00Z")
    assert slugs(db.pending()) == ["saw"]


def test_an_approved_resource_that_is_unpublished_leaves_every_public_list(directory):
    live = directory.published("saw").required().run()
    assert type(directory.unpublish(live, LATER, "sold", featured=False).run()) is Rejected
    for listed in (directory.feed(), directory.listing("development"), directory.find("saw"), directory.approved()):
        assert "saw" not in slugs(listed)


def test_an_approved_resource_of_the_original_system_joins_the_public_lists_when_published(db, database):
    put_plain(database, EXAMPLE | {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z"})
    old = db.published("amazing-dev-tool").required().run()
    assert (type(old), slugs(db.feed())) == (Approved, [])
    db.publish(old, published_at=LATER).run()
    assert slugs(db.feed()) == slugs(db.listing("development")) == ["amazing-dev-tool"]


def test_a_resource_that_changes_its_category_changes_every_list(directory):
    moved = directory.recategorise(directory.published("saw").required().run(), category="other").run()
    assert isinstance(moved, Published)
    assert slugs(directory.listing("development")) == slugs(directory.approved_in("development")) == ["hammer"]
    assert slugs(directory.listing("other")) == slugs(directory.approved_in("other")) == ["saw"]


def test_a_decision_on_a_category_that_changed_meanwhile_is_refused_and_no_list_goes_stale(directory):
    seen = directory.published("saw").required().run()
    directory.recategorise(seen, category="other").run()
    with pytest.raises(Conflict):
        directory.publish(seen, published_at=LATER).run()
    assert slugs(directory.listing("other")) == ["saw"]
    assert slugs(directory.listing("development")) == ["hammer"]


def test_featured_resources_show_it_in_the_lists(directory):
    directory.feature(directory.published("saw").required().run(), featured=True).run()
    assert {entry.resource_slug: entry.featured for entry in directory.listing("development")} == {
        "saw": True,
        "hammer": False,
    }


def test_a_resource_that_is_not_there_cannot_be_decided(db):
    entry = submit(db, "saw")
    db.batch(delete=[entry]).run()
    with pytest.raises(NotFound):
        db.approve(entry, approved_at=LATER, published_at=LATER).run()


def test_an_alias_leads_to_the_resource_whose_slug_never_changes(directory):
    directory.create(Alias(alias="hand-saw", slug="saw")).run()
    assert directory.resource(directory.alias("hand-saw").required().run().slug).required().run().resource_name == "Saw"
    assert directory.resource("hand-saw").run() is None


def test_two_moderators_do_not_hold_the_same_resource_until_the_first_lets_go(db):
    until = NOON + timedelta(minutes=10)
    day = until + timedelta(days=1)
    db.hold("saw", "ann", until, day, now=NOON).run()
    db.hold("saw", "ann", until + timedelta(minutes=10), day, now=NOON).run()
    with pytest.raises(Conflict):
        db.hold("saw", "bob", until, day, now=NOON).run()
    with pytest.raises(Conflict):
        db.release_hold("saw", "bob").run()
    db.release_hold("saw", "ann").run()
    assert db.hold("saw", "bob", until, day, now=NOON).run().moderator == "bob"
    assert db.hold("saw", "ann", until, day, now=until + timedelta(seconds=1)).run().moderator == "ann"
