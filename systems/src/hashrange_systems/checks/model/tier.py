"""The limits of each tier: number of checks, shortest delay, retention of results. The services enforce them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hashrange_systems.shared.epoch import MINUTE_MS
from hashrange_systems.shared.errors import FieldError, InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A tier and its limits; `known` is false for a name that another system wrote."""

    name: str
    check_limit: int
    shortest_delay_ms: int
    result_days: int
    rollup_days: int
    manual_runs: int  # an hour
    known: bool = True


FREE = Tier(
    name="FREE", check_limit=5, shortest_delay_ms=5 * MINUTE_MS, result_days=30, rollup_days=100, manual_runs=12
)
PRO = Tier(name="PRO", check_limit=100, shortest_delay_ms=MINUTE_MS, result_days=90, rollup_days=400, manual_runs=120)
BUSINESS = Tier(
    name="BUSINESS",
    check_limit=1000,
    shortest_delay_ms=MINUTE_MS // 2,
    result_days=365,
    rollup_days=1100,
    manual_runs=600,
)

TIERS: Mapping[str, Tier] = {tier.name: tier for tier in (FREE, PRO, BUSINESS)}


def read_tier(name: str) -> Tier:
    """Return a tier by name; an unknown name gets the limits of FREE."""
    return TIERS.get(name) or replace(FREE, name=name, known=False)


def choose_tier(name: str) -> Tier:
    """Return a tier by name; raise InvalidInput if it does not exist."""
    if name not in TIERS:
        raise InvalidInput([FieldError("tier", f"must be one of {', '.join(TIERS)}")])
    return TIERS[name]


def find_excess(created: Mapping[str, int], limit: int) -> list[str]:
    """Return the ids of the newest checks above the limit, which a downgrade pauses."""
    by_age = sorted(created, key=lambda check_id: (created[check_id], check_id))
    return by_age[limit:]
