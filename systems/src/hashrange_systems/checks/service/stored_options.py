"""Reads the stored options of a check: windows, rules and delay; values of other systems cause no errors."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from hashrange_systems.checks.model.alert import Rules
from hashrange_systems.checks.model.attributes import Attributes, Ebay
from hashrange_systems.checks.model.maintenance_window import WINDOW, Once, Weekly
from hashrange_systems.checks.model.outcome import read_truth, read_whole
from hashrange_systems.checks.schema import Check

MIN_DELAY_MS = 1000
USUAL = Rules()


def read_windows(check: Check) -> list[Once | Weekly]:
    """Return the maintenance windows; invalid ones are ignored."""
    return list(_read_each(check))


def _read_each(check: Check) -> Iterator[Once | Weekly]:
    for window in check.maintenance or ():
        try:
            yield WINDOW.validate_python(window)
        except ValidationError:
            continue


def read_rules(check: Check, attributes: Attributes) -> Rules:
    """Return the alert rules, with defaults."""
    stored = check.rules or {}
    resolved, warnings = read_truth(stored.get("resolved")), read_truth(stored.get("warnings"))
    return Rules(
        reminder_ms=read_whole(stored.get("reminderMs")),
        resolved=USUAL.resolved if resolved is None else resolved,
        warnings=USUAL.warnings if warnings is None else warnings,
        gone=read_truth(stored.get("gone")) or False,
        threshold=attributes.threshold if isinstance(attributes, Ebay) else None,
        hysteresis_percent=read_whole(stored.get("hysteresisPercent")) or USUAL.hysteresis_percent,
    )


def read_delay(check: Check) -> int:
    """Return the delay between runs, with a lower limit."""
    return max(check.delay_ms, MIN_DELAY_MS)
