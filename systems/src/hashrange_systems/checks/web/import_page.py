"""The page that imports the checks of another monitor from its file."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.service.imports import ImportReport
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps, SignedIn
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput

router = APIRouter(prefix="/import", include_in_schema=False)


@router.get("")
async def show_import(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the form for a file."""
    return render_import(request, deps, visitor)


@router.post("")
async def import_file(request: Request, deps: Deps) -> Response:
    """Import a file, or only show what would be added."""
    sent = await deps.authenticator.read_form(request, max_files=1)
    deps.import_limit.consume(sent.visitor.user.userid)
    content, only_try = sent.file("file"), sent.text("try") == "on"
    try:
        if content is None:
            raise InvalidInput([FieldError("file", "must be chosen")])
        report = await deps.services.imports.run(sent.visitor.user.userid, content, only_try=only_try)
    except InvalidInput as refused:
        return render_import(request, deps, sent.visitor, error=refused.errors[0].message, status=422)
    except ApplicationError as error:
        return render_import(request, deps, sent.visitor, error=str(error), status=error.status)
    return render_import(request, deps, sent.visitor, report)


def render_import(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    report: ImportReport | None = None,
    error: str = "",
    status: int = 200,
) -> Response:
    """Render the form, and what became of the last file."""
    return deps.renderer.render(request, "import.html", visitor, status, report=report, error=error)
