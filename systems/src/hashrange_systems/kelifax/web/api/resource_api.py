"""The routes of the JSON API: lists by cursor, one resource, search, logos, and submission in the original's form."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request

from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.model.content import FILTER_FIELDS
from hashrange_systems.kelifax.model.slug import decode_slug
from hashrange_systems.kelifax.search.query import MAX_OFFSET, SearchQuery, Sort
from hashrange_systems.kelifax.service.directory import Filters
from hashrange_systems.kelifax.web.api.api_models import (
    EXAMPLE_FORM,
    FORM,
    FoundResource,
    FoundResources,
    ListedResourceModel,
    LogoModel,
    ResourceModel,
    ResourcePage,
    SubmittedModel,
)
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput
from hashrange_systems.shared.web.pages import get_dependencies
from hashrange_systems.shared.web.problem import Problem
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.sign_in_redirect import find_client_network

DEFAULT_SIZE, MAX_SIZE = 10, 50  # of a page, as the original has them
MAX_FORM = 256 * 1024  # bytes of a submission; a logo has its own limit
REFUSED: dict[int | str, dict[str, Any]] = {400: {"model": Problem}, 409: {"model": Problem}, 429: {"model": Problem}}
MISSING: dict[int | str, dict[str, Any]] = {404: {"model": Problem}}
PROOF_HELP = "The solution of a challenge; without one, only a few submissions a day are taken from one network."
Proof = Annotated[str | None, Header(alias="X-Proof-Of-Work", description=PROOF_HELP)]
Different = Annotated[bool, Query(description="The resource is another one, although its name is taken.")]
FORM_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": FORM, "example": EXAMPLE_FORM}},
    }
}
PICTURE_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("image/png", "image/jpeg", "image/webp")
        },
    }
}


class NotJson(ApplicationError):
    """A body that is not JSON."""

    def __init__(self) -> None:
        super().__init__("The body is not JSON.")


class FormTooLong(ApplicationError):
    """A form that is longer than any valid one."""

    status = 413

    def __init__(self) -> None:
        super().__init__(f"The form is longer than {MAX_FORM} bytes.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDependencies:
    """What the handlers of the API need."""

    services: Application
    base_url: str
    limit: RateLimit

    def find_client(self, request: Request) -> str:
        """Return the network address of a request that stores something, and count it."""
        client = find_client_network(request)
        self.limit.consume(client)
        return client


ApiDeps = Annotated[ApiDependencies, Depends(get_dependencies)]


async def read_choices(**given: str | None) -> dict[str, str]:
    """Return the words of the filters that are given, by attribute; raise InvalidInput for one that there is not."""
    wrong = [
        FieldError(each.name, f"must be one of {', '.join(each.kind.options)}")
        for each in FILTER_FIELDS
        if given[each.attribute] and given[each.attribute] not in each.kind.options
    ]
    if wrong:
        raise InvalidInput(wrong)
    return {name: word for name, word in given.items() if word}


read_choices.__signature__ = Signature(  # type: ignore[attr-defined]  # FastAPI reads it: a parameter for each filter
    [
        Parameter(
            each.attribute,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None, Query(alias=each.name, description=f"One of {', '.join(each.kind.options)}.")
            ],
        )
        for each in FILTER_FIELDS
    ]
)
Choices = Annotated[dict[str, str], Depends(read_choices)]

router = APIRouter()


@router.get("/resources", responses=REFUSED)
async def list_resources(
    deps: ApiDeps,
    choices: Choices,
    category: str | None = None,
    tag: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    sort: Annotated[str, Query(pattern="^(newest|name|popular)$")] = "newest",
    limit: Annotated[int, Query(ge=1, le=MAX_SIZE)] = DEFAULT_SIZE,
    after: Annotated[str | None, Query(max_length=4000)] = None,
) -> ResourcePage:
    """List published resources, newest first: the filters combine, and a cursor continues the list."""
    chosen: Any = sort
    filters = Filters(
        category=None if category == "all" else category, tags=tuple(tag[:8]), choices=choices, sort=chosen
    )
    page = await deps.services.directory.browse(filters, limit, after)
    shown = [ListedResourceModel.model_validate(entry.to_json()) for entry in page.entries]
    return ResourcePage(resources=shown, cursor=page.cursor)


@router.get("/resources/{slug:path}", responses=MISSING, response_model_exclude_none=True)
async def get_resource(deps: ApiDeps, slug: str) -> ResourceModel:
    """Return a published resource, also by a former slug; one that is no safe segment is `~` and its base64url."""
    found = await deps.services.directory.find(decode_slug(slug))
    return ResourceModel(**found.to_json())


@router.post("/resources", status_code=201, responses=REFUSED, openapi_extra=FORM_SCHEMA)
async def submit_resource(
    deps: ApiDeps,
    request: Request,
    proof: Proof = None,
    different: Different = False,
) -> SubmittedModel:
    """Submit a resource, in the form of the original system. All invalid fields are named at once."""
    client = deps.find_client(request)
    body = await request.body()
    if len(body) > MAX_FORM:
        raise FormTooLong
    try:
        form = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise NotJson from None
    receipt = await deps.services.submissions.submit(form, client, proof, different=different)
    return SubmittedModel(
        resource_slug=receipt.slug,
        submission_id=receipt.submission_id,
        resource_status=receipt.state,
        status_url=f"{deps.base_url}/status/{receipt.token}",
    )


@router.get("/challenge")
async def get_challenge(deps: ApiDeps) -> dict[str, Any]:
    """Return a challenge for a proof of work (ALTCHA)."""
    return deps.services.proofs.make_challenge()


@router.post("/logos", status_code=201, responses=REFUSED, openapi_extra=PICTURE_SCHEMA)
async def upload_logo(deps: ApiDeps, request: Request) -> LogoModel:
    """Store a PNG, JPEG or WebP picture; the body is the file."""
    client = deps.find_client(request)
    return LogoModel(logo_image=(await deps.services.logos.upload(await request.body(), client)).name)


@router.get("/search")
async def search_resources(
    deps: ApiDeps,
    choices: Choices,
    q: Annotated[str, Query(max_length=200)] = "",
    category: str = "",
    tag: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    sort: Annotated[str, Query(pattern="^(relevance|newest|name|popular)$")] = "relevance",
    limit: Annotated[int, Query(ge=1, le=MAX_SIZE)] = DEFAULT_SIZE,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
) -> FoundResources:
    """Find resources that have all words; those with another spelling come last."""
    chosen: Sort = sort  # type: ignore[assignment]  # the pattern allows these only
    query = SearchQuery(
        text=q, category=category, tags=tuple(tag[:8]), choices=choices, sort=chosen, limit=limit, offset=offset
    )
    found = await deps.services.search.find(query)
    shown = [FoundResource.model_validate({**hit.document.to_json(), "typo": hit.typo}) for hit in found.hits]
    return FoundResources(resources=shown, total=found.total, by=found.by)


@router.get("/categories")
async def list_categories(deps: ApiDeps) -> dict[str, int]:
    """Return the categories with their numbers of resources."""
    return (await deps.services.directory.facets()).categories
