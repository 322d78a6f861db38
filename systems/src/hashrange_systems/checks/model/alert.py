"""Which alerts a run causes: on changes only, each with a key, so that the outbox sends none twice.

No alerts within maintenance, nor while a check flaps, except for its start and end. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hashrange_systems.checks.model.incident import Incident
from hashrange_systems.checks.model.outcome import Outcome, Status, drop_absent, read_whole
from hashrange_systems.checks.model.state import Event, EventType, State

MIN_REMINDER_MS = 5 * 60_000


class Topic(StrEnum):
    """What a message is about."""

    DOWN = "DOWN"
    REMINDER = "REMINDER"
    UP = "UP"
    WARNING = "WARNING"
    RESTORED = "RESTORED"
    FLAPPING = "FLAPPING"
    STEADY = "STEADY"
    AVAILABLE = "AVAILABLE"
    GONE = "GONE"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which alerts a user wants."""

    reminder_ms: int | None = None
    resolved: bool = True
    warnings: bool = True
    gone: bool = False
    threshold: int | None = None
    hysteresis_percent: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertHistory:
    """Which alerts were sent: the announced incident, its reminders, and whether availability was announced."""

    announced: int | None = None
    announced_at: int = 0
    reminders: int = 0
    announced_available: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An alert to send once; messages with the same key are the same."""

    topic: Topic
    key: str
    at: int
    outcome: Outcome
    incident: Incident | None = None


Decision = tuple[AlertHistory, tuple[Message, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertInput:
    """A run, as the decision about alerts needs it."""

    check_id: str
    state: State
    events: tuple[Event, ...]
    outcome: Outcome
    at: int
    maintenance: bool = False


def decide(rules: Rules, history: AlertHistory, given: AlertInput) -> Decision:
    """Return the new alert history and the messages to send."""
    if given.maintenance:
        return history, ()
    messages: list[Message] = []
    for event in given.events:
        history, added = announce(rules, history, given, event)
        messages += added
    for decision in (remind, announce_availability):
        history, added = decision(rules, history, given)
        messages += added
    return history, tuple(messages)


def announce(rules: Rules, history: AlertHistory, given: AlertInput, event: Event) -> Decision:
    """Return the message for an event."""
    if event.type is EventType.OPENED:
        return announce_down(history, given, event, Topic.DOWN)
    if event.type is EventType.CLOSED:
        return announce_up(rules, history, given, event)
    if event.type is EventType.STEADY and event.incident:
        return announce_down(history, given, event, Topic.STEADY)
    if event.type in (EventType.FLAPPING, EventType.STEADY):
        return history, (write_message(given, Topic(event.type.value), event.at, event.incident),)
    topic = Topic.WARNING if event.type is EventType.DEGRADED else Topic.RESTORED
    return history, (write_message(given, topic, event.at),) if rules.warnings and not given.state.flapping else ()


def announce_down(history: AlertHistory, given: AlertInput, event: Event, topic: Topic) -> Decision:
    """Announce an incident, unless the check flaps."""
    if event.incident is None or given.state.flapping:
        return history, ()
    started = event.incident.started_at
    announced = replace(history, announced=started, announced_at=event.at, reminders=0)
    return announced, (write_message(given, topic, started if topic is Topic.DOWN else event.at, event.incident),)


def announce_up(rules: Rules, history: AlertHistory, given: AlertInput, event: Event) -> Decision:
    """Announce the end of an announced incident; a pause ends it without a message."""
    forgotten = forget_incident(history)
    incident = event.incident
    if incident is None or incident.interrupted or history.announced != incident.started_at:
        return forgotten, ()
    if given.state.flapping or not rules.resolved:
        return forgotten, ()
    return forgotten, (write_message(given, Topic.UP, incident.started_at, incident),)


def forget_incident(history: AlertHistory) -> AlertHistory:
    """Return the alert history without the incident."""
    return replace(history, announced=None, announced_at=0, reminders=0)


def remind(rules: Rules, history: AlertHistory, given: AlertInput) -> Decision:
    """Remind of an ongoing incident, once for each full interval; missed reminders are skipped."""
    if rules.reminder_ms is None or history.announced is None or given.outcome.status is not Status.DOWN:
        return history, ()
    due = (given.at - history.announced_at) // max(rules.reminder_ms, MIN_REMINDER_MS)
    if due <= history.reminders or given.state.flapping:
        return history, ()
    message = write_message(given, Topic.REMINDER, history.announced, given.state.incident, f"#{due}")
    return replace(history, reminders=due), (message,)


def announce_availability(rules: Rules, history: AlertHistory, given: AlertInput) -> Decision:
    """Announce that something became available, and only again after it was clearly unavailable."""
    if given.outcome.available is True and not history.announced_available:
        return replace(history, announced_available=True), (write_message(given, Topic.AVAILABLE, given.at),)
    if history.announced_available and is_clearly_gone(rules, given.outcome):
        messages = (write_message(given, Topic.GONE, given.at),) if rules.gone else ()
        return replace(history, announced_available=False), messages
    return history, ()


def is_clearly_gone(rules: Rules, outcome: Outcome) -> bool:
    """Return whether something is clearly unavailable: sold out, not offered, or above the limit by a margin."""
    if outcome.available is not False:
        return False
    if rules.threshold is None or outcome.price is None:
        return True
    return outcome.price * 100 > rules.threshold * (100 + rules.hysteresis_percent)


def write_message(
    given: AlertInput, topic: Topic, moment: int, incident: Incident | None = None, nth: str = ""
) -> Message:
    """Return a message with its key."""
    key = f"{given.check_id}#{topic.value}#{moment}{nth}"
    return Message(topic=topic, key=key, at=given.at, outcome=given.outcome, incident=incident)


def write_alert_history(history: AlertHistory) -> dict[str, Any]:
    """Return the alert history as it is stored."""
    return drop_absent(
        {
            "announced": history.announced,
            "announcedAt": history.announced_at or None,
            "reminders": history.reminders or None,
            "toldAvailable": history.announced_available or None,
        }
    )


def read_alert_history(stored: Mapping[str, object] | None) -> AlertHistory:
    """Read a stored alert history; an empty one if there is none."""
    stored = stored or {}
    return AlertHistory(
        announced=read_whole(stored.get("announced")),
        announced_at=read_whole(stored.get("announcedAt")) or 0,
        reminders=read_whole(stored.get("reminders")) or 0,
        announced_available=stored.get("toldAvailable") is True,
    )
