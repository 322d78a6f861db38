"""Looks at pages without storing anything: a dry run of ten pages before a shop is registered, and `explain`."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from urllib.parse import urljoin

from hashrange_systems.aura.errors import FetchRefused
from hashrange_systems.aura.extraction.page_facts import Overrides, PageFacts
from hashrange_systems.aura.model.domain import find_core_name, parse_address
from hashrange_systems.aura.model.page_url import canonicalise
from hashrange_systems.aura.service.pacing import Pace
from hashrange_systems.aura.service.site import MAX_PAGE_BYTES, PageVisit, Site, SiteTools, SiteUnavailable
from hashrange_systems.shared.fetching.errors import FetchError
from hashrange_systems.shared.sandbox.errors import SandboxError

PAGES = 10
MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPage:
    """One page of a dry run: what it is, or why it could not be read."""

    url: str
    status: int | None
    facts: PageFacts | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a crawl of a shop would find: its first pages, the number of URLs in its sitemap, the pace it asks for."""

    domain: str
    core_domain_name: str
    start_url: str
    pages: tuple[PreviewPage, ...]
    crawl_delay_s: float | None
    delay_s: float
    sitemap_urls: int
    standards_used: tuple[str, ...]
    types: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Every extractor's answer for one page, whether robots.txt allows it, and under which URL it is stored."""

    url: str
    stored_as: str
    allowed: bool
    status: int | None
    redirect: str | None
    facts: PageFacts | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """Looks at sites on behalf of a member, or of the operator at the command line, as politely as a crawl."""

    tools: SiteTools
    delay_s: float = 0.2

    async def dry_run(self, address: str, pages: int = PAGES, *, member: str | None = None) -> DryRun:
        """Return what a crawl would find on its first pages; nothing is stored. Raise InvalidInput or FetchRefused."""
        parsed = parse_address(address)
        site = await self._open(parsed.domain, parsed.start_url, member=member)
        found = await self._walk(site, pages)
        declared = site.robots.sitemaps or (urljoin(parsed.start_url, "/sitemap.xml"),)
        sitemap = await site.read_sitemap(declared[0])
        facts = [page.facts for page in found if page.facts is not None]
        return DryRun(
            domain=parsed.domain,
            core_domain_name=find_core_name(parsed.domain),
            start_url=parsed.start_url,
            pages=tuple(found),
            crawl_delay_s=site.robots.crawl_delay_s,
            delay_s=site.pace.delay_s,
            sitemap_urls=len(sitemap.locations),
            standards_used=tuple(sorted({standard for each in facts for standard in each.standards_used})),
            types=dict(Counter(each.type for each in facts)),
        )

    async def _walk(self, site: Site, pages: int) -> list[PreviewPage]:
        waiting = deque(await site.select([site.start_url]))
        seen, found = set(waiting), list[PreviewPage]()
        while waiting and len(found) < pages:
            url = waiting.popleft()
            if not await site.select([url]):
                continue  # robots.txt of another origin of the shop forbids it
            page, onward = await self._look(site, url)
            found.append(page)
            fresh = [url for url in onward if url not in seen]
            seen.update(fresh)
            waiting.extend(fresh)
        return found

    async def _look(self, site: Site, url: str) -> tuple[PreviewPage, list[str]]:
        try:
            visit = await site.visit(url)
        except (FetchError, SandboxError, SiteUnavailable) as error:
            return PreviewPage(url=url, status=None, problem=str(error)), []
        if visit.redirect is not None:
            page = PreviewPage(url=url, status=visit.status, problem=f"leads to {visit.redirect}")
            return page, await site.select([visit.redirect])
        page = PreviewPage(url=url, status=visit.status, facts=visit.facts, problem=_explain(visit))
        return page, list(visit.facts.links) if visit.facts else []

    async def explain(self, url: str, overrides: Overrides | None = None, *, member: str | None = None) -> Explanation:
        """Return every extractor's answer for a page; with overrides, as a shop with them would read it."""
        parsed = parse_address(url)
        stored_as = canonicalise(parsed.start_url) or parsed.start_url
        site = await self._open(parsed.domain, parsed.start_url, overrides, member)
        if not await site.select([stored_as]):
            return Explanation(
                url=url,
                stored_as=stored_as,
                allowed=False,
                status=None,
                redirect=None,
                facts=None,
                problem="robots.txt forbids it, or it is a page that is never crawled",
            )
        try:
            visit = await site.visit(stored_as)
        except (FetchError, SandboxError, SiteUnavailable) as error:
            raise FetchRefused(f"The page cannot be read: {str(error).rstrip('.')}.") from error
        return Explanation(
            url=url,
            stored_as=stored_as,
            allowed=True,
            status=visit.status,
            redirect=visit.redirect,
            facts=visit.facts,
            problem=_explain(visit),
        )

    async def _open(
        self, domain: str, start_url: str, overrides: Overrides | None = None, member: str | None = None
    ) -> Site:
        site = Site(
            tools=self.tools,
            domain=domain,
            start_url=start_url,
            own_delay_s=self.delay_s,
            overrides=overrides,
            member=member,
            pace=Pace(),
        )
        try:
            await site.open()
        except (FetchError, SiteUnavailable, SandboxError) as error:
            raise FetchRefused(f"{domain} cannot be read: {error}") from error
        return site


def _explain(visit: PageVisit) -> str | None:
    """Return why a page has no facts, or not all of them."""
    if visit.facts is not None:
        if visit.truncated:
            return f"only its first {MAX_PAGE_BYTES >> 20} MiB were read"
        return "it asks whether its visitor is human" if visit.facts.blocked else None
    if visit.wait_s is not None:
        return f"the server asks to wait {visit.wait_s:g} s"
    return "it is not an HTML page" if visit.status == 200 else f"the server answers {visit.status}"
