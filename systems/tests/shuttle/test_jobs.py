"""Jobs: the seed's queries, and the way of a job from the queue to its end."""

from datetime import timedelta

import pytest

from hashrange import Conflict, NotFound, Taken, ValueInvalid
from hashrange_systems.shuttle.schema import Cancelled, Completed, Failed, Leased, Processing, Queued
from systems.tests.shuttle.example import (
    DOMAIN,
    JOB_ITEM,
    JOBS,
    OTHER,
    make_import,
    make_job,
    queue,
    read_plain,
    start,
)

MINUTE = timedelta(minutes=1)


def ids(jobs):
    return [job.job_id for job in jobs]


def report(operator, job, now, processed, **more):
    counts = {"successful_products": processed - 2, "failed_products": 2, "progress_percentage": processed // 10}
    given = counts | {"lease_until": now + 5 * MINUTE} | more
    return operator.progress(job, "w1", processed_products=processed, **given).run()


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_job_is_found_by_its_id(operator, shuttle, now):
    job = operator.create(make_job(1, now)).run()
    assert shuttle.job(DOMAIN, job.job_id).run() == job
    assert operator.job(job.job_id).run() == job
    assert operator.job("01ARZ3NDEKTSV4RRFFQ69G9999").run() is None


def test_a_job_id_is_given_once(operator, now):
    job = operator.create(make_job(1, now)).run()
    with pytest.raises(Taken) as refusal:
        operator.create(make_job(1, now + MINUTE)).run()
    assert refusal.value.current == job


def test_jobs_of_a_shop_come_newest_first_twenty_at_a_time(operator, shuttle, now):
    made = queue(operator, 45, now)
    operator.create(make_job(99, now, shop_domain=OTHER)).run()
    seen, cursor = [], None
    for size in (20, 20, 5):
        page = shuttle.jobs(DOMAIN).page(20, after=cursor).run()
        assert len(page) == size
        seen += page.items
        cursor = page.cursor
    assert cursor is None
    assert ids(seen) == ids(reversed(made))
    assert ids(shuttle.jobs(DOMAIN).limit(20).run()) == ids(reversed(made[25:]))


def test_jobs_by_status_come_newest_first_over_all_shops(operator, now):
    mine = queue(operator, 3, now)
    theirs = operator.create(make_job(10, now + MINUTE, shop_domain=OTHER)).run()
    for job in (*mine, theirs):
        start(operator, job, now + 2 * MINUTE)
    found = operator.processing().run()
    assert ids(found) == ids([theirs, *reversed(mine)])
    assert all(isinstance(job, Processing) for job in found)


def test_every_final_status_is_listed_by_its_own_query(operator, shuttle, now):
    first, second, third = queue(operator, 3, now)
    operator.complete(start(operator, first, now), "w1", completed_at=now).run()
    operator.fail(start(operator, second, now), "w1", completed_at=now, error_summary={"API_ERROR": 1}).run()
    shuttle.cancel(DOMAIN, third, completed_at=now).run()
    for pattern, job in (("completed", first), ("failed", second), ("cancelled", third)):
        assert ids(getattr(operator, pattern)().run()) == [job.job_id]
    assert operator.next_queued().run() == operator.processing().run() == []


def test_queued_jobs_come_oldest_first(operator, now):
    made = queue(operator, 5, now)
    assert ids(operator.next_queued().run()) == ids(made)
    assert operator.next_queued().first().run() == made[0]


def test_recent_jobs_are_scanned_over_all_shops(operator, now):
    queue(operator, 4, now)
    late = [operator.create(make_job(n, now + n * MINUTE, shop_domain=OTHER)).run() for n in (10, 20)]
    start(operator, late[0], now)
    assert sorted(ids(operator.recent(now + 10 * MINUTE).run())) == ids(late)
    assert sorted(ids(operator.recent(now + 10 * MINUTE).only(Queued).run())) == ids(late[1:])


def test_unfinished_jobs_of_a_shop_are_those_queued_and_processing(operator, shuttle, now):
    first, second, third = queue(operator, 3, now)
    operator.create(make_job(10, now, shop_domain=OTHER)).run()
    start(operator, second, now)
    operator.complete(start(operator, third, now), "w1", completed_at=now).run()
    assert ids(shuttle.unfinished(DOMAIN).run()) == ids([second, first])


# ── life ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_created_job_is_queued_and_expires_ninety_days_later(tables, operator, now):
    job = operator.create(make_job(1, now, s3_key="imports/mystore.myshopify.com/01ARZ3.../source.json")).run()
    stored = read_plain(tables, JOBS, jobId=job.job_id)
    assert stored["status"] == {"S": "QUEUED"}
    assert stored["createdAt"] == stored["updatedAt"] == {"N": str(int(now.timestamp()) * 1000)}
    assert stored["expiresAt"] == {"N": str(int(now.timestamp()) + 90 * 86_400)}
    assert "startedAt" not in stored


def test_a_job_goes_from_the_queue_to_its_completion_with_a_row_of_history(tables, operator, shuttle, clock, now):
    job = start(operator, operator.create(make_job(1, now, total_products=1000)).run(), now)
    assert isinstance(job, Leased)
    for processed in (250, 500, 1000):
        clock.advance(60)
        job = report(operator, job, now, processed, error_summary={"API_ERROR": 2}, shopify_api_calls_used=processed)
        assert (job.processed_products, job.progress_percentage) == (processed, processed // 10)
    end = now + 3 * MINUTE
    done, row = operator.transact(
        operator.complete(job, "w1", completed_at=end),
        operator.create(make_import(1, end, products_imported=job.successful_products, duration_ms=180_000)),
    ).run()
    assert isinstance(done, Completed)
    assert (done.successful_products, done.failed_products, done.error_summary) == (998, 2, {"API_ERROR": 2})
    assert (done.started_at, done.completed_at, done.updated_at) == (now, end, end)
    assert shuttle.imports(DOMAIN).run() == [row]
    stored = read_plain(tables, JOBS, jobId=job.job_id)
    assert not {"worker", "leaseUntil", "estimatedCompletionAt"} & stored.keys()


def test_progress_sets_only_what_it_is_given(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    report(operator, job, now, 100, error_summary={"API_ERROR": 1}, estimated_completion_at=now + MINUTE)
    job = report(operator, job, now, 200)
    assert (job.error_summary, job.estimated_completion_at) == ({"API_ERROR": 1}, now + MINUTE)


def test_a_failed_job_keeps_its_errors(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    failed = operator.fail(job, "w1", completed_at=now + MINUTE, error_summary={"VALIDATION_ERROR": 5}).run()
    assert isinstance(failed, Failed)
    assert (failed.started_at, failed.completed_at) == (now, now + MINUTE)
    assert failed.error_summary == {"VALIDATION_ERROR": 5}


@pytest.mark.parametrize("started", [False, True])
def test_a_job_is_cancelled_in_the_queue_or_at_work(operator, shuttle, now, started):
    job = queue(operator, 1, now)[0]
    if started:
        job = start(operator, job, now)
    gone = shuttle.cancel(DOMAIN, job, completed_at=now + MINUTE).run()
    assert isinstance(gone, Cancelled)
    assert gone.started_at == (now if started else None)


def test_a_worker_learns_from_its_next_report_that_the_job_was_cancelled(operator, shuttle, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    shuttle.cancel(DOMAIN, job, completed_at=now).run()
    for write in (
        operator.extend(job, "w1", lease_until=now + MINUTE),
        operator.complete(job, "w1", completed_at=now),
        operator.fail(job, "w1", completed_at=now, error_summary={}),
    ):
        with pytest.raises(Conflict) as refusal:
            write.run()
        assert isinstance(refusal.value.current, Cancelled)


def test_a_finished_job_does_not_start_again(operator, now):
    job = queue(operator, 1, now)[0]
    operator.complete(start(operator, job, now), "w1", completed_at=now).run()
    with pytest.raises(Conflict) as refusal:
        start(operator, job, now)
    assert isinstance(refusal.value.current, Completed)


def test_a_job_that_is_gone_is_not_brought_back_by_a_report(tables, operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    tables.call("DeleteItem", {"TableName": JOBS, "Key": {"jobId": {"S": job.job_id}}})
    with pytest.raises(NotFound):
        report(operator, job, now, 100)
    assert operator.job(job.job_id).run() is None


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_job_of_a_silent_worker_goes_back_to_the_queue_with_what_was_done(operator, now):
    job = report(operator, start(operator, queue(operator, 1, now)[0], now), now, 100)
    assert operator.silent(now).run() == []
    later = now + 6 * MINUTE
    assert operator.silent(later).run() == [job]
    back = operator.requeue(job, 1, now=later).run()
    assert isinstance(back, Queued)
    assert (back.attempts, back.processed_products, back.created_at) == (1, 100, job.created_at)
    with pytest.raises(Conflict):
        report(operator, job, later, 200)  # the old worker wakes up
    assert start(operator, back, later, worker="w2").worker == "w2"


def test_a_job_whose_lease_was_extended_in_the_meantime_is_left_to_its_worker(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    later = now + 6 * MINUTE
    operator.extend(job, "w1", lease_until=later + MINUTE).run()
    with pytest.raises(Conflict) as refusal:
        operator.requeue(job, 1, now=later).run()
    assert refusal.value.current.worker == "w1"


def test_a_job_that_kills_its_workers_is_given_up(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    summary = {"WORKER_LOST": 3}
    with pytest.raises(Conflict):
        operator.give_up(job, completed_at=now, error_summary=summary, now=now).run()
    later = now + 6 * MINUTE
    failed = operator.give_up(job, completed_at=later, error_summary=summary, now=later).run()
    assert (type(failed), failed.error_summary) == (Failed, summary)


def test_a_job_of_the_original_system_has_no_lease_and_can_be_requeued(tables, operator, clock, now):
    clock.set(1_699_564_900)
    tables.call("PutItem", {"TableName": JOBS, "Item": JOB_ITEM})
    job = operator.processing().run()[0]
    assert type(job) is Processing
    assert isinstance(operator.requeue(job, 1, now=now).run(), Queued)


def test_another_workers_job_cannot_be_reported_on(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now, worker="w2")
    with pytest.raises(Conflict) as refusal:
        report(operator, job, now, 100)
    assert refusal.value.current == job


def test_a_status_that_the_seed_does_not_know_cannot_be_made(now):
    with pytest.raises(ValueError, match="status"):
        make_job(1, now, status="PAUSED")


def test_a_job_of_an_unknown_mode_cannot_be_made(now):
    with pytest.raises(ValueError, match="mode"):
        make_job(1, now, mode="MERGE")


def test_a_time_without_a_zone_is_refused(operator, now):
    job = queue(operator, 1, now)[0]
    with pytest.raises(ValueInvalid, match="zone"):
        start(operator, job, now.replace(tzinfo=None))
