"""The past of a demo check as the items that a worker would have written: pure, the same for the same beginning.

Old days are told as roll-ups. Yesterday and today are run through the same rules as real runs, so that state, incidents
and alerts fit together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from hashrange_systems.checks.demo.story import (
    DAY_MS,
    HOUR_MS,
    PAUSED_DAYS,
    WARNED_DAYS,
    Fate,
    Outage,
    Story,
    look,
)
from hashrange_systems.checks.model import uptime
from hashrange_systems.checks.model.alert import Message, Topic, write_memory
from hashrange_systems.checks.model.incident import Incident, suspect
from hashrange_systems.checks.model.kind import settle
from hashrange_systems.checks.model.latency import count_times
from hashrange_systems.checks.model.outcome import Outcome, Status, write_outcome
from hashrange_systems.checks.model.schedule import find_phase, floor_to_grid, next_slot
from hashrange_systems.checks.model.state import Phase, State, write_state
from hashrange_systems.checks.model.tier import BUSINESS
from hashrange_systems.checks.schema import Alert, Channel, Check, Ended, Ongoing, Paused, Rollup, Run, Scheduled, Sent
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.service.step import Step, make_alert, make_incident, make_incidents, make_run, take_step

DAYS = 90
DRAWS = 48  # response times of an old day, each standing for some
RULES = {"reminderMs": HOUR_MS // 2, "gone": True}
FRESH_MS = HOUR_MS  # alerts younger than that are still to be sent, so that the demo's outbox is not empty


@dataclass(slots=True, kw_only=True)
class Past:
    """A check, and what is kept of its past."""

    check: Scheduled | Paused
    runs: list[Run] = field(default_factory=list)
    rollups: list[Rollup] = field(default_factory=list)
    incidents: dict[object, Ongoing | Ended] = field(default_factory=dict)  # by their beginning
    alerts: list[Alert] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Teller:
    """Tells the past of checks; `anchor` is when the demo began, `url` where a story's page is."""

    userid: str
    channel: Channel
    anchor: int

    @property
    def midnight(self) -> int:
        """The beginning of the day on which the demo began."""
        return self.anchor - self.anchor % DAY_MS

    @property
    def began(self) -> int:
        """When the checks were added."""
        return self.midnight - DAYS * DAY_MS

    def tell(self, story: Story, url: str) -> Past:
        """Return the check and its past."""
        past = Past(check=self._begin(story, url))
        past.rollups = [self._roll_up(story, day) for day in range(self.began, self.midnight - DAY_MS, DAY_MS)]
        for outage in story.outages:
            self._recall(past, story, outage)
        if story.fate is Fate.EXPIRING:
            self._warn(past, story)
        if story.fate is Fate.PAUSED:
            self._pause(past)
        else:
            self._live(past, story)
        return past

    def _begin(self, story: Story, url: str) -> Scheduled | Paused:
        given = {
            "checkid": story.checkid,
            "userid": self.userid,
            "url": url,
            "check_type": story.check_type,
            "delay_ms": story.delay_ms,
            "attributes": dict(story.attributes),
            "created_at": from_ms(self.began),
            "updated_at": from_ms(self.began),
            "name": story.name,
            "rules": RULES,
        }
        if story.fate is Fate.PAUSED:
            return Paused.model_validate(given)
        return Scheduled.model_validate(given | {"next_run_at": from_ms(self.anchor)})

    # ── old days ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _roll_up(self, story: Story, day: int) -> Rollup:
        """Return how a check spent an old day."""
        spans = [outage.span(self.midnight) for outage in story.outages]
        down = sum(uptime.overlap(day, day + DAY_MS, span) for span in spans)
        paused = max(0, day + DAY_MS - max(day, self._paused_at)) if story.fate is Fate.PAUSED else 0
        chance = Random(f"{story.checkid} {(self.midnight - day) // DAY_MS}")  # noqa: S311 - the same each time
        moments = range(day, day + DAY_MS - paused, DAY_MS // DRAWS)
        found = [look(story, at, self.anchor, chance) for at in moments]
        warned = any(outcome.status is Status.DEGRADED for outcome in found)
        each = DAY_MS // DRAWS // story.delay_ms or 1  # runs that one of these stands for
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
        return Rollup(checkid=story.checkid, day=from_ms(day).date(), rollup=written, expires_at=expires_at)

    def _recall(self, past: Past, story: Story, outage: Outage) -> None:
        """Add an outage of an old day, and that it was told of."""
        start, end = outage.span(self.midnight)
        suspected = suspect(outage.outcome, start)
        over = Incident(started_at=start, cause=suspected.cause, evidence=suspected.evidence, ended_at=end)
        incident = make_incident(story.checkid, over)
        past.incidents[incident.started_at] = incident
        known = start + 2 * story.delay_ms
        back = Outcome(status=Status.UP, http_status=200, response_time=story.usual_ms)
        for topic, at, outcome, shown in ((Topic.DOWN, known, outage.outcome, suspected), (Topic.UP, end, back, over)):
            key = f"{story.checkid}#{topic.value}#{start}"
            self._queue(past, Message(topic=topic, key=key, at=at, outcome=outcome, incident=shown))

    def _warn(self, past: Past, story: Story) -> None:
        """Add that the certificate was told of, when it had become one of the last days."""
        at = self.anchor - WARNED_DAYS * DAY_MS
        outcome = look(story, at, self.anchor, Random(at))  # noqa: S311 - the same each time
        key = f"{story.checkid}#{Topic.WARNING.value}#{at}"
        self._queue(past, Message(topic=Topic.WARNING, key=key, at=at, outcome=outcome))

    # ── yesterday and today ──────────────────────────────────────────────────────────────────────────────────────────
    def _live(self, past: Past, story: Story) -> None:
        """Run the check in each of its slots until the demo begins."""
        attributes = settle(story.check_type, story.attributes)
        chance = Random(story.checkid)  # noqa: S311 - the same each time
        state = State(phase=Phase.UP, since=self.began, degraded=story.fate is Fate.EXPIRING)
        check = past.check.model_copy(update={"state": write_state(state)})
        for at in self._slots(story):
            step = take_step(check, attributes, look(story, at, self.anchor, chance), at)
            check = self._record(past, check, step)
        slot = next_slot(story.checkid, story.delay_ms, slot=self.anchor - story.delay_ms, now=self.anchor)
        past.check = check.model_copy(update={"next_run_at": from_ms(slot)})

    def _slots(self, story: Story) -> Iterator[int]:
        first = floor_to_grid(self.midnight - DAY_MS, find_phase(story.checkid, story.delay_ms), story.delay_ms)
        yield from range(first, self.anchor, story.delay_ms)

    def _record(self, past: Past, check: Scheduled | Paused, step: Step) -> Scheduled | Paused:
        past.runs.append(make_run(check, step, BUSINESS.result_days, step.at))
        for incident in make_incidents(check, step.events):
            past.incidents[incident.started_at] = incident
        for message in step.messages:
            self._queue(past, message)
        changes = {
            "state": write_state(step.state),
            "told": write_memory(step.memory),
            "last_executed_at": from_ms(step.at - step.at % 1000),
            "last_result": write_outcome(step.outcome),
        }
        return check.model_copy(update=changes)

    def _queue(self, past: Past, message: Message) -> None:
        alert = make_alert(past.check, message, self.channel, message.at)
        past.alerts.append(alert if message.at > self.anchor - FRESH_MS else mark_sent(alert))

    # ── a pause ──────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def _paused_at(self) -> int:
        return self.midnight - PAUSED_DAYS * DAY_MS + 10 * HOUR_MS

    def _pause(self, past: Past) -> None:
        """Leave the mark that a pause leaves in the history."""
        at = self._paused_at
        found = Outcome(status=Status.UP, http_status=200, response_time=300)
        state = State(last_at=at)
        past.runs.append(make_pause(past.check, at))
        changes = {
            "updated_at": from_ms(at),
            "state": write_state(state),
            "last_executed_at": from_ms(at),
            "last_result": write_outcome(found),
        }
        past.check = past.check.model_copy(update=changes)


def make_pause(check: Check, at: int) -> Run:
    """Return the sample that says that a check was paused."""
    return Run(
        checkid=check.checkid,
        at=from_ms(at),
        result={},
        verdict=uptime.Verdict.PAUSED.value,
        delay_ms=check.delay_ms,
        expires_at=from_ms(at) + timedelta(days=BUSINESS.result_days),
    )


def mark_sent(alert: Alert) -> Sent:
    """Return an alert as it is kept once it was sent."""
    given = {name: value for name, value in dict(alert).items() if name in Alert.model_fields}
    return Sent.model_validate(given | {"attempts": 1, "sent_at": alert.created_at + timedelta(seconds=1)})
