"""Monthly reports: CSV that no spreadsheet executes, and PDF that any name can be written in."""

import csv
import io
import re
import zlib
from datetime import UTC, date, datetime, timedelta

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange_systems.checks.history_schema import Ended, Ongoing
from hashrange_systems.checks.model.uptime import Rollup, find_uptime
from hashrange_systems.checks.service.history import ReportRow
from hashrange_systems.checks.web.monthly_report import COLUMNS, Report, write_report_csv
from hashrange_systems.checks.web.pdf_report import write_pdf
from hashrange_systems.shared.charts.axis import Percentiles
from hashrange_systems.shared.reports.fonts import Fonts, find_fonts
from systems.tests.checks.check_items import NOON, make_active

MONTH = 31 * 86_400_000
NO_FONTS = Fonts()


def make_row(name="Shop", checkid="c1", down=600_000, incidents=1, p50=120):
    rollup = Rollup(up=MONTH - down, down=down, runs=8900)
    ended = [
        Ended(
            checkid=checkid,
            started_at=NOON + timedelta(hours=number),
            ended_at=NOON + timedelta(hours=number, minutes=10),
            cause="TIMEOUT",
            evidence="no answer in 10 s",
        )
        for number in range(incidents)
    ]
    return ReportRow(
        check=make_active(checkid, name=name),
        rollup=rollup,
        uptime=find_uptime(rollup),
        incidents=tuple(ended),
        times=Percentiles(at=0, runs=8900 if p50 else 0, p50=p50, p95=p50 and 1340, p99=p50 and 2000),
    )


def make_report(*rows, owner="ann@example.com"):
    made_at = int(datetime(2026, 2, 1, 3, tzinfo=UTC).timestamp() * 1000)
    return Report(owner=owner, month=date(2026, 1, 1), rows=rows, made_at=made_at)


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def read_csv(report):
    text = write_report_csv(report).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_csv_has_a_line_for_each_check():
    (line,) = read_csv(make_report(make_row()))
    assert tuple(line) == COLUMNS
    assert (line["month"], line["check"], line["name"], line["status"]) == ("2026-01", "c1", "Shop", "ACTIVE")
    assert (line["uptime_percent"], line["down_seconds"], line["up_seconds"]) == ("99.977598", "600", "2677800")
    assert (line["incidents"], line["p50_ms"], line["p95_ms"], line["p99_ms"]) == ("1", "120", "1340", "2000")
    assert line["last_incident_at"] == "2026-01-15T12:00:00.000Z"


def test_what_is_not_known_is_empty_and_no_downtime_is_rounded_away():
    nothing = ReportRow(
        check=make_active(),
        rollup=Rollup(),
        uptime=None,
        incidents=(),
        times=Percentiles(at=0, runs=0, p50=None, p95=None, p99=None),
    )
    first, second = read_csv(make_report(nothing, make_row(down=1)))
    assert (first["uptime_percent"], first["p50_ms"], first["last_incident_at"]) == ("", "", "")
    assert second["uptime_percent"] == "99.999999"


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", '=HYPERLINK("http://x","y")']


@pytest.mark.parametrize("name", [*FORMULAS, "\u202e=1", "\x00=1"])
def test_no_cell_is_a_formula(name):
    (line,) = read_csv(make_report(make_row(name)))
    assert line["name"].startswith("'")
    assert len(line["name"]) > 2


@given(st.text(min_size=1))
def test_any_name_stays_in_its_cell(name):
    (line,) = read_csv(make_report(make_row(name)))
    assert line["url"] == "https://example.com"
    assert None not in line
    assert not line["name"].lstrip().startswith(("=", "+", "-", "@"))


# ── PDF ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def read_pdf(data):
    """The text of a PDF in the built-in fonts, and the characters that embedded fonts have in it."""
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    streams = [inflate(found) for found in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)]
    shown = b" ".join(part for stream in streams for part in re.findall(rb"\((.*?)(?<!\\)\) Tj", stream, re.DOTALL))
    mapped = {chr(int(code, 16)) for code in re.findall(rb"<[0-9A-F]{4}> <([0-9A-F]{4})>\n", data)}
    return shown.decode("latin-1").replace("\\(", "(").replace("\\)", ")"), mapped


def inflate(data):
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


def count_pages(data):
    return int(re.search(rb"/Count (\d+)", data)[1])


def test_the_pdf_has_a_cover_and_a_table_of_checks_and_incidents():
    data = write_pdf(make_report(make_row(), make_row("Blog", "c2", down=0, incidents=0)), NO_FONTS)
    text, _ = read_pdf(data)
    for words in ("January 2026", "ann@example.com", "99.988%", "Shop", "99.977%", "10 min", "120 ms", "1.34 s"):
        assert words in text
    for words in ("Blog", "100.000%", "none", "no answer in 10 s", "2026-01-15 12:00:00", "page 2 of"):
        assert words in text
    assert count_pages(data) == 2


def test_of_very_many_incidents_the_pdf_has_the_latest_and_says_so():
    text, _ = read_pdf(write_pdf(make_report(make_row(incidents=2000)), NO_FONTS))
    assert "The latest 500 of 2,000; the API has all of them." in text
    assert text.count("Shop") < 600


def test_an_incident_that_goes_on_says_so():
    row = make_row(incidents=0)
    ongoing = Ongoing(checkid="c1", started_at=NOON, evidence="down")
    changed = ReportRow(check=row.check, rollup=row.rollup, uptime=row.uptime, incidents=(ongoing,), times=row.times)
    assert "goes on" in read_pdf(write_pdf(make_report(changed), NO_FONTS))[0]


def test_a_month_without_checks_is_a_report_too():
    text, _ = read_pdf(write_pdf(make_report(), NO_FONTS))
    assert "There were none." in text
    assert "n/a" in text


def test_many_checks_take_more_pages_and_each_has_the_headings():
    data = write_pdf(make_report(*(make_row(f"API {number}", f"c{number}") for number in range(120))), NO_FONTS)
    text, _ = read_pdf(data)
    assert count_pages(data) > 5
    assert text.count("Downtime") >= 4
    assert "API 119" in text


def test_the_same_report_is_the_same_file():
    report = make_report(make_row())
    assert write_pdf(report, NO_FONTS) == write_pdf(report, NO_FONTS)


def test_without_a_font_what_cannot_be_written_is_a_question_mark():
    text, _ = read_pdf(write_pdf(make_report(make_row("Café Магазин 書店 🛒")), NO_FONTS))
    assert "Café" in text
    assert "??????? ?? ?" in text


def build_font(path, characters):
    """A font that has only these characters, each a box."""
    names = {ord(sign): f"g{ord(sign):x}" for sign in characters}
    pen = TTGlyphPen(None)
    for corner, point in enumerate([(50, 0), (50, 600), (450, 600), (450, 0)]):
        (pen.lineTo if corner else pen.moveTo)(point)
    pen.closePath()
    box = pen.glyph()
    builder = FontBuilder(1000, isTTF=True)
    order = [".notdef", *names.values()]
    builder.setupGlyphOrder(order)
    builder.setupCharacterMap(names)
    builder.setupGlyf(dict.fromkeys(order, box))
    builder.setupHorizontalMetrics(dict.fromkeys(order, (500, 50)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, sTypoDescender=-200, sCapHeight=600, sxHeight=400)
    builder.setupPost()
    builder.save(path)
    return path


ASCII = "".join(map(chr, range(0x20, 0x7F))) + "·…"


def test_a_name_is_written_in_the_fonts_that_have_its_characters(tmp_path):
    main = build_font(tmp_path / "main.ttf", ASCII + "Магазин")
    more = build_font(tmp_path / "more.ttf", "書店")
    fonts = Fonts(main, main, (more,))
    _, mapped = read_pdf(write_pdf(make_report(make_row("Магазин 書店 字")), fonts))
    assert {*"Магазин書店?"} <= mapped
    assert "字" not in mapped


def test_a_font_that_is_not_needed_is_not_in_the_file(tmp_path):
    main = build_font(tmp_path / "main.ttf", ASCII)
    fonts = Fonts(main, main, (tmp_path / "missing.ttf",))
    assert write_pdf(make_report(make_row()), fonts).startswith(b"%PDF-")


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(max_size=30))
def test_whatever_the_names_are_a_report_comes_out(name, owner):
    read_pdf(write_pdf(make_report(make_row(name), owner=owner), NO_FONTS))


@settings(max_examples=10, deadline=None)
@given(st.text(max_size=60))
def test_whatever_the_names_are_a_report_comes_out_in_this_machines_fonts(name):
    read_pdf(write_pdf(make_report(make_row(name)), find_fonts()))
