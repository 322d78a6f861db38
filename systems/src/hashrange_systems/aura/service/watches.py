"""Watch lists, price alerts, saved searches and subscriptions of members, and the messages that a change causes.

A change is notified once: the messages of a change have ids that follow from it, and are written before the change is
marked as notified, so that a worker that dies between the two writes the same messages again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange import Conflict
from hashrange_systems.aura.model.change import KIND_NAMES
from hashrange_systems.aura.model.price_alert import AlertRule, AlertState, evaluate_alert
from hashrange_systems.aura.service.notices import Notices
from hashrange_systems.aura.service.products import ProductQuery, Products, matches, split_words
from hashrange_systems.aura.work_schema import NewChange, SavedSearch, Watch, Work
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import FieldError, InvalidInput, LimitReached, ResourceMissing
from hashrange_systems.shared.identifier import MakeId, make_id

if TYPE_CHECKING:
    from datetime import datetime

    from hashrange import Clock

MAX_WATCHES = 500
MAX_SEARCHES = 50
ALARMS = frozenset({"BROKEN", "MENDED"})
FOUND_BY_SEARCH = frozenset({"NEW", "PRICE"})


@dataclass(frozen=True, slots=True)
class Watches:
    """The watch lists and saved searches of all members."""

    work: Work
    clock: Clock
    products: Products
    notices: Notices
    make_id: MakeId = make_id

    # ── watch list ───────────────────────────────────────────────────────────────────────────────────────────────────
    async def list_watches(self, member_id: str) -> list[Watch]:
        """Return the watch list of a member."""
        return await self.work.watches(member_id)

    async def find(self, member_id: str, domain: str, url: str) -> Watch:
        """Return an entry of a member's watch list; raise ResourceMissing."""
        found = await self.work.watch(member_id, domain, url)
        if found is None:
            raise ResourceMissing("entry of the watch list")
        return found

    async def watch(self, member_id: str, domain: str, url: str, rule: AlertRule | None = None) -> Watch:
        """Put a product on a member's watch list, or change what it is watched for; both limits are armed anew."""
        wanted = rule or AlertRule()
        product = await self.products.find(domain, url)
        known = await self.work.watch(member_id, domain, product.url)
        if known is None and len(await self.list_watches(member_id)) >= MAX_WATCHES:
            raise LimitReached(f"A watch list has at most {MAX_WATCHES} entries.")
        wanted.check()
        entry = Watch(
            member_id=member_id,
            domain=domain,
            url=product.url,
            title=product.title,
            created_at=known.created_at if known else self._now(),
            below_minor=wanted.below_minor,
            above_minor=wanted.above_minor,
            percent=wanted.percent,
            states=wanted.states,
            currency=wanted.currency or product.currency,
            base_minor=product.price_minor,
        )
        return await self.work.put(entry)

    async def unwatch(self, member_id: str, domain: str, url: str) -> None:
        """Take a product off a member's watch list; raise ResourceMissing."""
        if await self.work.unwatch(member_id, domain, url) is None:
            raise ResourceMissing("entry of the watch list")

    # ── saved searches ───────────────────────────────────────────────────────────────────────────────────────────────
    async def list_searches(self, member_id: str) -> list[SavedSearch]:
        """Return the saved searches of a member."""
        return await self.work.searches(member_id)

    async def save_search(self, member_id: str, query: ProductQuery, *, notify: bool = True) -> SavedSearch:
        """Save a search; with `notify`, members are notified of new products that it finds."""
        if not split_words(query.text):
            raise InvalidInput([FieldError("text", "needs a word of at least three letters")])
        if len(await self.list_searches(member_id)) >= MAX_SEARCHES:
            raise LimitReached(f"A member has at most {MAX_SEARCHES} saved searches.")
        saved = SavedSearch(
            member_id=member_id,
            search_id=self.make_id(),
            text=query.text.strip()[:200],
            shop_country=query.country,
            min_minor=query.min_minor,
            max_minor=query.max_minor,
            currency=query.currency,
            created_at=self._now(),
            notify=notify,
        )
        return await self.work.create(saved)

    async def remove_search(self, member_id: str, search_id: str) -> None:
        """Remove a saved search of a member; raise ResourceMissing."""
        if await self.work.drop_search(member_id, search_id) is None:
            raise ResourceMissing("saved search")

    # ── notification ──────────────────────────────────────────────────────────────────────────────────────────────────
    async def notify_changes(self, limit: int = 100) -> int:
        """Write the messages of changes without notification; return the number of changes."""
        waiting = await self.work.new_changes().limit(limit)
        if waiting:
            channels = self.notices.channels
            everything = await channels.list_subscribed("EVERYTHING")
            alarms = await channels.list_subscribed("ALARMS")
        for change in waiting:
            await self.notices.write_to(everything, change, KIND_NAMES[change.kind])
            if change.kind in ALARMS:
                await self.notices.write_to(alarms, change, KIND_NAMES[change.kind])
            await self._notify(change)
        return len(waiting)

    async def _notify(self, change: NewChange) -> None:
        for watch in await self.work.watchers(change.domain, change.url):
            await self._notify_watcher(watch, change)
        if change.kind in FOUND_BY_SEARCH and change.title:
            async for search in self.work.all_searches():
                await self._notify_searcher(search, change)
        try:
            await self.work.mark_notified(change)
        except Conflict:
            return  # another worker wrote the same messages

    async def _notify_watcher(self, watch: Watch, change: NewChange) -> None:
        result = evaluate_alert(read_rule(watch), read_state(watch), change)
        for reason in result.reasons:
            await self.notices.write(watch.member_id, change, reason)
        if result.state != read_state(watch):
            state = result.state
            await self.work.rearm(
                watch, armed_below=state.armed_below, armed_above=state.armed_above, base_minor=state.base_minor
            )

    async def _notify_searcher(self, search: SavedSearch, change: NewChange) -> None:
        query = ProductQuery(
            text=search.text,
            country=search.shop_country,
            min_minor=search.min_minor,
            max_minor=search.max_minor,
            currency=search.currency,
        )
        title = change.title or ""
        now = matches(query, title, change.shop_country, change.price_minor, change.currency)
        before = change.kind != "NEW" and matches(
            query, title, change.shop_country, change.old_price_minor, change.old_currency
        )
        if search.notify and now and not before:
            await self.notices.write(search.member_id, change, f"found by your search: {search.text}")

    def _now(self) -> datetime:
        return from_ms(self.clock.millis())


def read_rule(watch: Watch) -> AlertRule:
    """Return what a watched product is watched for."""
    return AlertRule(
        below_minor=watch.below_minor,
        above_minor=watch.above_minor,
        percent=watch.percent,
        states=watch.states,
        currency=watch.currency,
    )


def read_state(watch: Watch) -> AlertState:
    """Return which alerts of a watched product are armed."""
    return AlertState(armed_below=watch.armed_below, armed_above=watch.armed_above, base_minor=watch.base_minor)
