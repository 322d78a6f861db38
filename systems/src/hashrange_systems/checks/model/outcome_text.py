"""Formats the price and the incident of an outcome for messages and pages."""

from __future__ import annotations

from hashrange_systems.checks.model.incident import Incident
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.shared.money import Money
from hashrange_systems.shared.text import format_duration


def format_price(outcome: Outcome) -> str:
    """Format the price; empty if there is none."""
    if outcome.price is None or outcome.currency is None:
        return ""
    unsure = ", shipping unknown" if outcome.shipping_known is False else ""
    return f"{Money(outcome.price, outcome.currency)}{unsure}"


def format_incident_duration(incident: Incident | None) -> str:
    """Format the duration of an ended incident; empty otherwise."""
    if incident is None or incident.ended_at is None:
        return ""
    return format_duration(incident.ended_at - incident.started_at)
