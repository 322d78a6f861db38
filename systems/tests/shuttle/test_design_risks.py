"""The contradictions and traps of the seed, each resolved as its test is named."""

from datetime import date, timedelta

import pytest

from hashrange import Conflict, ServiceError, Taken, ValueInvalid
from hashrange_systems.shuttle.schema import Completed, InstalledShop, Operator, Queued, Shuttle
from systems.tests.shuttle.example import (
    DOMAIN,
    HISTORY,
    IMPORT_ITEM,
    JOB_ID,
    JOB_ITEM,
    JOBS,
    OTHER,
    SHOPS,
    install,
    make_import,
    make_job,
    queue,
    read_plain,
    start,
)

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
NINETY_DAYS = 90 * 86_400


def millis(moment):
    return {"N": str(int(moment.timestamp() * 1000))}


def seconds(moment):
    return {"N": str(int(moment.timestamp()))}


def put_job(database, now, **changes):
    """Write a job as the original system does: its expiry in milliseconds."""
    times = {"createdAt": millis(now), "startedAt": millis(now), "expiresAt": millis(now + 90 * DAY)}
    database.call("PutItem", {"TableName": JOBS, "Item": JOB_ITEM | times | changes})


# ── 1: expiresAt in three contradictory forms ────────────────────────────────────────────────────────────────────────
def test_trap_1_an_expiry_in_milliseconds_is_read_as_the_right_time(tables, shuttle, now):
    put_job(tables, now)
    assert shuttle.job(DOMAIN, JOB_ID).required().run().expires_at == now + 90 * DAY


def test_trap_1_an_expiry_in_milliseconds_is_repaired_by_the_next_step_of_the_job(tables, operator, now):
    put_job(tables, now)
    back = operator.requeue(operator.processing().run()[0], 1, now=now).run()
    assert read_plain(tables, JOBS, jobId=JOB_ID)["expiresAt"] == seconds(now + 90 * DAY)
    assert back.expires_at == now + 90 * DAY


def test_trap_1_an_expiry_in_milliseconds_is_repaired_inside_a_transaction(tables, operator, now):
    put_job(tables, now)
    job = operator.processing().run()[0]
    operator.transact(operator.requeue(job, 1, now=now), operator.create(make_import(1, now))).run()
    assert read_plain(tables, JOBS, jobId=JOB_ID)["expiresAt"] == seconds(now + 90 * DAY)


def test_trap_1_an_expiry_in_milliseconds_is_repaired_by_a_put(tables, shuttle, now):
    put_job(tables, now)
    shuttle.put(shuttle.job(DOMAIN, JOB_ID).required().run()).run()
    assert read_plain(tables, JOBS, jobId=JOB_ID)["expiresAt"] == seconds(now + 90 * DAY)


def test_trap_1_an_expiry_in_seconds_is_left_alone(tables, operator, now):
    put_job(tables, now, expiresAt=seconds(now + 7 * DAY))
    job = operator.processing().run()[0]
    pushed = seconds(now + 14 * DAY)
    put_job(tables, now, expiresAt=pushed)  # changed since it was read
    operator.requeue(job, 1, now=now).run()
    assert read_plain(tables, JOBS, jobId=JOB_ID)["expiresAt"] == pushed


def test_trap_1_expiry_is_ninety_days_and_a_year_in_whole_seconds(tables, operator, now):
    late = now + timedelta(milliseconds=999)
    operator.create(make_job(1, late)).run()
    operator.create(make_import(1, late)).run()
    job = tables.call("Scan", {"TableName": JOBS})["Items"][0]
    row = tables.call("Scan", {"TableName": HISTORY})["Items"][0]
    assert job["expiresAt"] == {"N": str(int(now.timestamp()) + NINETY_DAYS)}
    assert row["expiresAt"] == {"N": str(int(now.timestamp()) + 31_536_000)}


@pytest.mark.parametrize("form", [seconds, millis])
def test_trap_1_expired_rows_are_hidden_before_they_are_deleted(tables, operator, shuttle, clock, now, form):
    put_job(tables, now, expiresAt=form(now + 90 * DAY))
    row = IMPORT_ITEM | {"timestamp": millis(now), "expiresAt": form(now + 90 * DAY)}
    tables.call("PutItem", {"TableName": HISTORY, "Item": row})
    clock.advance(NINETY_DAYS - 1)
    assert shuttle.job(DOMAIN, JOB_ID).run() is not None
    assert len(shuttle.jobs(DOMAIN).run()) == len(shuttle.imports(DOMAIN).run()) == 1
    clock.advance(1)
    assert shuttle.job(DOMAIN, JOB_ID).run() is None
    assert shuttle.fetch([shuttle.job(DOMAIN, JOB_ID)]).run() == [None]
    assert shuttle.jobs(DOMAIN).run() == operator.processing().run() == operator.recent(now).run() == []
    assert shuttle.imports(DOMAIN).run() == []
    assert read_plain(tables, JOBS, jobId=JOB_ID) is not None


def test_trap_1_pages_are_full_although_expired_rows_lie_between(operator, shuttle, clock, now):
    jobs = [make_job(n, now + n * MINUTE, expires_at=now + (DAY if n % 5 else HOUR)) for n in range(60)]
    operator.batch(jobs).run()
    clock.advance(7200)
    first = shuttle.jobs(DOMAIN).page(20).run()
    second = shuttle.jobs(DOMAIN).page(20, after=first.cursor).run()
    assert (len(first), len(second)) == (20, 20)
    alive = [job.job_id for job in reversed(jobs) if job.expires_at > now + HOUR]
    assert [job.job_id for job in (*first, *second)] == alive[:40]


# ── 2, 3, 4: history ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_trap_2_history_is_written_in_the_transaction_that_ends_the_job(operator, shuttle, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    done, row = operator.transact(
        operator.complete(job, "w1", completed_at=now), operator.create(make_import(0, now))
    ).run()
    assert isinstance(done, Completed)
    with pytest.raises(Conflict):
        operator.transact(
            operator.complete(job, "w1", completed_at=now), operator.create(make_import(0, now + DAY))
        ).run()
    assert shuttle.imports(DOMAIN).run() == [row]


def test_trap_3_a_cancelled_import_is_recorded_with_what_it_did(tables, operator, shuttle, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    row = make_import(0, now, status="CANCELLED", products_imported=40, failed=2, error_count=3)
    shuttle.transact(shuttle.cancel(DOMAIN, job, completed_at=now), shuttle.create(row)).run()
    assert shuttle.imports(DOMAIN).run() == [row]
    stored = tables.call("Scan", {"TableName": HISTORY})["Items"][0]
    assert (stored["status"], stored["failed"], stored["isDryRun"]) == ({"S": "CANCELLED"}, {"N": "2"}, {"BOOL": False})


def test_trap_4_a_taken_millisecond_is_refused_and_the_next_one_is_free(operator, shuttle, now):
    first = operator.create(make_import(1, now)).run()
    with pytest.raises(Taken) as refusal:
        operator.create(make_import(2, now)).run()
    assert refusal.value.current == first
    second = operator.create(make_import(2, now + timedelta(milliseconds=1))).run()
    assert shuttle.imports(DOMAIN).run() == [second, first]


# ── 5, 6: reserved words, null ───────────────────────────────────────────────────────────────────────────────────────
def test_trap_5_the_seeds_bare_status_is_refused_and_every_name_of_a_pattern_is_aliased(tables, operator):
    request = {
        "TableName": JOBS,
        "IndexName": "status-createdAt-index",
        "KeyConditionExpression": "status = :status",
        "ExpressionAttributeValues": {":status": {"S": "PROCESSING"}},
    }
    with pytest.raises(ServiceError, match="reserved keyword: status"):
        tables.call("Query", request)
    assert operator.processing().run() == []


@pytest.mark.parametrize("patterns", [Shuttle, Operator])
def test_trap_5_no_expression_of_a_pattern_names_an_attribute_bare(patterns):
    for plan in patterns.plans.values():
        for branch in getattr(plan, "branches", ()):
            for member in ("KeyConditionExpression", "FilterExpression"):
                words = branch.request.get(member, "").replace("(", " ").replace(")", " ").replace(",", " ").split()
                known = {"AND", "OR", "=", "<", "<=", ">", ">=", "BETWEEN", "attribute_not_exists", "attribute_type"}
                assert all(word[0] in "#:" or word in known for word in words), (plan.label, words)


def test_trap_6_a_shop_is_active_with_uninstalled_at_absent_or_null_and_no_null_is_stored(tables, operator, now):
    install(operator, now)
    item = read_plain(tables, SHOPS, domain=DOMAIN)
    tables.call("PutItem", {"TableName": SHOPS, "Item": item | {"uninstalledAt": {"NULL": True}}})
    shop = operator.active_shops().run()[0]
    assert shop.uninstalled_at is None
    operator.put(shop).run()
    assert "uninstalledAt" not in read_plain(tables, SHOPS, domain=DOMAIN)
    assert operator.active_shops().run() == [shop]


# ── 7: the status index ──────────────────────────────────────────────────────────────────────────────────────────────
def test_trap_7_workers_take_the_oldest_job_first(operator, now):
    made = queue(operator, 3, now)
    taken = []
    while job := operator.next_queued().first().run():
        taken.append(start(operator, job, now).job_id)
    assert taken == [job.job_id for job in made]


def test_trap_7_a_claim_does_not_trust_the_index(operator, now):
    queue(operator, 1, now)
    (seen,) = operator.next_queued().run()
    start(operator, seen, now, worker="w1")
    with pytest.raises(Conflict) as refusal:
        start(operator, seen, now, worker="w2")
    assert refusal.value.current.worker == "w1"


# ── 8, 9: tenancy (more in test_tenancy), ULIDs ──────────────────────────────────────────────────────────────────────
def test_trap_8_a_job_is_not_found_without_its_shop(operator, shuttle, now):
    job = operator.create(make_job(1, now)).run()
    assert shuttle.job(DOMAIN, job.job_id).run() == job
    assert shuttle.job(OTHER, job.job_id).run() is None
    with pytest.raises(TypeError, match="shop_domain"):
        shuttle.job(job_id=job.job_id)


def test_trap_9_a_job_id_is_found_in_any_case(tables, operator, shuttle, now):
    low = "01arz3ndektsv4rrffq69g5fav"
    job = Queued(job_id=low, shop_domain=DOMAIN, type="EXPORT", created_by="me", created_at=now)
    assert operator.create(job).run().job_id == JOB_ID
    assert read_plain(tables, JOBS, jobId=JOB_ID) is not None
    assert shuttle.job(DOMAIN, low).run() == operator.job(low.title()).run() == job
    assert shuttle.fetch([shuttle.job(DOMAIN, low)]).run() == [job]


def test_trap_9_a_job_that_was_stored_in_lower_case_is_still_written_where_it_is(tables, operator, now):
    low = JOB_ID.lower()
    put_job(tables, now, jobId={"S": low})
    operator.requeue(operator.processing().run()[0], 1, now=now).run()
    assert read_plain(tables, JOBS, jobId=low)["status"] == {"S": "QUEUED"}
    assert read_plain(tables, JOBS, jobId=JOB_ID) is None


# ── 10, 11: tokens (more in test_tokens), reinstalls ─────────────────────────────────────────────────────────────────
def test_trap_10_an_expiring_token_is_kept_sealed_and_rotates_with_its_refresh_token(tables, operator, keys, now):
    install(operator, now, access_token_expires_at=now + HOUR, key_id=keys.current)
    operator.begin_refresh(DOMAIN, refreshing_until=now + MINUTE, now=now).run()
    shop = operator.finish_refresh(
        DOMAIN,
        held_until=now + MINUTE,
        refreshing_until=None,
        access_token="shpat_second",
        refresh_token="shprt_second",
        access_token_expires_at=now + 2 * HOUR,
        key_id=keys.current,
    ).run()
    assert (shop.access_token, shop.refresh_token) == ("shpat_second", "shprt_second")
    stored = read_plain(tables, SHOPS, domain=DOMAIN)
    assert not {"shpat_second", "shprt_second"} & {stored[name]["S"] for name in ("accessToken", "refreshToken")}
    assert stored["accessTokenExpiresAt"] == millis(now + 2 * HOUR)
    assert stored["keyId"] == {"S": keys.current}


def test_trap_11_a_reinstall_clears_the_uninstall_and_keeps_created_at_and_usage(tables, operator, shuttle, now):
    shop = install(operator, now)
    operator.configure(DOMAIN, {"theme": "dark"}).run()
    shuttle.use_quota(DOMAIN, now.date(), 1, limit=5).run()
    operator.uninstall(shop, uninstalled_at=now + HOUR).run()
    operator.request_redaction(DOMAIN, redact_requested_at=now + 49 * HOUR).run()
    again = install(operator, now + 50 * HOUR, name="My New Store", access_token="shpat_second")
    assert isinstance(again, InstalledShop)
    assert (again.created_at, again.installed_at) == (now, now + 50 * HOUR)
    assert (again.name, again.access_token, again.settings) == ("My New Store", "shpat_second", {"theme": "dark"})
    stored = read_plain(tables, SHOPS, domain=DOMAIN)
    assert stored["billingStatus"] == {"S": "ACTIVE"}
    assert not {"uninstalledAt", "redactRequestedAt", "refreshingUntil"} & stored.keys()
    assert shuttle.usage(DOMAIN, now.date()).required().run().imports == 1


def test_trap_11_a_late_uninstall_webhook_after_a_reinstall_is_ignored(operator, now):
    old = install(operator, now)
    again = install(operator, now + HOUR)
    with pytest.raises(Conflict) as refusal:
        operator.uninstall(old, uninstalled_at=now + MINUTE).run()
    assert refusal.value.current == again
    assert operator.shop(DOMAIN).required().run() == again


# ── 12: redaction ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_trap_12_a_redaction_purges_the_shop_its_jobs_and_its_history(tables, operator, shuttle, now):
    shop = install(operator, now)
    queue(operator, 30, now)
    put_job(tables, now - 91 * DAY)  # expired, in milliseconds: DynamoDB would never delete it
    operator.batch([make_import(n, now + n * MINUTE) for n in range(30)]).run()
    with pytest.raises(Conflict):
        operator.request_redaction(DOMAIN, redact_requested_at=now + 48 * HOUR).run()  # it is active
    with pytest.raises(Conflict):
        operator.forget(DOMAIN).run()
    operator.uninstall(shop, uninstalled_at=now + HOUR).run()
    operator.request_redaction(DOMAIN, redact_requested_at=now + 49 * HOUR).run()
    assert operator.redactions(now + 48 * HOUR).run() == []
    (due,) = operator.redactions(now + 49 * HOUR).run()
    operator.batch(delete=[*shuttle.jobs(due.domain).with_expired(), *shuttle.imports(due.domain).with_expired()]).run()
    assert operator.forget(due.domain).run() == due
    assert [tables.call("Scan", {"TableName": name})["Count"] for name in (SHOPS, JOBS, HISTORY)] == [0, 0, 0]


# ── 13: modes and progress ───────────────────────────────────────────────────────────────────────────────────────────
def test_trap_13_an_export_has_no_mode(tables, operator, now):
    operator.create(make_job(1, now, type="EXPORT", mode=None)).run()
    assert "mode" not in tables.call("Scan", {"TableName": JOBS})["Items"][0]


@pytest.mark.parametrize("percentage", [-1, 101, float("nan")])
def test_trap_13_progress_is_between_0_and_100(operator, now, percentage):
    job = start(operator, queue(operator, 1, now)[0], now)
    with pytest.raises(ValueInvalid, match="progress_percentage"):
        operator.progress(job, "w1", 1, 1, 0, percentage, now)


def test_trap_13_a_batch_that_is_reported_twice_counts_once(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    done = operator.progress(job, "w1", 50, 48, 2, progress_percentage=5, lease_until=now + HOUR).run()
    with pytest.raises(Conflict) as refusal:
        operator.progress(job, "w1", 50, 48, 2, progress_percentage=5, lease_until=now + HOUR).run()
    assert refusal.value.current == done
    assert (done.processed_products, done.successful_products, done.failed_products) == (50, 48, 2)


# ── 14: plans have limits ────────────────────────────────────────────────────────────────────────────────────────────
def test_trap_14_a_shop_uses_its_quota_of_the_day_and_of_the_month(shuttle):
    today, month = date(2033, 5, 18), "2033-05"
    for count in (1, 2):
        day, total = shuttle.transact(
            shuttle.use_quota(DOMAIN, today, 1, limit=2), shuttle.use_month(DOMAIN, month, 1, limit=3)
        ).run()
        assert (day.imports, total.imports) == (count, count)
    with pytest.raises(Conflict) as full:
        shuttle.transact(
            shuttle.use_month(DOMAIN, month, 1, limit=3), shuttle.use_quota(DOMAIN, today, 1, limit=2)
        ).run()
    assert full.value.current.imports == 2
    assert shuttle.month_usage(DOMAIN, month).required().run().imports == 2
    assert shuttle.use_quota(DOMAIN, today + DAY, 1, limit=2).run().imports == 1


@pytest.mark.parametrize(("imports", "limit"), [(2, 5), (0, 5), (-1, 5), (1, 0)])
def test_trap_14_a_quota_is_used_one_by_one_and_is_never_nothing(shuttle, imports, limit):
    with pytest.raises(ValueInvalid):
        shuttle.use_quota(DOMAIN, date(2033, 5, 18), imports, limit=limit)
    assert shuttle.usage(DOMAIN, date(2033, 5, 18)).run() is None


# ── 15, 16: scans, error summaries ───────────────────────────────────────────────────────────────────────────────────
def test_trap_15_what_scans_is_known():
    scans = {plan.name for plan in Operator.plans.values() if any(lint.code == "HR401" for lint in plan.lints)}
    assert scans == {"shops", "active_shops", "recent", "redactions"}
    assert not [plan.name for plan in Shuttle.plans.values() if any(lint.code == "HR401" for lint in plan.lints)]


def test_trap_16_an_error_summary_counts_and_holds_no_texts(operator, now):
    job = start(operator, queue(operator, 1, now)[0], now)
    with pytest.raises(ValueInvalid, match="error_summary"):
        operator.fail(job, "w1", completed_at=now, error_summary={"row 7": "price '12,50' is no number"})
    failed = operator.fail(job, "w1", completed_at=now, error_summary={"VALIDATION_ERROR": 1}).run()
    assert failed.error_summary == {"VALIDATION_ERROR": 1}
