"""Finds resources that a submission may duplicate: the same URL, the same name, a similar name, the same host.

`Duplicates.look_up(name, url)` answers for the public: published resources, and that a URL or name is taken.
`look_up(..., moderator=True)` shows waiting ones too. Names are compared in memory, with a copy of at most a minute.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from rapidfuzz import fuzz, process, utils

from hashrange import Clock
from hashrange_systems.kelifax.errors import ExistingEntry
from hashrange_systems.kelifax.model.slug import make_slug
from hashrange_systems.kelifax.model.web_address import find_host, normalise_url
from hashrange_systems.kelifax.schema import AnyResource, Kelifax
from hashrange_systems.kelifax.service.resource_read import find_stored
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem

REFRESH_MS = 60_000
MAX_NAMES = 200_000
MIN_SCORE = 88
MAX_FOUND = 5
SHARED_HOSTS = frozenset(
    {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "npmjs.com", "pypi.org", "chromewebstore.google.com",
     "apps.apple.com", "play.google.com", "marketplace.visualstudio.com", "youtube.com", "medium.com", "notion.site"}
)  # fmt: skip

Likeness = Literal["same URL", "same name", "similar name", "same host"]
STATUS_WORDS = {"pending": "waiting", "approved": "published", "rejected": "rejected"}


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A resource that may be the same."""

    likeness: Likeness
    entry: ExistingEntry


@dataclass(frozen=True, slots=True)
class KnownName:
    """What is compared of a resource."""

    slug: str
    name: str
    host: str
    status: str


@dataclass(slots=True)
class Duplicates:
    """Compares submissions with what is there."""

    db: Kelifax
    clock: Clock
    _known: list[KnownName] = field(default_factory=list)
    _read_at: int | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def look_up(self, name: str, url: str, own: str = "", *, moderator: bool = False) -> list[Duplicate]:
        """Return what may be the same as a resource of this name and URL, most alike first; `own` is left out."""
        certain: list[Duplicate] = []
        if url and (taken := await self.find_by_url(url)):
            certain.append(Duplicate("same URL", taken))
        if taken := await self.find_by_slug(make_slug(name, "none")):
            certain.append(Duplicate("same name", taken))
        likely = await self._find_similar(name, url, moderator=moderator)
        found: dict[str, Duplicate] = {}
        for duplicate in [*certain, *likely]:
            found.setdefault(duplicate.entry.slug, duplicate)
        found.pop(own, None)
        return list(found.values())

    async def find_by_url(self, url: str) -> ExistingEntry | None:
        """Return the resource that has claimed a URL, or the submission that reserves it."""
        claim = await self.db.claim(normalise_url(url)).consistent()
        if claim is None:
            return None
        if claim.reserved_until is not None:
            expired = claim.reserved_until.timestamp() * 1000 < self.clock.millis()
            return None if expired else ExistingEntry(claim.claimed_by, "another submission", "reserved")
        return await self.find_by_slug(claim.claimed_by)

    async def find_by_slug(self, slug: str) -> ExistingEntry | None:
        """Return the resource of a slug or an alias, or the submission that reserves it."""
        resource = await find_stored(self.db, slug)
        if isinstance(resource, DamagedItem):
            return ExistingEntry(slug, slug, STATUS_WORDS.get(resource.status, "damaged"))
        if resource is not None:
            return name_entry(resource)
        if alias := await self.db.alias(slug).consistent():
            return ExistingEntry(alias.slug, slug, "published")
        if await self.db.unconfirmed(slug).consistent():
            return ExistingEntry(slug, "another submission", "reserved")
        return None

    async def _find_similar(self, name: str, url: str, *, moderator: bool) -> list[Duplicate]:
        known = await self._read_names()
        host = find_host(url)
        shown = [each for each in known if moderator or each.status == "published"]
        return await asyncio.to_thread(compare_names, shown, name, "" if host in SHARED_HOSTS else host)

    async def _read_names(self) -> list[KnownName]:
        async with self._lock:
            now = self.clock.millis()
            if self._read_at is None or not 0 <= now - self._read_at < REFRESH_MS:
                self._known, self._read_at = await self._load(), now
            return self._known

    async def _load(self) -> list[KnownName]:
        known = [
            KnownName(item.resource_slug, item.resource_name, find_host(item.resource_url), "published")
            async for item in self.db.feed().skip_unreadable().limit(MAX_NAMES)
        ]
        waiting = [
            KnownName(item.resource_slug, item.resource_name, find_host(item.resource_url), "waiting")
            async for item in self.db.pending().skip_unreadable().limit(MAX_NAMES)
        ]
        return known + waiting


def compare_names(known: list[KnownName], name: str, host: str) -> list[Duplicate]:
    """Return the entries with a similar name, then those with the same host."""
    ranked = process.extract(
        name,
        [each.name for each in known],
        scorer=fuzz.token_sort_ratio,
        processor=utils.default_process,
        score_cutoff=MIN_SCORE,
        limit=MAX_FOUND,
    )
    similar = [Duplicate("similar name", show_known(known[at])) for _, _, at in ranked]
    hosted = [each for each in known if host and each.host == host][:MAX_FOUND]
    return [*similar, *(Duplicate("same host", show_known(each)) for each in hosted)]


def show_known(known: KnownName) -> ExistingEntry:
    """Return what is shown of a compared resource."""
    return ExistingEntry(known.slug, known.name, known.status)


def name_entry(resource: AnyResource) -> ExistingEntry:
    """Return what a submitter may know of a resource that is in the way."""
    status = STATUS_WORDS.get(resource.resource_status, resource.resource_status)
    return ExistingEntry(resource.resource_slug, resource.resource_name, status)
