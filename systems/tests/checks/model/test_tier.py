"""Tiers and delays: what each allows, and what is said when it does not."""

import pytest

from hashrange_systems.checks.model.delay import MAX_DELAY_MS, validate_delay
from hashrange_systems.checks.model.tier import BUSINESS, FREE, PRO, TIERS, choose_tier, find_excess, read_tier
from hashrange_systems.shared.errors import InvalidInput


def test_the_seeds_example_user_has_the_limit_of_its_tier():
    assert read_tier("PRO").check_limit == 100


def test_a_dearer_tier_allows_more_of_everything():
    tiers = list(TIERS.values())
    assert tiers == sorted(tiers, key=lambda tier: tier.check_limit)
    assert [tier.shortest_delay_ms for tier in tiers] == [300_000, 60_000, 30_000]
    assert sorted(tiers, key=lambda tier: (tier.result_days, tier.rollup_days)) == tiers


def test_an_unknown_tier_can_be_read_with_the_limits_of_free():
    tier = read_tier("ENTERPRISE")
    assert (tier.name, tier.known, tier.check_limit) == ("ENTERPRISE", False, FREE.check_limit)


def test_an_unknown_tier_cannot_be_given():
    with pytest.raises(InvalidInput, match="tier must be one of FREE, PRO, BUSINESS"):
        choose_tier("ENTERPRISE")


def test_trap_2_a_downgrade_pauses_the_newest_checks_above_the_limit():
    created = {"newest": 30, "oldest": 10, "newer": 20, "same-as-newer": 20}
    assert find_excess(created, 2) == ["same-as-newer", "newest"]
    assert find_excess(created, 4) == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (0, "must be at least 300000 (FREE), not 0"),
        (-1, "must be at least 300000 (FREE), not -1"),
        (1.5, "must be a whole number of milliseconds, not 1.5"),
        (10**15, "must be at most 86400000 (24 hours), not 1000000000000000"),
        ("300000", "must be a whole number of milliseconds, not the text '300000'"),
        (300_000.0, "must be a whole number of milliseconds, not 300000.0"),
        (True, "must be a whole number of milliseconds, not True"),
        (None, "must be a whole number of milliseconds, not NoneType"),
        (299_999, "must be at least 300000 (FREE), not 299999"),
        (MAX_DELAY_MS + 1, "must be at most 86400000 (24 hours), not 86400001"),
    ],
)
def test_trap_7_a_delay_out_of_bounds_is_refused_with_the_reason(value, reason):
    with pytest.raises(InvalidInput) as refused:
        validate_delay(value, FREE)
    assert str(refused.value) == f"delayMs {reason}"


@pytest.mark.parametrize("tier", [FREE, PRO, BUSINESS])
def test_the_bounds_of_a_delay_are_allowed(tier):
    assert validate_delay(tier.shortest_delay_ms, tier) == tier.shortest_delay_ms
    assert validate_delay(MAX_DELAY_MS, tier) == MAX_DELAY_MS
