"""A user's checks: added within the limit, read, edited, paused, resumed, run by hand, deleted."""

from datetime import timedelta

import pytest

from hashrange_systems.checks.history_schema import Run
from hashrange_systems.checks.schema import Active, ForeignCheck, Paused, Scheduled
from hashrange_systems.checks.service.check_input import CheckChanges
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.errors import EditConflict, InvalidInput, LimitReached, ResourceMissing, StateConflict
from systems.tests.checks.check_items import CHECK, NOON, USER, get_plain, put_plain
from systems.tests.checks.services import do, draft, fail_at_every_call, interfere, race, winners

FULL = {
    "url": "https://example.com/shop",
    "delay_ms": 600_000,
    "attributes": {"keyword": "Example", "retries": 1, "headers": {"X-A": "b"}},
    "name": " shop ",
    "rules": {"reminderMs": 3_600_000, "warnings": False},
    "maintenance": [{"kind": "WEEKLY", "days": [6], "start": "02:30", "minutes": 60, "zone": "Europe/Berlin"}],
}


@pytest.fixture
def ann(services):
    return services.sign_up().user.userid


# ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_new_check_is_due_at_once_and_stored_as_the_seed_writes_it(services, ann, database):
    check = do(services.checks.create(ann, draft(url="https://example.com", attributes={"keyword": "Example"})))
    assert services.due(NOON) == [check.checkid]
    item = get_plain(database, "CHECK", check.checkid, "CHECK")
    assert item.pop("dueShard") in "01234567"
    assert item == {
        "PK": check.checkid,
        "SK": "CHECK",
        "userid": ann,
        "url": "https://example.com",
        "checkType": "AVAILABILITY",
        "delayMs": 300_000,
        "status": "ACTIVE",
        "attributes": {"keyword": "Example"},
        "createdAt": "2026-01-15T12:00:00Z",
        "updatedAt": "2026-01-15T12:00:00Z",
        "nextRunAt": "2026-01-15T12:00:00.000Z",
    }


def test_a_check_is_read_as_it_was_asked_for(services, ann):
    channel = do(services.channels.list_by_user(ann))[0].channel_id
    made = do(services.checks.create(ann, draft(**FULL, channels=[channel])))
    found = do(services.checks.find(ann, made.checkid))
    assert found == made
    assert (found.name, found.rules, found.channels) == ("shop", FULL["rules"], [channel])
    assert (found.attributes, found.maintenance) == (FULL["attributes"], FULL["maintenance"])


def test_an_ebay_check_needs_no_address_beside_its_search(services, ann):
    attributes = {"query": "lego 42100", "threshold": 25_000}
    made = do(services.checks.create(ann, draft(url=None, check_type="EBAY", attributes=attributes)))
    assert (made.url, made.attributes) == ("https://www.ebay.com/", attributes)


def test_of_fifty_checks_added_at_once_exactly_the_limit_exist(services, ann):
    outcomes = race(50, lambda _: services.checks.create(ann, draft()))
    assert len(winners(outcomes)) == len(do(services.checks.list_by_user(ann))) == len(services.due()) == 5
    assert {type(found) for found in outcomes if found not in winners(outcomes)} == {LimitReached}
    assert do(services.users.find(ann)).check_count == 5


def test_paused_checks_count_and_deleted_ones_do_not(services, ann):
    checks = services.add(ann, 5)
    do(services.checks.pause(ann, checks[0]))
    with pytest.raises(LimitReached, match="5 checks, paused ones included"):
        do(services.checks.create(ann, draft()))
    do(services.checks.delete(ann, checks[0]))
    do(services.checks.create(ann, draft()))


def test_all_faults_are_told_at_once_and_nothing_is_added(services, ann):
    bad = {
        "url": "file:///etc/passwd",
        "delay_ms": "300000",
        "attributes": {"keyword": "x" * 1001, "invert": "perhaps", "color": "red"},
        "name": "a\nb",
        "rules": {"reminderMs": 1, "loud": True},
        "channels": ["of-somebody-else"],
        "maintenance": [{"kind": "ONCE", "start": 2, "end": 1}, {"kind": "DAILY"}],
    }
    with pytest.raises(InvalidInput) as refused:
        do(services.checks.create(ann, draft(**bad)))
    assert {error.field for error in refused.value.errors} == {
        "url",
        "delayMs",
        "attributes.keyword",
        "attributes.invert",
        "attributes.color",
        "name",
        "rules.reminderMs",
        "rules.loud",
        "channels",
        "maintenance.0.ONCE",
        "maintenance.1",
    }
    assert do(services.users.find(ann)).check_count == 0
    assert services.stored("CHECK", "checks-history") == []


@pytest.mark.parametrize(
    "bad",
    [
        *(
            {"url": url}
            for url in (None, "", 7, "gopher://a.example", "https://u:p@a.example", "http://[fe80::1%25a]/")
        ),
        *({"url": url} for url in ("http://2130706433/", "http://a.example:25/", "https://a.example/\ud800")),
        *({"delay_ms": delay} for delay in (0, -1, 1.5, 10**15, "300000", True, None, 299_999, 86_400_001)),
        {"attributes": {"regex": "(a+"}},
        {"attributes": {"headers": {"X": "a\r\nB: c"}}},
        {"attributes": {"keyword": "a", "regex": "b"}},
        {"attributes": "keyword=a"},
        {"check_type": "PAGE DIFFERENCE"},
        {"check_type": "EBAY", "attributes": {}},
        {"maintenance": [{"kind": "WEEKLY", "days": [7], "start": "25:00", "minutes": 0, "zone": "Mars"}]},
        {"maintenance": [{"kind": "ONCE", "start": 1, "end": 2}] * 21},
        {"maintenance": "always"},
        {"rules": "loud"},
        {"channels": "all"},
        {"name": 7},
    ],
)
def test_what_cannot_be_a_check_is_refused(services, ann, bad):
    with pytest.raises(InvalidInput):
        do(services.checks.create(ann, draft(**bad)))
    assert services.stored("CHECK", "checks-history") == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8002/checks/ann",
        "https://checks.example/",
        "https://CHECKS.example:443/x",
        "https://checks.example./x",
    ],
)
def test_a_page_of_this_service_is_not_checked(services, ann, url):
    with pytest.raises(InvalidInput, match="page of this service"):
        do(services.checks.create(ann, draft(url=url)))
    with pytest.raises(InvalidInput, match="page of this service"):
        do(services.checks.create(ann, draft(check_type="EBAY", attributes={"url": url, "threshold": 1})))
    (checkid,) = services.add(ann)
    with pytest.raises(InvalidInput, match="page of this service"):
        do(services.checks.edit(ann, checkid, CheckChanges(url=url)))


# ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_checks_are_listed_the_oldest_first(services, ann):
    checks = services.add(ann, 4)
    assert [check.checkid for check in do(services.checks.list_by_user(ann))] == checks
    assert do(services.checks.list_by_user("nobody")) == []


def test_checks_are_listed_by_type_and_status_page_by_page(services, ann):
    checks = services.add(ann, 4)
    do(services.checks.pause(ann, checks[3]))
    first = do(services.checks.by_type("AVAILABILITY", "ACTIVE", size=2))
    rest = do(services.checks.by_type("AVAILABILITY", "ACTIVE", size=2, after=first.cursor))
    assert {row.checkid for page in (first, rest) for row in page} == set(checks[:3])
    assert [row.checkid for row in do(services.checks.by_type("AVAILABILITY", "PAUSED"))] == [checks[3]]
    assert len(do(services.checks.by_type("EBAY", "ACTIVE"))) == 0


# ── editing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_edit_changes_what_is_given_and_nothing_else(services, ann):
    made = do(services.checks.create(ann, draft(**FULL)))
    services.clock.advance(60)
    edited = do(services.checks.edit(ann, made.checkid, CheckChanges(name="new", rules=None)))
    assert (edited.name, edited.rules, edited.revision) == ("new", None, 1)
    assert edited.updated_at == made.updated_at + timedelta(minutes=1)
    same = {"name", "rules", "revision", "updated_at"}
    assert edited.model_dump(exclude=same) == made.model_dump(exclude=same)


def test_an_edit_is_tried_as_a_new_check_is(services, ann):
    (checkid,) = services.add(ann)
    before = services.check(checkid)
    with pytest.raises(InvalidInput) as refused:
        do(services.checks.edit(ann, checkid, CheckChanges(url="ftp://a", delay_ms=1, attributes={"a": 1})))
    assert [error.field for error in refused.value.errors] == ["url", "delayMs", "attributes.a"]
    assert services.check(checkid) == before


def test_attributes_that_another_system_wrote_survive_an_edit(services, ann, database):
    put_plain(database, "CHECK", CHECK | {"userid": ann, "attributes": {"keyword": "a", "alias": "home"}})
    edited = do(services.checks.edit(ann, "abcdef", CheckChanges(attributes={"keyword": "b"})))
    assert edited.attributes == {"keyword": "b", "alias": "home"}


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_reported(services, ann):
    (checkid,) = services.add(ann)
    do(services.checks.edit(ann, checkid, CheckChanges(name="a", seen=0)))
    with pytest.raises(EditConflict):
        do(services.checks.edit(ann, checkid, CheckChanges(name="b", seen=0)))
    assert do(services.checks.edit(ann, checkid, CheckChanges(name="b", seen=1))).revision == 2


def test_of_many_edits_at_once_of_the_same_revision_one_wins_and_without_all_do(services, ann):
    (checkid,) = services.add(ann)
    outcomes = race(6, lambda n: services.checks.edit(ann, checkid, CheckChanges(name=f"n{n}", seen=0)))
    assert len(winners(outcomes)) == 1
    assert {type(found) for found in outcomes if found not in winners(outcomes)} == {EditConflict}
    outcomes = race(4, lambda n: services.checks.edit(ann, checkid, CheckChanges(name=f"m{n}")))
    assert len(winners(outcomes)) == 4
    assert services.check(checkid).revision == 5


def test_a_check_that_is_to_run_more_often_does_not_wait_for_its_old_slot(services, ann):
    (checkid,) = services.add(ann, delay_ms=86_400_000)
    services.run(ann, checkid, "u")
    far = services.check(checkid).next_run_at
    edited = do(services.checks.edit(ann, checkid, CheckChanges(delay_ms=300_000)))
    now = services.clock.millis()
    assert 0 < to_ms(edited.next_run_at) - now <= 300_000 < to_ms(far) - now
    assert services.check(checkid) == edited


def test_an_edit_does_not_take_a_check_from_the_worker_that_runs_it(services):
    ben = services.sign_up("ben", tier="BUSINESS").user.userid
    (checkid,) = services.add(ben, delay_ms=86_400_000)

    async def edit():
        await services.checks.edit(ben, checkid, CheckChanges(delay_ms=30_000))  # due before the lease ends

    services.target.meanwhile = edit
    assert do(services.checks.run_now(ben, checkid)).outcome.status == "UP"
    assert services.check(checkid).delay_ms == 30_000


# ── running by hand ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_run_by_hand_tells_what_came_of_it_and_leaves_the_slot(services, ann):
    (checkid,) = services.add(ann)
    services.run(ann, checkid, "u")
    due_at = services.check(checkid).next_run_at
    services.clock.advance(10)
    finished = do(services.checks.run_now(ann, checkid))
    assert finished.outcome.status == "UP"
    assert services.check(checkid).next_run_at == due_at
    assert len(services.db.runs(checkid).run()) == 2


def test_what_is_not_in_the_schedule_is_not_run_by_hand(services, ann):
    (checkid,) = services.add(ann)
    do(services.checks.pause(ann, checkid))
    with pytest.raises(StateConflict, match="paused: resume it first"):
        do(services.checks.run_now(ann, checkid))
    do(services.checks.resume(ann, checkid))
    with pytest.raises(StateConflict):
        do(CheckService(services.db, services.clock).run_now(ann, checkid))
    assert services.target.probes == []


def test_a_check_that_is_being_run_is_not_run_by_hand_too(services, ann):
    (checkid,) = services.add(ann)
    do(services.checks.runs.claim(services.check(checkid)))
    with pytest.raises(StateConflict, match="right now"):
        do(services.checks.run_now(ann, checkid))


# ── deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_deleted_check_leaves_nothing(services, ann):
    do(services.channels.verify(do(services.channels.add(ann, "EMAIL", "a@b.example")).token))
    checkid, other = services.add(ann, 2)
    services.run(ann, checkid, "uddd")
    do(services.checks.delete(ann, checkid))
    assert services.stored("CHECK", "checks-history") == [f"{other}/CHECK"]
    assert do(services.users.find(ann)).check_count == 1
    with pytest.raises(ResourceMissing):
        do(services.checks.delete(ann, checkid))


def test_a_check_with_a_long_history_is_deleted_whole(services, ann):
    (checkid,) = services.add(ann)
    runs = [Run(checkid=checkid, at=NOON + timedelta(minutes=n), result={"status": "UP"}) for n in range(450)]
    services.db.batch(runs).run()
    do(services.checks.delete(ann, checkid))
    assert services.stored("CHECK", "checks-history") == []


def test_a_deletion_cut_short_anywhere_is_completed_by_another(services, ann):
    def prepare(calls):
        (checkid,) = services.add(ann)
        services.run(ann, checkid, "uddd")
        return checkid

    async def delete(at, checkid):
        if await at.db.check(checkid) is not None:
            await at.checks.delete(ann, checkid)

    def resolved(checkid):
        assert services.stored("CHECK", "checks-history") == []
        assert do(services.users.find(ann)).check_count == 0

    assert fail_at_every_call(services, prepare, delete, resolved) > 5


def test_a_check_that_is_being_deleted_is_not_run_any_more(services, ann):
    (checkid,) = services.add(ann)
    services.run(ann, checkid, "u")
    refused = []

    async def run():
        with pytest.raises(StateConflict) as refusal:
            await services.checks.run_now(ann, checkid)
        refused.append(refusal)

    do(interfere(services, run, operation="BatchWriteItem").checks.delete(ann, checkid))
    assert len(refused) == 1
    assert services.stored("CHECK", "checks-history") == []


def test_a_check_deleted_many_times_at_once_frees_one_place(services, ann):
    checkid, _ = services.add(ann, 2)
    race(6, lambda _: services.checks.delete(ann, checkid))
    assert do(services.users.find(ann)).check_count == 1


def test_a_check_that_is_deleted_while_it_runs_leaves_nothing(services, ann):
    (checkid,) = services.add(ann)

    async def delete():
        await services.checks.delete(ann, checkid)

    services.target.meanwhile = delete
    with pytest.raises(EditConflict):
        do(services.checks.run_now(ann, checkid))
    assert services.stored("CHECK", "checks-history") == []


# ── the count, and what other systems left ───────────────────────────────────────────────────────────────────────────
def test_a_wrong_count_is_repaired(services, ann):
    services.add(ann, 3)
    services.db.recount(ann, check_count=5, seen=3).run()
    with pytest.raises(LimitReached):
        do(services.checks.create(ann, draft()))
    assert do(services.checks.repair_count(ann)) == 3
    do(services.checks.create(ann, draft()))
    assert do(services.users.find(ann)).check_count == 4
    with pytest.raises(ResourceMissing):
        do(services.checks.repair_count("nobody"))


def test_a_count_that_is_too_low_does_not_keep_a_check_from_being_deleted(services, ann):
    checks = services.add(ann, 2)
    services.db.recount(ann, check_count=0, seen=2).run()
    do(services.checks.delete(ann, checks[0]))
    assert do(services.users.find(ann)).check_count == 1


def test_a_user_of_the_original_system_is_counted_before_a_check_is_added(services, database):
    put_plain(database, "USER", USER | {"checkLimit": 2})
    put_plain(database, "CHECK", CHECK)
    do(services.checks.create("123456", draft()))
    with pytest.raises(LimitReached):
        do(services.checks.create("123456", draft()))
    assert do(services.users.find("123456")).check_count == 2


def test_a_check_of_the_original_system_is_resumed_into_the_schedule(services, database):
    put_plain(database, "USER", USER)
    put_plain(database, "CHECK", CHECK)
    assert type(do(services.checks.find("123456", "abcdef"))) is Active
    with pytest.raises(StateConflict, match="out of the schedule"):
        do(services.checks.run_now("123456", "abcdef"))
    assert type(do(services.checks.resume("123456", "abcdef"))) is Scheduled
    do(services.checks.run_now("123456", "abcdef"))
    do(services.checks.delete("123456", "abcdef"))
    assert services.stored("CHECK", "checks-history") == []


def test_a_type_that_is_not_known_is_read_and_paused_and_not_given_attributes(services, ann, database):
    put_plain(database, "CHECK", CHECK | {"userid": ann, "checkType": "AI CHECK", "attributes": {"prompt": "x"}})
    assert do(services.checks.find(ann, "abcdef")).check_type == "AI CHECK"
    assert do(services.checks.edit(ann, "abcdef", CheckChanges(name="mine"))).attributes == {"prompt": "x"}
    with pytest.raises(InvalidInput, match="checkType"):
        do(services.checks.edit(ann, "abcdef", CheckChanges(attributes={"prompt": "y"})))
    assert type(do(services.checks.pause(ann, "abcdef"))) is Paused


def test_a_status_of_another_system_can_be_seen_and_deleted(services, ann, database):
    put_plain(database, "CHECK", CHECK | {"userid": ann, "status": "ARCHIVED"})
    assert type(do(services.checks.find(ann, "abcdef"))) is ForeignCheck
    for attempt in (
        lambda: services.checks.edit(ann, "abcdef", CheckChanges(name="x")),
        lambda: services.checks.pause(ann, "abcdef"),
        lambda: services.checks.resume(ann, "abcdef"),
        lambda: services.checks.run_now(ann, "abcdef"),
    ):
        with pytest.raises(StateConflict):
            do(attempt())
    do(services.checks.delete(ann, "abcdef"))
    assert services.stored("CHECK", "checks-history") == []
