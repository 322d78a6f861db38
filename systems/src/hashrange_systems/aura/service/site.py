"""Requests to one shop's site, politely: robots.txt first, paced, conditional, without following redirects blindly."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hashrange_systems.aura.extraction.page_facts import Overrides, PageFacts
from hashrange_systems.aura.model.page_reading import LinkFilter, read_locations, read_page, select_links
from hashrange_systems.aura.model.page_url import WEB_PORTS
from hashrange_systems.aura.model.robots import MAX_BYTES, RobotsFacts, choose_rules, read_robots
from hashrange_systems.aura.model.sitemap import Sitemap
from hashrange_systems.aura.service.pacing import Pace, choose_delay, parse_retry_after
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import StateConflict
from hashrange_systems.shared.fetching.errors import FetchError
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.http_message import Headers, Request, Response
from hashrange_systems.shared.fetching.http_url import join_url, parse_url
from hashrange_systems.shared.fetching.redirect import find_location
from hashrange_systems.shared.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from hashrange import Clock

MAX_PAGE_BYTES = 4 * 1024 * 1024
MAX_SITEMAP_BYTES = 52 * 1024 * 1024
PAGE_TIMEOUT_S = 30.0
SITEMAP_TIMEOUT_S = 120.0
SITEMAP_CPU_S = 20.0
WAIT = frozenset({429, 503})
MAX_ANSWER = 16 * 1024 * 1024  # a sitemap of 50,000 long URLs
CALLS_PER_PROCESS = 5_000  # starting one costs as much as reading some hundred pages
READERS = ("hashrange_systems.aura.model.page_reading",)
HTML = ("text/html", "application/xhtml+xml", "")


class RobotsUnreachable(StateConflict):
    """robots.txt cannot be read, so nothing may be requested for now."""


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


@dataclass(slots=True)
class Site:
    """One shop's site; `open` reads its robots.txt before anything else is requested."""

    tools: SiteTools
    domain: str
    start_url: str
    own_delay_s: float = 0.0
    excludes: tuple[str, ...] = ()
    overrides: Overrides | None = None
    pace: Pace = field(default_factory=Pace)
    robots: RobotsFacts = field(default_factory=RobotsFacts)
    _links: LinkFilter | None = None

    async def open(self) -> None:
        """Read robots.txt; raise RobotsUnreachable or FetchError if nothing may be requested."""
        target = parse_url(self.start_url)
        self.pace.delay_s = self.own_delay_s
        await self.pace.enter()
        address = f"{target.scheme}://{target.authority}/robots.txt"
        response = await self.tools.fetcher.fetch(Request(url=address, max_bytes=MAX_BYTES, max_redirects=5))
        rules = choose_rules(response.status, response.body)
        if rules is None:
            raise RobotsUnreachable(
                f"robots.txt answers {response.status}: nothing is requested until it can be read (RFC 9309)."
            )
        self.robots = await self.tools.sandbox.run(read_robots, rules, self.tools.agent, tenant=self.domain)
        self.pace.delay_s = choose_delay(self.own_delay_s, self.robots.crawl_delay_s)
        self._links = LinkFilter(
            domain=self.domain,
            ports=tuple(WEB_PORTS | {target.port}),
            excludes=self.excludes,
            robots=rules,
            agent=self.tools.agent,
        )

    @property
    def links(self) -> LinkFilter:
        """The filter of links; the site must be open."""
        assert self._links is not None, "open the site first"
        return self._links

    async def select(self, urls: list[str]) -> list[str]:
        """Return the canonical URLs that may be visited."""
        return await self.tools.sandbox.run(select_links, urls, self.links, tenant=self.domain)

    async def visit(self, url: str, known: Validators | None = None) -> PageVisit:
        """Request a page once; raise FetchError if there is no response."""
        await self.pace.enter()
        headers = known.headers if known else ()
        request = Request(url=url, headers=headers, follow=False, max_bytes=MAX_PAGE_BYTES, timeout_s=PAGE_TIMEOUT_S)
        response = await self.tools.fetcher.fetch(request)
        visit = PageVisit(
            url=url,
            status=response.status,
            etag=response.header("etag"),
            last_modified=response.header("last-modified"),
            truncated=response.truncated,
        )
        if response.status in WAIT:
            asked = parse_retry_after(response.header("retry-after"), from_ms(self.tools.clock.millis()))
            return replace(visit, wait_s=self.pace.hold(asked))
        self.pace.release()
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
            tenant=self.domain,
        )
        return replace(visit, facts=facts)

    async def read_sitemap(self, url: str) -> Sitemap:
        """Return the sitemap at a URL; an empty one with a problem if it cannot be read."""
        await self.pace.enter()
        request = Request(url=url, max_bytes=MAX_SITEMAP_BYTES, max_redirects=3, timeout_s=SITEMAP_TIMEOUT_S)
        try:
            response = await self.tools.fetcher.fetch(request)
        except FetchError as error:
            return Sitemap(problem=str(error))
        if response.status != 200:
            return Sitemap(problem=f"it answers {response.status}")
        return await self.tools.sandbox.run(
            read_locations, response.body, self.links, tenant=self.domain, seconds=SITEMAP_CPU_S
        )


def _join(url: str, location: str) -> str | None:
    try:
        return join_url(parse_url(url), location).text
    except FetchError:
        return None


def _is_html(response: Response) -> bool:
    kind = (response.header("content-type") or "").partition(";")[0].strip().lower()
    return kind in HTML


def find_start(domain: str, start_url: str | None) -> str:
    """Return the URL at which the crawl of a shop begins."""
    return start_url or f"https://{domain}/"


def make_sandbox() -> Sandbox:
    """Return the processes that read pages and sitemaps."""
    return Sandbox(
        max_answer=MAX_ANSWER, memory_mib=512, waiting=1000, calls_per_process=CALLS_PER_PROCESS, modules=READERS
    )
