"""Requests to one shop's site, politely: robots.txt first, paced, conditional, without following redirects unchecked.

A shop may have several origins (with and without `www.`, http and https), each with a robots.txt of its own (RFC 9309).
That of the start is read first; another one when the first URL of its origin is about to be requested. They are read
again while the crawl goes on, so that new rules count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hashrange_systems.aura.extraction.page_facts import Overrides, PageFacts
from hashrange_systems.aura.model.domain import fold_domain, format_domain, strip_www
from hashrange_systems.aura.model.page_reading import (
    LinkFilter,
    find_canonical,
    is_allowed,
    read_locations,
    read_page,
)
from hashrange_systems.aura.model.page_url import WEB_PORTS, find_origin
from hashrange_systems.aura.model.robots import DISALLOW_ALL, MAX_BYTES, RobotsFacts, choose_rules, read_robots
from hashrange_systems.aura.model.sitemap import Sitemap
from hashrange_systems.aura.service.pacing import MAX_WAIT_S, Pace, SharedPaces, choose_delay, parse_retry_after
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import StateConflict
from hashrange_systems.shared.fetching.errors import FetchError
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Headers, Request, Response
from hashrange_systems.shared.fetching.http_url import join_url, parse_url
from hashrange_systems.shared.fetching.redirect import find_location
from hashrange_systems.shared.sandbox.errors import Reason, SandboxError
from hashrange_systems.shared.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from hashrange import Clock

MAX_PAGE_BYTES = 4 * 1024 * 1024
MAX_SITEMAP_BYTES = 52 * 1024 * 1024
PAGE_TIMEOUT_S = 30.0
ROBOTS_FRESH_MS = 3_600_000  # RFC 9309 allows a day
SITEMAP_TIMEOUT_S = 120.0
SITEMAP_CPU_S = 20.0
WAIT = frozenset({429, 503})
MAX_TRIES = 3  # of one page
MAX_FAILURES = 20  # in a row: the site is down
SITEMAP_TRIES = 3  # of one whose server asks to wait
SITEMAP_REDIRECTS = 3
MAX_ANSWER = 16 * 1024 * 1024  # a sitemap of 50,000 long URLs
CALLS_PER_PROCESS = 5_000  # starting one costs as much as reading some hundred pages
READERS = ("hashrange_systems.aura.model.page_reading",)
HTML = ("text/html", "application/xhtml+xml", "")
Proceed = Callable[[], Awaitable[object]]  # called right before a request; raises to prevent it


class SiteUnavailable(StateConflict):
    """Nothing may be requested for now; `wait_s` is how long the server asks to wait, 0 if it does not say."""

    def __init__(self, text: str, wait_s: float | None = None) -> None:
        super().__init__(text)
        self.wait_s = wait_s or 0.0


class RobotsUnreachable(SiteUnavailable):
    """robots.txt cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """What a conditional request sends back: the ETag and the date of the page that is known."""

    etag: str | None = None
    last_modified: str | None = None

    @property
    def headers(self) -> Headers:
        """The headers of the request."""
        given = (("If-None-Match", self.etag), ("If-Modified-Since", self.last_modified))
        return tuple((name, value) for name, value in given if value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVisit:
    """What came of requesting a page; `redirect` is where it sends to, `wait_s` how long the server asks to wait."""

    url: str
    status: int
    facts: PageFacts | None = None
    etag: str | None = None
    last_modified: str | None = None
    redirect: str | None = None
    wait_s: float | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTools:
    """What a site needs of the process."""

    fetcher: Fetcher
    sandbox: Sandbox
    clock: Clock
    agent: str  # the product token of the user agent, as robots.txt names it
    paces: SharedPaces = field(default_factory=SharedPaces)


@dataclass(slots=True)
class Site:
    """One shop's site; `open` reads its robots.txt before anything else is requested.

    `member` is who asks for it: the sandbox is divided between members and shops, so many hosts give a member no more.
    """

    tools: SiteTools
    domain: str
    start_url: str
    own_delay_s: float = 0.0
    excludes: tuple[str, ...] = ()
    overrides: Overrides | None = None
    member: str | None = None
    pace: Pace = field(default_factory=Pace)
    robots: RobotsFacts = field(default_factory=RobotsFacts)  # of the start
    _rules: dict[str, bytes] = field(default_factory=dict)  # robots.txt by origin
    _read_at: dict[str, int] = field(default_factory=dict)  # when, in milliseconds
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _links: LinkFilter | None = None

    @property
    def tenant(self) -> str:
        """Who the sandbox works for: the member who asks, else the shop."""
        return f"member {self.member}" if self.member else self.domain

    async def open(self) -> None:
        """Read robots.txt of the start; raise RobotsUnreachable or FetchError if nothing may be requested."""
        self.pace.delay_s = max(self.pace.delay_s, self.own_delay_s)
        rules, self.robots = await self._read_robots(find_origin(self.start_url))
        self._apply(find_origin(self.start_url), rules)

    async def _read_robots(self, origin: str) -> tuple[bytes, RobotsFacts]:
        await self.pace.enter()
        request = Request(url=f"{origin}/robots.txt", max_bytes=MAX_BYTES, max_redirects=5)
        response = await self.tools.fetcher.fetch(request, tenant=self.tenant)
        rules = choose_rules(response.status, response.body)
        if rules is None:
            raise RobotsUnreachable(
                f"robots.txt answers {response.status}: nothing is requested until it can be read (RFC 9309).",
                self._read_retry_after(response),
            )
        facts = await self.tools.sandbox.run(read_robots, rules, self.tools.agent, tenant=self.tenant)
        self.pace.delay_s = max(self.pace.delay_s, choose_delay(self.own_delay_s, facts.crawl_delay_s))
        return rules, facts

    def _apply(self, origin: str, rules: bytes) -> None:
        self._rules[origin] = rules
        self._read_at[origin] = self.tools.clock.millis()
        self._links = LinkFilter(
            domain=fold_domain(self.domain),
            ports=tuple(sorted(WEB_PORTS | {parse_url(self.start_url).port})),
            excludes=self.excludes,
            robots=tuple(each for each in self._rules.items() if self._owns(each[0])),
            agent=self.tools.agent,
        )

    def _owns(self, origin: str) -> bool:
        """Return whether an origin is the shop's; that of a sitemap may be another site's."""
        return strip_www(format_domain(parse_url(origin))) == fold_domain(self.domain)

    async def _learn(self, origin: str) -> None:
        """Read the robots.txt of another origin; one that cannot be read forbids everything there."""
        async with self._reading:
            if origin in self._rules:
                return
            try:
                rules, _ = await self._read_robots(origin)
            except (FetchError, RobotsUnreachable):
                rules = DISALLOW_ALL
            self._apply(origin, rules)

    async def _refresh(self) -> None:
        """Read every robots.txt again that is not fresh any more; one that cannot be read stays as it was."""
        async with self._reading:
            for origin in self._find_stale():
                try:
                    rules, _ = await self._read_robots(origin)
                except (FetchError, RobotsUnreachable):
                    rules = self._rules[origin]
                self._apply(origin, rules)

    def _find_stale(self) -> list[str]:
        oldest = self.tools.clock.millis() - ROBOTS_FRESH_MS
        return [origin for origin, at in self._read_at.items() if at < oldest and self._owns(origin)]

    @property
    def links(self) -> LinkFilter:
        """The filter of links; the site must be open."""
        assert self._links is not None, "open the site first"
        return self._links

    async def find_canonical(self, urls: list[str]) -> list[str | None]:
        """Return the canonical form of each URL; None for those that may not be visited."""
        if self._find_stale():
            await self._refresh()
        found = await self.tools.sandbox.run(find_canonical, urls, self.links, tenant=self.tenant)
        given = (find_origin(each) for url, form in zip(urls, found, strict=True) if form for each in (url, form))
        unknown = [origin for origin in dict.fromkeys(given) if origin not in self._rules]
        for origin in unknown:
            await self._learn(origin)
        if not unknown:
            return found
        return await self.tools.sandbox.run(find_canonical, urls, self.links, tenant=self.tenant)

    async def select(self, urls: list[str]) -> list[str]:
        """Return the canonical URLs that may be visited, each once."""
        return list(dict.fromkeys(filter(None, await self.find_canonical(urls))))

    async def visit(self, url: str, known: Validators | None = None, proceed: Proceed | None = None) -> PageVisit:
        """Request a page once; raise FetchError if there is no response. `proceed` is called when its turn has come."""
        await self.pace.enter()
        if proceed is not None:
            await proceed()
        headers = known.headers if known else ()
        request = Request(url=url, headers=headers, follow=False, max_bytes=MAX_PAGE_BYTES, timeout_s=PAGE_TIMEOUT_S)
        response = await self.tools.fetcher.fetch(request, tenant=self.tenant)
        visit = PageVisit(
            url=url,
            status=response.status,
            etag=response.header("etag"),
            last_modified=response.header("last-modified"),
            truncated=response.truncated,
        )
        wait_s = self._wait(response)
        if wait_s is not None:
            return replace(visit, wait_s=wait_s)
        location = find_location(response)
        if location is not None:
            return replace(visit, redirect=_join(url, location))
        if response.status != 200 or not _is_html(response):
            return visit
        facts = await self.tools.sandbox.run(
            read_page,
            url,
            response.body,
            response.header("content-type"),
            self.overrides,
            self.links,
            tenant=self.tenant,
        )
        return replace(visit, facts=facts)

    def _wait(self, response: Response) -> float | None:
        """Hold all requests if the server asks to wait; return the seconds, or None if it does not.

        Raise SiteUnavailable if it asks for longer than a crawl waits.
        """
        if response.status not in WAIT:
            self.pace.release()
            return None
        asked = self._read_retry_after(response)
        if asked is not None and asked > MAX_WAIT_S:
            raise SiteUnavailable(f"The server answers {response.status} and asks to wait {asked:.0f} s.", asked)
        return self.pace.hold(asked)

    def _read_retry_after(self, response: Response) -> float | None:
        return parse_retry_after(response.header("retry-after"), from_ms(self.tools.clock.millis()))

    async def read_sitemap(self, url: str) -> Sitemap:
        """Return the sitemap at a URL; an empty one with a problem if it cannot be read."""
        try:
            response = await self._fetch_sitemap(url)
        except FetchError as error:
            return Sitemap(problem=str(error))
        except SiteUnavailable as error:
            self.pace.hold(MAX_WAIT_S)  # pages may be there although the sitemap is not
            return Sitemap(problem=str(error))
        if response is None:
            return Sitemap(problem="robots.txt forbids it")
        if response.status != 200:
            return Sitemap(problem=f"it answers {response.status}")
        try:
            return await self.tools.sandbox.run(
                read_locations, response.body, self.links, tenant=self.tenant, seconds=SITEMAP_CPU_S
            )
        except SandboxError as error:
            if error.reason in {Reason.CLOSED, Reason.BUSY}:
                raise
            return Sitemap(problem=f"it cannot be read: {error}")  # the shop is crawled without it

    async def _fetch_sitemap(self, url: str) -> Response | None:
        """Return the response after waits and redirects; None if robots.txt forbids the URL, or one on the way."""
        for _ in range(SITEMAP_REDIRECTS + 1):
            if not await self._may_request(url):
                return None
            response = await self._fetch_with_retries(url)
            location = find_location(response)
            onward = _join(url, location) if location else None
            if onward is None:
                return response
            url = onward
        return response

    async def _fetch_with_retries(self, url: str) -> Response:
        request = Request(url=url, max_bytes=MAX_SITEMAP_BYTES, follow=False, timeout_s=SITEMAP_TIMEOUT_S)
        for _ in range(SITEMAP_TRIES):
            await self.pace.enter()
            response = await self.tools.fetcher.fetch(request, tenant=self.tenant)
            if self._wait(response) is None:
                break
        return response

    async def _may_request(self, url: str) -> bool:
        """Return whether the robots.txt of its origin, which may be another site's, allows a URL."""
        origin = find_origin(url)
        await self._learn(origin)
        run = self.tools.sandbox.run
        return await run(is_allowed, url, self._rules[origin], self.tools.agent, tenant=self.tenant)


def _join(url: str, location: str) -> str | None:
    try:
        return join_url(parse_url(url), location).text
    except FetchError:
        return None


def _is_html(response: Response) -> bool:
    kind = (response.header("content-type") or "").partition(";")[0].strip().lower()
    return kind in HTML


def find_wait(error: Exception) -> float:
    """Return how many seconds a server asks to wait before the next request; 0 if it does not."""
    return error.wait_s if isinstance(error, SiteUnavailable) else 0.0


def find_start(domain: str, start_url: str | None) -> str:
    """Return the URL at which the crawl of a shop begins."""
    return start_url or f"https://{domain}/"


def make_sandbox() -> Sandbox:
    """Return the processes that read pages and sitemaps."""
    return Sandbox(
        max_answer=MAX_ANSWER, memory_mib=512, waiting=1000, calls_per_process=CALLS_PER_PROCESS, modules=READERS
    )
