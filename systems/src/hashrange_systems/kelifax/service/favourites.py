"""Favourites and collections of a visitor, who is a random id in a signed cookie: no account, no personal data.

- `add(visitor, slug)`, `remove(visitor, slug)`, `list_favourites(visitor)`: slugs, latest first.
- `create_collection(visitor, title)`, `list_collections`, `change_collection`, `delete_collection`: named lists.
- `find_shared(collection_id)`: a collection that its visitor shares, for everybody who has its id.

`Directory.read_many(slugs)` returns what of it is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.kelifax.model.field_rule import Checker
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.visitor_item import Collection, Favourite, SharedCollection
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import EditConflict, FieldError, InvalidInput, LimitReached, ResourceMissing
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id

MAX_FAVOURITES, MAX_COLLECTIONS, MAX_ENTRIES = 500, 20, 100


@dataclass(frozen=True, slots=True)
class Favourites:
    """What visitors keep."""

    db: Kelifax
    clock: Clock
    make_id: MakeId = make_id

    async def add(self, visitor: str, slug: str) -> None:
        """Keep a resource."""
        if not is_stored_slug(slug):
            raise ResourceMissing("resource")
        if len(await self.db.favourites(visitor).consistent()) >= MAX_FAVOURITES:
            raise LimitReached(f"There may be {MAX_FAVOURITES} favourites: remove one first.")
        await self.db.put(Favourite(visitor=visitor, slug=slug, created_at=to_second(self.clock.millis())))

    async def remove(self, visitor: str, slug: str) -> None:
        """Forget a resource."""
        await self.db.drop_favourite(visitor, slug)

    async def list_favourites(self, visitor: str) -> list[str]:
        """Return the slugs that a visitor keeps, latest first."""
        kept = await self.db.favourites(visitor).consistent()
        return [each.slug for each in sorted(kept, key=lambda each: each.created_at, reverse=True)]

    # ── collections ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def create_collection(self, visitor: str, title: str) -> Collection:
        """Start a collection."""
        if len(await self.db.collections(visitor).consistent()) >= MAX_COLLECTIONS:
            raise LimitReached(f"There may be {MAX_COLLECTIONS} collections: delete one first.")
        now = to_second(self.clock.millis())
        new = Collection(
            visitor=visitor, collection_id=self.make_id(), title=check_title(title), slugs=[], created_at=now
        )
        return await self.db.create(new)

    async def list_collections(self, visitor: str) -> Sequence[Collection]:
        """Return the collections of a visitor, oldest first."""
        return sorted(await self.db.collections(visitor).consistent(), key=lambda each: each.created_at)

    async def find_collection(self, visitor: str, collection_id: str) -> Collection:
        """Return a collection of this visitor; raise ResourceMissing, also for one of another visitor."""
        known = is_valid_id(collection_id)
        found = await self.db.collection(visitor, collection_id).consistent() if known else None
        if found is None:
            raise ResourceMissing("collection")
        return found

    async def collect(self, visitor: str, collection_id: str, slug: str) -> Collection:
        """Add a resource to a collection."""
        found = await self.find_collection(visitor, collection_id)
        if not is_stored_slug(slug):
            raise ResourceMissing("resource")
        if slug in found.slugs:
            return found
        if len(found.slugs) >= MAX_ENTRIES:
            raise LimitReached(f"A collection may have {MAX_ENTRIES} entries: remove one first.")
        return await self._change_slugs(found, [*found.slugs, slug])

    async def drop(self, visitor: str, collection_id: str, slug: str) -> Collection:
        """Remove a resource from a collection."""
        found = await self.find_collection(visitor, collection_id)
        return await self._change_slugs(found, [each for each in found.slugs if each != slug])

    async def _change_slugs(self, found: Collection, slugs: list[str]) -> Collection:
        try:
            return await self.db.change_collection(
                found.visitor, found.collection_id, seen=list(found.slugs), slugs=slugs
            )
        except Conflict:
            raise EditConflict("collection") from None

    async def rename(self, visitor: str, collection_id: str, title: str) -> Collection:
        """Give a collection another title."""
        found = await self.find_collection(visitor, collection_id)
        text, seen = check_title(title), list(found.slugs)
        try:
            return await self.db.change_collection(visitor, collection_id, seen=seen, title=text)
        except Conflict:
            raise EditConflict("collection") from None

    async def share(self, visitor: str, collection_id: str, *, shared: bool) -> Collection:
        """Show a collection to everybody who has its id, or to nobody."""
        found = await self.find_collection(visitor, collection_id)
        pointer = SharedCollection(collection_id=collection_id, visitor=visitor, expires_at=found.expires_at)
        change = self.db.change_collection(visitor, collection_id, seen=list(found.slugs), shared=shared)
        point: Write[Any] = self.db.put(pointer) if shared else self.db.drop_shared(collection_id)
        try:
            await self.db.transact(change, point).unread()
        except Conflict:
            raise EditConflict("collection") from None
        return await self.find_collection(visitor, collection_id)

    async def find_shared(self, collection_id: str) -> Collection:
        """Return a shared collection; raise ResourceMissing."""
        pointer = await self.db.shared_collection(collection_id) if is_valid_id(collection_id) else None
        found = await self.db.collection(pointer.visitor, collection_id) if pointer else None
        if found is None or not found.shared:
            raise ResourceMissing("collection")
        return found

    async def delete_collection(self, visitor: str, collection_id: str) -> None:
        """Delete a collection."""
        await self.find_collection(visitor, collection_id)
        await self.db.drop_shared(collection_id)
        await self.db.drop_collection(visitor, collection_id)


def check_title(title: str) -> str:
    """Return a title that can be stored; raise InvalidInput."""
    check = Checker()
    text = check.text({"title": title}, "title", range(1, 81))
    if check.errors:
        raise InvalidInput([FieldError(each.field, each.message) for each in check.errors])
    return text
