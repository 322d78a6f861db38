"""Records what a scrape found: the price and state with their history and the change event in one transaction.

The hash is written only together with the history. A hash that another program wrote is replaced without an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hashrange import Conflict, Taken
from hashrange_systems.aura.extraction.page_facts import PageFacts
from hashrange_systems.aura.extraction.price_text import ON_REQUEST_NOTE
from hashrange_systems.aura.model.change import change_hash, is_change
from hashrange_systems.aura.model.page_type import ProductState
from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.aura.schema import Aura, Price, Url
from hashrange_systems.aura.work_schema import ChangeKind, NewChange, Work
from hashrange_systems.shared.epoch import from_ms, to_second
from hashrange_systems.shared.identifier import MakeId, make_id

if TYPE_CHECKING:
    from hashrange import Clock

MAX_TEXT = 2000
MAX_TITLE = 500
MAX_IMAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The state and price of a product, as a page proves them."""

    state: ProductState
    price_minor: int | None = None
    currency: str | None = None

    @property
    def hash(self) -> str:
        """The canonical hash."""
        return change_hash(self.state, self.price_minor, self.currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductVisit:
    """A successful visit of a product's page."""

    status: int
    facts: PageFacts
    etag: str | None = None
    last_modified: str | None = None
    selectors: str | None = None  # of the shop, with which it was read


@dataclass(frozen=True, slots=True)
class PriceRecorder:
    """Writes prices, histories and changes."""

    db: Aura
    work: Work
    clock: Clock
    make_id: MakeId = make_id

    async def record(self, url: Url, finding: Finding, country: str, title: str | None = None) -> Url | None:
        """Record a finding; return the URL with it, or None if it says nothing new."""
        if url.state is not None and url.hash == finding.hash:
            return None
        if url.state is not None and finding.state == "UNKNOWN" and finding.price_minor is None:
            return None  # a page that proves nothing takes nothing back
        known = is_change(url.hash, url.state, finding.hash) and not is_never_seen(url, finding)
        price = Price(
            domain=url.domain,
            url=url.url,
            at=self._now(),
            state=finding.state,
            price_minor=finding.price_minor,
            currency=finding.currency,
        )
        try:
            return await (
                self._change(url, finding, price, country, title) if known else self._adopt(url, finding, price)
            )
        except Taken:
            return None  # the price of this second is recorded
        except Conflict:
            return None  # another worker recorded the same

    async def _change(self, url: Url, finding: Finding, price: Price, country: str, title: str | None) -> Url:
        change = NewChange(
            at=from_ms(self.clock.millis()),
            change_id=self.make_id(),
            domain=url.domain,
            shop_country=country,
            url=url.url,
            kind=find_kind(url, finding),
            title=(title or url.title or "")[:MAX_TITLE] or None,
            state=finding.state,
            price_minor=finding.price_minor,
            currency=finding.currency,
            old_state=url.state,
            old_price_minor=url.price_minor,
            old_currency=url.currency,
        )
        updated, _, _ = await self.db.transact(
            self.db.reprice(url, finding.hash, finding.state, finding.price_minor, finding.currency),
            self.db.create(price),
            self.work.create(change),
        )
        return updated

    async def _adopt(self, url: Url, finding: Finding, price: Price) -> Url:
        """Replace the hash of another program: the history begins, and nobody is notified."""
        updated, _ = await self.db.transact(
            self.db.rehash(url, finding.hash, finding.state, finding.price_minor, finding.currency),
            self.db.create(price),
        )
        return updated

    async def record_details(self, url: Url, visit: ProductVisit, country: str) -> None:
        """Store everything else that the page says; members are notified of changes of an auction."""
        facts, auction = visit.facts, visit.facts.auction
        write = self.db.record_product(
            url,
            scraped_at=self._now(),
            http_status=visit.status,
            title=(facts.title or "")[:MAX_TITLE] or None,
            description=(facts.description or "")[:MAX_TEXT] or None,
            images=list(facts.images[:MAX_IMAGES]) or None,
            language=facts.language,
            product_number=(facts.number or auction.lot or "")[:200] or None,
            lot=auction.lot,
            estimate_min_minor=auction.estimate_low,
            estimate_max_minor=auction.estimate_high,
            sale_at=auction.sale_date,
            hammer_minor=auction.hammer_price,
            withdrawn=auction.withdrawn or None,
            standards_used=list(facts.standards_used) or None,
            scraped_etag=visit.etag,
            scraped_modified=visit.last_modified,
            scraped_with=visit.selectors,
        )
        changes = [self._auction_change(url, facts, country, *each) for each in compare_auction(url, facts)]
        if url.scraped_at is None or not changes:
            await write
        else:
            await self.db.transact_all([write, *(self.work.create(change) for change in changes)]).unread()

    def _auction_change(
        self, url: Url, facts: PageFacts, country: str, kind: ChangeKind, before: str, after: str
    ) -> NewChange:
        return NewChange(
            at=from_ms(self.clock.millis()),
            change_id=self.make_id(),
            domain=url.domain,
            shop_country=country,
            url=url.url,
            kind=kind,
            title=(facts.title or url.title or "")[:MAX_TITLE] or None,
            state=url.state,
            price_minor=url.price_minor,
            currency=url.currency,
            detail=f"{before or 'nothing'} → {after or 'nothing'}",
        )

    def _now(self) -> datetime:
        return to_second(self.clock.millis())


def find_proven(url: Url, facts: PageFacts) -> Finding:
    """Return what a page proves about a product; what it says nothing about stays as it was recorded.

    A page that lost its mark "sold" does not say that the product is for sale again. That a page is there again does
    take back that it was removed. A price is gone only if the page says that it is on request.
    """
    state, minor, currency = facts.state, facts.price_minor, facts.currency
    if url.state is not None:
        if state == "UNKNOWN" and not (url.state == "REMOVED" and facts.type == "product"):
            state = url.state
        if minor is None and facts.price_note != ON_REQUEST_NOTE:
            minor, currency = url.price_minor, url.currency
    return Finding(state=state, price_minor=minor, currency=currency)


def is_never_seen(url: Url, finding: Finding) -> bool:
    """Return whether a product was gone before it was scraped for the first time: that is no news for anybody."""
    return url.state is None and finding.state == "REMOVED"


def find_kind(url: Url, finding: Finding) -> ChangeKind:
    """Return what kind of change a finding is."""
    if url.hash is None:
        return "NEW"
    if finding.state == "REMOVED":
        return "REMOVED"
    return "PRICE" if finding.state == url.state else "STATE"


def compare_auction(url: Url, facts: PageFacts) -> Iterator[tuple[ChangeKind, str, str]]:
    """Yield what changed about an auction: the kind, and both values in words."""
    auction, currency = facts.auction, facts.auction.currency or facts.currency or url.currency
    pairs: tuple[tuple[ChangeKind, object, object], ...] = (
        (
            "ESTIMATE",
            (url.estimate_min_minor, url.estimate_max_minor),
            (auction.estimate_low, auction.estimate_high),
        ),
        ("LOT", url.lot, auction.lot),
        ("SALE_DATE", url.sale_at, auction.sale_date),
        ("HAMMER", url.hammer_minor, auction.hammer_price),
        ("WITHDRAWN", url.withdrawn or None, auction.withdrawn or None),
    )
    for kind, before, after in pairs:
        if before != after:
            yield kind, describe(before, currency), describe(after, currency)


def describe(value: object, currency: str | None) -> str:
    """Return a value of an auction in words."""
    match value:
        case None | (None, None):
            return ""
        case True:
            return "withdrawn"
        case int():
            return format_price(value, currency)
        case (int() | None as low, int() | None as high):
            return " to ".join(filter(None, (format_price(low, currency), format_price(high, currency))))
        case _:
            return str(value)
