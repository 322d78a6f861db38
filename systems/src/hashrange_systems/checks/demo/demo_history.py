"""The history of a demo check, as the items that a worker would have written. Deterministic, no I/O.

Older days are roll-ups. Yesterday and today are simulated with the rules of real runs, so that state, incidents and
alerts are consistent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from hashrange_systems.checks.demo.demo_scenario import PAUSED_DAYS, WARNED_DAYS, Behaviour, Outage, Scenario, simulate
from hashrange_systems.checks.history_schema import Ended, Ongoing, RollupItem, Run
from hashrange_systems.checks.model import uptime
from hashrange_systems.checks.model.alert import Message, Topic, write_alert_history
from hashrange_systems.checks.model.incident import Incident, make_incident_start
from hashrange_systems.checks.model.latency import count_times
from hashrange_systems.checks.model.outcome import Outcome, Status, write_outcome
from hashrange_systems.checks.model.schedule import find_phase, floor_to_grid, next_due_time
from hashrange_systems.checks.model.state import Phase, State, write_state
from hashrange_systems.checks.model.tier import BUSINESS
from hashrange_systems.checks.registry import parse_attributes
from hashrange_systems.checks.schema import Alert, Channel, Check, Paused, Scheduled, Sent
from hashrange_systems.checks.service.run_outcome import (
    RunOutcome,
    evaluate_run,
    make_alert,
    make_incident,
    make_incidents,
    make_run,
)
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, from_ms

DAYS = 90
DRAWS = 48  # sampled response times of an old day
RULES = {"reminderMs": HOUR_MS // 2, "gone": True}
FRESH_MS = HOUR_MS  # newer alerts are not sent yet, so that the demo's outbox is not empty


@dataclass(slots=True, kw_only=True)
class DemoHistory:
    """A check and the items of its history."""

    check: Scheduled | Paused
    runs: list[Run] = field(default_factory=list)
    rollups: list[RollupItem] = field(default_factory=list)
    incidents: dict[object, Ongoing | Ended] = field(default_factory=dict)  # by their beginning
    alerts: list[Alert] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWriter:
    """Creates the history of checks; `started_at` is the start of the demo."""

    userid: str
    channel: Channel
    started_at: int

    @property
    def midnight(self) -> int:
        """Midnight before the start of the demo."""
        return self.started_at - self.started_at % DAY_MS

    @property
    def start(self) -> int:
        """When the checks were added."""
        return self.midnight - DAYS * DAY_MS

    def write_history(self, scenario: Scenario, url: str) -> DemoHistory:
        """Return the check and its history."""
        history = DemoHistory(check=self._begin(scenario, url))
        history.rollups = [self._roll_up(scenario, day) for day in range(self.start, self.midnight - DAY_MS, DAY_MS)]
        for outage in scenario.outages:
            self._write_outage(history, scenario, outage)
        if scenario.behaviour is Behaviour.EXPIRING:
            self._warn(history, scenario)
        if scenario.behaviour is Behaviour.PAUSED:
            self._pause(history)
        else:
            self._write_recent_runs(history, scenario)
        return history

    def _begin(self, scenario: Scenario, url: str) -> Scheduled | Paused:
        given = {
            "checkid": scenario.checkid,
            "userid": self.userid,
            "url": url,
            "check_type": scenario.check_type,
            "delay_ms": scenario.delay_ms,
            "attributes": dict(scenario.attributes),
            "created_at": from_ms(self.start),
            "updated_at": from_ms(self.start),
            "name": scenario.name,
            "group": scenario.group,
            "tags": list(scenario.tags) or None,
            "rules": RULES,
        }
        if scenario.behaviour is Behaviour.PAUSED:
            return Paused.model_validate(given)
        return Scheduled.model_validate(given | {"next_run_at": from_ms(self.started_at)})

    # ── old days ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _roll_up(self, scenario: Scenario, day: int) -> RollupItem:
        """Return the roll-up of an old day."""
        spans = [outage.span(self.midnight) for outage in scenario.outages]
        down = sum(uptime.overlap(day, day + DAY_MS, span) for span in spans)
        paused = max(0, day + DAY_MS - max(day, self._paused_at)) if scenario.behaviour is Behaviour.PAUSED else 0
        random = Random(f"{scenario.checkid} {(self.midnight - day) // DAY_MS}")  # noqa: S311 - the same each time
        moments = range(day, day + DAY_MS - paused, DAY_MS // DRAWS)
        found = [simulate(scenario, at, self.started_at, random) for at in moments]
        warned = any(outcome.status is Status.DEGRADED for outcome in found)
        each = DAY_MS // DRAWS // scenario.delay_ms or 1  # runs for each sample
        times = [outcome.response_time for outcome in found if outcome.response_time is not None]
        good = DAY_MS - down - paused
        rollup = uptime.Rollup(
            up=0 if warned else good,
            degraded=good if warned else 0,
            down=down,
            paused=paused,
            runs=len(found) * each,
            latency={bucket: count * each for bucket, count in count_times(times).items()},
        )
        expires_at = from_ms(day) + timedelta(days=1 + BUSINESS.rollup_days)
        written = uptime.write_rollup(rollup)
        return RollupItem(checkid=scenario.checkid, day=from_ms(day).date(), rollup=written, expires_at=expires_at)

    def _write_outage(self, history: DemoHistory, scenario: Scenario, outage: Outage) -> None:
        """Add an outage of an old day, and its alerts."""
        start, end = outage.span(self.midnight)
        suspected = make_incident_start(outage.outcome, start)
        over = Incident(started_at=start, cause=suspected.cause, evidence=suspected.evidence, ended_at=end)
        incident = make_incident(scenario.checkid, over)
        history.incidents[incident.started_at] = incident
        known = start + 2 * scenario.delay_ms
        back = Outcome(status=Status.UP, http_status=200, response_time=scenario.usual_ms)
        for topic, at, outcome, shown in ((Topic.DOWN, known, outage.outcome, suspected), (Topic.UP, end, back, over)):
            key = f"{scenario.checkid}#{topic.value}#{start}"
            self._queue(history, Message(topic=topic, key=key, at=at, outcome=outcome, incident=shown))

    def _warn(self, history: DemoHistory, scenario: Scenario) -> None:
        """Add the alert about the certificate."""
        at = self.started_at - WARNED_DAYS * DAY_MS
        outcome = simulate(scenario, at, self.started_at, Random(at))  # noqa: S311 - the same each time
        key = f"{scenario.checkid}#{Topic.WARNING.value}#{at}"
        self._queue(history, Message(topic=Topic.WARNING, key=key, at=at, outcome=outcome))

    # ── yesterday and today ──────────────────────────────────────────────────────────────────────────────────────────
    def _write_recent_runs(self, history: DemoHistory, scenario: Scenario) -> None:
        """Simulate the check at each due time until the start of the demo."""
        attributes = parse_attributes(scenario.check_type, scenario.attributes)
        random = Random(scenario.checkid)  # noqa: S311 - the same each time
        state = State(phase=Phase.UP, since=self.start, degraded=scenario.behaviour is Behaviour.EXPIRING)
        check = history.check.model_copy(update={"state": write_state(state)})
        for at in self._due_times(scenario):
            run_outcome = evaluate_run(check, attributes, simulate(scenario, at, self.started_at, random), at)
            check = self._record(history, check, run_outcome)
        delay = scenario.delay_ms
        due_at = next_due_time(scenario.checkid, delay, due_at=self.started_at - delay, now=self.started_at)
        history.check = check.model_copy(update={"next_run_at": from_ms(due_at)})

    def _due_times(self, scenario: Scenario) -> Iterator[int]:
        first = floor_to_grid(
            self.midnight - DAY_MS, find_phase(scenario.checkid, scenario.delay_ms), scenario.delay_ms
        )
        yield from range(first, self.started_at, scenario.delay_ms)

    def _record(self, history: DemoHistory, check: Scheduled | Paused, run_outcome: RunOutcome) -> Scheduled | Paused:
        history.runs.append(make_run(check, run_outcome, BUSINESS.result_days, run_outcome.at))
        for incident in make_incidents(check, run_outcome.events):
            history.incidents[incident.started_at] = incident
        for message in run_outcome.messages:
            self._queue(history, message)
        changes = {
            "state": write_state(run_outcome.state),
            "alert_history": write_alert_history(run_outcome.alert_history),
            "last_executed_at": from_ms(run_outcome.at - run_outcome.at % 1000),
            "last_result": write_outcome(run_outcome.outcome),
        }
        return check.model_copy(update=changes)

    def _queue(self, history: DemoHistory, message: Message) -> None:
        alert = make_alert(history.check, message, self.channel, message.at)
        history.alerts.append(alert if message.at > self.started_at - FRESH_MS else mark_sent(alert))

    # ── a pause ──────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def _paused_at(self) -> int:
        return self.midnight - PAUSED_DAYS * DAY_MS + 10 * HOUR_MS

    def _pause(self, history: DemoHistory) -> None:
        """Add the sample of a pause."""
        at = self._paused_at
        found = Outcome(status=Status.UP, http_status=200, response_time=300)
        state = State(last_at=at)
        history.runs.append(make_pause(history.check, at))
        changes = {
            "updated_at": from_ms(at),
            "state": write_state(state),
            "last_executed_at": from_ms(at),
            "last_result": write_outcome(found),
        }
        history.check = history.check.model_copy(update=changes)


def make_pause(check: Check, at: int) -> Run:
    """Return the sample of a pause."""
    return Run(
        checkid=check.checkid,
        at=from_ms(at),
        result={},
        verdict=uptime.Verdict.PAUSED.value,
        delay_ms=check.delay_ms,
        expires_at=from_ms(at) + timedelta(days=BUSINESS.result_days),
    )


def mark_sent(alert: Alert) -> Sent:
    """Return the alert as sent."""
    given = {name: value for name, value in dict(alert).items() if name in Alert.model_fields}
    return Sent.model_validate(given | {"attempts": 1, "sent_at": alert.created_at + timedelta(seconds=1)})
