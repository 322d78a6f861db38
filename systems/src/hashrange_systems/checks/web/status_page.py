"""The public status page of a user, and its badge: names and states, never URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.history_schema import Ended, Ongoing
from hashrange_systems.checks.model.announcement import read_announcements
from hashrange_systems.checks.model.uptime import Rollup, find_uptime, merge_rollups
from hashrange_systems.checks.schema import ActiveUser, AnyCheck, StatusPage
from hashrange_systems.checks.web.check_page import read_rows
from hashrange_systems.checks.web.check_view import (
    OVERDUE,
    Row,
    StateLabel,
    count_days,
    describe_state,
    find_seen_until,
    is_overdue,
)
from hashrange_systems.checks.web.dependencies import Deps
from hashrange_systems.checks.web.uptime_badge import draw_uptime_badge
from hashrange_systems.shared.charts.badge import draw_badge
from hashrange_systems.shared.epoch import DAY_MS, from_ms
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.work.presence import Monitoring, WorkState

INCIDENT_DAYS = 30
BADGE_DAYS = 30  # whole days and today: what is stored of them is read
MAX_INCIDENTS = 20
BADGE_HEADERS = {
    "Cache-Control": "public, max-age=60",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Security-Policy": "default-src 'none'",
}

router = APIRouter(prefix="/status", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Overall:
    """The overall state of a page."""

    tone: str
    text: str
    badge: str
    word: str


@router.get("/{slug}")
async def show_status(request: Request, deps: Deps, slug: str) -> Response:
    """Show a user's status page."""
    page, checks = await read_page(deps.services, slug)
    monitoring = await deps.services.presence.read()
    rows = await read_public_rows(deps.services, checks, monitoring)
    incidents = await read_incidents(deps.services, rows)
    return await asyncio.to_thread(  # 200 checks take a tenth of a second
        deps.renderer.render,
        request,
        "status.html",
        page=page,
        at=from_ms(deps.now),
        rows=rows,
        overall=summarise_states([row.state for row in rows]),
        incidents=incidents,
        announcements=[each for each in read_announcements(page.announcements) if each.is_shown(deps.now)],
        monitoring=monitoring,
    )


@router.get("/{slug}/badge.svg")
async def show_badge(deps: Deps, slug: str, of: str = "state") -> Response:
    """Return the badge of a status page: the current state, or with `of=uptime` the uptime of 30 days."""
    page, checks = await read_page(deps.services, slug)
    if of == "uptime":
        total = Rollup()
        for check in checks:
            days = await deps.services.history.days(check, min(BADGE_DAYS, count_days(check, deps.now)))
            total = reduce(merge_rollups, [day.rollup for day in days], total)
        picture = draw_uptime_badge(find_uptime(total), BADGE_DAYS)
    else:
        monitoring = await deps.services.presence.read()
        overall = summarise_states([hide_state(describe_state(check, deps.now), monitoring) for check in checks])
        picture = draw_badge(page.title, overall.word, overall.badge)
    return Response(picture, media_type="image/svg+xml", headers=BADGE_HEADERS)


async def read_page(services: Application, slug: str) -> tuple[StatusPage, list[AnyCheck]]:
    """Return a page and its checks; the page of a suspended user is missing."""
    page = await services.pages.find(slug)
    try:
        owner = await services.users.find(page.owner)
    except ResourceMissing:
        raise ResourceMissing("page") from None
    if not isinstance(owner, ActiveUser):
        raise ResourceMissing("page")
    return page, list(await services.pages.checks_on(page))


async def read_public_rows(services: Application, checks: Sequence[AnyCheck], monitoring: Monitoring) -> list[Row]:
    """Return the public rows of a page."""
    rows = await read_rows(services.history, checks, services.clock.millis())
    return [
        replace(anonymise(row, number), state=hide_state(row.state, monitoring)) for number, row in enumerate(rows, 1)
    ]


def hide_state(state: StateLabel, monitoring: Monitoring) -> StateLabel:
    """Return the state, or Unknown while no worker is there any more: the last result says nothing about now."""
    interrupted = monitoring.state is WorkState.INTERRUPTED and monitoring.since is not None
    return StateLabel("idle", "Unknown") if interrupted and state.tone != "idle" else state


def anonymise(row: Row, number: int) -> Row:
    """Return a row without its URL: a check without a name gets a number."""
    return replace(row, name=row.check.name or f"Check {number}")


def summarise_states(states: list[StateLabel]) -> Overall:
    """Return the overall state."""
    down = sum(state.tone == "down" for state in states)
    has_problem = any(state.tone in {"pending", "degraded"} for state in states)
    overdue = any(state.word == OVERDUE for state in states)
    if down:
        text = "Everything is down" if down == len(states) else f"{down} of {len(states)} are down"
        return Overall("bad", text, "down", "down" if down == len(states) else "partly down")
    if has_problem:
        return Overall("warn", "Something is not quite right", "degraded", "degraded")
    if overdue:
        return Overall("warn", "Not everything is being checked at the moment", "idle", "unknown")
    if any(state.tone == "up" for state in states):
        return Overall("good", "Everything works", "up", "up")
    return Overall("info", "Nothing is known at the moment", "idle", "unknown")


async def read_incidents(services: Application, rows: list[Row]) -> list[tuple[str, Ongoing | Ended, int, bool]]:
    """Return the latest incidents of these checks, latest first, until when they are known, and whether overdue."""
    now = services.clock.millis()
    since = now - INCIDENT_DAYS * DAY_MS
    found = [
        (row.name, incident, find_seen_until(row.check, now), is_overdue(row.check, now))
        for row in rows
        for incident in await services.history.incidents(row.check.checkid, since, most=MAX_INCIDENTS)
    ]
    return sorted(found, key=lambda each: each[1].started_at, reverse=True)[:MAX_INCIDENTS]
