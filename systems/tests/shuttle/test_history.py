"""Import history: the seed's queries, and one row for each job that ended."""

from datetime import timedelta

import pytest

from hashrange import Conflict, Taken
from hashrange_systems.shuttle.schema import Completed
from systems.tests.shuttle.example import DOMAIN, HISTORY, OTHER, make_import, queue, start

DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def rows(operator, now):
    """A year of imports, one every ten days, oldest first; and one of another shop."""
    made = [make_import(number, now - number * 10 * DAY) for number in reversed(range(36))]
    operator.batch([*made, make_import(99, now, shop_domain=OTHER)]).run()
    return made


def times(rows):
    return [row.timestamp for row in rows]


def test_the_history_of_a_shop_comes_newest_first(shuttle, rows):
    assert shuttle.imports(DOMAIN).run() == rows[::-1]


def test_imports_since_a_time_leave_that_time_out(shuttle, rows):
    since = rows[30].timestamp
    assert times(shuttle.imports_since(DOMAIN, since).run()) == times(rows[:30:-1])
    assert times(shuttle.imports_since(DOMAIN, since - MILLISECOND).run()) == times(rows[:29:-1])


def test_imports_between_two_times_include_both(shuttle, rows):
    found = shuttle.imports_between(DOMAIN, (rows[10].timestamp, rows[12].timestamp)).run()
    assert times(found) == times([rows[12], rows[11], rows[10]])


def test_the_last_thirty_days_come_a_hundred_at_a_time(operator, shuttle, now):
    operator.batch([make_import(n, now - n * timedelta(hours=6)) for n in range(140)]).run()
    last = shuttle.imports_since(DOMAIN, now - 30 * DAY)
    page = last.page(100).run()
    rest = last.page(100, after=page.cursor).run()
    assert (len(page), len(rest), rest.cursor) == (100, 20, None)
    assert page.items[0].timestamp == now
    assert rest.items[-1].timestamp == now - 30 * DAY + timedelta(hours=6)
    assert [*page, *rest] == last.limit(200).run()


def test_the_seeds_example_query_gives_the_same_rows(tables, shuttle, rows, now):
    limit = int((now - 30 * DAY).timestamp() * 1000)
    response = tables.call(
        "Query",
        {
            "TableName": HISTORY,
            "KeyConditionExpression": "shopDomain = :shopDomain AND #ts > :thirtyDaysAgo",
            "ExpressionAttributeNames": {"#ts": "timestamp"},
            "ExpressionAttributeValues": {":shopDomain": {"S": DOMAIN}, ":thirtyDaysAgo": {"N": str(limit)}},
            "ScanIndexForward": False,
            "Limit": 100,
        },
    )
    found = shuttle.imports_since(DOMAIN, now - 30 * DAY).run()
    assert [item["jobId"]["S"] for item in response["Items"]] == [row.job_id for row in found]
    assert len(found) == 3


def test_a_row_of_history_expires_a_year_later(now):
    row = make_import(1, now + MILLISECOND)
    assert row.expires_at == now + 365 * DAY  # whole seconds


def finish(operator, job, end):
    """End a job and record it, as a worker does: a taken millisecond is left for the next."""
    timestamp = end
    while True:
        row = make_import(int(job.job_id[-4:]), timestamp)
        try:
            return operator.transact(operator.complete(job, "w1", completed_at=end), operator.create(row)).run()
        except Taken:
            timestamp += MILLISECOND


def test_two_jobs_that_end_in_one_millisecond_both_have_their_row(operator, shuttle, now):
    started = [start(operator, job, now) for job in queue(operator, 3, now)]
    recorded = [finish(operator, job, now)[1] for job in started]
    assert times(recorded) == [now, now + MILLISECOND, now + 2 * MILLISECOND]
    assert shuttle.imports(DOMAIN).run() == recorded[::-1]
    assert {job.completed_at for job in operator.completed().run()} == {now}


def test_a_job_that_ends_twice_has_one_row(operator, shuttle, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    finish(operator, job, now)
    with pytest.raises(Conflict) as refusal:
        finish(operator, job, now + DAY)
    assert not isinstance(refusal.value, Taken)
    assert isinstance(refusal.value.current, Completed)
    assert times(shuttle.imports(DOMAIN).run()) == [now]


def test_a_row_that_cannot_be_written_leaves_the_job_unfinished(operator, now):
    operator.create(make_import(9, now)).run()
    job = start(operator, queue(operator, 1, now)[0], now)
    row = make_import(0, now)
    with pytest.raises(Taken):
        operator.transact(operator.complete(job, "w1", completed_at=now), operator.create(row)).run()
    assert operator.job(job.job_id).run() == job
