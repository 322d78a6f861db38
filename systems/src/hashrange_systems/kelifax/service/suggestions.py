"""Suggested edits of published resources: anybody may suggest, a moderator sees the difference and accepts or declines.

- `suggest(slug, fields, client, note, author)`: the fields that should change, under the names of the form.
- `waiting(size, after)`: what waits, oldest first. `compare(suggestion)`: the difference to the resource as it is now.
- `accept(slug, suggestion_id, actor)`, `decline(...)`: of two moderators one wins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Conflict, Write
from hashrange_systems.kelifax.errors import DecisionTaken
from hashrange_systems.kelifax.model.content import read_content
from hashrange_systems.kelifax.model.content_diff import FieldDifference, diff_fields
from hashrange_systems.kelifax.model.draft import apply_changes, find_changes
from hashrange_systems.kelifax.model.slug import is_stored_slug
from hashrange_systems.kelifax.record_item import DecidedSuggestion, OpenSuggestion, PersonLink
from hashrange_systems.kelifax.schema import Kelifax, Published
from hashrange_systems.kelifax.service.actor import Actor
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.resource_read import find_resource
from hashrange_systems.shared.email_address import validate_email
from hashrange_systems.shared.epoch import to_second
from hashrange_systems.shared.errors import FieldError, InvalidInput, ResourceMissing, StateConflict
from hashrange_systems.shared.identifier import MakeId, is_valid_id, make_id
from hashrange_systems.shared.text import clean

PER_CLIENT = 20  # suggestions on a day
MAX_NOTE = 500

KeepLogo = Callable[[str, str, str], Awaitable[None]]  # name, slug and id of the suggestion


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Suggested edits."""

    db: Kelifax
    clock: Clock
    quotas: Quotas
    moderation: Moderation
    keep_logo: KeepLogo | None = None
    make_id: MakeId = make_id

    async def suggest(
        self, slug: str, fields: Mapping[str, Any], client: str, note: str = "", author: str = ""
    ) -> OpenSuggestion:
        """Store a suggestion; raise InvalidInput if a field is wrong or nothing differs."""
        resource = await find_resource(self.db, slug)
        if not isinstance(resource, Published):
            raise ResourceMissing("resource")
        address = validate_email(author, "author") if author else None
        current = read_content(resource).to_fields()
        content = apply_changes(read_content(resource), fields)
        await self.moderation.require_logo(resource, content)
        changes = find_changes(current, content.to_fields())
        if not changes:
            raise InvalidInput([FieldError("changes", "must differ from what is listed")])
        await self.quotas.use("suggestion", client, PER_CLIENT)
        now = to_second(self.clock.millis())
        suggestion = OpenSuggestion(
            slug=slug,
            suggestion_id=self.make_id(),
            created_at=now,
            changes=changes,
            base={name: current[name] for name in changes},
            note=clean(note, MAX_NOTE) or None,
            author=address,
        )
        if changes.get("logoImage") and self.keep_logo is not None:
            await self.keep_logo(changes["logoImage"], slug, suggestion.suggestion_id)
        writes: list[Write[Any]] = [self.db.create(suggestion)]
        if address:
            reference = f"{slug}/{suggestion.suggestion_id}"
            link = PersonLink(address=address, kind="suggestion", reference=reference, created_at=now)
            writes.append(self.db.put(link))
        await self.db.transact_all(writes).unread()
        return suggestion

    async def waiting(self, size: int = 20, after: str | None = None) -> tuple[Sequence[OpenSuggestion], str | None]:
        """Return a page of what waits, oldest first, and the cursor of the next."""
        page = await self.db.waiting_suggestions().whole().page(size, after=after)
        return page.items, page.cursor

    async def find(self, slug: str, suggestion_id: str) -> OpenSuggestion | DecidedSuggestion:
        """Return a suggestion; raise ResourceMissing."""
        known = is_stored_slug(slug) and is_valid_id(suggestion_id)
        found = await self.db.suggestion(slug, suggestion_id).consistent() if known else None
        if found is None:
            raise ResourceMissing("suggestion")
        return found

    async def compare(self, suggestion: OpenSuggestion | DecidedSuggestion) -> list[FieldDifference]:
        """Return what a suggestion would change now; a field that changed meanwhile says so."""
        current = read_content(await find_resource(self.db, suggestion.slug)).to_fields()
        return diff_fields(current, suggestion.changes, suggestion.base)

    async def accept(self, slug: str, suggestion_id: str, actor: Actor) -> None:
        """Apply a suggestion; raise StateConflict if a field it changes was changed meanwhile."""
        suggestion = await self._find_open(slug, suggestion_id)
        stale = [each.field for each in await self.compare(suggestion) if each.stale]
        if stale:
            raise StateConflict(f"Changed since it was suggested: {', '.join(stale)}. Edit the resource instead.")
        decided = self.db.decide_suggestion(
            suggestion, outcome="accepted", decided_by=actor.name, decided_at=to_second(self.clock.millis())
        )
        await self.moderation.edit(slug, suggestion.changes, actor, [decided])

    async def decline(self, slug: str, suggestion_id: str, actor: Actor) -> None:
        """Decline a suggestion."""
        suggestion = await self._find_open(slug, suggestion_id)
        now = to_second(self.clock.millis())
        try:
            await self.db.decide_suggestion(suggestion, outcome="declined", decided_by=actor.name, decided_at=now)
        except Conflict:
            raise DecisionTaken("decided") from None

    async def _find_open(self, slug: str, suggestion_id: str) -> OpenSuggestion:
        found = await self.find(slug, suggestion_id)
        if not isinstance(found, OpenSuggestion):
            raise DecisionTaken(found.outcome, found.decided_by)
        return found
