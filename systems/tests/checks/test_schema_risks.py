"""The seed's traps, each resolved by the declarations; the numbers are those of the list they come from."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hashrange import Conflict, Taken, ValueInvalid, dump_item, load_item
from hashrange_systems.checks.history_schema import Run
from hashrange_systems.checks.model.outcome import Outcome, Status, read_outcome, write_outcome
from hashrange_systems.checks.model.schedule import due_shard
from hashrange_systems.checks.schema import (
    Active,
    ApiKey,
    Check,
    Checks,
    EmailClaim,
    Failed,
    KeyClaim,
    Scheduled,
    SuspendedCheck,
    User,
)
from systems.tests.checks.check_items import (
    CHECK,
    NOON,
    USER,
    add_check,
    due,
    find_due,
    get_plain,
    make_active,
    make_check,
    make_user,
    put_plain,
    race,
    sign_up,
    to_wire,
    winners,
)

LATER = NOON + timedelta(hours=1)
UP = {"status": "UP", "responseTime": 250}


def test_01_of_twenty_who_sign_up_with_the_same_address_at_once_one_wins(db):
    address = "Ann@Example.com"
    outcomes = race(20, lambda n: sign_up(db, f"u{n}", email=address.upper() if n % 2 else address))
    (won,) = winners(outcomes)
    assert all(isinstance(found, Taken) for found in outcomes if found is not won)
    assert db.claim("ann@example.com").required().run().owner == won.userid
    assert [n for n in range(20) if db.user(f"u{n}").run()] == [int(won.userid[1:])]


@given(st.emails())
def test_01_an_address_is_claimed_however_it_is_capitalised(address):
    claims = {EmailClaim(address=form, owner="u").address for form in (address, address.upper(), address.swapcase())}
    assert claims == {address.casefold()}


def test_01_the_e_mail_is_stored_as_the_user_writes_it(db, database):
    sign_up(db, email="Ann@Example.com")
    assert get_plain(database, "USER", "u1", "USER")["email"] == "Ann@Example.com"
    assert get_plain(database, "USER", "EMAIL#ann@example.com", "EMAIL")["owner"] == "u1"


def test_02_of_fifty_checks_added_at_once_exactly_the_limit_exist(db):
    user = sign_up(db, check_limit=7)
    outcomes = race(50, lambda n: add_check(db, user, make_check(f"c{n}")))
    assert len(winners(outcomes)) == len(db.checks_of("u1").run()) == 7
    assert db.user("u1").required().run().check_count == 7
    assert len(due(db)) == 7


def test_02_a_deleted_check_frees_its_slot_and_no_more_than_that(db):
    user = sign_up(db, check_limit=1)
    add_check(db, user, make_check("c1"))
    with pytest.raises(Conflict):
        add_check(db, user, make_check("c2"))
    outcomes = race(5, lambda _: db.transact(db.drop("c1", userid="u1"), db.release_check("u1", check_count=-1)).run())
    assert len(winners(outcomes)) == 1
    assert add_check(db, user, make_check("c2")).checkid == "c2"


def test_02_paused_checks_count(db):
    user = sign_up(db, check_limit=1)
    db.pause(add_check(db, user, make_check("c1")), updated_at=LATER, seen=None).run()
    with pytest.raises(Conflict):
        add_check(db, user, make_check("c2"))


def test_02_a_user_of_the_original_system_is_counted_once_before_a_check_is_added(db, database):
    put_plain(database, "USER", USER | {"checkLimit": 2})
    put_plain(database, "CHECK", CHECK)
    user = db.user("123456").required().run()
    with pytest.raises(Conflict):
        add_check(db, user, make_check("c1", userid="123456"))
    outcomes = race(5, lambda _: db.count("123456", check_count=len(db.checks_of("123456").run())).run())
    assert len(winners(outcomes)) == 1
    add_check(db, user, make_check("c1", userid="123456"))
    with pytest.raises(Conflict):
        add_check(db, user, make_check("c2", userid="123456"))


def test_02_a_repair_of_the_count_gives_way_to_a_check_that_was_added_meanwhile(db):
    user = sign_up(db)
    add_check(db, user, make_check("c1"))
    with pytest.raises(Conflict):
        db.recount("u1", check_count=0, seen=0).run()
    assert db.recount("u1", check_count=3, seen=1).run().check_count == 3


def test_02_a_downgrade_keeps_the_checks_and_stops_new_ones(db):
    user = sign_up(db, check_limit=3)
    for n in range(3):
        add_check(db, user, make_check(f"c{n}"))
    db.change_tier("u1", "FREE", check_limit=1, updated_at=LATER).run()
    with pytest.raises(Conflict):
        add_check(db, user, make_check("c3"))
    assert len(db.checks_of("u1").run()) == 3


def test_03_what_is_due_is_asked_of_a_sparse_and_sharded_index(db):
    for n in range(40):
        db.create(make_check(f"c{n:02d}", next_run_at=NOON + timedelta(seconds=n))).run()
    db.create(make_active("of-the-original")).run()
    assert due(db, NOON + timedelta(seconds=9)) == [f"c{n:02d}" for n in range(10)]
    shards = {due_shard(f"c{n:02d}") for n in range(40)}
    assert len(shards) == 8
    for shard in shards:
        times = [due_at.next_run_at for due_at in db.due(shard, LATER)]
        assert times == sorted(times)
        assert {due_shard(due_at.checkid) for due_at in db.due(shard, LATER)} == {shard}


def test_03_only_active_checks_are_in_the_due_index(db, database):
    steps = {
        "paused": lambda check: db.pause(check, updated_at=LATER, seen=None).run(),
        "failed": lambda check: db.disable(check, updated_at=LATER).run(),
        "suspended": lambda check: db.suspend_check(check, suspended_at=LATER, seen=None).run(),
        "dropped": lambda check: db.drop(check.checkid, userid="u1").run(),
        "edited": lambda check: db.edit(
            check, updated_at=LATER, revision=1, seen=None, url="https://other.example"
        ).run(),
    }
    for checkid, step in steps.items():
        step(db.create(make_check(checkid)).run())
    rows = database.call("Scan", {"TableName": "CHECK", "IndexName": "Due-Index"})["Items"]
    assert [row["PK"]["S"] for row in rows] == ["edited"]


def test_03_the_executor_gets_the_whole_check_with_its_claim(db):
    db.create(make_check(attributes={"keyword": "Example"})).run()
    check = db.claim_run(find_due(db, "c1"), next_run_at=LATER).run()
    assert (check.url, check.delay_ms, check.attributes) == ("https://example.com", 300_000, {"keyword": "Example"})


def test_04_the_history_of_a_check_is_not_in_its_partition_and_is_no_check(db, database):
    db.create(make_check()).run()
    db.create(Run(checkid="c1", at=NOON, result=UP)).run()
    of_check = {"KeyConditionExpression": "PK = :c", "ExpressionAttributeValues": {":c": {"S": "c1"}}}
    keys = [item["SK"]["S"] for item in database.call("Query", {"TableName": "CHECK", **of_check})["Items"]]
    assert keys == ["CHECK"]
    assert [type(found) for found in db.history_of("c1")] == [Run]
    assert [check.checkid for check in db.checks_of("u1")] == ["c1"]
    assert load_item([Check], dump_item(Run(checkid="c1", at=NOON, result=UP))) is None
    assert load_item([User], to_wire(USER | {"PK": "EMAIL#a", "SK": "EMAIL"})) is None


def test_05_a_target_that_is_down_does_not_fail_its_check(db, database):
    check = db.create(make_check()).run()
    after = db.finish_run(check, LATER, NOON, {"status": "DOWN", "cause": "TIMEOUT"}).run()
    assert (type(after), after.last_result["status"]) == (Scheduled, "DOWN")
    item = get_plain(database, "CHECK", "c1", "CHECK")
    assert (item["status"], item["lastResult"]["status"]) == ("ACTIVE", "DOWN")
    failed = db.disable(after, updated_at=LATER, failed_reason="the address is private").run()
    assert (type(failed), failed.last_result["status"]) == (Failed, "DOWN")


def test_06_an_execution_does_not_touch_updated_at(db):
    check = db.create(make_check()).run()
    check = db.claim_run(check, next_run_at=LATER).run()
    check = db.finish_run(check, LATER, LATER, UP, state={"phase": "UP"}, alert_history={}).run()
    assert (check.updated_at, check.last_executed_at) == (NOON, LATER)
    assert db.record(check, LATER + timedelta(hours=1), UP).run().updated_at == NOON
    assert db.edit(check, updated_at=LATER, revision=1, seen=None).run().updated_at == LATER


def test_07_run_now_takes_the_same_claim_and_gives_the_slot_back(db):
    due_at = NOON + timedelta(minutes=4)
    check = db.create(make_check(next_run_at=due_at)).run()
    held = db.claim_run(check, next_run_at=NOON + timedelta(seconds=30)).run()
    with pytest.raises(Conflict):
        db.claim_run(check, next_run_at=NOON + timedelta(seconds=31)).run()
    assert db.finish_run(held, due_at, NOON, UP).run().next_run_at == due_at


def test_08_a_suspended_users_checks_leave_the_schedule_and_come_back(db):
    user = sign_up(db)
    for n in range(3):
        add_check(db, user, make_check(f"c{n}"))
    paused = db.pause(db.check("c2").required().run(), updated_at=LATER, seen=None).run()
    gone = db.suspend(user, updated_at=LATER).run()
    for check in db.checks_of("u1"):
        if isinstance(check, Active):
            db.suspend_check(check, suspended_at=LATER, seen=None).run()
    assert due(db, LATER) == []
    assert {check.status for check in db.checks_of("u1")} == {"ACTIVE", "PAUSED"}
    back = db.reinstate(gone, updated_at=LATER).run()
    for check in db.checks_of("u1"):
        if isinstance(check, SuspendedCheck):
            db.transact(db.is_active(back), db.resume_schedule(check, next_run_at=LATER)).run()
    assert due(db, LATER) == ["c0", "c1"]
    assert db.check("c2").required().run() == paused


def test_08_a_suspended_user_adds_and_schedules_no_checks(db):
    user = sign_up(db)
    check = add_check(db, user, make_check("c1"))
    suspended = db.suspend_check(check, suspended_at=LATER, seen=None).run()
    db.suspend(user, updated_at=LATER).run()
    with pytest.raises(Conflict):
        add_check(db, user, make_check("c2"))
    with pytest.raises(Conflict):
        db.transact(db.is_active(user), db.resume_schedule(suspended, next_run_at=LATER)).run()
    assert due(db, LATER) == []


def test_08_a_claim_that_was_about_to_be_made_finds_the_check_suspended(db):
    check = db.create(make_check()).run()
    due_at = find_due(db, "c1")
    db.suspend_check(check, suspended_at=LATER, seen=None).run()
    with pytest.raises(Conflict) as conflict:
        db.claim_run(due_at, next_run_at=LATER).run()
    assert type(conflict.value.current) is SuspendedCheck


def test_09_the_projections_hold_what_is_asked_of_them(db, database):
    for table, name, kind in (
        ("USER", "Email-Index", "INCLUDE"),
        ("CHECK", "User-Check-Index", "ALL"),
        ("CHECK", "Due-Index", "KEYS_ONLY"),
        ("CHECK", "Outbox-Index", "KEYS_ONLY"),
        ("CHECK", "Owner-Alert-Index", "KEYS_ONLY"),
    ):
        indexes = database.call("DescribeTable", {"TableName": table})["Table"]["GlobalSecondaryIndexes"]
        (projection,) = [index["Projection"] for index in indexes if index["IndexName"] == name]
        assert projection["ProjectionType"] == kind
    assert Checks.plan("checks_of").path.projects_all


def test_11_userid_and_pk_are_spelled_as_in_the_seed(db, database):
    db.create(make_check("c1")).run()
    (row,) = database.call("Scan", {"TableName": "CHECK", "IndexName": "User-Check-Index"})["Items"]
    assert (row["userid"], row["PK"]) == ({"S": "u1"}, {"S": "c1"})
    assert not {"userId", "user_id", "checkid", "checkId"} & row.keys()


def test_13_a_result_that_could_grow_is_refused_before_it_is_sent(db):
    check = db.create(make_check()).run()
    for wrong in (
        {"status": "UP", "message": "x" * 1001},
        {"status": "UP", "page": "the text of the whole page"},
        {"status": "UP", "phases": {"somewhere": 1}},
        {"status": "SIDEWAYS"},
    ):
        with pytest.raises(ValueInvalid, match="last_result"):
            db.finish_run(check, LATER, NOON, wrong)
        with pytest.raises(ValidationError):
            Run(checkid="c1", at=NOON, result=wrong)


def test_13_a_result_of_the_original_system_is_read_however_large(db, database):
    put_plain(database, "CHECK", CHECK | {"lastResult": {"status": "UP", "page": "x" * 300_000}})
    assert len(db.check("abcdef").required().run().last_result["page"]) == 300_000


def test_13_every_outcome_of_the_model_can_be_stored_and_read_back(db):
    check = db.create(make_check()).run()
    outcome = Outcome(
        status=Status.DEGRADED,
        message="ü" * 5000,
        response_time=12,
        http_status=200,
        keyword_found=True,
        certificate_days=3,
        available=True,
        price=1299,
        shipping=0,
        shipping_known=True,
        currency="EUR",
        link="https://shop.example/" + "x" * 5000,
    )
    after = db.finish_run(check, LATER, NOON, write_outcome(outcome)).run()
    assert after.last_result == write_outcome(outcome)
    assert read_outcome(after.last_result).price == 1299


def test_an_api_key_cannot_be_stored_as_it_is():
    for kept in ("hr_live_secret", "0" * 63, "A" * 64, ""):
        with pytest.raises(ValidationError):
            KeyClaim(digest=kept, owner="u1", key_id="k1")
        with pytest.raises(ValidationError):
            ApiKey(userid="u1", key_id="k1", name="ci", digest=kept, created_at=NOON)


def test_an_empty_e_mail_is_refused_because_it_is_a_key(db):
    with pytest.raises(ValueInvalid, match="empty"):
        sign_up(db, email="")
    assert db.user("u1").run() is None


def test_a_check_cannot_take_the_place_of_another(db):
    user = sign_up(db)
    add_check(db, user, make_check("c1"))
    with pytest.raises(Taken):
        add_check(db, user, make_check("c1", userid="u2"))
    assert db.user("u1").required().run().check_count == 1


def test_a_user_cannot_be_taken_in_twice(db):
    sign_up(db)
    with pytest.raises(Taken):
        db.create(make_user("u1", email="other@example.com")).run()
