"""Explains a URL: what every extractor answers, where they disagree, and what is decided."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.extraction.page_facts import Overrides
from hashrange_systems.aura.web.dependencies import Deps, SignedIn
from hashrange_systems.shared.errors import ApplicationError, ResourceMissing

router = APIRouter(include_in_schema=False)


@router.get("/explain")
async def show_explanation(request: Request, deps: Deps, visitor: SignedIn, url: str = "") -> Response:
    """Fetch a page, and show what every extractor answers; nothing is stored."""
    explanation, error = None, None
    if url:
        try:
            deps.preview_limit.consume(visitor.user.member_id)
            overrides = await find_overrides(deps, url)
            explanation = await deps.services.preview.explain(url[:8000], overrides, member=visitor.user.member_id)
        except ApplicationError as refused:
            error = refused
    return deps.renderer.render(
        request,
        "explain.html",
        visitor,
        error.status if error else 200,
        url=url,
        explanation=explanation,
        error=str(error or ""),
    )


async def find_overrides(deps: Deps, url: str) -> Overrides | None:
    """Return the selectors of the shop of a URL, if it is registered."""
    try:
        shop = await deps.services.registry.find(url)
    except ResourceMissing:
        return None
    options = await deps.services.registry.options(shop.domain)
    return Overrides(price=options.price_selector, state=options.state_selector)
