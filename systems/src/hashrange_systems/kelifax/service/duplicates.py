"""Finds resources that a submission may duplicate: the same URL, the same name, a similar name, the same host.

`Duplicates.look_up(name, url)` answers for the public: published resources, and that a URL or name is taken.
`look_up(..., moderator=True)` shows waiting ones too. Names are compared in memory: new ones are added every minute,
and all are read again once an hour, in the background. What is found is read before it is shown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from rapidfuzz import fuzz, process, utils

from hashrange import Clock, HashrangeError
from hashrange_systems.kelifax.errors import ExistingEntry
from hashrange_systems.kelifax.model.slug import make_slug
from hashrange_systems.kelifax.model.web_address import find_host, normalise_url
from hashrange_systems.kelifax.schema import AnyResource, Kelifax, Listing, Pending
from hashrange_systems.kelifax.service.resource_read import find_stored
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem, read_all
from hashrange_systems.shared.epoch import EPOCH

log = logging.getLogger(__name__)

REFRESH_MS = 60_000
COMPLETE_MS = 3_600_000  # after which all names are read again
COMPARED_AT_ONCE = 2000
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
    url: str
    host: str
    status: str
    folded: str  # the name as it is compared


@dataclass(slots=True)
class Duplicates:
    """Compares submissions with what is there."""

    db: Kelifax
    clock: Clock
    _published: dict[str, KnownName] = field(default_factory=dict)
    _waiting: list[KnownName] = field(default_factory=list)
    _latest: datetime = EPOCH  # publication that was read
    _read_at: int | None = None
    _complete_at: int | None = None
    _task: asyncio.Task[None] | None = None
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
        found = await asyncio.to_thread(
            compare_names, known, name, "" if host in SHARED_HOSTS else host, moderator=moderator
        )
        return [current for each in found if (current := await self._confirm(each, moderator=moderator))]

    async def _confirm(self, duplicate: Duplicate, *, moderator: bool) -> Duplicate | None:
        """Return a duplicate as it is stored now; None if it is gone, or no longer public."""
        entry = await self.find_by_slug(duplicate.entry.slug)
        shown = entry is not None and (moderator or entry.status == "published")
        return replace(duplicate, entry=entry) if entry is not None and shown else None

    async def _read_names(self) -> list[KnownName]:
        """Return the names: what was published since the last call is added, everything is read again once an hour."""
        async with self._lock:
            now = self.clock.millis()
            if self._read_at is None:
                await self._read_all()
            elif not 0 <= now - self._read_at < REFRESH_MS:
                await self._read_new()
            if self._task is None and not 0 <= now - (self._complete_at or 0) < COMPLETE_MS:
                self._task = asyncio.create_task(self._read_again(), name="kelifax names")
            return [*self._published.values(), *self._waiting]

    async def _read_all(self) -> None:
        self._read_at = self._complete_at = self.clock.millis()
        published: dict[str, KnownName] = {}
        latest = EPOCH
        async for item in read_all(self.db.feed(), "published_at"):
            known = know(item, "published", self._published)
            published[known.slug] = known
            if not isinstance(item, DamagedItem):
                latest = max(latest, item.published_at)
            if len(published) == MAX_NAMES:
                break
        self._published, self._latest = published, latest
        self._waiting = [know(item, "waiting", {}) async for item in read_all(self.db.pending(), "created_at")]

    async def _read_new(self) -> None:
        self._read_at = self.clock.millis()
        since = self._latest - timedelta(seconds=1)  # times have whole seconds: another may follow in the same one
        async for item in read_all(self.db.published_since(since), "published_at"):
            known = know(item, "published", self._published)
            self._published[known.slug] = known
            if not isinstance(item, DamagedItem):
                self._latest = max(self._latest, item.published_at)
        self._waiting = [know(item, "waiting", {}) async for item in read_all(self.db.pending(), "created_at")]

    async def _read_again(self) -> None:
        """Read everything while the former names answer."""
        try:
            await self._read_all()
        except HashrangeError as error:
            log.warning("the names of all resources cannot be read", exc_info=error)
        finally:
            self._task = None


def know(item: Listing | Pending | DamagedItem, status: str, former: Mapping[str, KnownName]) -> KnownName:
    """Return what is compared of a resource; what was computed before is used again."""
    if isinstance(item, DamagedItem):
        name, url = item.text("resourceName") or item.resource_slug, item.text("resourceUrl")
    else:
        name, url = item.resource_name, item.resource_url
    known = former.get(item.resource_slug)
    if known is not None and (known.name, known.url) == (name, url):
        return known
    return KnownName(item.resource_slug, name, url, find_host(url), status, utils.default_process(name))


def compare_names(known: list[KnownName], name: str, host: str, *, moderator: bool = True) -> list[Duplicate]:
    """Return the entries with a similar name, then those with the same host; others only see published ones."""
    shown = known if moderator else [each for each in known if each.status == "published"]
    asked = utils.default_process(name)
    ranked: list[tuple[float, int]] = []
    for start in range(0, len(shown), COMPARED_AT_ONCE):  # other threads run between the slices
        part = [each.folded for each in shown[start : start + COMPARED_AT_ONCE]]
        found = process.extract(asked, part, scorer=fuzz.token_sort_ratio, score_cutoff=MIN_SCORE, limit=MAX_FOUND)
        ranked += [(-score, start + at) for _, score, at in found]
    similar = [Duplicate("similar name", show_known(shown[at])) for _, at in sorted(ranked)[:MAX_FOUND]]
    hosted = [each for each in shown if host and each.host == host][:MAX_FOUND]
    return [*similar, *(Duplicate("same host", show_known(each)) for each in hosted)]


def show_known(known: KnownName) -> ExistingEntry:
    """Return what is shown of a compared resource."""
    return ExistingEntry(known.slug, known.name, known.status)


def name_entry(resource: AnyResource) -> ExistingEntry:
    """Return what a submitter may know of a resource that is in the way."""
    status = STATUS_WORDS.get(resource.resource_status, resource.resource_status)
    return ExistingEntry(resource.resource_slug, resource.resource_name, status)
