"""The pages with which users manage their status pages: list, form, announcements."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.model.announcement import Importance, read_announcements
from hashrange_systems.checks.registry import name_check
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps, PostedForm, SignedIn, UserForm
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values
from hashrange_systems.shared.web.templating import redirect_to

PAGE = (
    Field(
        path="slug",
        label="Address",
        hint="my-shop",
        help="Small letters, digits and dashes.",
        short=True,
        required=True,
    ),
    Field(path="title", label="Title", hint="Status of my shop", required=True),
    Field(path="intro", label="Text below the title", input_type="area", help="An empty line starts a new paragraph."),
)
IMPORTANCE = tuple((each.value, each.value.capitalize()) for each in Importance)
ANNOUNCEMENT = (
    Field(path="announcement.importance", label="Importance", input_type="select", options=IMPORTANCE, short=True),
    Field(path="announcement.title", label="Headline", hint="Database upgrade on Sunday"),
    Field(path="announcement.text", label="Text", input_type="area"),
    Field(
        path="announcement.endsAt",
        label="Show until",
        input_type="time",
        help="UTC; empty until you remove it.",
        short=True,
    ),
)
PATHS = [field.path for field in (*PAGE, *ANNOUNCEMENT)] + ["checks"]

router = APIRouter(prefix="/pages", include_in_schema=False)


@router.get("")
async def show_pages(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the status pages of the visitor."""
    pages = await deps.services.pages.list_by_user(visitor.user.userid)
    return deps.renderer.render(request, "pages.html", visitor, pages=pages)


@router.get("/new")
async def show_new_page(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the form of a new page."""
    return await render_page_form(request, deps, visitor, None)


@router.post("/new")
async def add_page(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Publish a page."""
    slug = sent.line("slug")
    try:
        if slug in {page.slug for page in await deps.services.pages.list_by_user(sent.visitor.user.userid)}:
            raise InvalidInput([FieldError("slug", "is the address of another page of yours")])
        await deps.services.pages.publish(sent.visitor.user.userid, slug, read_content(sent))
    except ApplicationError as error:
        return await render_page_form(request, deps, sent.visitor, None, error, sent)
    return redirect_to(request, f"/pages/{slug}", "published")


@router.get("/{slug}")
async def show_page_form(request: Request, deps: Deps, visitor: SignedIn, slug: str) -> Response:
    """Show the form of a page, and its announcements."""
    page = await deps.services.pages.find_own(visitor.user.userid, slug)
    return await render_page_form(request, deps, visitor, page)


@router.post("/{slug}")
async def save_page(request: Request, deps: Deps, sent: PostedForm, slug: str) -> Response:
    """Change a page; another address renames it."""
    page = await deps.services.pages.find_own(sent.visitor.user.userid, slug)
    new = sent.line("slug")
    try:
        await deps.services.pages.publish(sent.visitor.user.userid, new, read_content(sent), renames=slug)
    except ApplicationError as error:
        return await render_page_form(request, deps, sent.visitor, page, error, sent)
    return redirect_to(request, f"/pages/{new}", "saved")


@router.post("/{slug}/remove")
async def remove_page(request: Request, deps: Deps, sent: PostedForm, slug: str) -> Response:
    """Unpublish a page."""
    await deps.services.pages.unpublish(sent.visitor.user.userid, slug)
    return redirect_to(request, "/pages", "unpublished")


# ── announcements ────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/{slug}/announcements")
async def announce(request: Request, deps: Deps, sent: PostedForm, slug: str) -> Response:
    """Add an announcement."""
    userid = sent.visitor.user.userid
    page = await deps.services.pages.find_own(userid, slug)
    texts = [sent.text(f"announcement.{name}") for name in ("importance", "title", "text")]
    try:
        ends_at = read_end(sent.text("announcement.endsAt"))
        await deps.services.pages.announce(userid, slug, texts[0], texts[1], texts[2].replace("\r\n", "\n"), ends_at)
    except InvalidInput as refused:
        errors = [FieldError(f"announcement.{error.field}", error.message) for error in refused.errors]
        return await render_page_form(request, deps, sent.visitor, page, InvalidInput(errors), sent)
    return redirect_to(request, f"/pages/{slug}", "announced")


@router.post("/{slug}/announcements/{announcement_id}/remove")
async def withdraw(request: Request, deps: Deps, sent: PostedForm, slug: str, announcement_id: str) -> Response:
    """Remove an announcement."""
    await deps.services.pages.withdraw(sent.visitor.user.userid, slug, announcement_id)
    return redirect_to(request, f"/pages/{slug}", "withdrawn")


def read_end(text: str) -> int | None:
    """Return the end of an announcement in milliseconds; None if there is none."""
    if not text.strip():
        return None
    try:
        return to_ms(datetime.fromisoformat(text.strip()).replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise InvalidInput([FieldError("endsAt", "must be a time such as 2026-01-31T18:00")]) from None


def read_content(sent: UserForm) -> PageContent:
    """Return what the form says that the page shows."""
    intro = sent.text("intro").replace("\r\n", "\n")
    return PageContent(title=sent.text("title"), checks=sent.texts("checks"), intro=intro)


async def render_page_form(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    page: StatusPage | None,
    error: ApplicationError | None = None,
    sent: UserForm | None = None,
) -> Response:
    """Render the form of a page with its values and errors."""
    field_errors, other_errors = group_field_errors(error.errors if isinstance(error, InvalidInput) else (), PATHS)
    values = fill_page(page) | (keep_form_values(sent.form) if sent else {})
    posted = sent is not None and "slug" in sent.form
    context: dict[str, Any] = {
        "page": page,
        "values": values,
        "field_errors": field_errors,
        "other_errors": other_errors,
        "error": "" if isinstance(error, InvalidInput) else str(error or ""),
        "page_fields": PAGE,
        "announcement_fields": ANNOUNCEMENT,
        "announcements": read_announcements(page.announcements) if page else [],
        "shown": sent.texts("checks") if sent and posted else page.checks if page else [],
        "names": [
            (check.checkid, name_check(check)) for check in await deps.services.checks.list_by_user(visitor.user.userid)
        ],
    }
    return deps.renderer.render(request, "page.html", visitor, error.status if error else 200, **context)


def fill_page(page: StatusPage | None) -> dict[str, str]:
    """Return the values of the form."""
    return {"slug": page.slug, "title": page.title, "intro": page.intro} if page else {}
