"""The API of the monthly report: as JSON, CSV and PDF."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from hashrange_systems.checks.web.api.answer import Listed, ReportRowShown
from hashrange_systems.checks.web.api.caller import Caller, Here
from hashrange_systems.checks.web.api.checks import tell_spent
from hashrange_systems.checks.web.month import answer_csv, answer_pdf, make_report
from hashrange_systems.checks.web.view import name_check

Documented = dict[int | str, dict[str, Any]]
Month = Annotated[str, Path(description="Such as 2026-01.")]
CSV: Documented = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
PDF: Documented = {200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}}

router = APIRouter(prefix="/reports", tags=["reports"])


@router.get("/{month}.csv", response_class=Response, responses=CSV)
async def read_csv(counter: Here, caller: Caller, month: Month) -> Response:
    """Read how your checks spent a month, for a spreadsheet."""
    return await answer_csv(counter.services, caller, month)


@router.get("/{month}.pdf", response_class=Response, responses=PDF)
async def read_pdf(counter: Here, caller: Caller, month: Month) -> Response:
    """Read how your checks spent a month, as a document."""
    return await answer_pdf(counter.services, caller, month)


@router.get("/{month}")
async def read_report(counter: Here, caller: Caller, month: Month) -> Listed[ReportRowShown]:
    """Read how your checks spent a month."""
    report = await make_report(counter.services, caller, month)
    rows = [
        ReportRowShown(
            checkid=row.check.checkid,
            name=name_check(row.check),
            incidents=len(row.incidents),
            **tell_spent(row.rollup),
        )
        for row in report.rows
    ]
    return Listed(items=rows)
