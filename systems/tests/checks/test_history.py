"""The past of a check: stored days and live runs together say what an oracle says that looks at every minute."""

import asyncio
import random
from datetime import date, timedelta
from fractions import Fraction

import pytest

from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
from hashrange_systems.checks.model.latency import count_times
from hashrange_systems.checks.model.uptime import (
    DURATIONS,
    UNCONFIRMED,
    Rollup,
    Sample,
    Verdict,
    find_uptime,
    read_rollup,
)
from hashrange_systems.checks.service.history import History, join_neighbours, read_sample
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms
from systems.tests.checks.check_items import MINUTE, NOON, make_check, sign_up
from systems.tests.checks.model.test_uptime import look_at_second
from systems.tests.checks.run_scenario import make_runs, run_scheduled, set_up

MINUTE_MS = 60_000
NOON_MS = to_ms(NOON)
TODAY = NOON_MS - NOON_MS % DAY_MS
WINDOWS = [(TODAY - 2 * DAY_MS - 90 * MINUTE_MS, TODAY - 2 * DAY_MS + 45 * MINUTE_MS)]


def invent(seed):
    """Four days of samples on whole minutes, the last of which is clear."""
    chance = random.Random(seed)
    at, samples = TODAY - 4 * DAY_MS + chance.randrange(600) * MINUTE_MS, []
    while at < NOON_MS - 20 * MINUTE_MS:
        verdict, delay = chance.choice([*Verdict, Verdict.UP, Verdict.UP]), chance.choice([4, 10, 30])
        samples.append(Sample(at=at, verdict=verdict, delay_ms=delay * MINUTE_MS, response_time=chance.randrange(900)))
        at += chance.choice([1, 5, 10, 30, 90]) * MINUTE_MS
    return [*samples, Sample(at=at, verdict=Verdict.UP, delay_ms=4 * MINUTE_MS, response_time=100)]


def write_run(sample, checkid="c1"):
    result = {"status": "UP", "responseTime": sample.response_time}
    return Run(
        checkid=checkid,
        at=from_ms(sample.at),
        result=result,
        verdict=sample.verdict.value,
        delay_ms=sample.delay_ms,
    )


def keep(db, samples, **more):
    """Store the samples as the runs of a check that was made before them."""
    sign_up(db)
    db.batch([write_run(sample) for sample in samples]).run()
    given = {
        "created_at": from_ms(samples[0].at - MINUTE_MS),
        "state": {"phase": "UP", "lastAt": samples[-1].at},
        "maintenance": [{"kind": "ONCE", "start": start, "end": end} for start, end in WINDOWS],
    }
    return db.create(make_check(**(given | more))).run()


def ask_oracle(samples, start, end, windows=WINDOWS):
    minutes = [look_at_second(samples, at, windows) for at in range(start, end, MINUTE_MS)]
    return {name: minutes.count(name) * MINUTE_MS for name in DURATIONS}


def durations(rollup):
    return {name: getattr(rollup, name) for name in DURATIONS}


PERIODS = [
    (TODAY - 4 * DAY_MS, NOON_MS),
    (TODAY - 2 * DAY_MS, TODAY),
    (TODAY - 3 * DAY_MS + 7 * MINUTE_MS, TODAY - DAY_MS + 13 * MINUTE_MS),
    (TODAY - DAY_MS + 61 * MINUTE_MS, TODAY - DAY_MS + 62 * MINUTE_MS),
    (TODAY - 9 * DAY_MS, TODAY - 8 * DAY_MS),
]


@pytest.mark.parametrize("seed", range(6))
def test_stored_days_and_live_runs_together_agree_with_the_oracle(db, clock, seed):
    samples = invent(seed)
    check, history = keep(db, samples), History(db, clock)
    live = [asyncio.run(history.summary(check, *period)) for period in PERIODS]
    assert [durations(found) for found in live] == [ask_oracle(samples, *period) for period in PERIODS]
    assert asyncio.run(history.finalise_days(check)) == 4
    resolved = [asyncio.run(history.summary(check, *period)) for period in PERIODS]
    assert resolved == live


@pytest.mark.parametrize("seed", range(6))
def test_days_that_are_read_again_and_again_are_those_of_a_first_reader(db, clock, seed):
    """Of days that are not stored, and of today, of which what was read before is not read again."""
    samples = invent(seed)
    check, again = keep(db, samples), History(db, clock)
    today = [sample for sample in samples if sample.at > TODAY]
    moments = [*today[:: max(1, len(today) // 8)], samples[-1]]
    for last in moments:
        clock.set(last.at / 1000 + 61 + seed)
        before = [sample for sample in samples if sample.at <= last.at]
        unclear = before[-1].verdict in UNCONFIRMED or before[-1].verdict is Verdict.UNKNOWN
        seen = check.model_copy(update={"state": {"phase": "PENDING" if unclear else "UP", "lastAt": last.at}})
        days = asyncio.run(again.days(seen, 5))
        assert days == asyncio.run(History(db, clock).days(seen, 5))
        if last is samples[-1]:
            found = [durations(day.rollup) for day in days]
            spans = [(low, min(low + DAY_MS, clock.millis())) for low in range(TODAY - 4 * DAY_MS, NOON_MS, DAY_MS)]
            wanted = [ask_oracle(samples, *span) for span in spans[:-1]]
            assert found[:-1] == wanted


def count_reads(db, database, monkeypatch):
    """A list to which every read adds the number of its items."""
    reads, call = [], database.call_async

    async def count(operation, *more):
        answer = await call(operation, *more)
        reads.append(len(answer.get("Items", [])))
        return answer

    monkeypatch.setattr(database, "call_async", count, raising=False)
    return reads


def make_past(count, delay_ms, last):
    times = [last - number * delay_ms for number in range(count)][::-1]
    return [Sample(at=at, verdict=Verdict.UP, delay_ms=delay_ms, response_time=100) for at in times]


def test_runs_of_today_that_were_read_are_not_read_again(db, database, clock, monkeypatch):
    samples = make_past(1400, 30_000, NOON_MS - 30_000)
    check, history = keep(db, samples), History(db, clock)
    reads = count_reads(db, database, monkeypatch)
    first = asyncio.run(history.days(check, 1))
    assert sum(reads) >= 1400
    reads.clear()
    assert asyncio.run(history.days(check, 1)) == first
    assert sum(reads) < 10
    edited = check.model_copy(update={"updated_at": NOON + MINUTE, "maintenance": []})
    asyncio.run(history.days(edited, 1))
    assert sum(reads) >= 1400, "an edit may change what counts"


def test_many_days_that_are_not_stored_are_read_at_once(db, database, clock, monkeypatch):
    """As of a check that was paused long ago: nobody stores its days."""
    samples = [*make_past(10, 600_000, NOON_MS - 20 * DAY_MS)]
    samples.append(Sample(at=NOON_MS - 19 * DAY_MS, verdict=Verdict.PAUSED, delay_ms=600_000, response_time=100))
    check, history = keep(db, samples, maintenance=[]), History(db, clock)
    reads = count_reads(db, database, monkeypatch)
    days = asyncio.run(history.days(check, 30))
    assert len(reads) <= 4
    assert [day.rollup.paused for day in days[-19:-1]] == [DAY_MS] * 18


def test_days_are_finalised_once_and_never_touched_again(db, clock):
    samples = invent(1)
    check, history = keep(db, samples), History(db, clock)
    assert asyncio.run(history.finalise_days(check)) == 4
    stored = db.rollups("c1", day=(date(2025, 1, 1), date(2027, 1, 1))).run()
    before = asyncio.run(history.summary(check, TODAY - 4 * DAY_MS, TODAY))
    db.batch(delete=db.runs("c1").run()).run()  # as if they had expired
    assert asyncio.run(history.finalise_days(check)) == 0
    assert db.rollups("c1", day=(date(2025, 1, 1), date(2027, 1, 1))).run() == stored
    assert asyncio.run(history.summary(check, TODAY - 4 * DAY_MS, TODAY)) == before


def test_workers_that_finalise_at_once_store_each_day_once(db, clock):
    check, history = keep(db, invent(2)), History(db, clock)

    async def finalise_five_times():
        return await asyncio.gather(*(history.finalise_days(check) for _ in range(5)))

    assert sum(asyncio.run(finalise_five_times())) == 4
    assert len(db.rollups("c1", day=(date(2025, 1, 1), date(2027, 1, 1))).run()) == 4


def test_a_day_that_was_missed_is_finalised_later(db, clock):
    check, history = keep(db, invent(3)), History(db, clock)
    asyncio.run(history.finalise_days(check))
    kept = db.rollups("c1", day=(date(2025, 1, 1), date(2027, 1, 1))).run()
    db.batch(delete=[kept[1], kept[2]]).run()
    assert asyncio.run(history.finalise_days(check)) == 2
    assert db.rollups("c1", day=(date(2025, 1, 1), date(2027, 1, 1))).run() == kept


@pytest.mark.parametrize(
    "state",
    [
        None,
        {"phase": "UP"},
        {"phase": "PENDING", "lastAt": NOON_MS},
        {"phase": "RECOVERING", "lastAt": NOON_MS},
        {"phase": "UP", "lastAt": TODAY - 4 * DAY_MS},
    ],
)
def test_a_day_is_not_final_while_anything_about_it_may_change(db, clock, state):
    check = keep(db, invent(4), state=state)
    assert asyncio.run(History(db, clock).finalise_days(check)) == 0


def test_a_rollup_is_kept_as_long_as_the_tier_says(db, clock):
    check = keep(db, invent(5))
    asyncio.run(History(db, clock).finalise_days(check))
    newest = db.rollups("c1", day=(date(2025, 1, 1), date(2027, 1, 1))).run()[-1]
    assert (newest.day, newest.expires_at) == (date(2026, 1, 14), from_ms(TODAY) + timedelta(days=100))


def test_a_failure_before_midnight_that_is_confirmed_after_it_is_downtime_of_both_days(db, clock):
    set_up(db, next_run_at=from_ms(TODAY + DAY_MS - 12 * MINUTE_MS), attributes={"retries": 10})
    runs, history = make_runs(db, clock, "uu" + "d" * 12 + "u"), History(db, clock)
    run_scheduled(db, clock, runs, 15)
    check = db.check("c1").required().run()
    times = [to_ms(run.at) for run in db.runs("c1").run()][::-1]
    verdicts = [run.verdict for run in db.runs("c1").run()][::-1]
    first = verdicts.index("PENDING")
    midnight = TODAY + DAY_MS
    assert times[first] < midnight < times[verdicts.index("DOWN")]
    clock.advance(3600)
    rollup = asyncio.run(history.summary(check, times[0], midnight))
    assert rollup.down == midnight - times[first]


def test_the_future_is_not_counted(db, clock):
    check = keep(db, invent(1))
    history = History(db, clock)
    whole = asyncio.run(history.summary(check, TODAY, TODAY + DAY_MS))
    assert whole == asyncio.run(history.summary(check, TODAY, NOON_MS))
    assert asyncio.run(history.summary(check, NOON_MS + 1, NOON_MS + DAY_MS)) == Rollup()


def test_the_last_days_come_in_order_with_today_as_the_last(db, clock):
    samples = invent(2)
    check, history = keep(db, samples), History(db, clock)
    live = asyncio.run(history.days(check, 7))
    asyncio.run(history.finalise_days(check))
    days = asyncio.run(history.days(check, 7))
    assert days == live
    assert [each.day for each in days] == [date(2026, 1, 15) - timedelta(days=n) for n in range(6, -1, -1)]
    assert durations(days[-1].rollup) == ask_oracle(samples, TODAY, NOON_MS)
    assert days[0].rollup == Rollup()


def test_runs_of_a_period_exclude_its_end(db, clock):
    samples = [Sample(at=NOON_MS - n, verdict=Verdict.UP, delay_ms=MINUTE_MS) for n in (2, 1, 0)]
    keep(db, [Sample(at=each.at, verdict=each.verdict, delay_ms=1, response_time=1) for each in samples])
    history = History(db, clock)
    assert [to_ms(run.at) for run in asyncio.run(history.runs("c1", NOON_MS - 2, NOON_MS))] == [
        NOON_MS - 2,
        NOON_MS - 1,
    ]
    assert asyncio.run(history.runs("c1", NOON_MS, NOON_MS)) == []


def test_response_times_come_by_interval(db, clock):
    hour = 3_600_000
    times = {NOON_MS - 2 * hour: [100] * 98 + [5000] * 2, NOON_MS - hour: []}
    samples = [
        Sample(at=start + n * 1000, verdict=Verdict.UP, delay_ms=1000, response_time=time)
        for start, found in times.items()
        for n, time in enumerate(found)
    ]
    check = keep(db, samples)
    first, second = asyncio.run(History(db, clock).response_times(check, NOON_MS - 2 * hour, NOON_MS, hour))
    assert (first.at, first.runs, second.runs, second.p50) == (NOON_MS - 2 * hour, 100, 0, None)
    assert (abs(first.p50 - 100) <= 2, abs(first.p99 - 5000) <= 100) == (True, True)


def test_response_times_of_days_come_from_their_rollups(db, clock):
    samples = invent(3)
    check, history = keep(db, samples), History(db, clock)
    asyncio.run(history.finalise_days(check))
    found = asyncio.run(history.response_times(check, TODAY - 2 * DAY_MS, TODAY, DAY_MS))
    assert [each.runs for each in found] == [
        sum(start <= s.at < start + DAY_MS and s.verdict is not Verdict.PAUSED for s in samples)
        for start in (TODAY - 2 * DAY_MS, TODAY - DAY_MS)
    ]


def test_incidents_are_those_that_touch_the_period(db, clock):
    db.put(Ended(checkid="c1", started_at=NOON - 9 * MINUTE, ended_at=NOON - 7 * MINUTE)).run()
    db.put(Ongoing(checkid="c1", started_at=NOON - 3 * MINUTE)).run()
    history = History(db, clock)

    def starts(*period):
        return [(NOON - each.started_at) // MINUTE for each in asyncio.run(history.incidents("c1", *period))]

    assert starts() == [3, 9]
    assert starts(NOON_MS - 8 * MINUTE_MS, NOON_MS - 4 * MINUTE_MS) == [9]
    assert starts(NOON_MS - 6 * MINUTE_MS, NOON_MS) == [3]
    assert starts(NOON_MS - 6 * MINUTE_MS, NOON_MS - 5 * MINUTE_MS) == []


def test_of_very_many_incidents_only_those_that_are_wanted_are_read(db, database, clock, monkeypatch):
    past = [
        Ended(checkid="c1", started_at=NOON - n * MINUTE, ended_at=NOON - n * MINUTE + MINUTE / 2)
        for n in range(1, 1001)
    ]
    db.batch(past).run()
    read, page = [], type(db.incidents("c1")).page

    async def count(query, size, **more):
        found = await page(query, size, **more)
        read.append(len(found))
        return found

    history = History(db, clock)
    monkeypatch.setattr(type(db.incidents("c1")), "page", count)
    newest = asyncio.run(history.incidents("c1", most=15))
    assert ([each.started_at for each in newest], read) == ([NOON - n * MINUTE for n in range(1, 16)], [15])
    read.clear()
    assert len(asyncio.run(history.incidents("c1", NOON_MS - 300 * MINUTE_MS))) == 300
    assert sum(read) == 400, "two pages of 200: what ended before the period ends the reading"


def test_the_report_of_a_month_has_a_row_for_each_check(db, clock):
    samples = invent(4)
    check, history = keep(db, samples), History(db, clock)
    db.create(make_check("c2")).run()
    db.put(Ended(checkid="c1", started_at=NOON - 9 * MINUTE, ended_at=NOON - 7 * MINUTE)).run()
    user = db.user("u1").required().run()
    first, second = asyncio.run(history.report(user, date(2026, 1, 20)))
    known = ask_oracle(samples, TODAY - 14 * DAY_MS, NOON_MS)
    up = known["up"] + known["degraded"]
    assert (first.check, first.uptime) == (check, Fraction(up, up + known["down"]))
    assert (len(first.incidents), first.times.runs) == (1, first.rollup.runs)
    assert (second.check.checkid, second.uptime, second.incidents) == ("c2", None, ())


def test_a_run_without_a_verdict_says_what_it_found(db):
    check = make_check()
    plain = Run(checkid="c1", at=NOON, result={"status": "DOWN", "responseTime": 5})
    expected = Sample(at=NOON_MS, verdict=Verdict.DOWN, delay_ms=300_000, response_time=5)
    assert read_sample(plain, check) == expected
    assert read_sample(plain.model_copy(update={"verdict": "of another system"}), check) == expected


def test_spans_that_touch_are_one():
    assert join_neighbours([(0, 2), (2, 3), (5, 6)]) == [(0, 3), (5, 6)]


def test_a_stored_day_holds_its_response_times(db, clock):
    samples = invent(0)
    check = keep(db, samples)
    asyncio.run(History(db, clock).finalise_days(check))
    (stored,) = db.rollups("c1", day=(date(2026, 1, 14), date(2026, 1, 14))).run()
    found = [s for s in samples if TODAY - DAY_MS <= s.at < TODAY and s.verdict is not Verdict.PAUSED]
    assert read_rollup(stored.rollup).latency == count_times(s.response_time for s in found)


def test_a_check_that_never_succeeded_has_no_uptime_until_it_succeeds(db, clock):
    set_up(db)
    history = History(db, clock)
    runs = make_runs(db, clock, "dddduuuu")
    run_scheduled(db, clock, runs, 4)
    check = db.check("c1").required().run()
    (today,) = asyncio.run(history.days(check, 1))
    assert today.rollup.down == 0 < today.rollup.unknown
    assert find_uptime(asyncio.run(history.summary(check, 0, clock.millis()))) is None
    run_scheduled(db, clock, runs, 4)
    check = db.check("c1").required().run()
    uptime = find_uptime(asyncio.run(history.summary(check, 0, clock.millis())))
    assert uptime is not None
    assert 0 < uptime < 1, "the time before the first success was downtime"
