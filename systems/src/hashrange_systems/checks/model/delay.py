"""How often a check may run: `delayMs`, a whole number of milliseconds between the tier's minimum and a day."""

from __future__ import annotations

from hashrange_systems.checks.model.tier import Tier
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import FieldError, InvalidInput

MAX_DELAY_MS = DAY_MS


def validate_delay(value: object, tier: Tier, shortest_ms: int = 0) -> int:
    """Return a delay that the tier and the type of check, with its `shortest_ms`, allow; raise InvalidInput."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(f"must be a whole number of milliseconds, not {describe(value)}")
    if value < tier.shortest_delay_ms:
        raise refuse(f"must be at least {tier.shortest_delay_ms} ({tier.name}), not {value}")
    if value < shortest_ms:
        raise refuse(f"must be at least {shortest_ms} for this type of check, not {value}")
    if value > MAX_DELAY_MS:
        raise refuse(f"must be at most {MAX_DELAY_MS} (24 hours), not {value}")
    return value


def describe(value: object) -> str:
    """Describe a value that is not a whole number, without repeating a long one."""
    if isinstance(value, str):
        return f"the text {value[:20]!r}"
    return str(value)[:20] if isinstance(value, float | bool) else type(value).__name__


def refuse(message: str) -> InvalidInput:
    """Return the error for a delay."""
    return InvalidInput([FieldError("delayMs", message)])
