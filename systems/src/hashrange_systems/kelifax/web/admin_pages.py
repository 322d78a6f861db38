"""The pages of moderators: sign-in, the queue with its keyboard flow, decisions one by one and in bulk, other lists."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange import CursorInvalid
from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.model.slug import MAX_STORED_BYTES
from hashrange_systems.kelifax.schema import Approved, Pending, Published, Rejected
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.moderation import UNDO_WITHIN, BulkOutcome, Moderation
from hashrange_systems.kelifax.service.moderation_detail import ModerationDetail
from hashrange_systems.kelifax.service.resource_read import find_names
from hashrange_systems.kelifax.service.time_ordered_list import OrderedPage
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.kelifax.web.dependencies import (
    Admin,
    AdminPosted,
    Deps,
    SlugPath,
)
from hashrange_systems.kelifax.web.resource_redirect import redirect_to_moderation
from hashrange_systems.kelifax.web.visitor import SignedInAdmin
from hashrange_systems.kelifax.web.worker_presence import describe_absence
from hashrange_systems.shared.accounts.sign_in import Admitted
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import (
    ApplicationError,
    FieldError,
    InvalidInput,
    ResourceMissing,
    SignInRefused,
    StateConflict,
    TooManyRequests,
)
from hashrange_systems.shared.web.posted_form import PostedForm
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.sign_in_redirect import find_client_network
from hashrange_systems.shared.web.templating import redirect_to

log = logging.getLogger(__name__)

QUEUE_SIZE = 30
OWN_PATH = re.compile(r"/admin[A-Za-z0-9/_-]*", re.ASCII)

ListName = Literal["queue", "live", "rejected"]
BULK_ACTIONS: tuple[Literal["approve", "reject", "unpublish"], ...] = ("approve", "reject", "unpublish")
UNDOABLE = {False: {"approved", "rejected", "unpublished"}, True: {"rejected"}}  # by whether it is damaged
LIST_TITLES: dict[ListName, str] = {"queue": "Waiting", "live": "Listed", "rejected": "Rejected"}

router = APIRouter(prefix="/admin", include_in_schema=False)


# ── sign-in ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/sign-in")
async def show_sign_in(request: Request, deps: Deps, next: str = "/admin") -> Response:  # noqa: A002 - the address says next
    """Show the sign-in form."""
    if await deps.visitors.find_admin(request):
        return redirect_to(request, parse_next(next))
    return render_sign_in(request, deps, parse_next(next))


@router.post("/sign-in")
async def sign_in(request: Request, deps: Deps) -> Response:
    """Start a session; wrong passwords are limited by address and lock the account for a while."""
    refuse_cross_site(request)
    sent = PostedForm(await request.form(max_files=0, max_fields=10))
    name, path = sent.text("name"), parse_next(sent.text("next"))
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        admitted = await deps.services.accounts.sign_in.with_password(name, sent.text("password"))
    except (SignInRefused, TooManyRequests) as error:
        response = render_sign_in(request, deps, path, name, str(error), error.status)
        response.headers.update(error.headers)
        return response
    assert isinstance(admitted, Admitted), "there is no page that adds a second factor"
    response = redirect_to(request, path)
    deps.visitors.write_admin_cookie(request, response, admitted.cookie)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, deps: Deps, posted: AdminPosted) -> Response:
    """End the session."""
    await deps.services.accounts.sign_in.end(posted.admin.cookie)
    response = redirect_to(request, "/admin/sign-in", "signed-out")
    deps.visitors.write_admin_cookie(request, response, "")
    return response


def parse_next(path: str) -> str:
    """Return the path to go to after sign-in: always one of the admin pages."""
    return path if OWN_PATH.fullmatch(path) and path != "/admin/sign-in" else "/admin"


def render_sign_in(
    request: Request, deps: Deps, path: str, name: str = "", error: str = "", status: int = 200
) -> Response:
    """Render the sign-in form."""
    return deps.renderer.render(request, "admin_sign_in.html", status, next=path, values={"name": name}, error=error)


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class QueueRow:
    """A resource in a list of moderators."""

    slug: str
    name: str
    category: str
    at: datetime | None
    damaged: bool
    holder: str = ""  # the moderator who reviews it


@dataclass(frozen=True, slots=True, kw_only=True)
class Worklist:
    """A list with the resource that is looked at."""

    name: ListName
    rows: Sequence[QueueRow]
    current: str = ""
    cursor: str | None = None
    after: str = ""
    previous_slug: str = ""
    next_slug: str = ""

    @property
    def query(self) -> str:
        """The query that stays in this page of the list."""
        return f"?{urlencode({'after': self.after})}" if self.after else ""


@router.get("")
async def show_start(request: Request) -> Response:
    """Go to the queue."""
    return redirect_to(request, "/admin/queue")


@dataclass(frozen=True, slots=True)
class WorklistPosition:
    """Where a moderator is: a list, the resource that is open, and the page of the list."""

    name: ListName
    slug: str = ""
    after: str = ""


def find_list(name: str) -> ListName:
    """Return a list by its name; raise ResourceMissing."""
    found: ListName | None = next((each for each in LIST_TITLES if each == name), None)
    if found is None:
        raise ResourceMissing("page")
    return found


@router.get("/{name}")
async def show_list(request: Request, deps: Deps, admin: Admin, name: str, after: str = "") -> Response:
    """Show a list, with its first resource open."""
    return await render_worklist(request, deps, admin, WorklistPosition(find_list(name), after=after))


@router.get("/{name}/{slug}")
async def show_one(request: Request, deps: Deps, admin: Admin, name: str, slug: SlugPath, after: str = "") -> Response:
    """Show a list with one resource open."""
    return await render_worklist(request, deps, admin, WorklistPosition(find_list(name), slug, after))


async def render_worklist(
    request: Request,
    deps: Deps,
    admin: SignedInAdmin,
    position: WorklistPosition,
    *,
    error: ApplicationError | None = None,
    outcomes: Sequence[BulkOutcome] = (),
) -> Response:
    """Render a list and the resource that is looked at."""
    page = await read_list(deps.services.moderation, position.name, position.after)
    slugs = [entry.resource_slug for entry in page.entries]
    holders = await deps.services.moderation.find_holders(slugs) if position.name == "queue" else {}
    worklist = make_worklist(position, page, holders)
    detail = await read_current(deps.services.moderation, position, worklist)
    undo_slug = request.query_params.get("undo", "")[:MAX_STORED_BYTES]
    mentioned = [undo_slug, *(each.slug for each in outcomes if each.error)]
    return deps.renderer.render(
        request,
        "admin_worklist.html",
        error.status if error else 200,
        form_token=admin.form_token,
        actor=admin.actor,
        worklist=worklist,
        titles=LIST_TITLES,
        detail=detail,
        shown=describe_detail(detail, deps.now) if detail else None,
        error=str(error or ""),
        outcomes=outcomes,
        undo_slug=undo_slug,
        names=await find_names(deps.services.db, mentioned),
        warnings=await describe_absence(deps.services),
        section=position.name,
    )


async def read_current(
    moderation: Moderation, position: WorklistPosition, worklist: Worklist
) -> ModerationDetail | None:
    """Return the resource that is open; the first of a list may be gone, because an index lags behind the table."""
    if not worklist.current:
        return None
    try:
        return await moderation.read_detail(worklist.current)
    except ResourceMissing:
        if position.slug:
            raise
        return None


def make_worklist(position: WorklistPosition, page: OrderedPage[Any], holders: Mapping[str, str]) -> Worklist:
    """Return a list with its neighbours of the resource that is open: the first one unless another is named."""
    rows = [replace(make_row(entry), holder=holders.get(entry.resource_slug, "")) for entry in page.entries]
    slugs = [row.slug for row in rows]
    current = position.slug or (slugs[0] if slugs else "")
    at = slugs.index(current) if current in slugs else -1
    return Worklist(
        name=position.name,
        rows=rows,
        current=current,
        cursor=page.cursor,
        after=position.after,
        previous_slug=slugs[at - 1] if at > 0 else "",
        next_slug=slugs[at + 1] if at + 1 < len(slugs) else "",
    )


async def read_list(moderation: Moderation, name: ListName, after: str) -> OrderedPage[Any]:
    """Return a page of a list."""
    read: Any = {"queue": moderation.queue, "live": moderation.live, "rejected": moderation.rejected}[name]
    try:
        page: OrderedPage[Any] = await read(QUEUE_SIZE, after or None)
    except CursorInvalid:
        raise ResourceMissing("page: begin again at the first one") from None
    return page


def make_row(entry: Pending | Approved | Rejected | DamagedItem) -> QueueRow:
    """Return what a list shows of a resource."""
    if isinstance(entry, DamagedItem):
        return QueueRow(
            entry.resource_slug, entry.text("resourceName") or entry.resource_slug, entry.text("category"), None, True
        )
    return QueueRow(entry.resource_slug, entry.resource_name, entry.category, entry.submitted_at, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailView:
    """What can be done with a resource now."""

    status: str
    can_undo: bool
    is_live: bool
    is_public: bool  # and can be edited
    raw: dict[str, str]


def describe_detail(detail: ModerationDetail, now: int) -> DetailView:
    """Return which actions a resource allows."""
    resource = detail.resource
    damaged = isinstance(resource, DamagedItem)
    latest = detail.status_decision
    fresh = latest is not None and from_ms(now) - latest.decided_at < UNDO_WITHIN
    return DetailView(
        status=resource.status if isinstance(resource, DamagedItem) else resource.resource_status,
        can_undo=fresh and latest is not None and latest.verdict in UNDOABLE[damaged],
        is_live=isinstance(resource, Approved),
        is_public=isinstance(resource, Published),
        raw={name: show_raw(value) for name, value in sorted(resource.raw.items())}
        if isinstance(resource, DamagedItem)
        else {},
    )


def show_raw(value: Any) -> str:
    """Return an attribute in wire form as text."""
    return str(next(iter(value.values()), "")) if isinstance(value, dict) or hasattr(value, "values") else str(value)


# ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class DecisionForm:
    """A form of an admin about one resource."""

    services: Application
    actor: Actor
    slug: str
    sent: PostedForm

    @property
    def reason(self) -> str:
        """The reason that the form gives."""
        return self.sent.text("reason")


async def feature(form: DecisionForm) -> object:
    """Feature a resource for the time that the form says."""
    starts_at, ends_at = parse_moment(form.sent, "starts_at"), parse_moment(form.sent, "ends_at")
    return await form.services.moderation.feature(form.slug, form.actor, starts_at, ends_at)


def parse_moment(sent: PostedForm, name: str) -> datetime | None:
    """Return a time of the form, in UTC; raise InvalidInput."""
    text = sent.text(name)
    if not text:
        return None
    try:
        return datetime.fromisoformat(text[:30]).replace(tzinfo=UTC)
    except ValueError:
        raise InvalidInput([FieldError(name, "must be a time such as 2026-11-17T12:00")]) from None


Action = Callable[[DecisionForm], Awaitable[object]]

ACTIONS: dict[str, tuple[Action, str]] = {  # what is done, and the name of the message that says so
    "hold": (lambda form: form.services.moderation.hold(form.slug, form.actor), "held"),
    "release": (lambda form: form.services.moderation.release_hold(form.slug, form.actor), "released"),
    "approve": (lambda form: form.services.moderation.approve(form.slug, form.actor), "approved"),
    "reject": (lambda form: form.services.moderation.reject(form.slug, form.actor, form.reason), "rejected"),
    "unpublish": (lambda form: form.services.moderation.unpublish(form.slug, form.actor, form.reason), "unpublished"),
    "undo": (lambda form: form.services.moderation.undo(form.slug, form.actor), "undone"),
    "feature": (feature, "featured"),
    "unfeature": (lambda form: form.services.moderation.unfeature(form.slug, form.actor), "unfeatured"),
    "alias": (lambda form: form.services.moderation.add_alias(form.slug, form.sent.text("alias"), form.actor), "saved"),
    "void": (lambda form: form.services.reviews.void_votes(form.slug, form.actor), "voided"),
    "check": (lambda form: form.services.link_checks.check(form.slug), "saved"),
    "delete": (lambda form: form.services.deletion.delete(form.slug, form.actor, form.reason), "deleted"),
}


@router.post("/bulk/{name}")
async def decide_many(request: Request, deps: Deps, posted: AdminPosted, name: str) -> Response:
    """Decide on all chosen resources; each succeeds or fails on its own."""
    position, sent = WorklistPosition(find_list(name)), posted.sent
    slugs = sent.texts("slug")
    action = next((each for each in BULK_ACTIONS if each == sent.text("do")), None)
    try:
        if action is None or not slugs:
            raise StateConflict("Choose resources, then an action.")
        outcomes = await deps.services.moderation.bulk(action, slugs, posted.admin.actor, sent.text("reason"))
    except ApplicationError as error:
        return await render_worklist(request, deps, posted.admin, position, error=error)
    return await render_worklist(request, deps, posted.admin, position, outcomes=outcomes)


@router.post("/{name}/{slug}")
async def decide(request: Request, deps: Deps, posted: AdminPosted, name: str, slug: SlugPath) -> Response:
    """Do something with a resource, then show the next one or, if it was refused, why."""
    position = WorklistPosition(find_list(name), slug)
    action, note = ACTIONS.get(posted.sent.text("do"), (None, ""))
    if action is None:
        raise ResourceMissing("action")
    try:
        await action(DecisionForm(deps.services, posted.admin.actor, slug, posted.sent))
    except ResourceMissing:
        raise
    except ApplicationError as error:
        return await render_worklist(request, deps, posted.admin, position, error=error)
    return redirect_after(request, position, note, posted.sent.text("next"))


def redirect_after(request: Request, position: WorklistPosition, note: str, following: str) -> Response:
    """Redirect to the next resource of the queue after a decision, else to the same one."""
    decided = note in {"approved", "rejected", "deleted"}
    query = {"note": note} | ({"undo": position.slug} if note in {"approved", "rejected", "unpublished"} else {})
    return redirect_to_moderation(request, position.name, following if decided else position.slug, urlencode(query))
