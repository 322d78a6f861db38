"""The monthly report as PDF: a cover with figures, a table of checks, a table of incidents."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fpdf.enums import XPos, YPos

from hashrange_systems.checks.history_schema import Ended, Ongoing
from hashrange_systems.checks.model.uptime import find_uptime, format_uptime
from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.service.history import ReportRow
from hashrange_systems.checks.web.monthly_report import Report
from hashrange_systems.shared.charts.axis import format_milliseconds
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.reports.fonts import Fonts
from hashrange_systems.shared.reports.pdf_document import BLUE, SOFT, Cells, PdfDocument
from hashrange_systems.shared.text import clean, format_duration, format_time

MAX_NAME_LENGTH = 80
MAX_REASON_LENGTH = 160
HEADINGS = ("Check", "Uptime", "Downtime", "Incidents", "Median", "95 %")
WIDTHS = (74, 24, 28, 22, 21, 21)
INCIDENT_HEADINGS = ("Check", "Down since (UTC)", "Lasted", "Reason")
INCIDENT_WIDTHS = (48, 42, 24, 76)
MAX_INCIDENTS = 500  # a page that fails every other minute has 20,000 in a month; each takes a millisecond


def write_pdf(report: Report, fonts: Fonts | None = None) -> bytes:
    """Return the report as PDF."""
    pdf = PdfDocument(
        title=f"Uptime report {report.month:%Y-%m}",
        creator="hashrange checks",
        page_label=f"{report.month:%B %Y}",
        created_at=from_ms(report.made_at),
        texts=list_texts(report),
        fonts=fonts,
    )
    write_cover(pdf, report)
    write_checks(pdf, report)
    write_incidents(pdf, report)
    return bytes(pdf.output())


def write_cover(pdf: PdfDocument, report: Report) -> None:
    """Write the first page: owner, month and figures."""
    pdf.add_page()
    pdf.set_fill_color(*BLUE)
    pdf.rect(0, 0, pdf.w, 6, style="F")
    pdf.set_y(60)
    pdf.set_style(13, colour=SOFT)
    pdf.write_line("Uptime report", 8)
    pdf.set_style(30, "B")
    pdf.write_line(f"{report.month:%B %Y}", 15)
    pdf.set_style(12)
    pdf.write_line(clean(report.owner, MAX_NAME_LENGTH), 8)
    pdf.ln(14)
    for label, figure in list_figures(report):
        pdf.set_style(11, colour=SOFT)
        pdf.cell(60, 9, label)
        pdf.set_style(13, "B")
        pdf.cell(0, 9, figure, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.ln(14)
    pdf.set_style(9, colour=SOFT)
    pdf.write_line(
        "Uptime is the share of the time in which a check was known to be up. Time without results, paused, or within "
        f"maintenance counts neither way. All times are UTC. Made {format_time(report.made_at)}.",
        5,
    )


def list_figures(report: Report) -> list[tuple[str, str]]:
    """Return the figures of all checks."""
    total = report.total
    return [
        ("Checks", str(len(report.rows))),
        ("Uptime of all together", describe_uptime(find_uptime(total))),
        ("Downtime, added up", format_duration(total.down)),
        ("Incidents", str(sum(len(row.incidents) for row in report.rows))),
        ("Runs", f"{total.runs:,}"),
    ]


def write_checks(pdf: PdfDocument, report: Report) -> None:
    """Write the table of checks."""
    pdf.add_page()
    pdf.set_style(15, "B")
    pdf.write_line("Checks", 12)
    if report.rows:
        pdf.write_table(HEADINGS, WIDTHS, [check_row(row) for row in report.rows], numbers=5)
    else:
        pdf.set_style(10, colour=SOFT)
        pdf.write_line("There were none.", 8)


def check_row(row: ReportRow) -> Cells:
    """Return the cells of a check."""
    times = row.times
    return (
        clean(name_check(row.check), MAX_NAME_LENGTH),
        describe_uptime(row.uptime),
        format_duration(row.rollup.down) if row.rollup.down else "none",
        str(len(row.incidents)),
        "" if times.p50 is None else format_milliseconds(times.p50),
        "" if times.p95 is None else format_milliseconds(times.p95),
    )


def write_incidents(pdf: PdfDocument, report: Report) -> None:
    """Write the table of incidents, if there were any."""
    incidents = sorted(list_incidents(report), key=lambda each: each[1].started_at)
    if not incidents:
        return
    pdf.ln(8)
    pdf.set_style(15, "B")
    pdf.write_line("Incidents", 12)
    if len(incidents) > MAX_INCIDENTS:
        pdf.set_style(10, colour=SOFT)
        pdf.write_line(f"The latest {MAX_INCIDENTS} of {len(incidents):,}; the API has all of them.", 8)
    rows = [incident_row(name, incident) for name, incident in incidents[-MAX_INCIDENTS:]]
    pdf.write_table(INCIDENT_HEADINGS, INCIDENT_WIDTHS, rows)


def list_incidents(report: Report) -> Iterator[tuple[str, Ongoing | Ended]]:
    """Yield the incidents with the names of their checks."""
    for row in report.rows:
        for incident in row.incidents:
            yield clean(name_check(row.check), MAX_NAME_LENGTH), incident


def incident_row(name: str, incident: Ongoing | Ended) -> Cells:
    """Return the cells of an incident."""
    started_at, ended_at = to_ms(incident.started_at), incident.ended_at
    lasted = "goes on" if ended_at is None else format_duration(to_ms(ended_at) - started_at)
    return (
        name,
        format_time(started_at).removesuffix(" UTC"),
        lasted,
        clean(incident.evidence or incident.cause or "", MAX_REASON_LENGTH),
    )


def list_texts(report: Report) -> Iterator[str]:
    """Yield the texts from users, to choose the fonts."""
    yield clean(report.owner, MAX_NAME_LENGTH)
    for row in report.rows:
        yield clean(name_check(row.check), MAX_NAME_LENGTH)
        yield from (clean(incident.evidence, MAX_REASON_LENGTH) for incident in row.incidents[:MAX_INCIDENTS])


def describe_uptime(uptime: Fraction | None) -> str:
    """Return the uptime in percent, or n/a: the fonts of PDF readers have no dash."""
    return "n/a" if uptime is None else format_uptime(uptime)
