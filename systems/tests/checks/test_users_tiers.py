"""Tiers: their limits, and what a downgrade leaves."""

import pytest

from hashrange_systems.checks.errors import LimitReached, NotThere
from hashrange_systems.checks.model.refusal import InputRefused
from hashrange_systems.checks.model.tier import TIERS
from hashrange_systems.checks.schema import Paused, Scheduled
from systems.tests.checks.office import crash_everywhere, do, draft


@pytest.mark.parametrize("tier", TIERS.values(), ids=TIERS)
def test_a_tier_says_how_many_checks_there_may_be_and_how_often_they_run(office, tier):
    user = office.sign_up(tier=tier.name).user
    assert user.check_limit == tier.check_limit
    do(office.ledger.create(user.userid, draft(delay_ms=tier.shortest_delay_ms)))
    with pytest.raises(InputRefused, match=f"at least {tier.shortest_delay_ms}"):
        do(office.ledger.create(user.userid, draft(delay_ms=tier.shortest_delay_ms - 1)))


def test_a_downgrade_keeps_all_checks_and_pauses_the_newest_above_the_limit(office):
    user = office.sign_up(tier="PRO").user
    checks = office.add(user.userid, 7)
    lowered = do(office.users.change_tier(user.userid, "FREE"))
    assert (lowered.tier, lowered.check_limit, lowered.check_count) == ("FREE", 5, 7)
    assert [type(office.check(checkid)) for checkid in checks] == [Scheduled] * 5 + [Paused] * 2
    assert office.due() == sorted(checks[:5])


def test_above_the_limit_nothing_is_added_or_resumed_until_enough_is_deleted(office):
    user = office.sign_up(tier="PRO").user
    checks = office.add(user.userid, 7)
    do(office.users.change_tier(user.userid, "FREE"))
    with pytest.raises(LimitReached, match="5 checks"):
        do(office.ledger.create(user.userid, draft()))
    with pytest.raises(LimitReached):
        do(office.ledger.resume(user.userid, checks[6]))
    for checkid in checks[:2]:
        do(office.ledger.delete(user.userid, checkid))
    assert type(do(office.ledger.resume(user.userid, checks[6]))) is Scheduled
    with pytest.raises(LimitReached):
        do(office.ledger.create(user.userid, draft()))


def test_a_downgrade_slows_down_what_runs_too_often(office):
    user = office.sign_up(tier="BUSINESS").user
    hasty, calm = office.add(user.userid, delay_ms=30_000) + office.add(user.userid, delay_ms=600_000)
    do(office.users.change_tier(user.userid, "FREE"))
    assert (office.check(hasty).delay_ms, office.check(calm).delay_ms) == (300_000, 600_000)


def test_an_upgrade_changes_no_check(office):
    user = office.sign_up().user
    (checkid,) = office.add(user.userid)
    before = office.check(checkid)
    assert do(office.users.change_tier(user.userid, "BUSINESS")).check_limit == 1000
    assert office.check(checkid) == before


def test_a_tier_or_user_that_does_not_exist_is_refused(office):
    user = office.sign_up().user
    with pytest.raises(InputRefused):
        do(office.users.change_tier(user.userid, "GOLD"))
    with pytest.raises(NotThere):
        do(office.users.change_tier("nobody", "PRO"))


def test_a_downgrade_that_was_cut_short_is_completed_by_another(office):
    def prepare(calls):
        user = office.sign_up(f"u{calls}", tier="PRO").user
        return user.userid, office.add(user.userid, 7, delay_ms=60_000)

    def settled(subject):
        _, checks = subject
        found = [office.check(checkid) for checkid in checks]
        assert [type(check) for check in found] == [Scheduled] * 5 + [Paused] * 2
        assert {check.delay_ms for check in found} == {300_000}

    assert crash_everywhere(office, prepare, lambda at, made: at.users.change_tier(made[0], "FREE"), settled) > 5
