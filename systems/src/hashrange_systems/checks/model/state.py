"""The state machine of a check: from a state and an outcome to the next state and events. No I/O.

    NEW ──success──> UP ──failure──> PENDING ──failures──> DOWN ──success──> RECOVERING ──successes──> UP
                      ^─────────────success──┘              ^──────────────failure──┘

UNKNOWN outcomes and those within maintenance change nothing. Time never goes backwards: an outcome older than the last
one counts as just after it, and the same time again is a duplicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.incident import Incident, make_incident_start, read_incident, write_incident
from hashrange_systems.checks.model.outcome import Outcome, Status, drop_absent, read_choice, read_whole
from hashrange_systems.shared.epoch import HOUR_MS


class Phase(StrEnum):
    """The phase of a check."""

    NEW = "NEW"
    UP = "UP"
    PENDING = "PENDING"  # failing, not confirmed
    DOWN = "DOWN"
    RECOVERING = "RECOVERING"  # working again, not confirmed


class EventType(StrEnum):
    """The types of events."""

    OPENED = "OPENED"  # an incident
    CLOSED = "CLOSED"
    DEGRADED = "DEGRADED"  # up, with a warning
    RESTORED = "RESTORED"  # the warning is over
    FLAPPING = "FLAPPING"  # it changes too often to report each change
    STEADY = "STEADY"  # no longer


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePolicy:
    """How many outcomes confirm a change, and how many changes in which time are flapping."""

    failure_threshold: int = 3
    success_threshold: int = 2
    flap_count: int = 4
    flap_window_ms: int = HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a check between its runs."""

    phase: Phase = Phase.NEW
    since: int | None = None
    streak: int = 0
    streak_since: int | None = None
    incident: Incident | None = None
    degraded: bool = False
    flapping: bool = False
    flips: tuple[int, ...] = ()
    last_at: int | None = None
    refused_since: int | None = None  # the address policy has refused every request since then
    never_up: bool = False  # no run has succeeded since the check exists


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a check, with its incident."""

    type: EventType
    at: int
    incident: Incident | None = None


Step = tuple[State, tuple[Event, ...]]


def make_policy(retries: int, delay_ms: int, successes: int = 2) -> StatePolicy:
    """Return the policy of a check: retries before it is down; an hour or 24 runs as the window for flapping."""
    return StatePolicy(
        failure_threshold=retries + 1, success_threshold=successes, flap_window_ms=max(HOUR_MS, 24 * delay_ms)
    )


def advance(state: State, outcome: Outcome, at: int, policy: StatePolicy, *, maintenance: bool = False) -> Step:
    """Return the state after an outcome, and the events."""
    if at == state.last_at:
        return state, ()
    at = at if state.last_at is None else max(at, state.last_at + 1)
    refused_since = (state.refused_since or at) if outcome.cause is Cause.REFUSED else None
    never_up = (state.never_up or state.last_at is None) and not outcome.healthy
    state = replace(state, last_at=at, refused_since=refused_since, never_up=never_up)
    if maintenance or outcome.status is Status.UNKNOWN:
        return state, ()
    moved, events = succeed(state, outcome, at, policy) if outcome.healthy else fail(state, outcome, at, policy)
    damped, damping = update_flapping(moved, at, policy)
    return damped, events + damping


def interrupt(state: State, at: int) -> Step:
    """Return the state of a paused check: no open incident, and it starts anew when resumed."""
    fresh = State(last_at=state.last_at, never_up=state.never_up)
    incident = find_open_incident(state)
    if incident is None:
        return fresh, ()
    closed = replace(incident, ended_at=max(at, incident.started_at), interrupted=True)
    return fresh, (Event(EventType.CLOSED, at, closed),)


def fail(state: State, outcome: Outcome, at: int, policy: StatePolicy) -> Step:
    """Count a failure; enough of them in a row open an incident that starts with the first."""
    if state.phase is Phase.DOWN:
        return state, ()
    if state.phase is Phase.RECOVERING:
        return replace(state, phase=Phase.DOWN, streak=0, streak_since=None), ()
    streak = state.streak + 1 if state.phase is Phase.PENDING else 1
    suspected = state.incident or make_incident_start(outcome, at)
    if streak < policy.failure_threshold:
        return replace(state, phase=Phase.PENDING, streak=streak, incident=suspected), ()
    opened = Event(EventType.OPENED, at, suspected)
    return change_phase(state, Phase.DOWN, at, since=suspected.started_at, incident=suspected), (opened,)


def succeed(state: State, outcome: Outcome, at: int, policy: StatePolicy) -> Step:
    """Count a success; enough of them in a row close the incident at the first."""
    if state.phase is Phase.PENDING:
        state = replace(state, phase=Phase.UP, streak=0, incident=None, since=state.since or at)
    if state.phase is Phase.NEW:
        state = replace(state, phase=Phase.UP, since=at)
    if state.phase is Phase.UP:
        return warn(state, outcome, at)
    streak = state.streak + 1 if state.phase is Phase.RECOVERING else 1
    streak_since = at if streak == 1 or state.streak_since is None else state.streak_since
    if streak < policy.success_threshold:
        return replace(state, phase=Phase.RECOVERING, streak=streak, streak_since=streak_since), ()
    return close(state, outcome, at, streak_since)


def close(state: State, outcome: Outcome, at: int, ended_at: int) -> Step:
    """End the open incident; the check is up, or up with a warning."""
    incident = replace(state.incident, ended_at=ended_at) if state.incident else None
    up = change_phase(state, Phase.UP, at, since=ended_at, incident=None)
    warned, warnings = warn(up, outcome, at)
    return warned, (Event(EventType.CLOSED, at, incident), *warnings)


def change_phase(state: State, phase: Phase, at: int, *, since: int, incident: Incident | None) -> State:
    """Return the state after a confirmed change, which counts for flapping."""
    return replace(
        state,
        phase=phase,
        since=since,
        streak=0,
        streak_since=None,
        incident=incident,
        flips=(*state.flips, at),
    )


def warn(state: State, outcome: Outcome, at: int) -> Step:
    """Add the event of a warning that starts or ends."""
    degraded = outcome.status is Status.DEGRADED
    if degraded == state.degraded:
        return state, ()
    event_type = EventType.DEGRADED if degraded else EventType.RESTORED
    return replace(state, degraded=degraded), (Event(event_type, at),)


def update_flapping(state: State, at: int, policy: StatePolicy) -> Step:
    """Set or clear flapping by the number of recent changes."""
    flips = tuple(flip for flip in state.flips if flip > at - policy.flap_window_ms)[-policy.flap_count :]
    flapping = len(flips) >= (1 if state.flapping else policy.flap_count)
    damped = replace(state, flips=flips, flapping=flapping)
    if flapping == state.flapping:
        return damped, ()
    event_type = EventType.FLAPPING if flapping else EventType.STEADY
    return damped, (Event(event_type, at, find_open_incident(state)),)


def find_open_incident(state: State) -> Incident | None:
    """Return the open incident; an unconfirmed failure is none."""
    return state.incident if state.phase in (Phase.DOWN, Phase.RECOVERING) else None


def is_confirming(state: State) -> bool:
    """Return whether the next run should be soon, to confirm a change."""
    return state.phase in (Phase.PENDING, Phase.RECOVERING)


def write_state(state: State) -> dict[str, Any]:
    """Return the state as it is stored."""
    return drop_absent(
        {
            "phase": state.phase.value,
            "since": state.since,
            "streak": state.streak or None,
            "streakSince": state.streak_since,
            "incident": write_incident(state.incident) if state.incident else None,
            "degraded": state.degraded or None,
            "flapping": state.flapping or None,
            "flips": list(state.flips) or None,
            "lastAt": state.last_at,
            "refusedSince": state.refused_since,
            "neverUp": state.never_up or None,
        }
    )


def read_state(stored: Mapping[str, object] | None) -> State:
    """Read a stored state; missing or unreadable values are those of a new check."""
    stored = stored or {}
    flips = stored.get("flips")
    read = [read_whole(flip) for flip in flips] if isinstance(flips, list | tuple) else []
    return State(
        phase=read_choice(Phase, stored.get("phase")) or Phase.NEW,
        since=read_whole(stored.get("since")),
        streak=read_whole(stored.get("streak")) or 0,
        streak_since=read_whole(stored.get("streakSince")),
        incident=read_incident(stored.get("incident")),
        degraded=stored.get("degraded") is True,
        flapping=stored.get("flapping") is True,
        flips=tuple(flip for flip in read if flip is not None),
        last_at=read_whole(stored.get("lastAt")),
        refused_since=read_whole(stored.get("refusedSince")),
        never_up=stored.get("neverUp") is True,
    )
