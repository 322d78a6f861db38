"""Redirects to the page of a resource, of the public site and of the moderators, whatever its slug is."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import RedirectResponse

from hashrange_systems.kelifax.model.slug import encode_slug, path_of_resource
from hashrange_systems.shared.web.templating import find_mount_path


def redirect_to_resource(request: Request, slug: str, note: str) -> RedirectResponse:
    """Redirect to the page of a resource after a form; `note` is the name of a message to show there."""
    return RedirectResponse(f"{find_mount_path(request)}{path_of_resource(slug)}?note={note}", 303)


def redirect_for_ever(request: Request, slug: str) -> RedirectResponse:
    """Redirect a former address of a resource to its page."""
    return RedirectResponse(f"{find_mount_path(request)}{path_of_resource(slug)}", 308)


def redirect_to_moderation(request: Request, worklist: str, slug: str, query: str = "") -> RedirectResponse:
    """Redirect to a list of the moderators with a resource open; without a slug its first one is."""
    opened = f"/{encode_slug(slug)}" if slug else ""
    return RedirectResponse(f"{find_mount_path(request)}/admin/{worklist}{opened}{f'?{query}' if query else ''}", 303)
