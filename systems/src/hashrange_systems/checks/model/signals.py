"""Heartbeats: jobs that call a URL. What a job has signalled, when the next signal is expected, and what that means.

Like Healthchecks: `success` is the heartbeat, `start` measures the duration and must be followed by an end within the
grace time, `fail` is an outage at once. Times are milliseconds. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status, drop_absent, read_text, read_whole
from hashrange_systems.shared.epoch import DAY_MS, MINUTE_MS
from hashrange_systems.shared.text import format_duration, format_time, shorten
from hashrange_systems.shared.work.presence import Gap

MAX_SIGNAL_MESSAGE = 200
MIN_PERIOD_MS, MAX_PERIOD_MS = MINUTE_MS, 366 * DAY_MS  # of a schedule, and of its grace time


class Signal(StrEnum):
    """What a job can signal."""

    SUCCESS = "success"
    START = "start"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When signals are expected: every `period_ms`, or at the times of a cron expression; late after the grace time."""

    period_ms: int | None
    cron: str | None
    zone: str
    grace_ms: int

    def find_deadline(self, last: int) -> int:
        """Return when a signal is late, after the last one."""
        if self.cron is not None:
            return find_cron_time(self.cron, self.zone, last) + self.grace_ms
        return last + (self.period_ms or 0) + self.grace_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The latest signals of a job; `start_at` only while it runs, `duration` of its last end."""

    success_at: int | None = None
    fail_at: int | None = None
    start_at: int | None = None
    duration: int | None = None
    message: str = ""
    received: int = 0

    @property
    def ended_at(self) -> int | None:
        """When the job last signalled an end."""
        return max((at for at in (self.success_at, self.fail_at) if at is not None), default=None)

    @property
    def has_failed(self) -> bool:
        """Whether the last end was a failure."""
        return self.fail_at is not None and self.fail_at == self.ended_at


def explain_cron(expression: str, zone: str = "UTC") -> str | None:
    """Return why a cron expression cannot be used; None if it can."""
    try:
        next(CronSim(expression, datetime(2026, 1, 1, tzinfo=ZoneInfo(zone))))
    except (CronSimError, StopIteration):
        return "must be a cron expression such as 30 3 * * 1-5"
    return None


def find_cron_time(expression: str, zone: str, after: int) -> int:
    """Return the next time of a cron expression; clock changes are those of the zone."""
    local = datetime.fromtimestamp(after / 1000, UTC).astimezone(ZoneInfo(zone))
    return int(next(CronSim(expression, local)).timestamp()) * 1000


def receive(signals: Signals, signal: Signal, at: int, message: str = "") -> Signals:
    """Return the signals after a new one."""
    counted = replace(signals, received=signals.received + 1)
    if signal is Signal.START:
        return replace(counted, start_at=at)
    duration = None if signals.start_at is None else max(0, at - signals.start_at)
    ended = replace(counted, start_at=None, duration=duration, message=shorten(message, MAX_SIGNAL_MESSAGE))
    return replace(ended, success_at=at) if signal is Signal.SUCCESS else replace(ended, fail_at=at)


def find_deadline(schedule: Schedule, signals: Signals) -> int | None:
    """Return when the job is late; None before its first signal."""
    ended = signals.ended_at
    due = [schedule.find_deadline(ended)] if ended is not None else []
    if signals.start_at is not None:
        due.append(signals.start_at + schedule.grace_ms)
    return min(due, default=None)


def evaluate_gap(schedule: Schedule, signals: Signals, now: int, gap: Gap) -> Outcome | None:
    """Return UNKNOWN if a late signal may have been lost, as no worker received it; None if it is late.

    A signal is expected around its time; if nobody was there then, the job has another period and its grace time.
    """
    deadline = find_deadline(schedule, signals)
    if deadline is None or gap.since > deadline or gap.until < deadline - 2 * schedule.grace_ms:
        return None
    again = schedule.find_deadline(gap.until)
    if now >= again:
        return None
    message = f"monitoring was interrupted until {format_time(gap.until)}: waiting for the next signal"
    return Outcome(status=Status.UNKNOWN, cause=Cause.OURS, message=message, look_again_at=again)


def evaluate_signals(schedule: Schedule, signals: Signals, now: int, seen_until: int | None = None) -> Outcome:
    """Return the outcome at a time; the duration is that of an end after `seen_until`, so that it counts once."""
    ended, deadline = signals.ended_at, find_deadline(schedule, signals)
    if deadline is None:
        return Outcome(status=Status.UNKNOWN, message="waiting for the first signal")
    fresh = ended is not None and (seen_until is None or ended > seen_until)
    duration = signals.duration if fresh else None
    if signals.has_failed:
        message = f"the job reported a failure{': ' if signals.message else ''}{signals.message}"
        return Outcome(status=Status.DOWN, cause=Cause.REPORTED, message=message, response_time=duration)
    if now >= deadline:
        return Outcome(status=Status.DOWN, cause=Cause.LATE, message=explain_lateness(schedule, signals, now))
    if ended is None:
        return Outcome(status=Status.UNKNOWN, message="running for the first time", look_again_at=deadline)
    return Outcome(
        status=Status.UP,
        message=f"last signal {format_time(ended)}{': ' if signals.message else ''}{signals.message}",
        response_time=duration,
        look_again_at=deadline,
    )


def explain_lateness(schedule: Schedule, signals: Signals, now: int) -> str:
    """Return what did not come in time."""
    ended = signals.ended_at
    if ended is not None and now >= (expected := schedule.find_deadline(ended)):
        return f"no signal since {format_time(ended)}; it was expected by {format_time(expected)}"
    return f"started {format_time(signals.start_at or 0)} and did not end within {format_duration(schedule.grace_ms)}"


def write_signals(signals: Signals) -> dict[str, Any]:
    """Return the signals as they are stored."""
    return drop_absent(
        {
            "successAt": signals.success_at,
            "failAt": signals.fail_at,
            "startAt": signals.start_at,
            "duration": signals.duration,
            "message": signals.message or None,
            "received": signals.received,
        }
    )


def read_signals(stored: Mapping[str, object] | None) -> Signals:
    """Read stored signals; unreadable values are absent."""
    stored = stored or {}
    return Signals(
        success_at=read_whole(stored.get("successAt")),
        fail_at=read_whole(stored.get("failAt")),
        start_at=read_whole(stored.get("startAt")),
        duration=read_whole(stored.get("duration")),
        message=read_text(stored.get("message")) or "",
        received=read_whole(stored.get("received")) or 0,
    )
