"""The pages of reports: the months there are, and each as a file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import date

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.errors import NotThere
from hashrange_systems.checks.schema import User
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.web.desk import Here, SignedIn
from hashrange_systems.checks.web.paper import write_pdf
from hashrange_systems.checks.web.reports import Report, write_csv
from hashrange_systems.checks.web.services import Services

MOST_MONTHS = 13
MONTH = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])", re.ASCII)

router = APIRouter(include_in_schema=False)


@router.get("/reports")
async def show_months(request: Request, desk: Here, visitor: SignedIn) -> Response:
    """Show the months that there are reports of."""
    today = from_ms(desk.now).date()
    months = [
        (f"{month:%Y-%m}", f"{month:%B %Y}", month == today.replace(day=1))
        for month in list_months(visitor.user, today)
    ]
    return desk.painter.show(request, "reports.html", visitor, months=months)


@router.get("/report/{month}.csv")
async def download_csv(desk: Here, visitor: SignedIn, month: str) -> Response:
    """Return a month as CSV."""
    return await answer_csv(desk.services, visitor.user, month)


@router.get("/report/{month}.pdf")
async def download_pdf(desk: Here, visitor: SignedIn, month: str) -> Response:
    """Return a month as PDF."""
    return await answer_pdf(desk.services, visitor.user, month)


async def answer_csv(services: Services, user: User, month: str) -> Response:
    """Return the report of a month as a file for a spreadsheet."""
    report = await make_report(services, user, month)
    return Response(write_csv(report), media_type="text/csv; charset=utf-8", headers=name_file(month, "csv"))


async def answer_pdf(services: Services, user: User, month: str) -> Response:
    """Return the report of a month as a file to read; it is drawn beside the event loop, as it takes a while."""
    report = await make_report(services, user, month)
    pdf = await asyncio.to_thread(write_pdf, report)
    return Response(pdf, media_type="application/pdf", headers=name_file(month, "pdf"))


async def make_report(services: Services, user: User, month: str) -> Report:
    """Return the report of a month of a user's checks; of one that is still to come there is none."""
    first, now = settle_month(month), services.clock.millis()
    if first > from_ms(now).date():
        raise NotThere("report")
    rows = await services.history.report(user, first)
    return Report(owner=user.email, month=first, rows=rows, made_at=now)


def settle_month(text: str) -> date:
    """Return the first day of a month."""
    match = MONTH.fullmatch(text)
    if not match:
        raise NotThere("report: a month is written such as 2026-01")
    return date(int(match[1]), int(match[2]), 1)


def list_months(user: User, today: date) -> Iterator[date]:
    """Yield the months that a user was here, the latest first."""
    month, first = today.replace(day=1), user.created_at.date().replace(day=1)
    for _ in range(MOST_MONTHS):
        if month < first:
            return
        yield month
        month = (
            month.replace(year=month.year - 1, month=12) if month.month == 1 else month.replace(month=month.month - 1)
        )


def name_file(month: str, kind: str) -> dict[str, str]:
    """Return the header that has a browser save a report under its name."""
    return {"Content-Disposition": f'attachment; filename="checks-{month}.{kind}"'}
