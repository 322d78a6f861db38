"""The API of checks: added, read, changed, run, and what is known of their past. All of it is the caller's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from hashrange_systems.checks.model.kind import KINDS
from hashrange_systems.checks.model.latency import find_percentile
from hashrange_systems.checks.model.uptime import Rollup, find_uptime, format_uptime
from hashrange_systems.checks.service.draft import Changes, Draft
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.web.api.answer import (
    CheckChange,
    CheckShown,
    CheckTypeShown,
    CheckWish,
    DayShown,
    IncidentShown,
    Listed,
    RunShown,
    SummaryShown,
    show_check,
    show_run,
)
from hashrange_systems.checks.web.api.caller import Caller, Here

DAY_MS = 86_400_000

CheckId = Annotated[str, Path(description="The id of a check of yours.")]
Size = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[str | None, Query(description="Where the page before ended.")]

router = APIRouter(tags=["checks"])


@router.get("/checks")
async def list_checks(counter: Here, caller: Caller) -> Listed[CheckShown]:
    """List your checks, the oldest first."""
    found = await counter.services.ledger.of_user(caller.userid)
    now = counter.services.clock.millis()
    return Listed(items=[show_check(check, now) for check in found])


@router.post("/checks", status_code=201)
async def add_check(counter: Here, caller: Caller, wish: CheckWish, response: Response) -> CheckShown:
    """Add a check; it runs right away."""
    draft = Draft(**{each.name: getattr(wish, each.name) for each in fields(Draft)})
    check = await counter.services.ledger.create(caller.userid, draft)
    response.headers["Location"] = f"{counter.base_url}/api/checks/{check.checkid}"
    return show_check(check, counter.services.clock.millis())


@router.get("/checks/{checkid}")
async def read_check(counter: Here, caller: Caller, checkid: CheckId) -> CheckShown:
    """Read a check."""
    check = await counter.services.ledger.find(caller.userid, checkid)
    return show_check(check, counter.services.clock.millis())


@router.patch("/checks/{checkid}")
async def change_check(counter: Here, caller: Caller, checkid: CheckId, change: CheckChange) -> CheckShown:
    """Change what is given about a check; maps and lists are replaced whole."""
    given = {name: getattr(change, name) for name in change.model_fields_set}
    await counter.services.ledger.edit(caller.userid, checkid, Changes(**given))
    return await read_check(counter, caller, checkid)


@router.delete("/checks/{checkid}", status_code=204)
async def delete_check(counter: Here, caller: Caller, checkid: CheckId) -> None:
    """Delete a check with everything kept about it."""
    await counter.services.ledger.delete(caller.userid, checkid)


@router.post("/checks/{checkid}/pause")
async def pause_check(counter: Here, caller: Caller, checkid: CheckId) -> CheckShown:
    """Pause a check: an open incident ends, and nobody is told."""
    check = await counter.services.ledger.pause(caller.userid, checkid)
    return show_check(check, counter.services.clock.millis())


@router.post("/checks/{checkid}/resume")
async def resume_check(counter: Here, caller: Caller, checkid: CheckId) -> CheckShown:
    """Resume a check that is paused or was disabled; it runs right away."""
    check = await counter.services.ledger.resume(caller.userid, checkid)
    return show_check(check, counter.services.clock.millis())


@router.post("/checks/{checkid}/run")
async def run_check(counter: Here, caller: Caller, checkid: CheckId) -> CheckShown:
    """Run a check now and wait for the result; its schedule stays."""
    await counter.services.ledger.run_now(caller.userid, checkid)
    return await read_check(counter, caller, checkid)


# ── the past ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/checks/{checkid}/results")
async def list_results(
    counter: Here, caller: Caller, checkid: CheckId, limit: Size = 100, cursor: Cursor = None
) -> Listed[RunShown]:
    """List the runs of a check, the latest first."""
    await counter.services.ledger.find(caller.userid, checkid)
    page = await counter.services.db.runs(checkid).page(limit, after=cursor)
    return Listed(items=[show_run(run) for run in page], cursor=page.cursor)


@router.get("/checks/{checkid}/incidents")
async def list_incidents(counter: Here, caller: Caller, checkid: CheckId) -> Listed[IncidentShown]:
    """List the incidents of a check, the latest first."""
    await counter.services.ledger.find(caller.userid, checkid)
    found = await counter.services.history.incidents(checkid)
    return Listed(items=[IncidentShown.model_validate(incident) for incident in found])


@router.get("/checks/{checkid}/summary")
async def sum_up(
    counter: Here, caller: Caller, checkid: CheckId, days: Annotated[int, Query(ge=1, le=400)] = 30
) -> SummaryShown:
    """Tell how a check spent the last so many days, up to now."""
    check = await counter.services.ledger.find(caller.userid, checkid)
    end = counter.services.clock.millis()
    start = end - days * DAY_MS
    rollup = await counter.services.history.summary(check, start, end)
    return SummaryShown(start=from_ms(start), end=from_ms(end), **tell_spent(rollup))


@router.get("/checks/{checkid}/days")
async def list_days(
    counter: Here, caller: Caller, checkid: CheckId, count: Annotated[int, Query(ge=1, le=400)] = 90
) -> Listed[DayShown]:
    """Tell how a check spent each of the last so many days, the oldest first; days are UTC."""
    check = await counter.services.ledger.find(caller.userid, checkid)
    found = await counter.services.history.days(check, count)
    return Listed(items=[DayShown(day=day.day, **tell_spent(day.rollup)) for day in found])


def tell_spent(rollup: Rollup) -> Mapping[str, Any]:
    """Return a roll-up as it is given."""
    uptime = find_uptime(rollup)
    spent = {each.name: getattr(rollup, each.name) for each in fields(Rollup) if each.name != "latency"}
    percentiles = {f"p{percent}": find_percentile(rollup.latency, percent) for percent in (50, 95, 99)}
    return {"uptime": None if uptime is None else format_uptime(uptime), **spent, **percentiles}


@router.get("/check-types", tags=["checks"])
async def list_types() -> Listed[CheckTypeShown]:
    """List the types of checks, and the attributes that each may have, as JSON Schema."""
    return Listed(
        items=[
            CheckTypeShown(check_type=name, attributes=kind.model_json_schema(by_alias=True))
            for name, kind in KINDS.items()
        ]
    )
