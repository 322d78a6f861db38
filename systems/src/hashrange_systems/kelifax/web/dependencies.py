"""FastAPI dependencies of the pages: services, renderer, the visitor with the posted form, the signed-in admin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import AfterValidator
from starlette.responses import Response

from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.model.slug import decode_slug
from hashrange_systems.kelifax.web.page_renderer import PageRenderer
from hashrange_systems.kelifax.web.visitor import SignedInAdmin, Visitor, Visitors
from hashrange_systems.shared.errors import FormRejected
from hashrange_systems.shared.web.pages import PageDependencies, get_dependencies
from hashrange_systems.shared.web.posted_form import PostedForm
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.sign_in_redirect import find_client_network


@dataclass(frozen=True, slots=True, kw_only=True)
class KelifaxPages(PageDependencies[Application, PageRenderer]):
    """What the handlers of the pages need."""

    visitors: Visitors
    post_limit: RateLimit  # by the client's network
    sign_in_limit: RateLimit

    def show(self, request: Request, visitor: Visitor, template: str, status: int = 200, **context: Any) -> Response:
        """Return a page with forms of a visitor."""
        page = self.renderer.render(request, template, status, form_token=visitor.form_token, **context)
        return self.visitors.remember(request, page, visitor)


@dataclass(frozen=True, slots=True)
class VisitorPost:
    """A form that a visitor posted, with the network address that it comes from."""

    visitor: Visitor
    sent: PostedForm
    client: str


@dataclass(frozen=True, slots=True)
class AdminPost:
    """A form that a signed-in admin posted."""

    admin: SignedInAdmin
    sent: PostedForm


Deps = Annotated[KelifaxPages, Depends(get_dependencies)]


async def recognise_visitor(request: Request, deps: Deps) -> Visitor:
    """Return the visitor."""
    return deps.visitors.recognise(request)


async def read_visitor_post(request: Request, deps: Deps) -> VisitorPost:
    """Return the form of a visitor; raise FormRejected if it comes from another site, or from a program."""
    client = find_client_network(request)
    deps.post_limit.consume(client)
    visitor = deps.visitors.recognise(request)
    sent = await deps.visitors.read_form(request, visitor)
    if sent.text("website"):  # the field that people do not see
        raise FormRejected
    return VisitorPost(visitor, sent, client)


async def read_link_post(request: Request, deps: Deps) -> PostedForm:
    """Return a form that the token of a mailed link authorises."""
    deps.post_limit.consume(find_client_network(request))
    return await deps.visitors.read_open_form(request)


async def require_admin(request: Request, deps: Deps) -> SignedInAdmin:
    """Return the signed-in admin."""
    return await deps.visitors.authenticate(request)


async def read_admin_post(request: Request, deps: Deps) -> AdminPost:
    """Return the form of an admin."""
    admin = await deps.visitors.authenticate(request)
    return AdminPost(admin, await deps.visitors.read_admin_form(request, admin))


SlugPath = Annotated[str, AfterValidator(decode_slug)]  # a slug in a path, as `encode_slug` writes it
Guest = Annotated[Visitor, Depends(recognise_visitor)]
Posted = Annotated[VisitorPost, Depends(read_visitor_post)]
LinkPosted = Annotated[PostedForm, Depends(read_link_post)]
Admin = Annotated[SignedInAdmin, Depends(require_admin)]
AdminPosted = Annotated[AdminPost, Depends(read_admin_post)]
