"""What a run leads to, as values: the next state, and the items that are written with it. Writing is `runs`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from hashrange_systems.checks.model.alert import (
    Memory,
    Message,
    Scene,
    Topic,
    decide,
    forget_incident,
    read_memory,
)
from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.fetched import Cause
from hashrange_systems.checks.model.incident import Incident as Outage
from hashrange_systems.checks.model.incident import write_incident
from hashrange_systems.checks.model.maintenance import is_under_maintenance
from hashrange_systems.checks.model.outcome import LONGEST_MESSAGE, Outcome, Status, drop_absent, shorten, write_outcome
from hashrange_systems.checks.model.state import (
    Event,
    Happening,
    State,
    advance,
    interrupt,
    make_policy,
    read_state,
)
from hashrange_systems.checks.model.uptime import Verdict, give_verdict
from hashrange_systems.checks.schema import Channel, Check, Ended, Ongoing, Run, Waiting
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.service.reading import read_delay, read_rules, read_windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One run of a check, and all that follows from it."""

    at: int
    outcome: Outcome
    state: State
    memory: Memory
    verdict: Verdict
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()


def find_moment(check: Check, now: int) -> int:
    """Return the time of a run: now, or just after the last one when the clock went backwards."""
    last_at = read_state(check.state).last_at
    return now if last_at is None else max(now, last_at + 1)


def take_step(check: Check, attributes: Attributes, outcome: Outcome, at: int) -> Step:
    """Return what an outcome leads to."""
    maintained = is_under_maintenance(read_windows(check), at)
    policy = make_policy(attributes.retries, read_delay(check))
    state, events = advance(read_state(check.state), outcome, at, policy, maintenance=maintained)
    scene = Scene(check_id=check.checkid, state=state, events=events, outcome=outcome, at=at, maintenance=maintained)
    memory, messages = decide(read_rules(check, attributes), read_memory(check.told), scene)
    return Step(
        at=at,
        outcome=outcome,
        state=state,
        memory=memory,
        verdict=give_verdict(state, outcome, maintenance=maintained),
        events=events,
        messages=messages,
    )


def give_up(check: Check, outcome: Outcome | None, reason: str, at: int) -> Step:
    """Return what it leads to that a check cannot go on: an open incident ends, and nothing is remembered."""
    state, events = interrupt(read_state(check.state), at)
    last = outcome or Outcome(status=Status.UNKNOWN, cause=Cause.REFUSED, message=reason)
    told = Message(
        topic=Topic.STOPPED,
        key=f"{check.checkid}#{Topic.STOPPED.value}#{at}",
        at=at,
        outcome=replace(last, message=shorten(reason, LONGEST_MESSAGE)),
    )
    return Step(
        at=at,
        outcome=last,
        state=replace(state, last_at=at),
        memory=forget_incident(read_memory(check.told)),
        verdict=Verdict.PAUSED,
        events=events,
        messages=(told,),
    )


def make_run(check: Check, step: Step, days: int, slot: int | None = None) -> Run:
    """Return the run for the history, kept for so many days."""
    at = from_ms(step.at)
    return Run(
        checkid=check.checkid,
        at=at,
        result=write_outcome(step.outcome),  # type: ignore[arg-type]  # the model writes a Result
        verdict=step.verdict.value,
        delay_ms=read_delay(check),
        slot=None if slot is None else from_ms(slot),
        expires_at=at + timedelta(days=days),
    )


def make_incidents(check: Check, events: Iterable[Event]) -> Iterator[Ongoing | Ended]:
    """Yield the incidents as the events leave them."""
    for event in events:
        if event.incident and event.happening in (Happening.OPENED, Happening.CLOSED):
            yield make_incident(check.checkid, event.incident)


def make_incident(checkid: str, outage: Outage) -> Ongoing | Ended:
    """Return an outage as it is kept."""
    given = {
        "checkid": checkid,
        "started_at": from_ms(outage.started_at),
        "cause": outage.cause.value if outage.cause else None,
        "evidence": outage.evidence,
        "interrupted": outage.interrupted,
    }
    if outage.ended_at is None:
        return Ongoing.model_validate(given)
    return Ended.model_validate(given | {"ended_at": from_ms(outage.ended_at)})


def make_alert(check: Check, message: Message, channel: Channel, now: int) -> Waiting:
    """Return a message for one channel; the same message for the same channel has the same id."""
    content = {
        "name": check.name or check.url,
        "url": check.url,
        "at": message.at,
        "result": write_outcome(message.outcome),
        "incident": write_incident(message.incident) if message.incident else None,
    }
    return Waiting(
        checkid=check.checkid,
        message_id=f"{message.key}#{channel.channel_id}",
        owner=check.userid,
        channel_id=channel.channel_id,
        topic=message.topic.value,
        content=drop_absent(content),
        created_at=from_ms(now),
        send_at=from_ms(now),
    )
