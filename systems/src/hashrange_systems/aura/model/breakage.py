"""The alarm for a shop that breaks silently: its products or their fields fall below its own baseline. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

ENOUGH = 3  # scrapes before there is a baseline
LOWEST = 0.5  # of the baseline
FEWEST = 5  # products of a baseline that means something


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many products a scrape saw, and how many of them had a price, a state, a title."""

    products: int
    priced: int
    stated: int
    titled: int

    def share(self, field: str) -> float:
        """Return the share of products that have a field."""
        count: int = getattr(self, field)
        return count / self.products if self.products else 0.0


def find_breakage(past: Sequence[Coverage], now: Coverage) -> str | None:
    """Return what fell below half of the baseline, in words; None if nothing did, or there is no baseline yet."""
    if len(past) < ENOUGH:
        return None
    usual = median(each.products for each in past)
    if usual < FEWEST:
        return None
    if now.products < usual * LOWEST:
        return f"{now.products} products instead of about {usual:g}"
    for field, name in (("priced", "a price"), ("stated", "a state"), ("titled", "a title")):
        before, after = median(each.share(field) for each in past), now.share(field)
        if before > 0 and after < before * LOWEST:
            return f"{after:.0%} of the products have {name}, usually {before:.0%} have"
    return None
