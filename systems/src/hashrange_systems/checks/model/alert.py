"""Which messages a step of a check sends: on changes only, each with a key, so that an outbox sends none of them twice.

Nothing is sent within maintenance or, but for the first and last word, while a check flaps. Delivery is the service's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hashrange_systems.checks.model.incident import Incident
from hashrange_systems.checks.model.outcome import Outcome, Status, drop_absent, read_whole
from hashrange_systems.checks.model.state import Event, Happening, State

SHORTEST_REMINDER_MS = 5 * 60_000


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
    """What a user wants to be told."""

    reminder_ms: int | None = None
    resolved: bool = True
    warnings: bool = True
    gone: bool = False
    threshold: int | None = None
    hysteresis_percent: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What has been told: the start of the announced incident, reminders of it, and whether availability was."""

    announced: int | None = None
    announced_at: int = 0
    reminders: int = 0
    told_available: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something to tell a user once; two messages with the same key are the same message."""

    topic: Topic
    key: str
    at: int
    outcome: Outcome
    incident: Incident | None = None


Decision = tuple[Memory, tuple[Message, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One step of a check, as the messages about it need it."""

    check_id: str
    state: State
    events: tuple[Event, ...]
    outcome: Outcome
    at: int
    maintenance: bool = False


def decide(rules: Rules, memory: Memory, scene: Scene) -> Decision:
    """Return what is remembered after a step, and the messages it sends."""
    if scene.maintenance:
        return memory, ()
    messages: list[Message] = []
    for event in scene.events:
        memory, told = announce(rules, memory, scene, event)
        messages += told
    for decision in (remind, cross):
        memory, told = decision(rules, memory, scene)
        messages += told
    return memory, tuple(messages)


def announce(rules: Rules, memory: Memory, scene: Scene, event: Event) -> Decision:
    """Return the message that an event is worth."""
    if event.happening is Happening.OPENED:
        return announce_down(memory, scene, event, Topic.DOWN)
    if event.happening is Happening.CLOSED:
        return announce_up(rules, memory, scene, event)
    if event.happening is Happening.STEADY and event.incident:
        return announce_down(memory, scene, event, Topic.STEADY)
    if event.happening in (Happening.FLAPPING, Happening.STEADY):
        return memory, (write_message(scene, Topic(event.happening.value), event.at, event.incident),)
    topic = Topic.WARNING if event.happening is Happening.DEGRADED else Topic.RESTORED
    return memory, (write_message(scene, topic, event.at),) if rules.warnings and not scene.state.flapping else ()


def announce_down(memory: Memory, scene: Scene, event: Event, topic: Topic) -> Decision:
    """Tell of an incident, unless the check flaps."""
    if event.incident is None or scene.state.flapping:
        return memory, ()
    started = event.incident.started_at
    told = replace(memory, announced=started, announced_at=event.at, reminders=0)
    return told, (write_message(scene, topic, started if topic is Topic.DOWN else event.at, event.incident),)


def announce_up(rules: Rules, memory: Memory, scene: Scene, event: Event) -> Decision:
    """Tell of the end of an incident that was told of; a pause ends it without a word."""
    forgotten = forget_incident(memory)
    incident = event.incident
    if incident is None or incident.interrupted or memory.announced != incident.started_at:
        return forgotten, ()
    if scene.state.flapping or not rules.resolved:
        return forgotten, ()
    return forgotten, (write_message(scene, Topic.UP, incident.started_at, incident),)


def forget_incident(memory: Memory) -> Memory:
    """Return what is remembered once an incident is over, or its check is paused."""
    return replace(memory, announced=None, announced_at=0, reminders=0)


def remind(rules: Rules, memory: Memory, scene: Scene) -> Decision:
    """Tell again of an incident that goes on, once for each full interval; missed ones are not made up for."""
    if rules.reminder_ms is None or memory.announced is None or scene.outcome.status is not Status.DOWN:
        return memory, ()
    due = (scene.at - memory.announced_at) // max(rules.reminder_ms, SHORTEST_REMINDER_MS)
    if due <= memory.reminders or scene.state.flapping:
        return memory, ()
    message = write_message(scene, Topic.REMINDER, memory.announced, scene.state.incident, f"#{due}")
    return replace(memory, reminders=due), (message,)


def cross(rules: Rules, memory: Memory, scene: Scene) -> Decision:
    """Tell when the thing becomes available, and no more until it clearly was not."""
    if scene.outcome.available is True and not memory.told_available:
        return replace(memory, told_available=True), (write_message(scene, Topic.AVAILABLE, scene.at),)
    if memory.told_available and is_clearly_gone(rules, scene.outcome):
        told = (write_message(scene, Topic.GONE, scene.at),) if rules.gone else ()
        return replace(memory, told_available=False), told
    return memory, ()


def is_clearly_gone(rules: Rules, outcome: Outcome) -> bool:
    """Whether the thing is unavailable beyond doubt: sold out, not offered, or dearer by a margin."""
    if outcome.available is not False:
        return False
    if rules.threshold is None or outcome.price is None:
        return True
    return outcome.price * 100 > rules.threshold * (100 + rules.hysteresis_percent)


def write_message(scene: Scene, topic: Topic, moment: int, incident: Incident | None = None, nth: str = "") -> Message:
    """Return the message about a moment, with the key that names it."""
    key = f"{scene.check_id}#{topic.value}#{moment}{nth}"
    return Message(topic=topic, key=key, at=scene.at, outcome=scene.outcome, incident=incident)


def write_memory(memory: Memory) -> dict[str, Any]:
    """Return the small map that is stored beside the check's state."""
    return drop_absent(
        {
            "announced": memory.announced,
            "announcedAt": memory.announced_at or None,
            "reminders": memory.reminders or None,
            "toldAvailable": memory.told_available or None,
        }
    )


def read_memory(stored: Mapping[str, object] | None) -> Memory:
    """Read what was told; nothing when nothing is stored."""
    stored = stored or {}
    return Memory(
        announced=read_whole(stored.get("announced")),
        announced_at=read_whole(stored.get("announcedAt")) or 0,
        reminders=read_whole(stored.get("reminders")) or 0,
        told_available=stored.get("toldAvailable") is True,
    )
