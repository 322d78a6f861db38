"""The monthly report on paper: a cover with the period and the figures, a table of checks, a table of incidents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fpdf import FPDF, FontFace
from fpdf.enums import XPos, YPos

from hashrange_systems.checks.model.phrase import clean, write_duration, write_moment
from hashrange_systems.checks.model.uptime import find_uptime, format_uptime
from hashrange_systems.checks.schema import Ended, Ongoing
from hashrange_systems.checks.service.history import ReportRow
from hashrange_systems.checks.service.moment import from_ms, to_ms
from hashrange_systems.checks.web.axis import write_time
from hashrange_systems.checks.web.reports import Report
from hashrange_systems.checks.web.typeface import Fonts, Typeface, find_fonts, load_typeface
from hashrange_systems.checks.web.view import name_check

LONGEST_NAME = 80
LONGEST_REASON = 160
MARK, SOFT, LINE = (36, 87, 214), (88, 97, 114), (224, 228, 234)
HEADINGS = ("Check", "Uptime", "Downtime", "Incidents", "Median", "95 %")
WIDTHS = (74, 24, 28, 22, 21, 21)
INCIDENT_HEADINGS = ("Check", "Down since (UTC)", "Lasted", "Reason")
INCIDENT_WIDTHS = (48, 42, 24, 76)

Cells = tuple[str, ...]


class Paper(FPDF):
    """A document with numbered pages."""

    def __init__(self, report: Report, fonts: Fonts) -> None:
        super().__init__(format="A4")
        self.report = report
        self.set_margins(10, 14)
        self.set_auto_page_break(auto=True, margin=18)
        self.set_title(f"Uptime report {report.month:%Y-%m}")
        self.set_creator("hashrange checks")
        self.set_lang("en")
        self.set_creation_date(from_ms(report.made_at))
        self.face: Typeface = load_typeface(self, fonts, list_texts(report))

    def footer(self) -> None:
        """Number the page."""
        self.set_y(-13)
        self.choose(8, colour=SOFT)
        self.cell(0, 6, f"{self.report.month:%B %Y} · page {self.page_no()} of {{nb}}", align="C")

    def choose(self, size: float, style: str = "", colour: tuple[int, int, int] = (21, 24, 30)) -> None:
        """Choose how the next text looks."""
        self.set_font(self.face.family, style, size)
        self.set_text_color(*colour)

    def say(self, text: str, height: float) -> None:
        """Write a line, or as many as it takes."""
        self.multi_cell(0, height, self.face.fit(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def lay_table(self, headings: Cells, widths: Sequence[int], rows: Sequence[Cells], numbers: int = 0) -> None:
        """Write a table, the last so many columns to the right; its headings are on each page."""
        self.choose(9)
        self.set_draw_color(*LINE)
        self.set_fill_color(255)  # or the rows are in whatever was filled last
        aligned = ["LEFT"] * (len(headings) - numbers) + ["RIGHT"] * numbers
        heading = FontFace(emphasis="BOLD", color=SOFT, fill_color=(245, 246, 248))
        with self.table(
            col_widths=tuple(widths),
            text_align=tuple(aligned),
            headings_style=heading,
            borders_layout="HORIZONTAL_LINES",
            line_height=5,
            padding=(1.2, 1.5),
        ) as table:
            for cells in (headings, *rows):
                row = table.row()
                for cell in cells:
                    row.cell(self.face.fit(cell))


def write_pdf(report: Report, fonts: Fonts | None = None) -> bytes:
    """Return the report as PDF; whatever the names are in, it is written."""
    paper = Paper(report, fonts if fonts is not None else find_fonts())
    lay_cover(paper, report)
    lay_checks(paper, report)
    lay_incidents(paper, report)
    return bytes(paper.output())


def lay_cover(paper: Paper, report: Report) -> None:
    """Write the first page: whose report it is, of when, and the figures."""
    paper.add_page()
    paper.set_fill_color(*MARK)
    paper.rect(0, 0, paper.w, 6, style="F")
    paper.set_y(60)
    paper.choose(13, colour=SOFT)
    paper.say("Uptime report", 8)
    paper.choose(30, "B")
    paper.say(f"{report.month:%B %Y}", 15)
    paper.choose(12)
    paper.say(clean(report.owner, LONGEST_NAME), 8)
    paper.ln(14)
    for label, figure in list_figures(report):
        paper.choose(11, colour=SOFT)
        paper.cell(60, 9, label)
        paper.choose(13, "B")
        paper.cell(0, 9, figure, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    paper.ln(14)
    paper.choose(9, colour=SOFT)
    paper.say(
        "Uptime is the share of the time in which a check was known to be up. Time without results, paused, or within "
        f"maintenance counts neither way. All times are UTC. Made {write_moment(report.made_at)}.",
        5,
    )


def list_figures(report: Report) -> list[tuple[str, str]]:
    """Return the figures of all checks together."""
    total = report.total
    return [
        ("Checks", str(len(report.rows))),
        ("Uptime of all together", format_uptime(find_uptime(total))),
        ("Downtime, added up", write_duration(total.down)),
        ("Incidents", str(sum(len(row.incidents) for row in report.rows))),
        ("Runs", f"{total.runs:,}"),
    ]


def lay_checks(paper: Paper, report: Report) -> None:
    """Write the table of checks."""
    paper.add_page()
    paper.choose(15, "B")
    paper.say("Checks", 12)
    if report.rows:
        paper.lay_table(HEADINGS, WIDTHS, [tell_check(row) for row in report.rows], numbers=5)
    else:
        paper.choose(10, colour=SOFT)
        paper.say("There were none.", 8)


def tell_check(row: ReportRow) -> Cells:
    """Return a check as the table has it."""
    times = row.times
    return (
        clean(name_check(row.check), LONGEST_NAME),
        format_uptime(row.uptime),
        write_duration(row.rollup.down) if row.rollup.down else "none",
        str(len(row.incidents)),
        "" if times.p50 is None else write_time(times.p50),
        "" if times.p95 is None else write_time(times.p95),
    )


def lay_incidents(paper: Paper, report: Report) -> None:
    """Write the table of incidents, if there were any."""
    incidents = sorted(list_incidents(report), key=lambda each: each[1].started_at)
    if not incidents:
        return
    paper.ln(8)
    paper.choose(15, "B")
    paper.say("Incidents", 12)
    rows = [tell_incident(name, incident) for name, incident in incidents]
    paper.lay_table(INCIDENT_HEADINGS, INCIDENT_WIDTHS, rows)


def list_incidents(report: Report) -> Iterator[tuple[str, Ongoing | Ended]]:
    """Yield the incidents with the names of their checks."""
    for row in report.rows:
        for incident in row.incidents:
            yield clean(name_check(row.check), LONGEST_NAME), incident


def tell_incident(name: str, incident: Ongoing | Ended) -> Cells:
    """Return an incident as the table has it."""
    started_at, ended_at = to_ms(incident.started_at), incident.ended_at
    lasted = "goes on" if ended_at is None else write_duration(to_ms(ended_at) - started_at)
    return (
        name,
        write_moment(started_at).removesuffix(" UTC"),
        lasted,
        clean(incident.evidence or incident.cause or "", LONGEST_REASON),
    )


def list_texts(report: Report) -> Iterator[str]:
    """Yield what others wrote, for the fonts to be chosen by."""
    yield clean(report.owner, LONGEST_NAME)
    for row in report.rows:
        yield clean(name_check(row.check), LONGEST_NAME)
        yield from (clean(incident.evidence, LONGEST_REASON) for incident in row.incidents)
