"""An injected fault: an effect, and the calls that it hits: of which operation, on which table, how often."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from random import Random

from hashrange.core.wire import Wire
from hashrange.engine.operation import Operation
from hashrange.engine.service_model import SERVICE_OPERATIONS
from hashrange.faults.fault_effect import DelayEffect, Effect
from hashrange.faults.request_entries import list_tables
from hashrange.operations import OPERATIONS

ANY = "*"


@dataclass(slots=True, kw_only=True, eq=False)
class InjectedFault:
    """A fault and its count: it has `applied` so many of the `seen` calls that it could apply."""

    effect: Effect | DelayEffect
    operation: str = ANY
    table: str | None = None
    times: int | None = None
    every: int = 1
    chance: float = 1.0
    random: Random = field(repr=False)
    seen: int = 0
    applied: int = 0

    def __post_init__(self) -> None:
        if self.operation != ANY:
            self._check_operation()
        if self.times is not None and self.times < 1:
            raise ValueError(f"times is the number of calls to which a fault applies: at least 1, not {self.times}")
        if self.every < 1:
            raise ValueError(f"every=10 is every tenth call: at least 1, not {self.every}")
        if not 0 < self.chance <= 1:
            raise ValueError(f"chance is more than 0 and at most 1, not {self.chance}")

    def _check_operation(self) -> None:
        if self.operation not in SERVICE_OPERATIONS:
            meant = get_close_matches(self.operation, SERVICE_OPERATIONS, 1)
            raise ValueError(f"there is no operation {self.operation}" + (f"; is it {meant[0]}?" if meant else ""))
        if not self.effect.applies_to(OPERATIONS.get(self.operation)):
            possible = sorted(name for name, each in OPERATIONS.items() if self.effect.applies_to(each))
            raise ValueError(f"{self.effect.verb} applies to {', '.join(possible)}, not to {self.operation}")

    def concerns(self, operation: Operation, request: Wire) -> bool:
        """Return whether a call is one of those that it could apply."""
        return (
            self.operation in (ANY, operation.name)
            and self.effect.applies_to(operation)
            and (self.table is None or self.table in list_tables(operation, request))
            and self.effect.fits(operation, request)
        )

    def is_due(self) -> bool:
        """Count a call that it could apply, and return whether it does."""
        self.seen += 1
        is_over = self.times is not None and self.applied >= self.times
        if is_over or self.seen % self.every or (self.chance < 1 and self.random.random() >= self.chance):
            return False
        self.applied += 1
        return True

    def __str__(self) -> str:
        effect = [(each.name, each.default, getattr(self.effect, each.name)) for each in fields(self.effect)]
        when = [(each.name, each.default, getattr(self, each.name)) for each in fields(self) if each.name in WHEN]
        chosen = [f"{name}={format_option(value)}" for name, default, value in effect + when if value != default]
        return " ".join([self.effect.verb, self.operation, *chosen])


WHEN = ("table", "times", "every", "chance")


def format_option(value: object) -> str:
    """Return an option's value as it is written in a text."""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
