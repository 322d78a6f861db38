"""The result of a run as values: the next state, and the items to write. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from hashrange_systems.checks.history_schema import Ended, Ongoing, Run
from hashrange_systems.checks.model.alert import (
    AlertHistory,
    AlertInput,
    Message,
    Topic,
    decide,
    forget_incident,
    read_alert_history,
)
from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.incident import Incident as Outage
from hashrange_systems.checks.model.incident import write_incident
from hashrange_systems.checks.model.maintenance_window import is_under_maintenance
from hashrange_systems.checks.model.outcome import MAX_MESSAGE_LENGTH, Outcome, Status, drop_absent, write_outcome
from hashrange_systems.checks.model.state import (
    Event,
    EventType,
    State,
    advance,
    interrupt,
    make_policy,
    read_state,
)
from hashrange_systems.checks.model.uptime import Verdict, find_verdict
from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.schema import AlertTarget, Channel, Check, Waiting
from hashrange_systems.checks.service.stored_options import read_delay, read_rules, read_windows
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.text import shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The result of a run: state, events and messages."""

    at: int
    outcome: Outcome
    state: State
    alert_history: AlertHistory
    verdict: Verdict
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()


def run_time(check: Check, now: int) -> int:
    """Return the time of a run: now, or just after the last one if the clock went backwards."""
    last_at = read_state(check.state).last_at
    return now if last_at is None else max(now, last_at + 1)


def evaluate_run(check: Check, attributes: Attributes, outcome: Outcome, at: int) -> RunOutcome:
    """Return the result of a run with this outcome."""
    maintained = is_under_maintenance(read_windows(check), at)
    policy = make_policy(attributes.retries, read_delay(check), attributes.successes)
    state, events = advance(read_state(check.state), outcome, at, policy, maintenance=maintained)
    alert_input = AlertInput(
        check_id=check.checkid, state=state, events=events, outcome=outcome, at=at, maintenance=maintained
    )
    alert_history, messages = decide(
        read_rules(check, attributes), read_alert_history(check.alert_history), alert_input
    )
    return RunOutcome(
        at=at,
        outcome=outcome,
        state=state,
        alert_history=alert_history,
        verdict=find_verdict(state, outcome, maintenance=maintained),
        events=events,
        messages=messages,
    )


def disable_outcome(check: Check, outcome: Outcome | None, reason: str, at: int) -> RunOutcome:
    """Return the result of a run that disables the check: an open incident ends."""
    state, events = interrupt(read_state(check.state), at)
    last = outcome or Outcome(status=Status.UNKNOWN, cause=Cause.REFUSED, message=reason)
    message = Message(
        topic=Topic.STOPPED,
        key=f"{check.checkid}#{Topic.STOPPED.value}#{at}",
        at=at,
        outcome=replace(last, message=shorten(reason, MAX_MESSAGE_LENGTH)),
    )
    return RunOutcome(
        at=at,
        outcome=last,
        state=replace(state, last_at=at),
        alert_history=forget_incident(read_alert_history(check.alert_history)),
        verdict=Verdict.PAUSED,
        events=events,
        messages=(message,),
    )


def make_run(check: Check, run_outcome: RunOutcome, days: int, due_at: int | None = None) -> Run:
    """Return the stored run, which expires after so many days."""
    at = from_ms(run_outcome.at)
    return Run(
        checkid=check.checkid,
        at=at,
        result=write_outcome(run_outcome.outcome),  # type: ignore[arg-type]  # the model writes a Result
        verdict=run_outcome.verdict.value,
        delay_ms=read_delay(check),
        due_at=None if due_at is None else from_ms(due_at),
        expires_at=at + timedelta(days=days),
    )


def make_incidents(check: Check, events: Iterable[Event]) -> Iterator[Ongoing | Ended]:
    """Yield the incidents that the events opened or closed."""
    for event in events:
        if event.incident and event.type in (EventType.OPENED, EventType.CLOSED):
            yield make_incident(check.checkid, event.incident)


def make_incident(checkid: str, outage: Outage) -> Ongoing | Ended:
    """Return an incident as it is stored."""
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


def make_alert(check: Check, message: Message, channel: AlertTarget | Channel, now: int) -> Waiting:
    """Return the alert of a message for a channel; its id is the same for the same message and channel."""
    content = {
        "name": name_check(check) if check.signal_key else check.name or check.url,
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
