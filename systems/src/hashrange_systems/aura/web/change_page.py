"""What changed: the page, and the same as JSON, RSS and CSV for programs."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from hashrange_systems.aura.model.country import country_name
from hashrange_systems.aura.service.changes import AnyChange
from hashrange_systems.aura.web.board_page import read_time
from hashrange_systems.aura.web.change_feed import open_feed, sign_feed, write_changes_csv, write_json, write_rss
from hashrange_systems.aura.web.dependencies import AuraPages, Deps, SignedIn
from hashrange_systems.shared.errors import ResourceMissing

ON_A_PAGE = 60
IN_A_FEED = 500

router = APIRouter(include_in_schema=False)


@router.get("/changes")
async def show_changes(
    request: Request, deps: Deps, visitor: SignedIn, country: str = "", before: str = ""
) -> Response:
    """Show what changed, newest first."""
    services = deps.services
    code = country[:2].upper() or None
    changes = await services.changes.latest(ON_A_PAGE, country=code, before=read_before(before))
    countries = [(each, country_name(each)) for each in await services.registry.countries()]
    return deps.renderer.render(
        request,
        "changes.html",
        visitor,
        changes=changes,
        more=changes[-1].at.isoformat() if len(changes) >= ON_A_PAGE else "",
        country=code or "",
        countries=countries,
        token=sign_feed(services.runtime.signer, visitor.user.member_id, services.clock.millis()),
    )


def read_before(text: str) -> datetime | None:
    """Return the time before which changes are listed."""
    return read_time("before", text) if text else None


@router.get("/changes.json")
async def read_changes_json(request: Request, deps: Deps, token: str = "", country: str = "") -> Response:
    """Return the newest changes as JSON."""
    changes = await read_feed(request, deps, token, country)
    if changes is None:
        return refuse_feed()
    return JSONResponse({"items": [write_json(change) for change in changes]})


@router.get("/changes.rss")
async def read_changes_rss(request: Request, deps: Deps, token: str = "", country: str = "") -> Response:
    """Return the newest changes as RSS."""
    changes = await read_feed(request, deps, token, country)
    if changes is None:
        return refuse_feed()
    return Response(write_rss(changes, deps.base_url), media_type="application/rss+xml; charset=utf-8")


@router.get("/changes.csv")
async def read_changes_csv(request: Request, deps: Deps, token: str = "", country: str = "") -> Response:
    """Return the newest changes as CSV."""
    changes = await read_feed(request, deps, token, country)
    if changes is None:
        return refuse_feed()
    headers = {"Content-Disposition": 'attachment; filename="changes.csv"'}
    return Response(write_changes_csv(changes), media_type="text/csv; charset=utf-8", headers=headers)


async def read_feed(request: Request, deps: AuraPages, token: str, country: str) -> list[AnyChange] | None:
    """Return the newest changes for the holder of a token, or for a signed-in visitor; None for others."""
    services = deps.services
    if token:
        member_id = open_feed(services.runtime.signer, token, services.clock.millis())
        if member_id is None:
            raise ResourceMissing("feed")
        await services.members.find(member_id)
    elif await deps.authenticator.find_visitor(request) is None:
        return None
    return await services.changes.latest(IN_A_FEED, country=country[:2].upper() or None)


def refuse_feed() -> Response:
    """Return what answers a program, to which the sign-in page is of no use."""
    return JSONResponse({"error": "Use the link of the page, which has a token."}, 401)
