"""Runs: claims with leases, a fixed rate, and one transaction for all that a run leads to."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from hashrange import ProvisionedThroughputExceededException
from hashrange_systems.checks.history_schema import Ended, Ongoing
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.schedule import find_phase
from hashrange_systems.checks.model.state import EventType, Phase, read_state
from hashrange_systems.checks.schema import Failed, Paused, Scheduled, Waiting
from hashrange_systems.shared.epoch import from_ms, to_ms
from systems.tests.checks.check_items import CHECK, MINUTE, NOON, due, find_due, get_plain, put_plain
from systems.tests.checks.run_scenario import (
    DOWN,
    Target,
    add_channel,
    alerts_of,
    make_runs,
    next_run,
    now_of,
    open_throttled,
    run_due_check,
    run_scheduled,
    set_up,
    wait_until_due,
)

DELAY = timedelta(minutes=5)
NOON_MS = to_ms(NOON)


def claim(db, clock, runs, checkid="c1"):
    return asyncio.run(runs.claim(find_due(db, checkid, now_of(clock))))


def claim_by_hand(db, runs, checkid="c1"):
    return asyncio.run(runs.claim(db.check(checkid).required().run()))


def run_by_hand(db, runs, checkid="c1"):
    return asyncio.run(runs.perform(claim_by_hand(db, runs, checkid), shift=False))


# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_claim_is_one_workers_until_its_lease_is_over(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    due_at = find_due(db, "c1")
    mine = asyncio.run(runs.claim(due_at))
    assert (mine.due_at, mine.early) == (NOON_MS, False)
    assert asyncio.run(runs.claim(due_at)) is None
    assert due(db, NOON + timedelta(seconds=59)) == []
    assert due(db, NOON + timedelta(seconds=60)) == ["c1"]


def test_a_slot_whose_worker_died_is_run_once_as_the_slot_that_it_was(db, clock):
    set_up(db)
    dead, alive = make_runs(db, clock), make_runs(db, clock)
    abandoned = claim(db, clock, dead)
    clock.advance(60)
    taken = claim(db, clock, alive)
    assert (taken.due_at, taken.early) == (NOON_MS, False)
    asyncio.run(alive.perform(taken))
    assert asyncio.run(dead.perform(abandoned)) is None  # it was only slow
    (run,) = db.runs("c1").run()
    assert (run.due_at, run.at) == (NOON, NOON + MINUTE)


def test_a_released_claim_is_due_again_at_once(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    mine = claim(db, clock, runs)
    asyncio.run(runs.release(mine))
    assert due(db, NOON) == ["c1"]
    clock.advance(1)
    assert claim(db, clock, runs).due_at == NOON_MS
    asyncio.run(runs.release(mine))  # no longer ours: nothing happens
    assert due(db, NOON) == []


# ── the schedule ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_checks_run_at_a_fixed_rate_on_a_grid_of_their_own(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 4)
    due_times = [run.due_at for run in db.runs("c1").run()][::-1]
    phase = find_phase("c1", 300_000)
    assert [to_ms(due_at) % 300_000 for due_at in due_times[1:]] == [phase] * 3
    assert [late - early for early, late in pairwise(due_times[1:])] == [DELAY] * 2


def test_a_run_that_is_late_or_slow_shifts_nothing(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 2)
    expected = next_run(db) + DELAY

    async def take_some_time():
        clock.advance(20)

    wait_until_due(db, clock)
    clock.advance(30)
    run_due_check(db, clock, make_runs(db, clock, Target("u", take_some_time)))
    assert next_run(db) == expected


def test_missed_slots_are_skipped_not_made_up_for(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 2)
    planned = next_run(db)
    clock.set((planned + 7 * DELAY + MINUTE).timestamp())
    run_due_check(db, clock, runs)
    assert next_run(db) == planned + 8 * DELAY
    assert len(db.runs("c1").run()) == 3


def test_a_failure_is_looked_at_again_soon_and_then_at_its_old_rate(db, clock):
    set_up(db)
    runs = make_runs(db, clock, "uuddddd")
    run_scheduled(db, clock, runs, 2)
    regular = next_run(db)
    run_scheduled(db, clock, runs, 1)
    assert next_run(db) - regular == timedelta(seconds=30)
    run_scheduled(db, clock, runs, 1)
    assert next_run(db) - regular == timedelta(seconds=60)
    run_scheduled(db, clock, runs, 1)
    assert next_run(db) == regular + DELAY


def test_a_run_by_hand_never_shifts_the_slot(db, clock):
    set_up(db)
    runs = make_runs(db, clock, "uud")
    run_scheduled(db, clock, runs, 2)
    planned = next_run(db)
    for seconds in (1, 100, 180):
        clock.set((planned - timedelta(seconds=seconds)).timestamp())
        assert run_by_hand(db, runs).check.next_run_at == planned
    wait_until_due(db, clock)
    run_due_check(db, clock, runs)
    assert next_run(db) > planned


def test_a_run_by_hand_that_died_leaves_the_slot_where_it_was(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 2)
    planned = next_run(db)
    clock.set((planned - timedelta(seconds=200)).timestamp())
    claim_by_hand(db, runs)
    clock.advance(60)
    taken = claim(db, clock, runs)
    assert (taken.due_at, taken.early) == (to_ms(planned), True)
    asyncio.run(runs.perform(taken))
    assert next_run(db) == planned


def test_a_check_is_not_run_by_hand_while_it_is_being_run(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    mine = claim(db, clock, runs)
    assert claim_by_hand(db, runs) is None
    assert asyncio.run(runs.perform(mine)) is not None


def test_a_run_by_hand_of_an_overdue_check_is_its_slot(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_by_hand(db, runs)
    assert next_run(db) > NOON
    assert [run.due_at for run in db.runs("c1")] == [NOON]


def test_a_clock_that_goes_backwards_loses_and_doubles_nothing(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 3)
    wait_until_due(db, clock)
    planned = next_run(db)
    mine = claim(db, clock, runs)
    clock.advance(-3600)
    asyncio.run(runs.perform(mine))
    assert next_run(db) == planned + DELAY
    times = [run.at for run in db.runs("c1").run()][::-1]
    assert times == sorted(set(times))
    assert len(times) == 4


def test_two_runs_in_the_same_millisecond_are_two_runs(db, clock):
    set_up(db)
    runs = make_runs(db, clock)
    run_due_check(db, clock, runs)
    run_by_hand(db, runs)
    assert [run.at for run in db.runs("c1")] == [NOON + timedelta(milliseconds=1), NOON]


def test_the_change_of_the_clocks_in_spring_moves_no_slot(db, clock):
    change = from_ms(1_774_746_000_000)  # 2026-03-29T01:00:00Z, when Europe loses an hour
    set_up(db, next_run_at=change - DELAY)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 6)
    due_times = [run.due_at for run in db.runs("c1").run()][::-1]
    assert {late - early for early, late in pairwise(due_times[1:])} == {DELAY}


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_run_leaves_its_result_as_the_seed_has_it_and_the_configuration_alone(db, database, clock):
    set_up(db, "abcdef", userid="u1")
    found = Outcome(status=Status.UP, response_time=250, keyword_found=True)
    clock.advance(0.123)
    run_due_check(db, clock, make_runs(db, clock, Target([found])), "abcdef")
    item = get_plain(database, "CHECK", "abcdef", "CHECK")
    assert item["lastResult"] == CHECK["lastResult"]
    assert item["lastExecutedAt"] == "2026-01-15T12:00:00Z"
    assert item["updatedAt"] == item["createdAt"] == "2026-01-15T12:00:00Z"
    assert "slot" not in item


def test_many_runs_leave_updated_at_alone(db, clock):
    set_up(db)
    run_scheduled(db, clock, make_runs(db, clock, "uddddu"), 6)
    assert db.check("c1").required().run().updated_at == NOON


def test_a_run_is_kept_as_long_as_the_tier_says(db, clock):
    set_up(db)
    db.change_tier("u1", "PRO", check_limit=100, updated_at=NOON).run()
    run_due_check(db, clock, make_runs(db, clock))
    (run,) = db.runs("c1").run()
    assert run.expires_at == NOON + timedelta(days=90)
    assert (run.verdict, run.delay_ms, run.result["status"]) == ("UP", 300_000, "UP")


def test_failures_are_pending_before_they_are_down(db, clock):
    set_up(db, attributes={"retries": 2})
    runs = make_runs(db, clock, "uddd")
    finished = run_scheduled(db, clock, runs, 4)
    assert [read_state(each.check.state).phase for each in finished] == [
        Phase.UP,
        Phase.PENDING,
        Phase.PENDING,
        Phase.DOWN,
    ]
    assert [run.verdict for run in db.runs("c1").run()][::-1] == ["UP", "PENDING", "PENDING", "DOWN"]


def test_an_incident_starts_with_the_first_failure_and_ends_with_the_first_success(db, clock):
    set_up(db)
    runs = make_runs(db, clock, "udddduu")
    finished = run_scheduled(db, clock, runs, 4)
    assert [event.type for event in finished[3].events] == [EventType.OPENED]
    (opened,) = db.incidents("c1").run()
    times = [run.at for run in db.runs("c1").run()][::-1]
    assert (type(opened), opened.started_at, opened.cause) == (Ongoing, times[1], "STATUS")
    assert opened.evidence == "HTTP 500: answered 500"
    run_scheduled(db, clock, runs, 3)
    (ended,) = db.incidents("c1").run()
    times = [run.at for run in db.runs("c1").run()][::-1]
    assert (type(ended), ended.started_at, ended.ended_at) == (Ended, times[1], times[5])


def test_an_incident_that_is_no_longer_kept_can_still_end(db, database, clock):
    set_up(db)
    runs = make_runs(db, clock, "ddduu")
    run_scheduled(db, clock, runs, 3)
    (opened,) = db.incidents("c1").run()
    db.batch(delete=[opened]).run()
    run_scheduled(db, clock, runs, 2)
    assert [type(incident) for incident in db.incidents("c1")] == [Ended]


def test_alerts_are_queued_once_for_each_verified_channel(db, clock):
    set_up(db)
    for channel, verified in (("m1", True), ("m2", True), ("m3", False)):
        add_channel(db, channel, verified=verified)
    runs = make_runs(db, clock, "udddduu")
    run_scheduled(db, clock, runs, 3)
    assert alerts_of(db) == []
    run_scheduled(db, clock, runs, 4)
    assert sorted(alerts_of(db)) == [("DOWN", "m1"), ("DOWN", "m2"), ("UP", "m1"), ("UP", "m2")]
    (started,) = {to_ms(incident.started_at) for incident in db.incidents("c1")}
    ids = {alert.message_id for alert in db.alerts("c1")}
    assert ids == {f"c1#{topic}#{started}#{channel}" for topic in ("DOWN", "UP") for channel in ("m1", "m2")}
    down = next(alert for alert in db.alerts("c1") if alert.topic == "DOWN")
    assert (type(down), down.owner, down.content["result"]["httpStatus"]) == (Waiting, "u1", 500)
    assert down.content["incident"]["startedAt"] == started


def test_only_the_chosen_channels_are_told(db, clock):
    set_up(db, channels=["m2"])
    add_channel(db, "m1")
    add_channel(db, "m2")
    run_scheduled(db, clock, make_runs(db, clock, "ddd"), 3)
    assert alerts_of(db) == [("DOWN", "m2")]


def test_an_alert_that_is_queued_already_is_neither_reset_nor_in_the_way(db, clock):
    set_up(db)
    add_channel(db)
    runs = make_runs(db, clock, "ddd")
    run_scheduled(db, clock, runs, 2)
    started = read_state(db.check("c1").required().run().state).incident.started_at
    early = Waiting(
        checkid="c1",
        message_id=f"c1#DOWN#{started}#m1",
        owner="u1",
        channel_id="m1",
        topic="DOWN",
        content={},
        created_at=NOON,
        send_at=NOON,
    )
    sent = db.sent(db.create(early).run(), sent_at=NOON).run()
    (third,) = run_scheduled(db, clock, runs, 1)
    assert third is not None
    assert db.alerts("c1").run() == [sent]


def test_within_maintenance_nothing_is_counted_and_nobody_is_told(db, clock):
    window = {"kind": "ONCE", "start": NOON_MS, "end": NOON_MS + 3_600_000}
    set_up(db, maintenance=[window, {"kind": "of another system"}])
    add_channel(db)
    runs = make_runs(db, clock, "d")
    run_scheduled(db, clock, runs, 5)
    assert {run.verdict for run in db.runs("c1")} == {"UNKNOWN"}
    assert (alerts_of(db), db.incidents("c1").run()) == ([], [])
    while next_run(db) < NOON + timedelta(hours=1):
        run_scheduled(db, clock, runs, 1)
    run_scheduled(db, clock, runs, 3)
    assert alerts_of(db) == [("DOWN", "m1")]


# ── what cannot be run ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"check_type": "AI CHECK"}, "must be one of AVAILABILITY, HEARTBEAT, EBAY"),
        ({"attributes": {"timeoutMs": -1}}, "timeoutMs must be at least 100"),
        ({"check_type": "EBAY"}, "threshold is required"),
    ],
)
def test_a_check_that_cannot_be_run_fails_without_being_probed(db, clock, more, reason):
    set_up(db, **more)
    target = Target("u")
    finished = run_due_check(db, clock, make_runs(db, clock, target))
    failed = db.check("c1").required().run()
    assert (type(failed), target.probes, finished.check) == (Failed, [], failed)
    assert reason in failed.failed_reason
    assert failed.failed_reason == finished.disabled
    assert due(db, NOON + timedelta(days=400)) == []


def test_a_forbidden_address_is_unknown_until_it_is_forbidden_for_days(db, clock):
    set_up(db)
    refused = Outcome(status=Status.UNKNOWN, cause=Cause.REFUSED, message="a.example is at a private address")
    runs = make_runs(db, clock, Target([refused, "u", refused, refused]))
    for days in (0, 4, 4):
        clock.advance(days * 86_400)
        assert run_due_check(db, clock, runs).disabled is None
    clock.advance(3 * 86_400)
    assert run_due_check(db, clock, runs).disabled == "a.example is at a private address"


def test_a_check_of_a_forbidden_address_is_disabled_and_its_incident_ends(db, clock):
    set_up(db)
    add_channel(db)
    refused = Outcome(status=Status.UNKNOWN, cause=Cause.REFUSED, message="a.example is at a private address")
    runs = make_runs(db, clock, Target([DOWN, DOWN, DOWN, refused, refused]))
    run_scheduled(db, clock, runs, 4)
    clock.advance(3 * 86_400)
    disabled = run_due_check(db, clock, runs).disabled
    failed = db.check("c1").required().run()
    assert (type(failed), failed.failed_reason) == (Failed, "a.example is at a private address")
    assert disabled == failed.failed_reason
    assert failed.last_result["cause"] == "REFUSED"
    (incident,) = db.incidents("c1").run()
    assert (type(incident), incident.interrupted) == (Ended, True)
    assert alerts_of(db) == [("DOWN", "m1"), ("STOPPED", "m1")]  # an end of checking is no recovery
    assert db.runs("c1").run()[0].verdict == "PAUSED"


def test_a_delay_that_another_system_wrote_cannot_make_a_check_run_all_the_time(db, clock):
    set_up(db, delay_ms=0)
    runs = make_runs(db, clock)
    run_scheduled(db, clock, runs, 3)
    due_times = [run.due_at for run in db.runs("c1").run()]
    assert due_times[0] - due_times[1] == timedelta(seconds=1)


def test_the_seeds_own_check_runs_once_it_has_a_slot(db, database, clock):
    put_plain(database, "CHECK", CHECK | {"userid": "u1"})
    set_up(db)
    check = db.resume_schedule(db.check("abcdef").required().run(), next_run_at=NOON).run()
    assert type(check) is Scheduled
    finished = run_due_check(db, clock, make_runs(db, clock), "abcdef")
    assert finished.check.last_result == {"status": "UP", "httpStatus": 200, "responseTime": 250}


# ── what happens meanwhile ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_suspended_users_check_is_passed_over(db, clock):
    set_up(db)
    db.suspend(db.user("u1").required().run(), updated_at=NOON).run()
    target = Target("u")
    assert run_due_check(db, clock, make_runs(db, clock, target)) is None
    assert (target.probes, db.runs("c1").run()) == ([], [])
    assert next_run(db) > NOON
    assert db.check("c1").required().run().due_at is None


def test_who_is_suspended_during_a_run_is_not_written_to(db, clock):
    set_up(db)
    add_channel(db)

    async def suspend():
        await db.suspend(await db.user("u1"), updated_at=NOON)

    run_scheduled(db, clock, make_runs(db, clock, "d"), 2)
    wait_until_due(db, clock)
    assert run_due_check(db, clock, make_runs(db, clock, Target("d", suspend))) is None
    assert (alerts_of(db), db.incidents("c1").run()) == ([], [])


def test_a_check_that_is_deleted_with_its_user_during_a_run_stays_deleted(db, clock):
    set_up(db)

    async def delete():
        await db.drop("c1", userid="u1")
        await db.delete_user("u1", email="u1@example.com")

    assert run_due_check(db, clock, make_runs(db, clock, Target("d", delete))) is None
    assert db.check("c1").run() is None
    assert (db.history_of("c1").run(), db.alerts("c1").run()) == ([], [])


def test_a_check_whose_user_is_gone_is_passed_over(db, clock):
    set_up(db)
    db.delete_user("u1", email="u1@example.com").run()
    assert run_due_check(db, clock, make_runs(db, clock)) is None
    assert db.runs("c1").run() == []


def test_a_check_that_is_paused_and_resumed_during_a_run_keeps_its_new_slot(db, clock):
    set_up(db)

    async def pause_and_resume():
        check = await db.check("c1")
        paused = await db.pause(check, updated_at=NOON, seen=check.state)
        assert type(paused) is Paused
        await db.schedule(paused, updated_at=NOON, next_run_at=NOON + DELAY)

    assert run_due_check(db, clock, make_runs(db, clock, Target("d", pause_and_resume))) is None
    assert (next_run(db), db.runs("c1").run()) == (NOON + DELAY, [])


# ── a database that does not always write ────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("operation", ["UpdateItem", "GetItem", "Query", "TransactWriteItems"])
def test_an_outage_is_recorded_however_often_the_database_throttles(db, database, clock, operation):
    set_up(db)
    add_channel(db)
    transport, slow = open_throttled(database, clock)
    runs = make_runs(slow, clock, "d")
    for _ in range(3):
        wait_until_due(db, clock)
        due_at = find_due(db, "c1", now_of(clock))
        transport.throttle(operation, 30)
        assert asyncio.run(perform(runs, due_at)) is not None
    assert alerts_of(db) == [("DOWN", "m1")]
    assert [run.verdict for run in db.runs("c1")] == ["DOWN", "FIRST_FAILURE", "FIRST_FAILURE"]
    assert len(runs.sleep.slept) >= 30
    assert max(runs.sleep.slept) <= 5


async def perform(runs, due):
    return await runs.perform(await runs.claim(due))


def test_a_run_whose_answer_was_lost_is_recorded_once(db, database, clock):
    set_up(db)
    transport, slow = open_throttled(database, clock)
    inner, responses = transport.call_async, []

    async def lose_the_first_answer(operation, request, *read):
        response = await inner(operation, request, *read)
        if operation == "TransactWriteItems" and not responses:
            responses.append(response)
            raise ProvisionedThroughputExceededException("The level of configured throughput was exceeded.")
        return response

    transport.call_async = lose_the_first_answer
    run_due_check(db, clock, make_runs(slow, clock))
    check = db.check("c1").required().run()
    assert (check.last_result["status"], check.due_at) == ("UP", None)
    assert len(db.runs("c1").run()) == 1
