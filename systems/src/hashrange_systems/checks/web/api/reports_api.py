"""The API of the monthly report: as JSON, CSV and PDF."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.web.api.api_authentication import Caller, Deps
from hashrange_systems.checks.web.api.api_models import Listed, ReportRowModel
from hashrange_systems.checks.web.api.checks_api import rollup_fields
from hashrange_systems.checks.web.reports import csv_response, make_report, pdf_response

Documented = dict[int | str, dict[str, Any]]
Month = Annotated[str, Path(description="Such as 2026-01.")]
CSV: Documented = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
PDF: Documented = {200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}}

router = APIRouter(prefix="/reports", tags=["reports"])


@router.get("/{month}.csv", response_class=Response, responses=CSV)
async def read_csv(deps: Deps, caller: Caller, month: Month) -> Response:
    """Return the monthly report of your checks as CSV."""
    return await csv_response(deps.services, caller, month)


@router.get("/{month}.pdf", response_class=Response, responses=PDF)
async def read_pdf(deps: Deps, caller: Caller, month: Month) -> Response:
    """Return the monthly report of your checks as PDF."""
    return await pdf_response(deps.services, caller, month)


@router.get("/{month}")
async def read_report(deps: Deps, caller: Caller, month: Month) -> Listed[ReportRowModel]:
    """Return the monthly report of your checks."""
    report = await make_report(deps.services, caller, month)
    rows = [
        ReportRowModel(
            checkid=row.check.checkid,
            name=name_check(row.check),
            incidents=len(row.incidents),
            **rollup_fields(row.rollup),
        )
        for row in report.rows
    ]
    return Listed(items=rows)
