"""A user's checks: added within the limit, read, edited, paused, resumed, run by hand, deleted."""

from datetime import timedelta

import pytest

from hashrange_systems.checks.errors import Changed, LimitReached, NotPossibleNow, NotThere
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.schema import Active, Foreign, Paused, Run, Scheduled
from hashrange_systems.checks.service.draft import Changes
from hashrange_systems.checks.service.ledger import Ledger
from hashrange_systems.checks.service.moment import to_ms
from systems.tests.checks.monitors import CHECK, NOON, USER, get_plain, put_plain
from systems.tests.checks.office import crash_everywhere, do, draft, interfere, race, winners

FULL = {
    "url": "https://example.com/shop",
    "delay_ms": 600_000,
    "attributes": {"keyword": "Example", "retries": 1, "headers": {"X-A": "b"}},
    "name": " shop ",
    "rules": {"reminderMs": 3_600_000, "warnings": False},
    "maintenance": [{"kind": "WEEKLY", "days": [6], "start": "02:30", "minutes": 60, "zone": "Europe/Berlin"}],
}


@pytest.fixture
def ann(office):
    return office.sign_up().user.userid


# ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_new_check_is_due_at_once_and_stored_as_the_seed_writes_it(office, ann, database):
    check = do(office.ledger.create(ann, draft(url="https://example.com", attributes={"keyword": "Example"})))
    assert office.due(NOON) == [check.checkid]
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


def test_a_check_is_read_as_it_was_asked_for(office, ann):
    channel = do(office.channels.of_user(ann))[0].channel_id
    made = do(office.ledger.create(ann, draft(**FULL, channels=[channel])))
    found = do(office.ledger.find(ann, made.checkid))
    assert found == made
    assert (found.name, found.rules, found.channels) == ("shop", FULL["rules"], [channel])
    assert (found.attributes, found.maintenance) == (FULL["attributes"], FULL["maintenance"])


def test_an_ebay_check_needs_no_address_beside_its_search(office, ann):
    attributes = {"query": "lego 42100", "threshold": 25_000}
    made = do(office.ledger.create(ann, draft(url=None, check_type="EBAY", attributes=attributes)))
    assert (made.url, made.attributes) == ("https://www.ebay.com/", attributes)


def test_of_fifty_checks_added_at_once_exactly_the_limit_exist(office, ann):
    outcomes = race(50, lambda _: office.ledger.create(ann, draft()))
    assert len(winners(outcomes)) == len(do(office.ledger.of_user(ann))) == len(office.due()) == 5
    assert {type(found) for found in outcomes if found not in winners(outcomes)} == {LimitReached}
    assert do(office.users.find(ann)).check_count == 5


def test_paused_checks_count_and_deleted_ones_do_not(office, ann):
    checks = office.add(ann, 5)
    do(office.ledger.pause(ann, checks[0]))
    with pytest.raises(LimitReached, match="5 checks, paused ones included"):
        do(office.ledger.create(ann, draft()))
    do(office.ledger.delete(ann, checks[0]))
    do(office.ledger.create(ann, draft()))


def test_all_faults_are_told_at_once_and_nothing_is_added(office, ann):
    bad = {
        "url": "file:///etc/passwd",
        "delay_ms": "300000",
        "attributes": {"keyword": "x" * 1001, "invert": "perhaps", "color": "red"},
        "name": "a\nb",
        "rules": {"reminderMs": 1, "loud": True},
        "channels": ["of-somebody-else"],
        "maintenance": [{"kind": "ONCE", "start": 2, "end": 1}, {"kind": "DAILY"}],
    }
    with pytest.raises(InputRefused) as refused:
        do(office.ledger.create(ann, draft(**bad)))
    assert {fault.field for fault in refused.value.faults} == {
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
    assert do(office.users.find(ann)).check_count == 0
    assert office.stored("CHECK") == []


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
def test_what_cannot_be_a_check_is_refused(office, ann, bad):
    with pytest.raises(InputRefused):
        do(office.ledger.create(ann, draft(**bad)))
    assert office.stored("CHECK") == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8002/checks/ann",
        "https://checks.example/",
        "https://CHECKS.example:443/x",
        "https://checks.example./x",
    ],
)
def test_a_page_of_this_service_is_not_checked(office, ann, url):
    with pytest.raises(InputRefused, match="page of this service"):
        do(office.ledger.create(ann, draft(url=url)))
    with pytest.raises(InputRefused, match="page of this service"):
        do(office.ledger.create(ann, draft(check_type="EBAY", attributes={"url": url, "threshold": 1})))
    (checkid,) = office.add(ann)
    with pytest.raises(InputRefused, match="page of this service"):
        do(office.ledger.edit(ann, checkid, Changes(url=url)))


# ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_checks_are_listed_the_oldest_first(office, ann):
    checks = office.add(ann, 4)
    assert [check.checkid for check in do(office.ledger.of_user(ann))] == checks
    assert do(office.ledger.of_user("nobody")) == []


def test_checks_are_listed_by_type_and_status_page_by_page(office, ann):
    checks = office.add(ann, 4)
    do(office.ledger.pause(ann, checks[3]))
    first = do(office.ledger.by_type("AVAILABILITY", "ACTIVE", size=2))
    rest = do(office.ledger.by_type("AVAILABILITY", "ACTIVE", size=2, after=first.cursor))
    assert {row.checkid for page in (first, rest) for row in page} == set(checks[:3])
    assert [row.checkid for row in do(office.ledger.by_type("AVAILABILITY", "PAUSED"))] == [checks[3]]
    assert len(do(office.ledger.by_type("EBAY", "ACTIVE"))) == 0


# ── editing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_edit_changes_what_is_given_and_nothing_else(office, ann):
    made = do(office.ledger.create(ann, draft(**FULL)))
    office.clock.advance(60)
    edited = do(office.ledger.edit(ann, made.checkid, Changes(name="new", rules=None)))
    assert (edited.name, edited.rules, edited.revision) == ("new", None, 1)
    assert edited.updated_at == made.updated_at + timedelta(minutes=1)
    same = {"name", "rules", "revision", "updated_at"}
    assert edited.model_dump(exclude=same) == made.model_dump(exclude=same)


def test_an_edit_is_tried_as_a_new_check_is(office, ann):
    (checkid,) = office.add(ann)
    before = office.check(checkid)
    with pytest.raises(InputRefused) as refused:
        do(office.ledger.edit(ann, checkid, Changes(url="ftp://a", delay_ms=1, attributes={"a": 1})))
    assert [fault.field for fault in refused.value.faults] == ["url", "delayMs", "attributes.a"]
    assert office.check(checkid) == before


def test_attributes_that_another_system_wrote_survive_an_edit(office, ann, database):
    put_plain(database, "CHECK", CHECK | {"userid": ann, "attributes": {"keyword": "a", "alias": "home"}})
    edited = do(office.ledger.edit(ann, "abcdef", Changes(attributes={"keyword": "b"})))
    assert edited.attributes == {"keyword": "b", "alias": "home"}


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_reported(office, ann):
    (checkid,) = office.add(ann)
    do(office.ledger.edit(ann, checkid, Changes(name="a", seen=0)))
    with pytest.raises(Changed):
        do(office.ledger.edit(ann, checkid, Changes(name="b", seen=0)))
    assert do(office.ledger.edit(ann, checkid, Changes(name="b", seen=1))).revision == 2


def test_of_many_edits_at_once_of_the_same_revision_one_wins_and_without_all_do(office, ann):
    (checkid,) = office.add(ann)
    outcomes = race(6, lambda n: office.ledger.edit(ann, checkid, Changes(name=f"n{n}", seen=0)))
    assert len(winners(outcomes)) == 1
    assert {type(found) for found in outcomes if found not in winners(outcomes)} == {Changed}
    outcomes = race(4, lambda n: office.ledger.edit(ann, checkid, Changes(name=f"m{n}")))
    assert len(winners(outcomes)) == 4
    assert office.check(checkid).revision == 5


def test_a_check_that_is_to_run_more_often_does_not_wait_for_its_old_slot(office, ann):
    (checkid,) = office.add(ann, delay_ms=86_400_000)
    office.run(ann, checkid, "u")
    far = office.check(checkid).next_run_at
    edited = do(office.ledger.edit(ann, checkid, Changes(delay_ms=300_000)))
    now = office.clock.millis()
    assert 0 < to_ms(edited.next_run_at) - now <= 300_000 < to_ms(far) - now
    assert office.check(checkid) == edited


def test_an_edit_does_not_take_a_check_from_the_worker_that_runs_it(office):
    ben = office.sign_up("ben", tier="BUSINESS").user.userid
    (checkid,) = office.add(ben, delay_ms=86_400_000)

    async def edit():
        await office.ledger.edit(ben, checkid, Changes(delay_ms=30_000))  # its next slot is before the lease ends

    office.target.meanwhile = edit
    assert do(office.ledger.run_now(ben, checkid)).outcome.status == "UP"
    assert office.check(checkid).delay_ms == 30_000


# ── running by hand ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_run_by_hand_tells_what_came_of_it_and_leaves_the_slot(office, ann):
    (checkid,) = office.add(ann)
    office.run(ann, checkid, "u")
    slot = office.check(checkid).next_run_at
    office.clock.advance(10)
    finished = do(office.ledger.run_now(ann, checkid))
    assert finished.outcome.status == "UP"
    assert office.check(checkid).next_run_at == slot
    assert len(office.db.runs(checkid).run()) == 2


def test_what_is_not_in_the_schedule_is_not_run_by_hand(office, ann):
    (checkid,) = office.add(ann)
    do(office.ledger.pause(ann, checkid))
    with pytest.raises(NotPossibleNow, match="paused: resume it first"):
        do(office.ledger.run_now(ann, checkid))
    do(office.ledger.resume(ann, checkid))
    with pytest.raises(NotPossibleNow):
        do(Ledger(office.db, office.clock).run_now(ann, checkid))
    assert office.target.probes == []


def test_a_check_that_is_being_run_is_not_run_by_hand_too(office, ann):
    (checkid,) = office.add(ann)
    do(office.ledger.runs.claim(office.check(checkid)))
    with pytest.raises(NotPossibleNow, match="right now"):
        do(office.ledger.run_now(ann, checkid))


# ── deleting ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_deleted_check_leaves_nothing(office, ann):
    do(office.channels.verify(do(office.channels.add(ann, "EMAIL", "a@b.example")).token))
    checkid, other = office.add(ann, 2)
    office.run(ann, checkid, "uddd")
    do(office.ledger.delete(ann, checkid))
    assert office.stored("CHECK") == [f"{other}/CHECK"]
    assert do(office.users.find(ann)).check_count == 1
    with pytest.raises(NotThere):
        do(office.ledger.delete(ann, checkid))


def test_a_check_with_a_long_history_is_deleted_whole(office, ann):
    (checkid,) = office.add(ann)
    runs = [Run(checkid=checkid, at=NOON + timedelta(minutes=n), result={"status": "UP"}) for n in range(450)]
    office.db.batch(runs).run()
    do(office.ledger.delete(ann, checkid))
    assert office.stored("CHECK") == []


def test_a_deletion_cut_short_anywhere_is_completed_by_another(office, ann):
    def prepare(calls):
        (checkid,) = office.add(ann)
        office.run(ann, checkid, "uddd")
        return checkid

    async def delete(at, checkid):
        if await at.db.check(checkid) is not None:
            await at.ledger.delete(ann, checkid)

    def settled(checkid):
        assert office.stored("CHECK") == []
        assert do(office.users.find(ann)).check_count == 0

    assert crash_everywhere(office, prepare, delete, settled) > 5


def test_a_check_that_is_being_deleted_is_not_run_any_more(office, ann):
    (checkid,) = office.add(ann)
    office.run(ann, checkid, "u")
    refused = []

    async def run():
        with pytest.raises(NotPossibleNow) as refusal:
            await office.ledger.run_now(ann, checkid)
        refused.append(refusal)

    do(interfere(office, run, operation="BatchWriteItem").ledger.delete(ann, checkid))
    assert len(refused) == 1
    assert office.stored("CHECK") == []


def test_a_check_deleted_many_times_at_once_frees_one_place(office, ann):
    checkid, _ = office.add(ann, 2)
    race(6, lambda _: office.ledger.delete(ann, checkid))
    assert do(office.users.find(ann)).check_count == 1


def test_a_check_that_is_deleted_while_it_runs_leaves_nothing(office, ann):
    (checkid,) = office.add(ann)

    async def delete():
        await office.ledger.delete(ann, checkid)

    office.target.meanwhile = delete
    with pytest.raises(Changed):
        do(office.ledger.run_now(ann, checkid))
    assert office.stored("CHECK") == []


# ── the count, and what other systems left ───────────────────────────────────────────────────────────────────────────
def test_a_wrong_count_is_repaired(office, ann):
    office.add(ann, 3)
    office.db.recount(ann, check_count=5, seen=3).run()
    with pytest.raises(LimitReached):
        do(office.ledger.create(ann, draft()))
    assert do(office.ledger.repair_count(ann)) == 3
    do(office.ledger.create(ann, draft()))
    assert do(office.users.find(ann)).check_count == 4
    with pytest.raises(NotThere):
        do(office.ledger.repair_count("nobody"))


def test_a_count_that_is_too_low_does_not_keep_a_check_from_being_deleted(office, ann):
    checks = office.add(ann, 2)
    office.db.recount(ann, check_count=0, seen=2).run()
    do(office.ledger.delete(ann, checks[0]))
    assert do(office.users.find(ann)).check_count == 1


def test_a_user_of_the_original_system_is_counted_before_a_check_is_added(office, database):
    put_plain(database, "USER", USER | {"checkLimit": 2})
    put_plain(database, "CHECK", CHECK)
    do(office.ledger.create("123456", draft()))
    with pytest.raises(LimitReached):
        do(office.ledger.create("123456", draft()))
    assert do(office.users.find("123456")).check_count == 2


def test_a_check_of_the_original_system_is_resumed_into_the_schedule(office, database):
    put_plain(database, "USER", USER)
    put_plain(database, "CHECK", CHECK)
    assert type(do(office.ledger.find("123456", "abcdef"))) is Active
    with pytest.raises(NotPossibleNow, match="out of the schedule"):
        do(office.ledger.run_now("123456", "abcdef"))
    assert type(do(office.ledger.resume("123456", "abcdef"))) is Scheduled
    do(office.ledger.run_now("123456", "abcdef"))
    do(office.ledger.delete("123456", "abcdef"))
    assert office.stored("CHECK") == []


def test_a_type_that_is_not_known_is_read_and_paused_and_not_given_attributes(office, ann, database):
    put_plain(database, "CHECK", CHECK | {"userid": ann, "checkType": "AI CHECK", "attributes": {"prompt": "x"}})
    assert do(office.ledger.find(ann, "abcdef")).check_type == "AI CHECK"
    assert do(office.ledger.edit(ann, "abcdef", Changes(name="mine"))).attributes == {"prompt": "x"}
    with pytest.raises(InputRefused, match="checkType"):
        do(office.ledger.edit(ann, "abcdef", Changes(attributes={"prompt": "y"})))
    assert type(do(office.ledger.pause(ann, "abcdef"))) is Paused


def test_a_status_of_another_system_can_be_seen_and_deleted(office, ann, database):
    put_plain(database, "CHECK", CHECK | {"userid": ann, "status": "ARCHIVED"})
    assert type(do(office.ledger.find(ann, "abcdef"))) is Foreign
    for attempt in (
        lambda: office.ledger.edit(ann, "abcdef", Changes(name="x")),
        lambda: office.ledger.pause(ann, "abcdef"),
        lambda: office.ledger.resume(ann, "abcdef"),
        lambda: office.ledger.run_now(ann, "abcdef"),
    ):
        with pytest.raises(NotPossibleNow):
            do(attempt())
    do(office.ledger.delete(ann, "abcdef"))
    assert office.stored("CHECK") == []
