"""The monthly report: how each check did, as CSV for a spreadsheet and as PDF for a reader. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce

from hashrange_systems.checks.model.phrase import clean, write_iso
from hashrange_systems.checks.model.uptime import Rollup, format_uptime, merge_rollups
from hashrange_systems.checks.service.history import ReportRow
from hashrange_systems.checks.service.moment import to_ms
from hashrange_systems.checks.web.view import name_check

LONGEST_CELL = 500
FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # what a spreadsheet takes for the beginning of a formula
DURATIONS = ("up", "degraded", "down", "unknown", "paused", "blind", "maintenance")
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


def write_csv(report: Report) -> bytes:
    """Return the report as CSV, in UTF-8 with the mark that spreadsheets want; no cell in it is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows(list_cells(report.month, row) for row in report.rows)
    return text.getvalue().encode("utf-8-sig")


def list_cells(month: date, row: ReportRow) -> list[str | int]:
    """Return the cells of a check; what is not known is empty."""
    check, rollup, times = row.check, row.rollup, row.times
    last = max((incident.started_at for incident in row.incidents), default=None)
    texts = [f"{month:%Y-%m}", check.checkid, name_check(check), check.url, check.check_type, check.status]
    return [
        *map(neutralise, texts),
        "" if row.uptime is None else format_uptime(row.uptime, 6).rstrip("%"),
        len(row.incidents),
        rollup.runs,
        *("" if time is None else time for time in (times.p50, times.p95, times.p99)),
        *(getattr(rollup, name) // 1000 for name in DURATIONS),
        "" if last is None else write_iso(to_ms(last)),
    ]


def neutralise(text: str) -> str:
    """Return a text that a spreadsheet takes for one."""
    cell = clean(text, LONGEST_CELL)
    return f"'{cell}" if cell.startswith(FORMULA) else cell
