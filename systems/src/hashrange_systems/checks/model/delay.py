"""How often a check may run: `delayMs`, a whole number of milliseconds between the tier's minimum and a day."""

from __future__ import annotations

from hashrange_systems.checks.model.tier import Tier
from hashrange_systems.shared.errors import FieldError, InvalidInput

LONGEST_DELAY_MS = 24 * 60 * 60 * 1000


def validate_delay(value: object, tier: Tier) -> int:
    """Return a delay that the tier allows; raise InvalidInput otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(f"must be a whole number of milliseconds, not {describe(value)}")
    if value < tier.shortest_delay_ms:
        raise refuse(f"must be at least {tier.shortest_delay_ms} ({tier.name}), not {value}")
    if value > LONGEST_DELAY_MS:
        raise refuse(f"must be at most {LONGEST_DELAY_MS} (24 hours), not {value}")
    return value


def describe(value: object) -> str:
    """Describe a value that is not a whole number, without repeating a long one."""
    if isinstance(value, str):
        return f"the text {value[:20]!r}"
    return str(value)[:20] if isinstance(value, float | bool) else type(value).__name__


def refuse(message: str) -> InvalidInput:
    """Return the error for a delay."""
    return InvalidInput([FieldError("delayMs", message)])
