"""How often a check may run: `delayMs`, a whole number of milliseconds between the tier's minimum and a day."""

from __future__ import annotations

from hashrange_systems.checks.model.refusal import Fault, InputRefused
from hashrange_systems.checks.model.tier import Tier

LONGEST_DELAY_MS = 24 * 60 * 60 * 1000


def settle_delay(value: object, tier: Tier) -> int:
    """Return the delay when the tier allows it; refuse anything else and say why."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(f"must be a whole number of milliseconds, not {describe(value)}")
    if value < tier.shortest_delay_ms:
        raise refuse(f"must be at least {tier.shortest_delay_ms} ({tier.name}), not {value}")
    if value > LONGEST_DELAY_MS:
        raise refuse(f"must be at most {LONGEST_DELAY_MS} (24 hours), not {value}")
    return value


def describe(value: object) -> str:
    """Name what was given instead of a whole number, without repeating something long."""
    if isinstance(value, str):
        return f"the text {value[:20]!r}"
    return str(value)[:20] if isinstance(value, float | bool) else type(value).__name__


def refuse(message: str) -> InputRefused:
    """Make the refusal of a delay."""
    return InputRefused([Fault("delayMs", message)])
