"""The registry of shops: added one by one or from CSV, found in both spellings, by country and by core name."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from hashrange import Conflict, Missing, Page, Taken, Unreadable
from hashrange_systems.aura.errors import ShopDamaged, ShopTaken
from hashrange_systems.aura.extraction.page_facts import Overrides
from hashrange_systems.aura.model.country import UNKNOWN, country_name, parse_country
from hashrange_systems.aura.model.domain import ShopAddress, find_core_name, parse_address, spellings
from hashrange_systems.aura.schema import Aura, Crawled, Scraped, Shop, ShopType
from hashrange_systems.aura.work_schema import SameShop, ShopOptions, Work
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, LimitReached, ResourceMissing

if TYPE_CHECKING:
    from hashrange import Clock

SHOP_TYPES: tuple[ShopType, ...] = get_args(ShopType)
MAX_NAME = 200
MAX_HOST = 260  # characters of a host with a port
MAX_ROWS = 10_000
AT_ONCE = 100
MAX_SHOPS_ADDED = 5000  # by a member who is no operator
PAUSE_S = 0.001  # after each row of a member's import: others are served meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopInput:
    """A shop as somebody enters it: the address in any spelling, the country as a code or nothing."""

    address: str
    name: str | None = None
    country: str | None = None
    shop_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of the rows of a CSV file; `refused` has the line, the address and the reason."""

    added: tuple[str, ...]
    known: tuple[str, ...]
    refused: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountryBoard:
    """The shops of a country; `more` if it has more of them."""

    country: str
    name: str
    shops: tuple[Shop, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedHint:
    """A shop with the same core name; `same` is what was answered to "same shop?", None if nobody was asked."""

    shop: Shop
    same: bool | None


@dataclass(frozen=True, slots=True)
class Registry:
    """All shops."""

    db: Aura
    work: Work
    clock: Clock

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────
    async def add(self, given: ShopInput, member_id: str | None = None) -> Shop:
        """Register a shop; raise ShopTaken if it is, under either spelling, and InvalidInput with every field.

        With a member, it counts as added by it: raise LimitReached if there may be no more.
        """
        shop = self._read(given)
        if await self._find(shop.domain) is not None:
            raise ShopTaken(shop.domain)
        if member_id is None:
            return await self.register(shop)
        await self._count(member_id)
        try:
            return await self.register(shop)
        except ShopTaken:  # by somebody else at this moment
            await self.work.count_shop(member_id, shops_added=-1, most=MAX_SHOPS_ADDED + 1)
            raise

    async def _count(self, member_id: str) -> None:
        try:
            await self.work.count_shop(member_id, shops_added=1, most=MAX_SHOPS_ADDED)
        except Conflict:
            text = f"A member adds at most {MAX_SHOPS_ADDED:,} shops: ask an operator to add more."
            raise LimitReached(text) from None

    async def register(self, shop: Shop) -> Shop:
        """Write a new shop and its country in one transaction."""
        try:
            created, _ = await self.db.transact(
                self.db.create(shop), self.db.add_countries(countries={shop.shop_country})
            )
        except Taken as error:
            raise ShopTaken(shop.domain) from error
        return created

    def _read(self, given: ShopInput) -> Shop:
        errors: list[FieldError] = []
        address, country = ShopAddress(domain="", start_url=""), UNKNOWN
        try:
            address = parse_address(given.address)
        except InvalidInput as error:
            errors += error.errors
        try:
            country = parse_country(given.country)
        except InvalidInput as error:
            errors += error.errors
        name, shop_type = (given.name or "").strip() or None, parse_shop_type(given.shop_type, errors)
        if name and len(name) > MAX_NAME:
            errors.append(FieldError("name", f"must have at most {MAX_NAME} characters"))
        if errors:
            raise InvalidInput(errors)
        usual = f"https://{address.domain}/"
        return Shop(
            domain=address.domain,
            core_domain_name=find_core_name(address.domain),
            shop_name=name,
            shop_type=shop_type,
            shop_country=country,
            start_url=None if address.start_url == usual else address.start_url,
            registered_at=self._now(),
        )

    async def import_csv(self, text: str, member_id: str | None = None) -> ImportReport:
        """Register the shops of a CSV file with the columns domain (or url), name, country and type.

        Each row is independent: a row that is refused does not end the import, and importing again changes nothing.
        With a member, its limit counts, and there is a pause after each row.
        """
        rows = read_rows(text)
        added: list[str] = []
        known: list[str] = []
        refused: list[tuple[int, str, str]] = []
        for line, given in rows:
            await asyncio.sleep(PAUSE_S if member_id else 0)  # an embedded database never suspends the task
            try:
                added.append((await self.add(given, member_id)).domain)
            except ShopTaken as error:
                known.append(error.domain)
            except ApplicationError as error:
                refused.append((line, given.address, str(error)))
        return ImportReport(added=tuple(added), known=tuple(known), refused=tuple(refused))

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def find(self, address: str) -> Shop:
        """Return the shop of a domain or URL, as it is stored or in any spelling; raise ResourceMissing."""
        try:
            shop = await self._find(parse_address(address).domain, address)
        except InvalidInput as error:
            raise ResourceMissing("shop") from error
        if shop is None:
            raise ResourceMissing("shop")
        return shop

    async def _find(self, domain: str, given: str = "") -> Shop | None:
        """Return the shop as it is given, or under either spelling: the original kept `www.`, capitals and ports."""
        stored = (given,) if 0 < len(given) <= MAX_HOST and "/" not in given else ()
        try:
            found = await self.db.fetch([self.db.shop(each) for each in dict.fromkeys((*stored, *spellings(domain)))])
        except Unreadable as error:
            raise ShopDamaged(f"The stored shop {domain} is damaged: {error}") from error
        return next((shop for shop in found if shop is not None), None)

    async def countries(self) -> tuple[str, ...]:
        """Return the codes of the countries that have shops."""
        found = await self.db.countries()
        return tuple(sorted(found.countries)) if found else ()

    async def board(self, each: int = 50) -> tuple[CountryBoard, ...]:
        """Return the shops by country, at most `each` of one."""
        boards = []
        for country in await self.countries():
            page = await self.list_shops(country, limit=each)
            more = page.cursor is not None
            boards.append(CountryBoard(country=country, name=country_name(country), shops=tuple(page.items), more=more))
        return tuple(boards)

    async def list_shops(self, country: str, cursor: str | None = None, limit: int = 50) -> Page[Shop]:
        """Return a page of the shops of a country, by the state of their crawl."""
        return await self.db.shops_in(parse_country(country)).whole().skip_unreadable().page(limit, after=cursor)

    async def crawled_between(self, country: str, first: datetime, last: datetime) -> list[Crawled]:
        """Return the crawls of a country that ended within a range of time, both ends included."""
        return await self.db.crawled_between(parse_country(country), check_range(first, last)).skip_unreadable()

    async def scraped_between(self, country: str, first: datetime, last: datetime) -> list[Scraped]:
        """Return the scrapes of a country that ended within a range of time, both ends included."""
        return await self.db.scraped_between(parse_country(country), check_range(first, last)).skip_unreadable()

    # ── related shops ────────────────────────────────────────────────────────────────────────────────────────────────
    async def related(self, domain: str) -> tuple[RelatedHint, ...]:
        """Return the other shops with the core name of a shop: a hint, never an identity."""
        shop = await self.find(domain)
        core = shop.core_domain_name or find_core_name(shop.domain)
        answers = {each.other: each.same async for each in self.work.same_shops(shop.domain)}
        others = [each async for each in self.db.related(core).whole().skip_unreadable() if each.domain != shop.domain]
        return tuple(RelatedHint(shop=other, same=answers.get(other.domain)) for other in others)

    async def answer_same(self, domain: str, other: str, *, same: bool) -> None:
        """Store the answer to "same shop?" for both shops; raise ResourceMissing if there is no such shop."""
        one, two = (await self.find(domain)).domain, (await self.find(other)).domain
        if one == two:
            raise InvalidInput([FieldError("other", "must be another shop")])
        now = self._now()
        await self.work.transact(
            self.work.put(SameShop(domain=one, other=two, same=same, decided_at=now)),
            self.work.put(SameShop(domain=two, other=one, same=same, decided_at=now)),
        )

    # ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────────
    async def rename(self, domain: str, name: str) -> Shop:
        """Change the display name of a shop."""
        if not name.strip() or len(name) > MAX_NAME:
            raise InvalidInput([FieldError("name", f"must have 1 to {MAX_NAME} characters")])
        return await self._change(self.db.rename((await self.find(domain)).domain, shop_name=name.strip()))

    async def move(self, domain: str, country: str) -> Shop:
        """Change the country of a shop, its index keys and the registry of countries."""
        shop, code = await self.find(domain), parse_country(country)
        try:
            moved, _ = await self.db.transact(
                self.db.move(shop.domain, shop_country=code), self.db.add_countries(countries={code})
            )
        except Missing as error:
            raise ResourceMissing("shop") from error
        if shop.shop_country != code:
            await self.forget_empty_country(shop.shop_country)
        return moved

    async def remove(self, domain: str) -> None:
        """Remove a shop with its URLs, prices, frontier and options; repeat it if it was interrupted."""
        shop = await self.find(domain)
        while found := await self.db.site(shop.domain).skip_unreadable().limit(AT_ONCE):
            entries = [entry for entry in found if not isinstance(entry, Shop)]
            await self.db.batch([], delete=entries)
            if not entries:
                break
        while waiting := await self.work.frontier(shop.domain).with_expired().limit(AT_ONCE):
            await self.work.batch([], delete=waiting)
        await self.work.drop_options(shop.domain)
        await self.work.end_run(shop.domain)
        await self.db.unregister(shop.domain)
        await self.forget_empty_country(shop.shop_country)

    async def forget_empty_country(self, country: str) -> None:
        """Take a country without shops out of the registry of countries."""
        if await self.db.shops_in(country).first() is None:
            with suppress(Conflict):
                await self.db.drop_countries(countries={country})
            if await self.db.shops_in(country).first() is not None:  # one was added meanwhile
                await self.db.add_countries(countries={country})

    # ── options ──────────────────────────────────────────────────────────────────────────────────────────────────────
    async def options(self, domain: str) -> ShopOptions:
        """Return what the operator set for a shop."""
        return await self.work.options(domain) or ShopOptions(domain=domain)

    async def find_overrides(self, address: str) -> Overrides:
        """Return the selectors of the shop that a URL belongs to; none if it is not registered."""
        try:
            shop = await self.find(address)
        except ResourceMissing:
            return Overrides()
        return read_overrides(await self.options(shop.domain))

    async def save_options(self, options: ShopOptions) -> ShopOptions:
        """Store the options of a registered shop."""
        await self.find(options.domain)
        return await self.work.put(options)

    async def pause(self, domain: str, *, paused: bool) -> ShopOptions:
        """Stop or resume the scheduled crawls and scrapes of a shop; a running one ends by itself."""
        return await self.work.pause((await self.find(domain)).domain, paused=paused)

    async def request_stop(self, domain: str, *, stop: bool) -> ShopOptions:
        """Ask a running crawl or scrape to end at its next page; it goes on there when it is started again."""
        return await self.work.request_stop((await self.find(domain)).domain, stop=stop)

    async def _change(self, write: Awaitable[Shop]) -> Shop:
        try:
            return await write
        except Missing as error:
            raise ResourceMissing("shop") from error

    def _now(self) -> datetime:
        return from_ms(self.clock.millis())


def parse_shop_type(text: str | None, errors: list[FieldError]) -> ShopType | None:
    """Return a type of shop; an unknown one is an error."""
    given = (text or "").strip().upper().replace("-", "_").replace(" ", "_")
    if given and given not in SHOP_TYPES:
        errors.append(FieldError("type", f"must be one of {', '.join(SHOP_TYPES)}"))
    return next((each for each in SHOP_TYPES if each == given), None)


def read_rows(text: str) -> Sequence[tuple[int, ShopInput]]:
    """Return the rows of a CSV file with their line numbers; the delimiter is a comma, semicolon or tab."""
    lines = text.removeprefix("\ufeff")
    first = lines.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.DictReader(io.StringIO(lines), delimiter=delimiter)
    names = {(name or "").strip().lower(): name for name in reader.fieldnames or ()}
    address = next((names[each] for each in ("domain", "url", "website", "address") if each in names), None)
    if address is None:
        raise InvalidInput(
            [FieldError("file", "needs a first line with the columns domain (or url), name, country, type")]
        )
    rows: list[tuple[int, ShopInput]] = []
    for row in reader:
        if len(rows) >= MAX_ROWS:
            raise InvalidInput([FieldError("file", f"has more than {MAX_ROWS} rows: split it")])
        cell = {key: (row.get(names[key]) or None) if key in names else None for key in ("name", "country", "type")}
        if (row.get(address) or "").strip():
            given = ShopInput(
                address=row[address] or "", name=cell["name"], country=cell["country"], shop_type=cell["type"]
            )
            rows.append((reader.line_num, given))
    return rows


def check_range(first: datetime, last: datetime) -> tuple[datetime, datetime]:
    """Return both ends of a range of time; raise InvalidInput if they are the wrong way round."""
    if last < first:
        raise InvalidInput([FieldError("last", "must not be before the first")])
    return first, last


def read_overrides(options: ShopOptions) -> Overrides:
    """Return the selectors that the operator set for a shop."""
    return Overrides(price=options.price_selector, state=options.state_selector)
