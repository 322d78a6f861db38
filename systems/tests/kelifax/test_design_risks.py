"""The seed's traps, each resolved by the declarations; the numbers are those of the list they come from."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hashrange import Conflict, CursorInvalid, ServiceError, Taken, Unreadable, ValueInvalid, dump_item, load_item
from hashrange_systems.kelifax.model.field_kind import Lesson
from hashrange_systems.kelifax.schema import PUBLIC, Decision, Kelifax, Pending, Rejected, Resource, UrlClaim
from systems.tests.kelifax.entries import (
    EXAMPLE,
    NOON,
    approve,
    get_plain,
    make_submission,
    parse_learning_resources,
    put_plain,
    resubmit,
    slugs,
    submit,
    to_plain,
    to_wire,
)

LATER = NOON + timedelta(hours=1)


def race(count, attempt):
    """Run an attempt so many times at once; return what came of each."""

    def run(number):
        try:
            return attempt(number)
        except Conflict as conflict:
            return conflict

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_01_timestamps_have_a_fixed_width_so_that_text_order_is_time_order():
    moments = [datetime(2026, 1, 15, 12, 0, 0, micros, tzinfo=UTC) for micros in (0, 5, 999_999)]
    written = {dump_item(make_submission(created_at=moment))["createdAt"]["S"] for moment in moments}
    assert written == {"2026-01-15T12:00:00Z"}


def test_01_a_time_with_microseconds_of_the_original_system_is_readable():
    item = EXAMPLE | {"createdAt": "2025-10-25T10:30:00.000005Z", "submittedAt": "2025-10-25T10:30:00.000009Z"}
    assert load_item([Resource], to_wire(item)).created_at == datetime(2025, 10, 25, 10, 30, tzinfo=UTC)


def test_01_a_time_without_a_zone_is_refused():
    with pytest.raises(ValidationError, match="zone"):
        make_submission(created_at=datetime(2026, 1, 15, 12))  # noqa: DTZ001 - what is refused


def test_01_a_resubmission_changes_submitted_at_and_never_created_at(db):
    again = resubmit(db, db.reject(submit(db, "saw"), NOON, "a dead link").run(), LATER).run()
    assert (again.created_at, again.submitted_at) == (NOON, LATER)


def test_02_an_empty_string_is_an_empty_list_and_not_a_list_of_an_empty_string():
    entry = load_item([Resource], to_wire(EXAMPLE | {"tags": "", "keyFeatures": "", "learningResources": ""}))
    assert (entry.tags, entry.key_features, entry.learning_resources) == ([], [], [])
    assert dump_item(entry)["tags"] == {"S": ""}


def test_03_a_pipe_in_a_feature_or_a_comma_in_a_tag_is_refused(db):
    for wrong in ({"key_features": ["a|b"]}, {"use_cases": ["a|b"]}, {"tags": ["a,b"]}, {"tags": [""]}):
        with pytest.raises(ValueInvalid, match="joined by"):
            submit(db, "saw", **wrong)
    assert db.resource("saw").run() is None


@given(st.lists(st.builds(Lesson, title=st.text(), url=st.text(), type=st.text()), max_size=5))
def test_03_pipes_in_learning_resources_round_trip_without_loss_and_with_the_seeds_parser(lessons):
    raw = dump_item(make_submission(learning_resources=lessons))
    assert load_item([Resource], raw).learning_resources == lessons
    assert parse_learning_resources(raw["learningResources"]["S"]) == lessons


@given(st.lists(st.text(min_size=1, max_size=30).filter(lambda text: "," not in text), max_size=10))
def test_03_tags_round_trip_whatever_else_they_hold_and_with_the_seeds_parser(tags):
    raw = dump_item(make_submission(tags=tags))
    assert load_item([Resource], raw).tags == tags
    assert not tags or raw["tags"]["S"].split(",") == tags


@given(st.lists(st.text(min_size=1, max_size=200).filter(lambda text: "|" not in text), min_size=1, max_size=8))
def test_03_features_and_use_cases_round_trip_whatever_else_they_hold_and_with_the_seeds_parser(lines):
    raw = dump_item(make_submission(key_features=lines, use_cases=lines))
    read = load_item([Resource], raw)
    assert (read.key_features, read.use_cases) == (lines, lines)
    assert raw["keyFeatures"]["S"].split("|") == raw["useCases"]["S"].split("|") == lines


@pytest.mark.parametrize(
    "stored",
    [
        '{"title":"a|b","url":"u","type":"video"}',
        '{"title":"a","url":"u"}',
        '{"title":"a","url":"u","type":"video","more":1}',
        "nonsense",
        "[1]",
    ],
)
def test_03_lessons_that_cannot_be_parsed_back_are_damage(stored):
    with pytest.raises(Unreadable, match="learning_resources"):
        load_item([Resource], to_wire(EXAMPLE | {"learningResources": stored}))


def test_04_learning_resources_are_written_without_spaces_and_without_escapes():
    lesson = Lesson(title="Über | alles", url="https://a.example/?q=1|2", type="video")
    written = dump_item(make_submission(learning_resources=[lesson]))["learningResources"]["S"]
    assert written == '{"title":"Über \\u007c alles","url":"https://a.example/?q=1\\u007c2","type":"video"}'


def test_05_creating_a_resource_never_overwrites_one(db):
    submit(db, "saw")
    with pytest.raises(Taken) as taken:
        db.create(make_submission("saw", resource_name="Another Saw")).run()
    assert taken.value.current.resource_name == "Saw"
    assert db.resource("saw").required().run().resource_name == "Saw"


def test_05_of_fifty_who_submit_the_same_name_at_once_exactly_one_wins(db):
    outcomes = race(50, lambda number: submit(db, "saw", resource_url=f"https://saw.example/{number}"))
    won = [found for found in outcomes if isinstance(found, Pending)]
    assert len(won) == 1
    assert all(isinstance(found, Taken) for found in outcomes if found not in won)
    assert db.resource("saw").required().run().resource_url == won[0].resource_url


@pytest.mark.parametrize("slug", ["", "C++", "node.js", "-", "a--b", "../etc", "URL#x", "🙂", "a" * 81, "a\n"])
def test_06_a_slug_that_is_empty_or_no_path_segment_is_refused(slug):
    with pytest.raises(ValidationError):
        make_submission(slug)


def test_07_a_rejected_resource_keeps_its_slug_and_can_be_resubmitted_with_its_history(db):
    entry = submit(db, "saw")
    steps = [(1, "rejected"), (2, "resubmitted"), (3, "approved")]
    noted = {
        word: Decision(resource_slug="saw", decided_at=NOON + timedelta(minutes=at), actor="ann", verdict=word)
        for at, word in steps
    }
    gone, _ = db.transact(db.reject(entry, LATER, "a dead link"), db.create(noted["rejected"])).run()
    again, _ = db.transact(resubmit(db, gone, LATER), db.create(noted["resubmitted"])).run()
    db.transact(db.approve(again, LATER, LATER), db.create(noted["approved"])).run()
    assert [decision.verdict for decision in db.decisions("saw")] == ["approved", "resubmitted", "rejected"]
    assert db.published("saw").run() is not None


def test_08_the_same_url_under_another_name_is_taken(db):
    submit(db, "saw", resource_url="https://saw.example/")
    with pytest.raises(Taken) as taken:
        submit(db, "better-saw", resource_url="https://saw.example/")
    assert taken.value.current == UrlClaim(resource_url="https://saw.example/", claimed_by="saw")
    assert db.resource("better-saw").run() is None
    assert db.claim("https://saw.example/").required().run().claimed_by == "saw"


def test_08_a_url_of_any_length_can_be_claimed_and_is_released_by_its_owner_only(db):
    long = "https://saw.example/" + "ä" * 1500
    db.create(UrlClaim(resource_url=long, claimed_by="saw")).run()
    assert db.claim(long).required().run().resource_url == long
    assert db.claim(long + "ä").run() is None
    with pytest.raises(Conflict):
        db.release(long, claimed_by="glue").run()
    db.release(long, claimed_by="saw").run()
    assert db.claim(long).run() is None


def test_09_a_page_of_a_category_is_full_although_it_is_filtered(db):
    for minute in range(60):
        entry = submit(db, f"tool-{minute:02d}", minute)
        if minute % 5 == 0:
            approve(db, entry, LATER)
    first = db.approved_in("development").page(5).run()
    second = db.approved_in("development").page(5, after=first.cursor).run()
    third = db.approved_in("development").page(5, after=second.cursor).run()
    assert [len(page) for page in (first, second, third)] == [5, 5, 2]
    assert third.cursor is None
    pages = [*first, *second, *third]
    assert slugs(pages) == [f"tool-{minute:02d}" for minute in range(55, -1, -5)]


def test_09_a_forged_cursor_or_one_of_another_list_is_refused(db):
    for minute in range(3):
        approve(db, submit(db, f"tool-{minute}", minute), LATER + timedelta(minutes=minute))
    cursor = db.listing("development").page(1).run().cursor
    with pytest.raises(CursorInvalid):
        db.listing("design").page(1, after=cursor).run()
    with pytest.raises(CursorInvalid):
        db.listing("development").page(1, after=cursor[:-2]).run()


def test_09_the_added_index_lists_a_category_without_a_filter(db):
    plan = db.listing("development").plan
    assert plan.path.name == "PublicCategoryIndex"
    assert [branch.filter for branch in plan.branches] == [None]


def test_10_an_old_submission_that_is_approved_today_comes_first_in_the_public_feed(db):
    old, new = submit(db, "old", 0), submit(db, "new", 1)
    approve(db, new, LATER)
    approve(db, old, LATER + timedelta(minutes=1))
    assert slugs(db.feed()) == ["old", "new"]
    assert slugs(db.approved()) == ["new", "old"]


def test_11_public_indexes_hold_no_personal_data(db, database):
    approve(db, submit(db, "saw", submitter_phone="+15551234567"), NOON)
    assert not [name for name in PUBLIC if name.startswith("submitter")]
    for index in ("PublicFeedIndex", "PublicCategoryIndex"):
        (row,) = database.call("Scan", {"TableName": "kelifax-resources", "IndexName": index})["Items"]
        assert not [name for name in row if name.startswith("submitter")]
        assert "zoe@techcorp.com" not in str(row)


def test_11_counters_are_apart_so_that_a_view_rewrites_no_index(db, database):
    live = approve(db, submit(db, "saw"), NOON)
    before = get_plain(database, "saw")
    race(10, lambda _: db.viewed("saw", views=1, last_viewed=LATER).run())
    assert db.views("saw").required().run().views == 10
    assert get_plain(database, "saw") == before
    assert Kelifax.plan("viewed").costs == (("table", 1),)
    assert db.count_views(live, view_count=10, last_viewed=LATER).run().view_count == 10


def test_12_public_search_finds_approved_ones_only_and_shows_no_personal_data(db):
    approve(db, submit(db, "automation-tool"), NOON)
    submit(db, "automation-draft")
    found = db.find("automation").run()
    assert slugs(found) == ["automation-tool"]
    assert not [name for name in type(found[0]).model_fields if name.startswith("submitter")]
    assert all(word in found[0].search_text for word in ("automation", "tool"))


def test_12_search_reads_every_page_of_the_table(db, database):
    approved = {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z", "usagePurpose": "x" * 350_000}
    for number in range(6):  # 2 MB, and a Scan stops at 1 MB
        put_plain(database, EXAMPLE | approved | {"resourceSlug": f"tool-{number}"})
    assert len(db.search("automation").run()) == 6
    assert len(db.search("automation").page(5).run()) == 5


def test_14_an_empty_or_unknown_category_is_refused_when_submitted(db):
    for category in ("", "cooking"):
        with pytest.raises(ValidationError):
            make_submission(category=category)
    entry = Pending.model_validate(dict(make_submission("saw")) | {"category": ""})
    with pytest.raises(ValueInvalid, match="empty"):
        db.create(entry).run()


def test_15_the_whole_item_is_bounded_and_not_each_attribute(db):
    with pytest.raises(ValidationError):
        make_submission(usage_purpose="x" * 500_000)
    with pytest.raises(ValidationError):
        make_submission(tags=["tag"] * 11)
    huge = Pending.model_validate(dict(make_submission("saw")) | {"usage_purpose": "x" * 410_000})
    with pytest.raises(ServiceError, match="size"):
        db.create(huge).run()


def test_16_of_two_moderators_who_decide_at_once_one_wins_and_the_other_sees_what_is_there(db):
    entry = submit(db, "saw")

    def decide(number):
        noted = Decision(
            resource_slug="saw",
            decided_at=NOON + timedelta(milliseconds=number),
            actor=f"moderator {number}",
            verdict="approved" if number % 2 else "rejected",
        )
        verdict = db.approve(entry, LATER, LATER) if number % 2 else db.reject(entry, LATER, "no")
        return db.transact(verdict, db.create(noted)).run()[0]

    outcomes = race(2, decide)
    (won,) = [found for found in outcomes if not isinstance(found, Conflict)]
    (lost,) = [found for found in outcomes if isinstance(found, Conflict)]
    assert type(lost.current) is type(won)
    assert len(db.decisions("saw").run()) == 1


def test_16_a_double_click_approves_once(db):
    entry = submit(db, "saw")
    db.approve(entry, LATER, LATER).run()
    for late in (db.approve(entry, LATER, LATER + timedelta(seconds=1)), db.reject(entry, LATER, "no")):
        with pytest.raises(Conflict):
            late.run()
    assert db.published("saw").required().run().published_at == LATER


def test_16_what_was_rejected_cannot_be_rejected_or_approved_again(db):
    entry = submit(db, "saw")
    assert type(db.reject(entry, LATER, "no").run()) is Rejected
    with pytest.raises(Conflict):
        db.reject(entry, LATER, "no").run()
    with pytest.raises(Conflict):
        db.approve(entry, LATER, LATER).run()


def test_16_two_decisions_within_a_second_are_both_noted(db):
    for milli, verdict in ((1, "approved"), (2, "unpublished")):
        at = NOON + timedelta(milliseconds=milli)
        db.create(Decision(resource_slug="saw", decided_at=at, actor="ann", verdict=verdict)).run()
    assert [decision.verdict for decision in db.decisions("saw")] == ["unpublished", "approved"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b.png", "a\\b.png", ".htaccess", "", "a b.png\n"])
def test_17_a_logo_is_named_by_a_file_name_and_never_by_a_path(name):
    with pytest.raises(ValidationError):
        make_submission(logo_image=name)


def test_18_text_is_utf8_to_the_letter(db, database):
    submit(db, "saw", resource_name="Säge 🪚 — “scharf”")
    assert get_plain(database, "saw")["resourceName"] == "Säge 🪚 — “scharf”"


def test_personal_data_can_be_erased_and_the_resource_stays(db, database):
    approve(db, submit(db, "saw", submitter_company="Tech Corp", submitter_phone="+15551234567"), NOON)
    db.erase("saw", "erased", "erased", "erased", None, None, None).run()
    item = get_plain(database, "saw")
    assert {item[name] for name in item if name.startswith("submitter")} == {"erased", ""}
    assert slugs(db.feed()) == ["saw"]


def test_nobody_feeds_or_approves_a_resource_by_submitting_more_than_the_form_has():
    for wrong in ({"resource_status": "approved"}, {"published_at": NOON}, {"publicFeed": "approved"}):
        with pytest.raises(ValidationError):
            make_submission(**wrong)


def test_an_item_of_the_original_system_can_be_searched_by_what_it_holds(db, database):
    put_plain(database, EXAMPLE | {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z"})
    (found,) = db.search("productivity automation").run()
    assert to_plain(dump_item(found))["resourceSlug"] == "amazing-dev-tool"
