"""Price alerts: when a member who watches the product is notified, and when the alert is active again. No I/O.

A limit notifies once, and again after the price was on its other side. A percentage is measured from the price that was
last notified, in both directions. Prices in another currency than the limits are never compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from hashrange_systems.shared.errors import FieldError, InvalidInput

MAX_MINOR = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """What a member wants to be notified of: limits in minor units of `currency`, a percentage, changes of state."""

    below_minor: int | None = None
    above_minor: int | None = None
    percent: int | None = None
    states: bool = True
    currency: str | None = None

    def check(self) -> None:
        """Raise InvalidInput for limits that can never be met."""
        errors = [
            FieldError(name, f"must be from 0 to {MAX_MINOR}")
            for name, value in (("below", self.below_minor), ("above", self.above_minor))
            if value is not None and not 0 <= value <= MAX_MINOR
        ]
        if self.percent is not None and not 1 <= self.percent <= 1000:
            errors.append(FieldError("percent", "must be from 1 to 1000"))
        if errors:
            raise InvalidInput(errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertState:
    """Which limits are armed, and the price that the percentage is measured from."""

    armed_below: bool = True
    armed_above: bool = True
    base_minor: int | None = None


@dataclass(frozen=True, slots=True)
class AlertResult:
    """The reasons to notify somebody, in words, and the state afterwards."""

    reasons: tuple[str, ...]
    state: AlertState


class PriceChange(Protocol):
    """What an alert needs to know about a change."""

    @property
    def kind(self) -> str:
        """What changed."""
        ...

    @property
    def state(self) -> str | None:
        """The state after the change."""
        ...

    @property
    def old_state(self) -> str | None:
        """The state before the change."""
        ...

    @property
    def price_minor(self) -> int | None:
        """The price after the change."""
        ...

    @property
    def currency(self) -> str | None:
        """The currency after the change."""
        ...


def evaluate_alert(rule: AlertRule, state: AlertState, change: PriceChange) -> AlertResult:
    """Return why a watcher is notified of a change."""
    reasons = []
    if rule.states and change.state is not None and change.old_state is not None and change.state != change.old_state:
        reasons.append(f"now {change.state}, was {change.old_state}")
    price = change.price_minor
    if price is None or (rule.currency is not None and change.currency != rule.currency):
        return AlertResult(tuple(reasons), state)
    if rule.below_minor is not None:
        if price < rule.below_minor and state.armed_below:
            reasons.append("below your limit")
        state = replace(state, armed_below=price >= rule.below_minor)
    if rule.above_minor is not None:
        if price > rule.above_minor and state.armed_above:
            reasons.append("above your limit")
        state = replace(state, armed_above=price <= rule.above_minor)
    return _measure(rule, state, price, reasons)


def _measure(rule: AlertRule, state: AlertState, price: int, reasons: list[str]) -> AlertResult:
    base = state.base_minor
    if rule.percent is None or not base:
        return AlertResult(tuple(reasons), replace(state, base_minor=price) if base is None else state)
    moved = (price - base) * 100
    if abs(moved) >= rule.percent * base:
        reasons.append(f"{'up' if moved > 0 else 'down'} by {abs(moved) // base} %")
        state = replace(state, base_minor=price)
    return AlertResult(tuple(reasons), state)
