"""HEARTBEAT: whether a job calls its URL in time. Nothing is requested: the check stores the signals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator
from pydantic import Field as Limit

from hashrange_systems.checks.model.attributes import Attributes
from hashrange_systems.checks.model.maintenance_window import allow_zone
from hashrange_systems.checks.model.outcome import Outcome
from hashrange_systems.checks.model.signals import (
    MAX_PERIOD_MS,
    MIN_PERIOD_MS,
    Schedule,
    evaluate_gap,
    evaluate_signals,
    explain_cron,
    read_signals,
)
from hashrange_systems.checks.model.state import read_state
from hashrange_systems.checks.schema import Check
from hashrange_systems.checks.service.check_fields import RETRIES, THRESHOLDS
from hashrange_systems.checks.service.check_type import CheckType
from hashrange_systems.shared.epoch import DAY_MS, HOUR_MS, MINUTE_MS
from hashrange_systems.shared.errors import FieldError
from hashrange_systems.shared.text import format_duration
from hashrange_systems.shared.web.form import Field, Group
from hashrange_systems.shared.work.presence import Gap

PERIODS = (
    *(MINUTE_MS * n for n in (1, 2, 5, 10, 15, 30)),
    *(HOUR_MS * n for n in (1, 2, 3, 6, 12)),
    *(DAY_MS * n for n in (1, 2, 7, 14, 30)),
)


class Heartbeat(Attributes):
    """Whether a job calls its URL in time."""

    check_type = "HEARTBEAT"
    successes = 1  # a signal is a proof

    period_ms: int | None = Limit(default=None, ge=MIN_PERIOD_MS, le=MAX_PERIOD_MS)
    cron: Annotated[str, Limit(min_length=1, max_length=100)] | None = None
    zone: Annotated[str, AfterValidator(allow_zone)] = "UTC"
    grace_ms: int = Limit(default=HOUR_MS, ge=MIN_PERIOD_MS, le=MAX_PERIOD_MS)
    retries: int = Limit(default=0, ge=0, le=10)

    @property
    def schedule(self) -> Schedule:
        """When signals are expected."""
        return Schedule(period_ms=self.period_ms, cron=self.cron, zone=self.zone, grace_ms=self.grace_ms)

    def find_conflicts(self) -> Iterator[FieldError]:
        """Yield an error unless there is either a period or a valid cron expression."""
        yield from super().find_conflicts()
        if self.period_ms is None and self.cron is None:
            yield FieldError("periodMs", "is required, unless cron is given")
        if self.period_ms is not None and self.cron is not None:
            yield FieldError("cron", "must not be given together with a period (periodMs): choose one of them")
        if self.cron is not None and (problem := explain_cron(self.cron, self.zone)):
            yield FieldError("cron", problem)


def observe_signals(check: Check, attributes: Heartbeat, now: int) -> Outcome:
    """Return what the stored signals mean now."""
    return evaluate_signals(attributes.schedule, read_signals(check.signals), now, read_state(check.state).last_at)


def observe_gap(check: Check, attributes: Heartbeat, now: int, gap: Gap) -> Outcome | None:
    """Return UNKNOWN if no worker was there when a signal was expected."""
    return evaluate_gap(attributes.schedule, read_signals(check.signals), now, gap)


def accept_any(_value: object, _own_origins: Collection[str] = ()) -> str:
    """Return the target of every heartbeat: it is not requested."""
    return "heartbeat:"


def name_job(_url: str, attributes: Mapping[str, object]) -> str:
    """Return a name from the schedule."""
    cron, period = attributes.get("cron"), attributes.get("periodMs")
    if isinstance(cron, str):
        return f"Job at {cron}"
    return f"Job every {format_duration(int(period))}" if isinstance(period, int | float) else "Job"


def list_durations(first: tuple[tuple[str, str], ...] = ()) -> tuple[tuple[str, str], ...]:
    """Return the durations to choose from."""
    return (*first, *((str(each), format_duration(each)) for each in PERIODS))


EXPECTED = (
    Field(
        path="attributes.periodMs",
        label="A signal every",
        input_type="select",
        options=list_durations((("", "by cron expression"),)),
        short=True,
    ),
    Field(
        path="attributes.cron",
        label="Cron expression",
        hint="30 3 * * 1-5",
        help="Instead of a period: choose “by cron expression” above.",
        short=True,
    ),
    Field(path="attributes.zone", label="Time zone of the cron expression", hint="Europe/Berlin", short=True),
    Field(
        path="attributes.graceMs",
        label="Late after",
        input_type="select",
        options=list_durations(),
        help="How long a signal may be late, and a started job may run.",
        short=True,
    ),
)
CHECK_TYPE = CheckType(
    attributes=Heartbeat,
    title="Heartbeat",
    summary="Does a backup, cron job or other program call its URL in time?",
    form=(Group("Job", EXPECTED), Group("More", (*THRESHOLDS, RETRIES), folded=True)),
    observe=observe_signals,
    observe_gap=observe_gap,
    validate_target=accept_any,
    make_name=name_job,
    usual_delay_ms=HOUR_MS,
    receives_signals=True,
    first_values={"attributes.periodMs": str(DAY_MS)},
)
