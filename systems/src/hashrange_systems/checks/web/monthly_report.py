"""The monthly report of a user's checks, and its CSV. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce

from hashrange_systems.checks.model.uptime import DURATIONS, Rollup, format_uptime, merge_rollups
from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.service.history import ReportRow
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.reports.csv_export import write_csv
from hashrange_systems.shared.text import format_iso_time

COLUMNS = (
    *("month", "check", "name", "url", "type", "status", "uptime_percent", "incidents", "runs"),
    *("p50_ms", "p95_ms", "p99_ms"),
    *(f"{name}_seconds" for name in DURATIONS),
    "last_incident_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A month of a user's checks; `made_at` in milliseconds."""

    owner: str
    month: date
    rows: Sequence[ReportRow]
    made_at: int

    @property
    def total(self) -> Rollup:
        """All checks together."""
        return reduce(merge_rollups, (row.rollup for row in self.rows), Rollup())


def write_report_csv(report: Report) -> bytes:
    """Return the report as CSV."""
    return write_csv(COLUMNS, [list_cells(report.month, row) for row in report.rows])


def list_cells(month: date, row: ReportRow) -> list[str | int]:
    """Return the cells of a check; unknown values are empty."""
    check, rollup, times = row.check, row.rollup, row.times
    last = max((incident.started_at for incident in row.incidents), default=None)
    texts = [f"{month:%Y-%m}", check.checkid, name_check(check), check.url, check.check_type, check.status]
    return [
        *texts,
        "" if row.uptime is None else format_uptime(row.uptime, 6).rstrip("%"),
        len(row.incidents),
        rollup.runs,
        *("" if time is None else time for time in (times.p50, times.p95, times.p99)),
        *(getattr(rollup, name) // 1000 for name in DURATIONS),
        "" if last is None else format_iso_time(to_ms(last)),
    ]
