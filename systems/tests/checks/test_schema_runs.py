"""Patterns of workers and senders: claims with leases, history that expires, roll-ups, incidents, the outbox."""

from datetime import date, timedelta

import pytest

from hashrange import Conflict, LocalKeys, NotFound, Taken, ValueInvalid
from hashrange_systems.checks.history_schema import Ended, IncidentItem, Ongoing, RollupItem, Run
from hashrange_systems.checks.schema import Channel, Checks, Scheduled, Sent, Undeliverable, Waiting
from systems.tests.checks.check_items import MINUTE, NOON, due, find_due, get_plain, make_check, race, winners

LEASE = NOON + timedelta(seconds=30)
NEXT = NOON + 5 * MINUTE
UP = {"status": "UP", "responseTime": 250}


def make_alert(message="c1#DOWN#1", **more):
    given = {
        "checkid": "c1",
        "message_id": message,
        "owner": "u1",
        "channel_id": "m1",
        "topic": "DOWN",
        "content": {"status": "DOWN"},
        "created_at": NOON,
        "send_at": NOON,
    }
    return Waiting(**(given | more))


def outbox(db, at=NOON):
    return [alert for shard in range(8) for alert in db.outbox(str(shard), at)]


# ── due times ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_of_many_workers_that_claim_a_due_time_at_once_one_gets_it(db):
    db.create(make_check()).run()
    due_at = find_due(db, "c1")
    outcomes = race(20, lambda n: db.claim_run(due_at, next_run_at=LEASE + timedelta(milliseconds=n)).run())
    (won,) = winners(outcomes)
    assert type(won) is Scheduled
    assert due(db, NOON) == []


def test_a_slot_whose_worker_died_is_due_again_when_its_lease_is_over(db):
    db.create(make_check()).run()
    dead = db.claim_run(find_due(db, "c1"), next_run_at=LEASE).run()
    assert due(db, LEASE - timedelta(milliseconds=1)) == []
    other = db.claim_run(find_due(db, "c1", LEASE), next_run_at=LEASE + MINUTE).run()
    db.finish_run(other, NEXT, LEASE, UP).run()
    with pytest.raises(Conflict):
        db.finish_run(dead, NEXT, LEASE, {"status": "DOWN"}).run()  # it was only slow
    assert db.check("c1").required().run().last_result == UP


def test_a_run_is_finished_with_its_result_in_one_transaction_or_not_at_all(db):
    db.create(make_check()).run()
    mine = db.claim_run(find_due(db, "c1"), next_run_at=LEASE).run()
    run = Run(checkid="c1", at=NOON, result=UP, verdict="UP", delay_ms=300_000)
    done, kept = db.transact(db.finish_run(mine, NEXT, NOON, UP, state={"phase": "UP"}), db.create(run)).run()
    assert (done.next_run_at, done.state, kept) == (NEXT, {"phase": "UP"}, run)
    with pytest.raises(Conflict):
        db.transact(db.finish_run(mine, NEXT, NOON, UP), db.create(run)).run()
    assert db.runs("c1").run() == [run]


def test_a_check_that_is_deleted_while_it_runs_stays_deleted(db):
    db.create(make_check()).run()
    mine = db.claim_run(find_due(db, "c1"), next_run_at=LEASE).run()
    db.drop("c1", userid="u1").run()
    with pytest.raises(NotFound):
        db.finish_run(mine, NEXT, NOON, UP).run()
    assert db.check("c1").run() is None


def test_a_check_that_is_paused_while_it_runs_stays_paused(db):
    db.create(make_check()).run()
    mine = db.claim_run(find_due(db, "c1"), next_run_at=LEASE).run()
    db.pause(mine, updated_at=NOON, seen=None).run()
    with pytest.raises(Conflict):
        db.finish_run(mine, NEXT, NOON, UP).run()
    assert due(db, NEXT) == []


def test_slots_are_kept_to_the_millisecond(db):
    due_at = NOON + timedelta(milliseconds=123)
    db.create(make_check(next_run_at=due_at)).run()
    assert due(db, due_at - timedelta(milliseconds=1)) == []
    assert find_due(db, "c1", due_at).next_run_at == due_at


# ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_results_come_newest_first_and_by_time(db):
    runs = [Run(checkid="c1", at=NOON + timedelta(milliseconds=n), result=UP) for n in range(5)]
    db.batch(runs).run()
    assert db.runs("c1").run() == runs[::-1]
    assert db.runs("c1").limit(2).run() == [runs[4], runs[3]]
    assert db.runs_between("c1", at=(runs[1].at, runs[3].at)).run() == runs[1:4]


def test_results_expire_after_thirty_days_in_seconds_or_when_the_tier_says(db, database, clock):
    tiered = Run(checkid="c1", at=NOON + MINUTE, result=UP, expires_at=NOON + timedelta(days=90))
    db.batch([Run(checkid="c1", at=NOON, result=UP), tiered]).run()
    item = get_plain(database, "checks-history", "c1", "RESULT#2026-01-15T12:00:00.000Z")
    assert item["expiresAt"] == int((NOON + timedelta(days=30)).timestamp())
    clock.advance(31 * 86_400)
    assert db.runs("c1").run() == [tiered]  # what DynamoDB has not deleted yet is not shown


def test_a_day_is_rolled_up_once_and_days_come_in_order(db):
    days = [date(2026, 1, day) for day in (9, 10, 11)]
    ends = NOON + timedelta(days=400)
    for day in days:
        db.create(
            RollupItem(checkid="c1", day=day, rollup={"up": 86_400_000, "latency": {"3": 1}}, expires_at=ends)
        ).run()
    with pytest.raises(Taken):
        db.create(RollupItem(checkid="c1", day=days[0], rollup={}, expires_at=ends)).run()
    assert [found.day for found in db.rollups("c1", day=(days[1], days[2]))] == days[1:]
    assert db.rollups("c1", day=(days[0], days[0])).run()[0].rollup == {"up": 86_400_000, "latency": {"3": 1}}


def test_an_incident_is_opened_once_and_ended_once(db):
    opened = db.create(Ongoing(checkid="c1", started_at=NOON, cause="TIMEOUT", evidence="no answer in 10 s")).run()
    with pytest.raises(Taken):
        db.create(Ongoing(checkid="c1", started_at=NOON, cause="TIMEOUT")).run()
    ended = db.end_incident(opened, ended_at=NEXT, interrupted=False).run()
    assert (type(ended), ended.ended_at, ended.cause) == (Ended, NEXT, "TIMEOUT")
    with pytest.raises(Conflict) as conflict:
        db.end_incident(opened, ended_at=NEXT + MINUTE, interrupted=True).run()
    assert conflict.value.current == ended
    assert db.incidents("c1").run() == [ended]


def test_incidents_come_latest_first_and_tell_whether_they_go_on(db):
    first = db.create(Ongoing(checkid="c1", started_at=NOON)).run()
    db.end_incident(first, ended_at=NOON + MINUTE, interrupted=False).run()
    db.create(Ongoing(checkid="c1", started_at=NEXT)).run()
    assert [type(incident) for incident in db.incidents("c1")] == [Ongoing, Ended]
    assert all(isinstance(found, IncidentItem) for found in db.history_of("c1"))


# ── alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_same_alert_is_queued_once(db):
    outcomes = race(10, lambda _: db.create(make_alert()).run())
    assert len(winners(outcomes)) == 1
    assert len(db.alerts("c1").run()) == 1


def test_an_alert_is_queued_with_the_run_it_comes_from_or_not_at_all(db):
    db.create(make_check()).run()
    mine = db.claim_run(find_due(db, "c1"), next_run_at=LEASE).run()
    db.transact(db.finish_run(mine, NEXT, NOON, {"status": "DOWN"}), db.create(make_alert())).run()
    with pytest.raises(Conflict):
        db.transact(db.finish_run(mine, NEXT, NOON, {"status": "DOWN"}), db.create(make_alert("c1#DOWN#2"))).run()
    assert [alert.message_id for alert in db.alerts("c1")] == ["c1#DOWN#1"]


def test_an_alert_is_claimed_by_one_sender_and_leaves_the_outbox_when_sent(db):
    db.create(make_alert()).run()
    (waiting,) = outbox(db)
    outcomes = race(10, lambda n: db.claim_alert(waiting, LEASE + timedelta(milliseconds=n), attempts=1).run())
    (mine,) = winners(outcomes)
    assert (mine.attempts, mine.content, outbox(db)) == (1, {"status": "DOWN"}, [])
    sent = db.sent(mine, sent_at=NOON).run()
    assert (type(sent), outbox(db, NEXT)) == (Sent, [])
    with pytest.raises(Conflict):
        db.sent(mine, sent_at=NOON).run()


def test_an_alert_whose_sender_died_or_failed_is_tried_again_until_it_is_given_up(db):
    db.create(make_alert()).run()
    db.claim_alert(outbox(db)[0], send_at=LEASE, attempts=1).run()
    (again,) = outbox(db, LEASE)
    second = db.claim_alert(again, send_at=LEASE + MINUTE, attempts=1).run()
    later = db.retry_alert(second, send_at=NEXT, last_error="connection refused").run()
    assert (later.attempts, later.last_error, outbox(db, LEASE + MINUTE)) == (2, "connection refused", [])
    with pytest.raises(Conflict):
        db.give_up(later, lease=NOON, last_error="another sender has it").run()
    gone = db.give_up(later, lease=later.send_at, last_error="connection refused").run()
    assert (type(gone), outbox(db, NEXT)) == (Undeliverable, [])
    assert db.alerts("c1").run() == [gone]


def test_a_channels_secret_is_stored_encrypted(db, database, clock):
    channel = Channel(
        userid="u1", channel_id="w", channel_type="WEBHOOK", target="https://a.example", secret="hush", created_at=NOON
    )
    with pytest.raises(ValueInvalid, match="keys="):
        db.create(channel).run()
    sealed = Checks.open(database, clock=clock, keys=LocalKeys.generate())
    sealed.create(channel).run()
    assert "hush" not in str(get_plain(database, "USER", "u1", "CHANNEL#w"))
    assert sealed.channel("u1", "w").required().run().secret == "hush"
