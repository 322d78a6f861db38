"""How many runs a user may ask for besides the schedule: a budget for each hour, by tier.

A run by hand counts, and the run of a check that is added or resumed, which is due at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.checks.model.tier import Tier
from hashrange_systems.shared.errors import TooManyRequests
from hashrange_systems.shared.web.rate_limit import RateLimit

HOUR_S = 3600


@dataclass(slots=True)
class ManualRunLimit:
    """A rate limit for each tier; a third of an hour's runs may follow each other at once."""

    clock: Clock
    _limits: dict[str, RateLimit] = field(default_factory=dict)

    def consume(self, userid: str, tier: Tier) -> None:
        """Count a run; raise TooManyRequests if the budget is spent."""
        if tier.name not in self._limits:
            burst, per_second = max(1, tier.manual_runs // 3), tier.manual_runs / HOUR_S
            self._limits[tier.name] = RateLimit(self.clock, burst=burst, per_second=per_second)
        self._limits[tier.name].consume(userid)

    def try_consume(self, userid: str, tier: Tier) -> bool:
        """Count a run that is due at once; return whether the budget allows it."""
        try:
            self.consume(userid, tier)
        except TooManyRequests:
            return False
        return True
