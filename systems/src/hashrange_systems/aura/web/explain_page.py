"""Explains a URL: what every extractor answers, where they disagree, and what is decided."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.web.dependencies import Deps, SignedIn
from hashrange_systems.shared.errors import ApplicationError

router = APIRouter(include_in_schema=False)


@router.get("/explain")
async def show_explanation(request: Request, deps: Deps, visitor: SignedIn, url: str = "") -> Response:
    """Fetch a page, and show what every extractor answers; nothing is stored."""
    explanation, error = None, None
    if url:
        try:
            deps.preview_limit.consume(visitor.user.member_id)
            overrides = await deps.services.registry.find_overrides(url)
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
