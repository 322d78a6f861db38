"""Tiers: their limits, and what a downgrade leaves."""

import pytest

from hashrange_systems.checks.model.tier import TIERS
from hashrange_systems.checks.schema import Paused, Scheduled
from hashrange_systems.shared.errors import InvalidInput, LimitReached, ResourceMissing
from systems.tests.checks.services import do, draft, fail_at_every_call


@pytest.mark.parametrize("tier", TIERS.values(), ids=TIERS)
def test_a_tier_says_how_many_checks_there_may_be_and_how_often_they_run(services, tier):
    user = services.sign_up(tier=tier.name).user
    assert user.check_limit == tier.check_limit
    do(services.checks.create(user.userid, draft(delay_ms=tier.shortest_delay_ms)))
    with pytest.raises(InvalidInput, match=f"at least {tier.shortest_delay_ms}"):
        do(services.checks.create(user.userid, draft(delay_ms=tier.shortest_delay_ms - 1)))


def test_a_downgrade_keeps_all_checks_and_pauses_the_newest_above_the_limit(services):
    user = services.sign_up(tier="PRO").user
    checks = services.add(user.userid, 7)
    lowered = do(services.users.change_tier(user.userid, "FREE"))
    assert (lowered.tier, lowered.check_limit, lowered.check_count) == ("FREE", 5, 7)
    assert [type(services.check(checkid)) for checkid in checks] == [Scheduled] * 5 + [Paused] * 2
    assert services.due() == sorted(checks[:5])


def test_above_the_limit_nothing_is_added_or_resumed_until_enough_is_deleted(services):
    user = services.sign_up(tier="PRO").user
    checks = services.add(user.userid, 7)
    do(services.users.change_tier(user.userid, "FREE"))
    with pytest.raises(LimitReached, match="5 checks"):
        do(services.checks.create(user.userid, draft()))
    with pytest.raises(LimitReached):
        do(services.checks.resume(user.userid, checks[6]))
    for checkid in checks[:2]:
        do(services.checks.delete(user.userid, checkid))
    assert type(do(services.checks.resume(user.userid, checks[6]))) is Scheduled
    with pytest.raises(LimitReached):
        do(services.checks.create(user.userid, draft()))


def test_a_downgrade_slows_down_what_runs_too_often(services):
    user = services.sign_up(tier="BUSINESS").user
    hasty, calm = services.add(user.userid, delay_ms=30_000) + services.add(user.userid, delay_ms=600_000)
    do(services.users.change_tier(user.userid, "FREE"))
    assert (services.check(hasty).delay_ms, services.check(calm).delay_ms) == (300_000, 600_000)


def test_an_upgrade_changes_no_check(services):
    user = services.sign_up().user
    (checkid,) = services.add(user.userid)
    before = services.check(checkid)
    assert do(services.users.change_tier(user.userid, "BUSINESS")).check_limit == 1000
    assert services.check(checkid) == before


def test_a_tier_or_user_that_does_not_exist_is_refused(services):
    user = services.sign_up().user
    with pytest.raises(InvalidInput):
        do(services.users.change_tier(user.userid, "GOLD"))
    with pytest.raises(ResourceMissing):
        do(services.users.change_tier("nobody", "PRO"))


def test_a_downgrade_that_was_cut_short_is_completed_by_another(services):
    def prepare(calls):
        user = services.sign_up(f"u{calls}", tier="PRO").user
        return user.userid, services.add(user.userid, 7, delay_ms=60_000)

    def resolved(subject):
        _, checks = subject
        found = [services.check(checkid) for checkid in checks]
        assert [type(check) for check in found] == [Scheduled] * 5 + [Paused] * 2
        assert {check.delay_ms for check in found} == {300_000}

    assert fail_at_every_call(services, prepare, lambda at, made: at.users.change_tier(made[0], "FREE"), resolved) > 5
