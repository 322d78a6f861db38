"""Analytics for admins: resources by the domain of their submitters, by status and category, and the most viewed ones.

Everything is one read of the whole table, as the original system intends: for a page that is opened now and then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hashrange_systems.kelifax.schema import AnyResource, Approved, Kelifax
from hashrange_systems.kelifax.service.resource_read import read_everything
from hashrange_systems.kelifax.service.tolerant_read import DamagedItem

MAX_ROWS = 50


@dataclass(frozen=True, slots=True)
class DomainRow:
    """What was submitted from a domain."""

    domain: str
    submitted: int
    approved: int
    views: int


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A resource with its views."""

    slug: str
    name: str
    domain: str
    views: int


@dataclass(slots=True)
class AnalyticsReport:
    """The figures."""

    total: int = 0
    damaged: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    domains: list[DomainRow] = field(default_factory=list)
    most_viewed: list[ViewRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Analytics:
    """Reads the figures."""

    db: Kelifax

    async def report(self, domain: str | None = None, min_views: int = 0) -> AnalyticsReport:
        """Return the figures of all resources, or of those of a domain; most viewed ones from `min_views` on."""
        report = AnalyticsReport()
        statuses: Counter[str] = Counter()
        categories: Counter[str] = Counter()
        domains: dict[str, Counter[str]] = {}
        viewed: list[ViewRow] = []
        async for item in read_everything(self.db):
            origin = find_origin(item)
            if domain is not None and origin != domain:
                continue
            if isinstance(item, DamagedItem):
                report.damaged += 1
                statuses[item.status] += 1
                continue
            approved = isinstance(item, Approved)
            statuses[item.resource_status] += 1
            categories[item.category] += 1
            row = domains.setdefault(origin, Counter())
            row.update(submitted=1, approved=int(approved), views=item.view_count)
            if approved and item.view_count >= min_views:
                viewed.append(ViewRow(item.resource_slug, item.resource_name, origin, item.view_count))
        report.total = statuses.total()
        report.statuses, report.categories = dict(statuses), dict(categories)
        rows = [DomainRow(name, row["submitted"], row["approved"], row["views"]) for name, row in domains.items()]
        report.domains = sorted(rows, key=lambda row: (-row.submitted, row.domain))[:MAX_ROWS]
        report.most_viewed = sorted(viewed, key=lambda row: (-row.views, row.slug))[:MAX_ROWS]
        return report


def find_origin(item: AnyResource | DamagedItem) -> str:
    """Return the domain of the submitter of a resource, readable or damaged."""
    found = item.text("submitterDomain") if isinstance(item, DamagedItem) else item.submitter_domain
    return found or "unknown"
