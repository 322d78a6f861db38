"""Many at once: each job is claimed once, each quota is used up exactly."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

from hashrange import Conflict, Taken
from hashrange_systems.shuttle.schema import Operator, Shuttle
from systems.tests.shuttle.example import DOMAIN, make_import, make_job, queue, start

MILLISECOND = timedelta(milliseconds=1)


def run_at_once(count, task):
    """Run a task in so many threads, all starting together; return what each gave."""
    ready = Barrier(count)

    def wait_and_run(number):
        ready.wait(30)
        return task(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_run, range(count)))


def test_twenty_workers_claim_ten_jobs_once_each(tables, operator, clock, now):
    queue(operator, 10, now)

    def work(number):
        mine, db = [], Operator.open(tables, clock=clock)
        for job in db.next_queued():
            try:
                mine.append(start(db, job, now, worker=f"w{number}").job_id)
            except Conflict:
                continue
        return mine

    claimed = Counter(job_id for mine in run_at_once(20, work) for job_id in mine)
    assert len(claimed) == 10
    assert set(claimed.values()) == {1}
    assert len(operator.processing().run()) == 10
    assert operator.next_queued().run() == []


def test_fifty_imports_at_a_limit_of_five_are_five(tables, clock, now):
    db = Shuttle.open(tables, clock=clock)

    def use(_number):
        try:
            return db.use_quota(DOMAIN, now.date(), 1, limit=5).run().imports
        except Conflict as full:
            return f"full at {full.current.imports}"

    used = run_at_once(50, use)
    assert sorted(map(str, used)) == ["1", "2", "3", "4", "5", *["full at 5"] * 45]
    assert db.usage(DOMAIN, now.date()).required().run().imports == 5


def test_jobs_that_are_queued_at_once_stay_within_the_quota(tables, operator, clock, now):
    db = Shuttle.open(tables, clock=clock)

    def submit(number):
        quota = db.use_quota(DOMAIN, now.date(), 1, limit=3)
        month = db.use_month(DOMAIN, f"{now:%Y-%m}", 1, limit=100)
        try:
            return db.transact(quota, month, db.create(make_job(number, now))).run()[2].job_id
        except Conflict:
            return None

    queued = sorted(filter(None, run_at_once(8, submit)))
    assert sorted(job.job_id for job in operator.next_queued()) == queued
    assert len(queued) == db.month_usage(DOMAIN, f"{now:%Y-%m}").required().run().imports == 3


def test_jobs_that_end_at_once_each_have_a_row_of_history(tables, operator, clock, now):
    started = [start(operator, job, now) for job in queue(operator, 6, now)]
    db = Operator.open(tables, clock=clock)

    def finish(number):
        timestamp = now
        while True:
            row = make_import(number, timestamp)
            try:
                return db.transact(db.complete(started[number], "w1", completed_at=now), db.create(row)).run()[1]
            except Taken:
                timestamp += MILLISECOND

    rows = run_at_once(6, finish)
    assert sorted(row.timestamp for row in rows) == [now + number * MILLISECOND for number in range(6)]
    assert {row.job_id for row in rows} == {job.job_id for job in started}
