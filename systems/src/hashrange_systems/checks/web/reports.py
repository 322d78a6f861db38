"""The reports page: the list of months, and downloads as CSV and PDF."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import date

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.schema import User
from hashrange_systems.checks.web.dependencies import Deps, SignedIn
from hashrange_systems.checks.web.monthly_report import Report, write_report_csv
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import FeatureMissing, ResourceMissing

MAX_MONTHS = 13
MONTH = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])", re.ASCII)

router = APIRouter(include_in_schema=False)


@router.get("/reports")
async def show_months(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the months that have a report."""
    today = from_ms(deps.now).date()
    months = [
        (f"{month:%Y-%m}", f"{month:%B %Y}", month == today.replace(day=1))
        for month in list_months(visitor.user, today)
    ]
    return deps.renderer.render(request, "reports.html", visitor, months=months)


@router.get("/report/{month}.csv")
async def download_csv(deps: Deps, visitor: SignedIn, month: str) -> Response:
    """Return the report of a month as CSV."""
    return await csv_response(deps.services, visitor.user, month)


@router.get("/report/{month}.pdf")
async def download_pdf(deps: Deps, visitor: SignedIn, month: str) -> Response:
    """Return the report of a month as PDF."""
    return await pdf_response(deps.services, visitor.user, month)


async def csv_response(services: Application, user: User, month: str) -> Response:
    """Return the report of a month as a CSV response."""
    report = await make_report(services, user, month)
    return Response(
        write_report_csv(report), media_type="text/csv; charset=utf-8", headers=attachment_header(month, "csv")
    )


async def pdf_response(services: Application, user: User, month: str) -> Response:
    """Return the report of a month as a PDF response; it is rendered in a thread, because it takes long."""
    report = await make_report(services, user, month)
    pdf = await asyncio.to_thread(write_report_pdf, report)
    return Response(pdf, media_type="application/pdf", headers=attachment_header(month, "pdf"))


def write_report_pdf(report: Report) -> bytes:
    """Return the report as PDF; raise FeatureMissing without the extra `pdf`."""
    try:
        from hashrange_systems.checks.web.pdf_report import write_pdf
    except ModuleNotFoundError as missing:
        raise FeatureMissing("A report as PDF", "pdf") from missing
    return write_pdf(report)


async def make_report(services: Application, user: User, month: str) -> Report:
    """Return the report of a month; raise ResourceMissing for a future month."""
    first, now = parse_month(month), services.clock.millis()
    if first > from_ms(now).date():
        raise ResourceMissing("report")
    rows = await services.history.report(user, first)
    return Report(owner=user.email, month=first, rows=rows, made_at=now)


def parse_month(text: str) -> date:
    """Return the first day of a month."""
    match = MONTH.fullmatch(text)
    if not match:
        raise ResourceMissing("report: a month is written such as 2026-01")
    return date(int(match[1]), int(match[2]), 1)


def list_months(user: User, today: date) -> Iterator[date]:
    """Yield the months since the user was added, latest first."""
    month, first = today.replace(day=1), user.created_at.date().replace(day=1)
    for _ in range(MAX_MONTHS):
        if month < first:
            return
        yield month
        month = (
            month.replace(year=month.year - 1, month=12) if month.month == 1 else month.replace(month=month.month - 1)
        )


def attachment_header(month: str, extension: str) -> dict[str, str]:
    """Return the header for a download with a file name."""
    return {"Content-Disposition": f'attachment; filename="checks-{month}.{extension}"'}
