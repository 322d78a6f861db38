"""Logos: takes a picture in, gives out what the public may see, and deletes what nothing uses.

A logo is named by the hash of its content, so that equal ones are stored once and its URL can be cached for ever. It is
public while an approved resource uses it. One that no resource and no open suggestion uses three days later is deleted;
a submission with it starts the three days again, so that they do not end before it is confirmed.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hashrange import Clock, Conflict, Unreadable
from hashrange_systems.kelifax.logos.image import MAX_BYTES, convert_logo
from hashrange_systems.kelifax.logos.logo_schema import (
    DeletingLogo,
    DueLogo,
    KeptLogo,
    LogoRecords,
    LogoUse,
    SuggestedLogo,
)
from hashrange_systems.kelifax.logos.object_store import LogoStore
from hashrange_systems.kelifax.record_item import OpenSuggestion
from hashrange_systems.kelifax.schema import Approved, Kelifax, Resource
from hashrange_systems.kelifax.service.resource_read import find_stored
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import FieldError, InvalidInput, TooSoon
from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.sandbox.sandbox import Sandbox

NAME = re.compile(r"[0-9a-f]{40}\.png", re.ASCII)
TEMPORARY = timedelta(days=3)  # how long an unused logo is kept: longer than the confirmation of a submission takes
LOOK_AGAIN = timedelta(days=30)  # at a logo that is used
LEASE = timedelta(minutes=5)  # of a deletion
PUBLIC_FOR_S = 60  # seconds for which a logo that was public is taken to be so
MAX_KNOWN = 1000
SHARDS = ("0", "1", "2", "3")
FIELD = "resource.logoImage"


@dataclass(frozen=True, slots=True)
class StoredLogo:
    """A logo that was taken in."""

    name: str
    content: bytes = field(repr=False)


@dataclass(slots=True)
class Logos:
    """Takes in, gives out and deletes logos."""

    db: LogoRecords
    resources: Kelifax
    store: LogoStore
    sandbox: Sandbox
    clock: Clock
    _public_until: dict[str, int] = field(default_factory=dict)

    async def upload(self, content: bytes, tenant: str = "") -> StoredLogo:
        """Decode a picture in the sandbox and store it for three days; raise InvalidInput with the rule it breaks."""
        if not content or len(content) > MAX_BYTES:
            raise _refuse("must be a picture" if not content else f"must be at most {MAX_BYTES // 1024 // 1024} MB")
        try:
            converted = await self.sandbox.run(convert_logo, content, tenant=tenant)
        except SandboxError as error:
            if error.reason in (Reason.BUSY, Reason.CLOSED):
                raise TooSoon("Many pictures are being read at the moment: try again in a minute.") from error
            raise _refuse("takes too much time or memory to read: send a simpler picture") from error
        if converted.problem:
            raise _refuse(converted.problem)
        name = f"{hashlib.sha256(converted.content).hexdigest()[:40]}.png"
        await self._keep(name, converted.content)
        return StoredLogo(name, converted.content)

    async def _keep(self, name: str, content: bytes) -> None:
        for pause in (0.2, 1.0, 3.0):
            await self.store.put(name, content)
            try:
                await self.db.keep(name, uploaded_at=self._now(), due_at=self._now() + TEMPORARY, kept="kept")
            except Conflict:  # the same one is being deleted
                await asyncio.sleep(pause)
            else:
                return
        raise TooSoon("This picture is just being deleted: try again in a minute.")

    async def exists(self, name: str) -> bool:
        """Return whether a logo was uploaded and is kept."""
        return bool(NAME.fullmatch(name)) and isinstance(await self.db.logo(name), KeptLogo)

    async def renew(self, name: str) -> bool:
        """Keep a logo for another three days, which a submission uses; return whether it was uploaded and is kept."""
        logo = await self.db.logo(name).consistent() if NAME.fullmatch(name) else None
        if not isinstance(logo, KeptLogo):
            return False
        until = self._now() + TEMPORARY
        if logo.due_at < until:
            try:
                await self.db.look_later(logo, due_at=until)
            except Conflict:  # its deletion has begun
                return False
        return True

    async def record_use(self, name: str, slug: str) -> None:
        """Record that a resource uses a logo, before the stream says so: it is public as soon as the resource is."""
        if NAME.fullmatch(name):
            await self.db.put(LogoUse(name=name, slug=slug))

    async def record_suggestion(self, name: str, slug: str, suggestion_id: str) -> None:
        """Record that a suggested edit has a logo, so that it is kept until a moderator decides."""
        if NAME.fullmatch(name):
            await self.db.put(SuggestedLogo(name=name, suggestion_id=suggestion_id, slug=slug))

    async def read(self, name: str) -> bytes | None:
        """Return the content of a logo, for those who may see pending ones."""
        return await self.store.get(name) if NAME.fullmatch(name) else None

    async def read_public(self, name: str) -> bytes | None:
        """Return the content of a logo that an approved resource uses; None for any other."""
        if not NAME.fullmatch(name):
            return None
        now = self.clock.millis()
        if self._public_until.get(name, 0) <= now:
            if not await self._is_public(name):
                return None
            if len(self._public_until) >= MAX_KNOWN:
                self._public_until.clear()
            self._public_until[name] = now + PUBLIC_FOR_S * 1000
        return await self.store.get(name)

    async def _is_public(self, name: str) -> bool:
        async for use in self.db.uses(name):
            if await self._is_shown_by(name, use.slug):
                return True
        return False

    async def _is_shown_by(self, name: str, slug: str) -> bool:
        """Return whether an approved resource, readable or damaged, has this logo."""
        try:
            resource = await self.resources.published(slug)
        except Unreadable as error:
            stored = {attribute: error.raw.get(attribute) for attribute in ("resourceStatus", "logoImage")}
            return stored == {"resourceStatus": {"S": "approved"}, "logoImage": {"S": name}}
        return isinstance(resource, Approved) and resource.logo_image == name

    # ── deletion ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def sweep(self) -> int:
        """Delete the logos that are due and that no resource uses; return their number."""
        deleted = 0
        for shard in SHARDS:
            async for due in self.db.due(shard, due_at=self._now()):
                deleted += await self._look_at(due)
        return deleted

    async def _look_at(self, due: DueLogo) -> bool:
        logo = await self.db.logo(due.name)
        if logo is None:
            return False
        try:
            if isinstance(logo, KeptLogo):
                if await self._is_used(logo.name):
                    await self.db.look_later(logo, due_at=self._now() + LOOK_AGAIN)
                    return False
                logo = await self.db.begin_deletion(logo, seen=logo.due_at, due_at=self._now() + LEASE)
        except Conflict:
            return False  # uploaded again meanwhile
        return await self._delete(logo)

    async def _is_used(self, name: str) -> bool:
        """Return whether a resource or an open suggestion has a logo; forget what was recorded and is not so."""
        used = False
        async for use in self.db.uses(name):
            if holds_logo(await find_stored(self.resources, use.slug), name):
                used = True
            else:
                await self.db.drop_use(name, use.slug)
        async for each in self.db.suggested(name):
            suggestion = await self.resources.suggestion(each.slug, each.suggestion_id)
            if isinstance(suggestion, OpenSuggestion) and suggestion.changes.get("logoImage") == name:
                used = True
            else:
                await self.db.drop_suggested(name, each.suggestion_id)
        return used

    async def _delete(self, logo: DeletingLogo) -> bool:
        await self.store.delete(logo.name)
        self._public_until.pop(logo.name, None)
        try:
            await self.db.finish_deletion(logo.name, logo_state="deleting")
        except Conflict:
            return False  # another process was faster
        return True

    def _now(self) -> datetime:
        return from_ms(self.clock.millis())


def holds_logo(resource: Resource | DamagedItem | None, name: str) -> bool:
    """Return whether a resource in any state, readable or damaged, has a logo."""
    if isinstance(resource, DamagedItem):
        return resource.text("logoImage") == name
    return resource is not None and resource.logo_image == name


def _refuse(rule: str) -> InvalidInput:
    return InvalidInput([FieldError(FIELD, rule)])
