"""The API of checks and their history. It only accesses checks of the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from hashrange_systems.checks.model.latency import find_percentile
from hashrange_systems.checks.model.uptime import DURATIONS, Rollup, find_uptime, format_uptime
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.service.check_input import CheckChanges, CheckInput
from hashrange_systems.checks.web.api.api_authentication import Caller, Deps
from hashrange_systems.checks.web.api.api_models import (
    CheckChange,
    CheckInputModel,
    CheckModel,
    CheckTypeModel,
    DayModel,
    IncidentModel,
    Listed,
    RunModel,
    SummaryModel,
    to_check_model,
    to_run_model,
)
from hashrange_systems.shared.epoch import DAY_MS, from_ms

CheckId = Annotated[str, Path(description="The id of a check of yours.")]
Size = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[str | None, Query(description="Where the page before ended.")]

router = APIRouter(tags=["checks"])


@router.get("/checks")
async def list_checks(deps: Deps, caller: Caller) -> Listed[CheckModel]:
    """List your checks, oldest first."""
    found = await deps.services.checks.list_by_user(caller.userid)
    now = deps.services.clock.millis()
    return Listed(items=[to_check_model(check, now, deps.base_url) for check in found])


@router.post("/checks", status_code=201)
async def add_check(deps: Deps, caller: Caller, body: CheckInputModel, response: Response) -> CheckModel:
    """Add a check; it runs right away, or at `nextRunAt` if the budget for runs by hand is spent."""
    draft = CheckInput(**{name: getattr(body, name) for name in body.model_fields_set})
    check = await deps.services.checks.create(caller.userid, draft)
    response.headers["Location"] = f"{deps.base_url}/api/checks/{check.checkid}"
    return to_check_model(check, deps.services.clock.millis(), deps.base_url)


@router.get("/checks/{checkid}")
async def read_check(deps: Deps, caller: Caller, checkid: CheckId) -> CheckModel:
    """Read a check."""
    check = await deps.services.checks.find(caller.userid, checkid)
    return to_check_model(check, deps.services.clock.millis(), deps.base_url)


@router.patch("/checks/{checkid}")
async def change_check(deps: Deps, caller: Caller, checkid: CheckId, change: CheckChange) -> CheckModel:
    """Change the given fields of a check; maps and lists are replaced as a whole."""
    given = {name: getattr(change, name) for name in change.model_fields_set}
    await deps.services.checks.edit(caller.userid, checkid, CheckChanges(**given))
    return await read_check(deps, caller, checkid)


@router.delete("/checks/{checkid}", status_code=204)
async def delete_check(deps: Deps, caller: Caller, checkid: CheckId) -> None:
    """Delete a check and its history."""
    await deps.services.checks.delete(caller.userid, checkid)


@router.post("/checks/{checkid}/pause")
async def pause_check(deps: Deps, caller: Caller, checkid: CheckId) -> CheckModel:
    """Pause a check: an open incident ends without an alert."""
    check = await deps.services.checks.pause(caller.userid, checkid)
    return to_check_model(check, deps.services.clock.millis(), deps.base_url)


@router.post("/checks/{checkid}/resume")
async def resume_check(deps: Deps, caller: Caller, checkid: CheckId) -> CheckModel:
    """Resume a check that is paused or was disabled; it runs right away, or at `nextRunAt`."""
    check = await deps.services.checks.resume(caller.userid, checkid)
    return to_check_model(check, deps.services.clock.millis(), deps.base_url)


@router.post("/checks/{checkid}/run")
async def run_check(deps: Deps, caller: Caller, checkid: CheckId) -> CheckModel:
    """Run a check now and wait for the result; its schedule stays."""
    await deps.services.checks.run_now(caller.userid, checkid)
    return await read_check(deps, caller, checkid)


# ── the past ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/checks/{checkid}/results")
async def list_results(
    deps: Deps, caller: Caller, checkid: CheckId, limit: Size = 100, cursor: Cursor = None
) -> Listed[RunModel]:
    """List the runs of a check, latest first."""
    await deps.services.checks.find(caller.userid, checkid)
    page = await deps.services.db.runs(checkid).page(limit, after=cursor)
    return Listed(items=[to_run_model(run) for run in page], cursor=page.cursor)


@router.get("/checks/{checkid}/incidents")
async def list_incidents(
    deps: Deps, caller: Caller, checkid: CheckId, limit: Size = 100, cursor: Cursor = None
) -> Listed[IncidentModel]:
    """List the incidents of a check, latest first."""
    await deps.services.checks.find(caller.userid, checkid)
    page = await deps.services.db.incidents(checkid).page(limit, after=cursor)
    return Listed(items=[IncidentModel.model_validate(incident) for incident in page], cursor=page.cursor)


@router.get("/checks/{checkid}/summary")
async def summarise_check(
    deps: Deps, caller: Caller, checkid: CheckId, days: Annotated[int, Query(ge=1, le=400)] = 30
) -> SummaryModel:
    """Summarise the last days of a check, up to now."""
    check = await deps.services.checks.find(caller.userid, checkid)
    end = deps.services.clock.millis()
    start = end - days * DAY_MS
    rollup = await deps.services.history.summary(check, start, end)
    return SummaryModel(start=from_ms(start), end=from_ms(end), **rollup_fields(rollup))


@router.get("/checks/{checkid}/days")
async def list_days(
    deps: Deps, caller: Caller, checkid: CheckId, count: Annotated[int, Query(ge=1, le=400)] = 90
) -> Listed[DayModel]:
    """List the roll-ups of the last days of a check, oldest first; days are UTC."""
    check = await deps.services.checks.find(caller.userid, checkid)
    found = await deps.services.history.days(check, count)
    return Listed(items=[DayModel(day=day.day, **rollup_fields(day.rollup)) for day in found])


def rollup_fields(rollup: Rollup) -> Mapping[str, Any]:
    """Return the fields of a roll-up."""
    uptime = find_uptime(rollup)
    spent = {name: getattr(rollup, name) for name in (*DURATIONS, "runs")}
    percentiles = {f"p{percent}": find_percentile(rollup.latency, percent) for percent in (50, 95, 99)}
    return {"uptime": None if uptime is None else format_uptime(uptime), **spent, **percentiles}


@router.get("/check-types", tags=["checks"])
async def list_types() -> Listed[CheckTypeModel]:
    """List the types of checks, and the attributes that each may have, as JSON Schema."""
    return Listed(
        items=[
            CheckTypeModel(
                check_type=name, title=each.title, attributes=each.attributes.model_json_schema(by_alias=True)
            )
            for name, each in CHECK_TYPES.items()
        ]
    )
