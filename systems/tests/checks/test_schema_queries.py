"""Every query of the seed, and every step in the life of a user and of a check."""

from datetime import timedelta

import pytest

from hashrange import Conflict, NotFound, Taken
from hashrange_systems.checks.schema import (
    ActiveUser,
    ApiKey,
    Channel,
    EmailClaim,
    Failed,
    KeyClaim,
    Login,
    Paused,
    Scheduled,
    StatusPage,
    SuspendedCheck,
    SuspendedUser,
    Typed,
    User,
)
from systems.tests.checks.check_items import (
    CHECK,
    MINUTE,
    NOON,
    USER,
    add_check,
    due,
    make_active,
    make_check,
    make_paused,
    put_plain,
    sign_up,
)

LATER = NOON + timedelta(hours=1)
DIGEST = "0123456789abcdef" * 4


def test_a_user_is_found_by_id(db):
    sign_up(db, "u1")
    assert type(db.user("u1").required().run()) is ActiveUser
    assert db.user("u2").run() is None


def test_a_check_is_found_by_id(db):
    db.create(make_check("c1")).run()
    assert type(db.check("c1").required().run()) is Scheduled
    assert db.check("c2").run() is None


def test_the_checks_of_a_user_come_whole_and_in_order_of_their_ids(db):
    for checkid in ("c3", "c1", "c2"):
        db.create(make_check(checkid)).run()
    db.create(make_check("c4", userid="u2")).run()
    found = db.checks_of("u1").run()
    assert [check.checkid for check in found] == ["c1", "c2", "c3"]
    assert found[0] == db.check("c1").required().run()


def test_a_user_is_found_by_e_mail(db, database):
    put_plain(database, "USER", USER)
    login = Login(userid="123456", email="user@example.com", tier="PRO", status="ACTIVE")
    assert db.login("user@example.com").run() == [login]
    assert [type(user) for user in db.login("user@example.com").whole()] == [ActiveUser]
    assert db.login("nobody@example.com").run() == []


def test_checks_of_a_type_and_status_come_as_the_index_projects_them(db, database):
    put_plain(database, "CHECK", CHECK)
    put_plain(database, "CHECK", CHECK | {"PK": "ghijkl", "status": "PAUSED"})
    put_plain(database, "CHECK", CHECK | {"PK": "mnopqr", "checkType": "EBAY"})
    (found,) = db.by_type("AVAILABILITY", "ACTIVE").run()
    check = db.check("abcdef").required().run()
    assert found == Typed(
        checkid="abcdef",
        userid="123456",
        check_type="AVAILABILITY",
        status="ACTIVE",
        created_at=check.created_at,
    )
    assert [entry.checkid for entry in db.by_type("AVAILABILITY", "PAUSED")] == ["ghijkl"]
    assert [entry.checkid for entry in db.by_type("EBAY", "ACTIVE")] == ["mnopqr"]
    assert [check.url for check in db.by_type("EBAY", "ACTIVE").whole()] == ["https://example.com"]


def test_results_and_guards_are_in_no_index_of_the_seed(db, database):
    user = sign_up(db)
    db.create(ApiKey(userid="u1", key_id="k1", name="ci", digest=DIGEST, created_at=NOON)).run()
    db.create(Channel(userid="u1", channel_id="m", channel_type="EMAIL", target="a@b.example", created_at=NOON)).run()
    rows = database.call("Scan", {"TableName": "USER", "IndexName": "Email-Index"})["Items"]
    assert [row["PK"]["S"] for row in rows] == [user.userid]


# ── users ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_change_of_e_mail_moves_the_claim_with_it(db):
    user = sign_up(db, email="Old@example.com")
    moved, *_ = db.transact(
        db.change_email(user, "New@example.com", updated_at=LATER),
        db.create(EmailClaim(address="New@example.com", owner="u1")),
        db.release_email("old@example.com", owner="u1"),
    ).run()
    assert (moved.email, moved.updated_at) == ("New@example.com", LATER)
    assert db.claim("old@example.com").run() is None
    assert db.claim("new@example.com").required().run().owner == "u1"
    with pytest.raises(Conflict):
        db.change_email(user, "third@example.com", updated_at=LATER).run()  # from an address it no longer has


def test_a_tier_changes_with_its_limit(db):
    sign_up(db)
    user = db.change_tier("u1", "BUSINESS", check_limit=1000, updated_at=LATER).run()
    assert (user.tier, user.check_limit) == ("BUSINESS", 1000)
    with pytest.raises(NotFound):
        db.change_tier("u2", "PRO", check_limit=100, updated_at=LATER).run()


def test_a_user_is_suspended_and_reinstated_once(db):
    user = sign_up(db)
    gone = db.suspend(user, updated_at=LATER).run()
    assert (type(gone), gone.check_count) == (SuspendedUser, 0)
    with pytest.raises(Conflict):
        db.suspend(user, updated_at=LATER).run()
    assert type(db.reinstate(gone, updated_at=LATER).run()) is ActiveUser


def test_an_api_key_is_found_by_its_hash_and_is_gone_when_deleted(db):
    key = ApiKey(userid="u1", key_id="k1", name="ci", digest=DIGEST, created_at=NOON)
    db.transact(db.create(key), db.create(KeyClaim(digest=DIGEST, owner="u1", key_id="k1"))).run()
    assert db.key_owner(DIGEST).required().run() == KeyClaim(digest=DIGEST, owner="u1", key_id="k1")
    assert db.used_key("u1", "k1", last_used_at=LATER, before=NOON).run().last_used_at == LATER
    assert [entry.name for entry in db.api_keys("u1")] == ["ci"]
    with pytest.raises(Conflict):
        db.release_key(DIGEST, owner="u2").run()
    db.transact(db.delete_key("u1", "k1", digest=DIGEST), db.release_key(DIGEST, owner="u1")).run()
    assert (db.api_keys("u1").run(), db.key_owner(DIGEST).run()) == ([], None)


def test_a_channel_is_verified_and_deleted(db):
    db.create(Channel(userid="u1", channel_id="m1", channel_type="EMAIL", target="a@b.example", created_at=NOON)).run()
    assert db.channel("u1", "m1").required().run().verified_at is None
    db.verify("u1", "m1", verified_at=LATER).run()
    assert [channel.verified_at for channel in db.channels("u1")] == [LATER]
    db.delete_channel("u1", "m1").run()
    assert db.channels("u1").run() == []


def test_the_slug_of_a_status_page_belongs_to_one_user(db):
    for userid in ("u1", "u2"):
        sign_up(db, userid)
    db.transact(
        db.create(StatusPage(slug="acme", owner="u1", title="Acme")),
        db.list_pages("u1", ["acme"], updated_at=LATER, seen=None),
    ).run()
    with pytest.raises(Taken):
        db.create(StatusPage(slug="acme", owner="u2", title="Mine")).run()
    with pytest.raises(Conflict):
        db.edit_page("acme", owner="u2", title="Mine", checks=[], intro="").run()
    assert db.edit_page("acme", owner="u1", title="Acme!", checks=["c1"], intro="Hi").run().checks == ["c1"]
    assert db.user("u1").required().run().page_slugs == ["acme"]
    db.transact(db.release_page("acme", owner="u1"), db.list_pages("u1", [], updated_at=LATER, seen=["acme"])).run()
    assert (db.page("acme").run(), db.user("u1").required().run().page_slugs) == (None, [])


def test_everything_a_user_owns_is_found_and_deleted(db):
    user = sign_up(db)
    key = ApiKey(userid="u1", key_id="k1", name="ci", digest=DIGEST, created_at=NOON)
    channel = Channel(userid="u1", channel_id="m1", channel_type="EMAIL", target="a@b.example", created_at=NOON)
    db.batch([key, channel]).run()
    assert db.owned_items("u1").run() == [key, channel, user]
    db.batch(delete=[key, channel]).run()
    db.transact(db.delete_user("u1", email=user.email), db.release_email(user.email, owner="u1")).run()
    assert (db.owned_items("u1").run(), db.claim(user.email).run()) == ([], None)


def test_a_user_whose_address_changed_meanwhile_is_not_deleted(db):
    sign_up(db)
    with pytest.raises(Conflict):
        db.delete_user("u1", email="other@example.com").run()
    assert isinstance(db.user("u1").run(), User)


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_check_is_paused_and_scheduled_again(db):
    check = db.create(make_check(state={"phase": "DOWN"})).run()
    paused = db.pause(check, updated_at=LATER, seen=check.state, state={"phase": "NEW"}).run()
    assert (type(paused), paused.state, due(db)) == (Paused, {"phase": "NEW"}, [])
    with pytest.raises(Conflict):
        db.pause(check, updated_at=LATER, seen=check.state).run()
    again = db.schedule(paused, updated_at=LATER, next_run_at=LATER).run()
    assert (type(again), again.next_run_at, due(db, LATER)) == (Scheduled, LATER, ["c1"])


def test_a_check_that_cannot_be_run_fails_and_can_be_scheduled_again(db):
    check = db.create(make_check()).run()
    failed = db.disable(check, updated_at=LATER, failed_reason="the host has not existed for days").run()
    assert (type(failed), failed.failed_reason, due(db)) == (Failed, "the host has not existed for days", [])
    again = db.schedule(failed, updated_at=LATER, next_run_at=LATER).run()
    assert type(again) is Scheduled
    assert not hasattr(again, "failed_reason")
    assert type(db.disable(again, updated_at=LATER).run()) is Failed  # and its old reason is gone
    assert db.check("c1").required().run().failed_reason is None


def test_an_edit_changes_what_is_given_and_nothing_else(db):
    check = db.create(make_check(name="home", attributes={"keyword": "a"})).run()
    window = {"kind": "ONCE", "start": 1, "end": 2}
    edited = db.edit(
        check, updated_at=LATER, revision=1, seen=None, attributes={"keyword": "b"}, maintenance=[window]
    ).run()
    assert (edited.attributes, edited.maintenance, edited.name) == ({"keyword": "b"}, [window], "home")
    assert (edited.url, edited.updated_at, due(db)) == (check.url, LATER, ["c1"])
    assert db.edit(check, LATER, revision=2, seen=1, name=None, channels=["m1"]).run().name is None


def test_a_check_is_deleted_with_its_slot_by_its_owner_only(db):
    user = sign_up(db)
    add_check(db, user, make_check())
    with pytest.raises(Conflict):
        db.transact(db.drop("c1", userid="u2"), db.release_check("u1", check_count=-1)).run()
    db.transact(db.drop("c1", userid="u1"), db.release_check("u1", check_count=-1)).run()
    with pytest.raises(NotFound):
        db.transact(db.drop("c1", userid="u1"), db.release_check("u1", check_count=-1)).run()
    assert (db.check("c1").run(), db.user("u1").required().run().check_count) == (None, 0)


def test_a_check_of_the_original_system_joins_the_schedule(db, database):
    put_plain(database, "CHECK", CHECK)
    joined = db.resume_schedule(db.check("abcdef").required().run(), next_run_at=NOON).run()
    assert (type(joined), due(db), joined.updated_at.year) == (Scheduled, ["abcdef"], 2024)


def test_a_paused_check_does_not_join_the_schedule_by_itself(db):
    check = db.create(make_active()).run()
    db.pause(check, updated_at=LATER, seen=check.state).run()
    with pytest.raises(Conflict):
        db.resume_schedule(check, next_run_at=NOON).run()
    assert due(db, LATER) == []


def test_a_paused_check_can_be_created_and_edited(db):
    paused = db.create(make_paused()).run()
    assert type(db.edit(paused, updated_at=LATER, revision=1, seen=None, delay_ms=60_000).run()) is Paused
    assert due(db, LATER) == []


def test_a_suspended_check_comes_back_with_its_status(db):
    check = db.create(make_check()).run()
    suspended = db.suspend_check(check, suspended_at=LATER, seen=None).run()
    assert (type(suspended), suspended.status, due(db, LATER)) == (SuspendedCheck, "ACTIVE", [])
    back = db.resume_schedule(suspended, next_run_at=LATER + MINUTE).run()
    assert (type(back), back.updated_at) == (Scheduled, NOON)
