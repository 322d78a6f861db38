"""What visitors keep and subscribe to: favourites, collections, the digest; and what is stored about them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.kelifax.model.content import CATEGORIES
from hashrange_systems.kelifax.model.public_entry import ListedResource
from hashrange_systems.kelifax.web.dependencies import Deps, Guest, LinkPosted, Posted, SlugPath
from hashrange_systems.kelifax.web.resource_page import explain
from hashrange_systems.shared.errors import ApplicationError, ResourceMissing
from hashrange_systems.shared.web.same_origin import is_loopback
from hashrange_systems.shared.web.sign_in_redirect import find_client_address
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(include_in_schema=False)


# ── favourites and collections ───────────────────────────────────────────────────────────────────────────────────────
@router.get("/favourites")
async def show_favourites(request: Request, deps: Deps, visitor: Guest) -> Response:
    """Show what a visitor keeps, and the collections."""
    favourites = deps.services.favourites
    known = not visitor.fresh
    slugs = await favourites.list_favourites(visitor.id) if known else []
    collections = await favourites.list_collections(visitor.id) if known else []
    return deps.show(
        request,
        visitor,
        "favourites.html",
        entries=await read_published(deps, slugs),
        collections=collections,
    )


async def read_published(deps: Deps, slugs: list[str]) -> list[ListedResource]:
    """Return the resources of these slugs that are published, in this order."""
    found: list[ListedResource] = []
    for slug in slugs[:100]:
        try:
            found.append(await deps.services.directory.find(slug))
        except ResourceMissing:
            continue
    return found


@router.post("/favourites/{slug}/remove")
async def remove_favourite(request: Request, deps: Deps, posted: Posted, slug: SlugPath) -> Response:
    """Take a resource away from the favourites."""
    await deps.services.favourites.remove(posted.visitor.id, slug)
    return redirect_to(request, "/favourites", "dropped")


@router.post("/collections")
async def create_collection(request: Request, deps: Deps, posted: Posted) -> Response:
    """Start a collection."""
    created = await deps.services.favourites.create_collection(posted.visitor.id, posted.sent.text("title"))
    return redirect_to(request, f"/collections/{created.collection_id}")


@router.get("/collections/{collection_id}")
async def show_collection(request: Request, deps: Deps, visitor: Guest, collection_id: str) -> Response:
    """Show a collection to who made it, and a shared one to everybody."""
    favourites = deps.services.favourites
    own = True
    try:
        found = await favourites.find_collection(visitor.id, collection_id)
    except ResourceMissing:
        found, own = await favourites.find_shared(collection_id), False
    entries = await read_published(deps, list(found.slugs))
    return deps.show(request, visitor, "collection.html", collection=found, entries=entries, own=own)


@router.post("/collections/{collection_id}")
async def change_collection(request: Request, deps: Deps, posted: Posted, collection_id: str) -> Response:
    """Rename, share, unshare or delete a collection, or remove an entry: only who made it can."""
    favourites, visitor, sent = deps.services.favourites, posted.visitor.id, posted.sent
    match sent.text("do"):
        case "rename":
            await favourites.rename(visitor, collection_id, sent.text("title"))
        case "share" | "unshare":
            await favourites.share(visitor, collection_id, shared=sent.text("do") == "share")
        case "remove":
            await favourites.drop(visitor, collection_id, sent.text("slug"))
        case "delete":
            await favourites.delete_collection(visitor, collection_id)
            return redirect_to(request, "/favourites", "collection-deleted")
        case _:
            raise ResourceMissing("action")
    return redirect_to(request, f"/collections/{collection_id}", "collected")


# ── digest ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/digest")
async def show_digest(request: Request, deps: Deps, visitor: Guest) -> Response:
    """Show the form of the digest."""
    return deps.show(request, visitor, "digest.html", values={}, errors={}, error="", chosen=(), categories=CATEGORIES)


@router.post("/digest")
async def subscribe(request: Request, deps: Deps, posted: Posted) -> Response:
    """Ask an address whether it wants the digest; the answer never says whether it is subscribed."""
    values = {"email": posted.sent.text("email")}
    chosen = posted.sent.texts("categories")
    try:
        await deps.services.digests.subscribe(values["email"], chosen, posted.client)
    except ApplicationError as error:
        context = {"values": values, "chosen": chosen, "categories": CATEGORIES, **explain(error)}
        return deps.show(request, posted.visitor, "digest.html", error.status, **context)
    return redirect_to(request, "/digest", "digest-sent")


@router.get("/digest/confirm/{token}")
async def show_digest_confirmation(request: Request, deps: Deps, token: str) -> Response:
    """Show a button that starts the digest."""
    return deps.renderer.render(
        request,
        "confirm.html",
        title="Confirm the digest",
        text="Once a week you get what is new, if anything is. Each mail has a link that ends it.",
        action=f"/digest/confirm/{token}",
        button="Confirm",
    )


@router.post("/digest/confirm/{token}")
async def confirm_digest(request: Request, deps: Deps, _sent: LinkPosted, token: str) -> Response:
    """Start a subscription."""
    await deps.services.digests.confirm(token)
    return deps.renderer.render(
        request,
        "done.html",
        title="You are subscribed",
        text="The first digest comes in a week.",
        link="/",
        link_text="Go to the directory",
    )


@router.get("/digest/unsubscribe/{token}")
async def show_unsubscribe(request: Request, deps: Deps, token: str) -> Response:
    """Show a button that ends the digest: mail scanners open links."""
    return deps.renderer.render(
        request,
        "confirm.html",
        title="End the digest",
        text="One click, and your address is deleted.",
        action=f"/digest/unsubscribe/{token}",
        button="Unsubscribe",
    )


@router.post("/digest/unsubscribe/{token}")
async def unsubscribe(request: Request, deps: Deps, token: str) -> Response:
    """End a subscription: also by the one-click request of a mail program (RFC 8058)."""
    await deps.services.digests.unsubscribe(token)
    return deps.renderer.render(
        request,
        "done.html",
        title="You are unsubscribed",
        text="Your address is deleted.",
        link="/",
        link_text="Go to the directory",
    )


# ── texts and files ──────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/privacy")
async def show_privacy(request: Request, deps: Deps) -> Response:
    """Say what is stored about whom, and for how long."""
    return deps.renderer.render(request, "privacy.html")


@router.get("/logo/{name}")
async def show_logo(deps: Deps, name: str) -> Response:
    """Return the logo of an approved resource."""
    content = await deps.services.logos.read_public(name)
    if content is None:
        raise ResourceMissing("logo")
    headers = {
        "Cache-Control": "public, max-age=86400",
        "Content-Security-Policy": "default-src 'none'",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    return Response(content, media_type="image/png", headers=headers)


@router.get("/mailbox")
async def show_mailbox(request: Request, deps: Deps) -> Response:
    """Show the mails of the demo, to this machine only: their links are what a recipient alone has."""
    mailbox = deps.services.mailbox
    if mailbox is None or not is_loopback(find_client_address(request)):
        raise ResourceMissing("page")
    return deps.renderer.render(request, "mailbox.html", mails=mailbox.mails(""))
