"""Shops see their own: for every pattern of a shop, what belongs to another is not there."""

from datetime import timedelta
from typing import Protocol

import pytest

from hashrange import (
    Conflict,
    CursorInvalid,
    DeclarationError,
    Get,
    Latest,
    Missing,
    NotFound,
    Patterns,
    Taken,
    ValueInvalid,
)
from hashrange_systems.shuttle.schema import Cancelled, Import, Job, Operator, Queued, Shop, Shuttle
from systems.tests.shuttle.example import DOMAIN, OTHER, install, make_import, make_job, queue, start


@pytest.fixture
def job(operator, now):
    """A job of our shop, with a row of history and a day's usage."""
    operator.create(make_import(1, now)).run()
    return queue(operator, 1, now)[0]


def test_every_pattern_of_a_shop_is_tried_here():
    tried = {"job", "jobs", "unfinished", "cancel", "imports", "imports_since", "imports_between"}
    assert set(Shuttle.plans) == tried | {"usage", "month_usage", "use_quota", "use_month"}
    assert all("shop_domain" in plan.parameters for plan in Shuttle.plans.values())


def test_another_shops_job_is_none_and_not_found(shuttle, job):
    assert shuttle.job(OTHER, job.job_id).run() is None
    with pytest.raises(NotFound):
        shuttle.job(OTHER, job.job_id).required().run()
    assert shuttle.fetch([shuttle.job(OTHER, job.job_id), shuttle.job(DOMAIN, job.job_id)]).run() == [None, job]


def test_another_shops_lists_are_empty(shuttle, job, now):
    day = timedelta(days=1)
    assert shuttle.jobs(OTHER).run() == []
    assert shuttle.unfinished(OTHER).run() == []
    assert shuttle.imports(OTHER).run() == []
    assert shuttle.imports_since(OTHER, now - day).run() == []
    assert shuttle.imports_between(OTHER, (now - day, now + day)).run() == []
    assert len(shuttle.imports_between(DOMAIN, (now - day, now + day)).run()) == 1


def test_another_shops_usage_is_its_own(shuttle, now):
    shuttle.use_quota(DOMAIN, now.date(), 1, limit=1).run()
    shuttle.use_month(DOMAIN, "2033-05", 1, limit=1).run()
    assert shuttle.usage(OTHER, now.date()).run() is None
    assert shuttle.month_usage(OTHER, "2033-05").run() is None
    assert shuttle.use_quota(OTHER, now.date(), 1, limit=1).run().imports == 1
    assert shuttle.use_month(OTHER, "2033-05", 1, limit=1).run().imports == 1


@pytest.mark.parametrize("started", [False, True])
def test_another_shops_job_cannot_be_cancelled_and_does_not_show(operator, shuttle, job, now, started):
    if started:
        job = start(operator, job, now)
    with pytest.raises(Missing) as refusal:
        shuttle.cancel(OTHER, job, completed_at=now).run()
    assert refusal.value.current is None
    assert DOMAIN not in str(refusal.value)
    assert operator.job(job.job_id).run() == job


def test_ones_own_job_that_is_over_shows_as_what_it_is(shuttle, job, now):
    shuttle.cancel(DOMAIN, job, completed_at=now).run()
    with pytest.raises(Conflict) as refusal:
        shuttle.cancel(DOMAIN, job, completed_at=now).run()
    assert isinstance(refusal.value.current, Cancelled)


def test_a_job_id_of_another_shop_is_taken_and_does_not_show(shuttle, job, now):
    with pytest.raises(Taken) as refusal:
        shuttle.create(make_job(0, now, shop_domain=OTHER)).run()
    assert refusal.value.current is None


def test_another_shops_job_cannot_be_replaced(operator, shuttle, job, now):
    forged = make_job(0, now, shop_domain=OTHER)
    with pytest.raises(NotFound):
        shuttle.put(forged).run()
    with pytest.raises(NotFound):
        shuttle.transact(shuttle.put(forged)).run()
    assert operator.job(job.job_id).run() == job
    assert shuttle.put(job.model_copy(update={"created_by": "me"})).run().created_by == "me"


def test_a_batch_takes_only_what_the_key_proves_to_be_the_shops(shuttle, job, now):
    assert shuttle.batch([make_import(2, now + timedelta(seconds=1))], delete=[make_import(1, now)]).run() == 2
    for items, deleted in (([job], []), ([], [job])):
        with pytest.raises(ValueInvalid, match="shop_domain"):
            shuttle.batch(items, delete=deleted).run()


def test_shops_are_not_for_the_patterns_of_a_shop(operator, shuttle, now):
    shop = install(operator, now)
    for write in (shuttle.create, shuttle.put):
        with pytest.raises(ValueInvalid, match="shop_domain"):
            write(shop)
    with pytest.raises(ValueInvalid, match="shop_domain"):
        shuttle.batch(delete=[shop]).run()


def test_a_cursor_of_one_shop_does_not_continue_the_list_of_another(operator, shuttle, now):
    queue(operator, 3, now)
    cursor = shuttle.jobs(DOMAIN).page(1).run().cursor
    with pytest.raises(CursorInvalid):
        shuttle.jobs(OTHER).page(1, after=cursor).run()


def test_a_pattern_without_its_tenant_does_not_import():
    with pytest.raises(DeclarationError, match=r"Leaky\.job: does not take shop_domain") as refusal:

        class Leaky(Patterns, Protocol, tenant="shop_domain"):
            def job(self, job_id: str) -> Get[Job]: ...

    assert refusal.value.code == "HR209"


def test_a_tenant_that_the_item_does_not_have_does_not_import():
    with pytest.raises(DeclarationError) as refusal:

        class Foreign(Patterns, Protocol, tenant="shop_domain"):
            def shop(self, shop_domain: str, domain: str) -> Get[Shop]: ...

    assert refusal.value.code == "HR210"


def test_the_same_pattern_with_its_tenant_imports():
    class Tight(Patterns, Protocol, tenant="shop_domain"):
        def job(self, shop_domain: str, job_id: str) -> Get[Queued]: ...
        def imports(self, shop_domain: str) -> Latest[Import]: ...

    assert set(Tight.plans) == {"job", "imports"}


def test_only_operators_read_across_shops():
    across = {"next_queued", "processing", "completed", "failed", "cancelled", "recent", "shops", "active_shops"}
    assert across <= set(Operator.plans)
    assert not across & set(Shuttle.plans)
