"""What anybody may see: the status page that a user published, and its badge. Names and states, never addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.errors import NotThere
from hashrange_systems.checks.model.uptime import Rollup, find_uptime, merge_rollups
from hashrange_systems.checks.schema import ActiveUser, AnyCheck, Ended, Ongoing, StatusPage
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.web.badge import draw_badge, draw_uptime_badge
from hashrange_systems.checks.web.desk import Here
from hashrange_systems.checks.web.picture import DAY_MS, read_period, read_rows
from hashrange_systems.checks.web.services import Services
from hashrange_systems.checks.web.view import Row, State, tell_state

INCIDENT_DAYS = 30
MOST_INCIDENTS = 20
BADGE_HEADERS = {
    "Cache-Control": "public, max-age=60",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Security-Policy": "default-src 'none'",
}

router = APIRouter(prefix="/status", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Overall:
    """How everything on a page is, together."""

    tone: str
    text: str
    badge: str
    word: str


@router.get("/{slug}")
async def show_status(request: Request, desk: Here, slug: str) -> Response:
    """Show a user's status page."""
    page, checks = await read_page(desk.services, slug)
    rows = await read_public_rows(desk.services, checks)
    return desk.painter.show(
        request,
        "status.html",
        page=page,
        at=from_ms(desk.now),
        rows=rows,
        overall=sum_up([row.state for row in rows]),
        incidents=await read_incidents(desk.services, rows),
    )


@router.get("/{slug}/badge.svg")
async def show_badge(desk: Here, slug: str, of: str = "state") -> Response:
    """Return the badge of a status page: how it is now, or with `of=uptime` how the last 30 days were."""
    page, checks = await read_page(desk.services, slug)
    if of == "uptime":
        total = Rollup()
        for check in checks:
            total = merge_rollups(total, await read_period(desk.services.history, check, 30 * DAY_MS, desk.now))
        picture = draw_uptime_badge(find_uptime(total), 30)
    else:
        overall = sum_up([tell_state(check, desk.now) for check in checks])
        picture = draw_badge(page.title, overall.word, overall.badge)
    return Response(picture, media_type="image/svg+xml", headers=BADGE_HEADERS)


async def read_page(services: Services, slug: str) -> tuple[StatusPage, list[AnyCheck]]:
    """Return a page and its checks; that of a suspended user is not there."""
    page = await services.pages.find(slug)
    try:
        owner = await services.users.find(page.owner)
    except NotThere:
        raise NotThere("page") from None
    if not isinstance(owner, ActiveUser):
        raise NotThere("page")
    return page, list(await services.pages.checks_on(page))


async def read_public_rows(services: Services, checks: Sequence[AnyCheck]) -> list[Row]:
    """Return the checks of a page as anybody may see them."""
    rows = await read_rows(services.history, checks, services.clock.millis())
    return [anonymise(row, place) for place, row in enumerate(rows, 1)]


def anonymise(row: Row, place: int) -> Row:
    """Return a row without what was not published: a check that has no name is called by its place."""
    return replace(row, name=row.check.name or f"Check {place}")


def sum_up(states: list[State]) -> Overall:
    """Return how it all is, together."""
    down = sum(state.tone == "down" for state in states)
    troubled = any(state.tone in {"pending", "degraded"} for state in states)
    if down:
        text = "Everything is down" if down == len(states) else f"{down} of {len(states)} are down"
        return Overall("bad", text, "down", "down" if down == len(states) else "partly down")
    if troubled:
        return Overall("warn", "Something is not quite right", "degraded", "degraded")
    if any(state.tone == "up" for state in states):
        return Overall("good", "Everything works", "up", "up")
    return Overall("info", "Nothing is known at the moment", "idle", "unknown")


async def read_incidents(services: Services, rows: list[Row]) -> list[tuple[str, Ongoing | Ended]]:
    """Return the latest incidents of the checks shown, the latest first."""
    since = services.clock.millis() - INCIDENT_DAYS * DAY_MS
    found = [
        (row.name, incident) for row in rows for incident in await services.history.incidents(row.check.checkid, since)
    ]
    return sorted(found, key=lambda each: each[1].started_at, reverse=True)[:MOST_INCIDENTS]
