"""What a page of a shop says: the values that the extractors return, and what they agree on. Picklable, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from hashrange_systems.aura.model.page_type import PageType, ProductState
from hashrange_systems.shared.money import Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """CSS selectors of one shop, which are asked before everything else."""

    price: str | None = None
    state: str | None = None
    title: str | None = None
    number: str | None = None

    @property
    def text(self) -> str | None:
        """The selectors in one line; None if there are none."""
        given = (("price", self.price), ("state", self.state), ("title", self.title), ("number", self.number))
        return "; ".join(f"{name} {selector}" for name, selector in given if selector) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuctionFacts:
    """What an auction page says about a lot; amounts are in minor units of `currency`."""

    lot: str | None = None
    sale_date: str | None = None  # ISO 8601, a date or a time
    currency: str | None = None
    estimate_low: int | None = None
    estimate_high: int | None = None
    starting_bid: int | None = None
    current_bid: int | None = None
    hammer_price: int | None = None
    withdrawn: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the page says nothing about an auction."""
        return self == AuctionFacts()

    @property
    def price(self) -> Money | None:
        """The hammer price, else the current bid, else the starting bid."""
        amounts = (self.hammer_price, self.current_bid, self.starting_bid)
        amount = next((each for each in amounts if each is not None), None)
        return None if amount is None or self.currency is None else Money(amount, self.currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorAnswer:
    """What one extractor found; None where it found nothing."""

    extractor: str
    page_type: PageType | None = None
    state: ProductState | None = None
    price: Money | None = None
    price_note: str | None = None  # why there is no price, or what else is said about it
    title: str | None = None
    number: str | None = None  # the shop's own number of the product, or of the lot
    description: str | None = None
    images: tuple[str, ...] = ()
    language: str | None = None
    auction: AuctionFacts | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A field for which extractors found different values."""

    field: str
    values: tuple[tuple[str, str], ...]  # extractor and value
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """Everything that is known about a page."""

    url: str
    type: PageType = "other"
    state: ProductState = "UNKNOWN"
    price_minor: int | None = None
    currency: str | None = None
    price_note: str | None = None
    title: str | None = None
    number: str | None = None
    description: str | None = None
    images: tuple[str, ...] = ()
    language: str | None = None
    auction: AuctionFacts = field(default_factory=AuctionFacts)
    standards_used: tuple[str, ...] = ()  # of json-ld, microdata, opengraph, rdfa
    canonical: str | None = None
    links: tuple[str, ...] = ()  # absolute, without fragments, in the order of the page
    noindex: bool = False
    nofollow: bool = False
    missing: bool = False  # says that there is no such page, whatever its HTTP status
    blocked: bool = False  # asks whether the visitor is human: nothing on it is evidence
    charset: str = "utf-8"
    answers: tuple[ExtractorAnswer, ...] = ()  # of every extractor, in the order of precedence
    disagreements: tuple[Disagreement, ...] = ()
    problems: tuple[str, ...] = ()
