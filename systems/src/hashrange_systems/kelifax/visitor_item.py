"""What the public site stores: tags, counters, link checks, votes, reviews, favourites, collections, owners.

All of it is in the table `kelifax-records`; addresses are in attributes that no index projects.
"""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from hashrange import (
    Item,
    Key,
    Ttl,
    View,
    after,
)
from hashrange_systems.kelifax.record_item import Short, records


# ── the public site ─────────────────────────────────────────────────────────────────────────────────────────
class TagEntry(Item, table=records, pk="TAG#{tag}", sk="{published_at}#{slug:fit}"):
    """A published resource under one of its tags; whoever reads it reads the resource too."""

    tag: Key[str]
    published_at: Key[datetime]
    slug: str


class Facets(Item, table=records, pk="FACETS", sk="FACETS"):
    """How many published resources each category, tag and word of a filter has, counted by the worker."""

    counted_at: datetime
    total: int
    categories: dict[str, int]
    tags: dict[str, int]
    choices: dict[str, dict[str, int]] = {}  # by filter


class Views(Item, table=records, pk="VIEWS#{slug:shard4}", sk="{slug:fit}"):
    """Views that are not in `viewCount` yet, so that a view does not write to an index."""

    slug: str
    views: int = 0
    last_viewed: datetime | None = None


class DayViews(Item, table=records, pk="TREND#{slug}", sk="{day}"):
    """The views of a resource on a day."""

    slug: Key[str]
    day: Key[date]
    views: int = 0
    expires_at: Ttl


class LinkState(Item, table=records, pk="LINK#{slug}", sk="LINK", dueShard="LINK#{slug:shard4}"):
    """What the link checker knows about the URL of a published resource, and when it is checked next."""

    slug: Key[str]
    due_at: datetime
    reports: int = 0  # of visitors, since the last success
    failures: int = 0  # in a row
    failing_since: datetime | None = None
    checked_at: datetime | None = None
    outcome: Short | None = None


class LinkReport(Item, table=records, pk="REPORT#{slug}", sk="REPORT", waitingFor="report"):
    """A link that visitors say is dead; it waits for a moderator, whatever the link checker finds."""

    slug: Key[str]
    created_at: datetime  # of the first report
    reports: int = 0


class QueuedLinkReport(View[LinkReport]):
    slug: Key[str]
    created_at: datetime


class DueLink(View[LinkState]):
    """A link in the due index."""

    slug: Key[str]
    due_at: datetime


class Score(Item, table=records, pk="SCORE#{slug}", sk="SCORE"):
    """Votes and published ratings of a resource."""

    slug: Key[str]
    votes: int = 0
    rating_sum: int = 0
    rating_count: int = 0


class Vote(Item, table=records, pk="VOTE#{slug}", sk="{visitor}"):
    slug: Key[str]
    visitor: Key[str]
    created_at: datetime


class Review(Item, table=records, pk="REVIEW#{slug}", sk="{reviewer}"):
    """A rating with a text: one per resource and address; the reviewer is a keyed hash of the address."""

    slug: Key[str]
    reviewer: Key[str]
    created_at: datetime
    rating: Annotated[int, Field(ge=1, le=5)]
    text: Annotated[str, Field(max_length=2000)]
    display_name: Annotated[str, Field(max_length=50)]
    email: str


class UnconfirmedReview(Review):
    review_status: Literal["unconfirmed"] = "unconfirmed"
    expires_at: Ttl


class WaitingReview(Review, waitingFor="review"):
    review_status: Literal["waiting"] = "waiting"


class PublishedReview(Review):
    review_status: Literal["published"] = "published"
    decided_at: datetime


class HiddenReview(Review):
    review_status: Literal["hidden"] = "hidden"
    decided_at: datetime


AnyReview = UnconfirmedReview | WaitingReview | PublishedReview | HiddenReview


class QueuedReview(View[WaitingReview]):
    slug: Key[str]
    reviewer: Key[str]
    created_at: datetime


class Favourite(Item, table=records, pk="VISITOR#{visitor}", sk="FAVOURITE#{slug:fit}"):
    visitor: Key[str]
    slug: str
    created_at: datetime
    expires_at: Ttl = after("created_at", days=400)


class Collection(Item, table=records, pk="VISITOR#{visitor}", sk="COLLECTION#{collection_id}"):
    """A named list of a visitor; a shared one is found by its id."""

    visitor: Key[str]
    collection_id: Key[str]
    title: Annotated[str, Field(min_length=1, max_length=80)]
    slugs: Annotated[list[str], Field(max_length=100)] = []
    shared: bool = False
    created_at: datetime
    expires_at: Ttl = after("created_at", days=400)


class SharedCollection(Item, table=records, pk="SHARED#{collection_id}", sk="SHARED"):
    collection_id: Key[str]
    visitor: str
    expires_at: Ttl


class Ownership(Item, table=records, pk="OWNER#{slug}", sk="{claim_id}"):
    """Somebody who says that a listing is theirs."""

    slug: Key[str]
    claim_id: Key[str]
    created_at: datetime
    email: str
    statement: Annotated[str, Field(max_length=500)]
    same_domain: bool  # as that of the resource


class UnconfirmedOwnership(Ownership):
    claim_status: Literal["unconfirmed"] = "unconfirmed"
    expires_at: Ttl


class WaitingOwnership(Ownership, waitingFor="claim"):
    claim_status: Literal["waiting"] = "waiting"


class GrantedOwnership(Ownership):
    claim_status: Literal["granted"] = "granted"
    decided_at: datetime


class RefusedOwnership(Ownership):
    claim_status: Literal["refused"] = "refused"
    decided_at: datetime


AnyOwnership = UnconfirmedOwnership | WaitingOwnership | GrantedOwnership | RefusedOwnership


class QueuedOwnership(View[WaitingOwnership]):
    slug: Key[str]
    claim_id: Key[str]
    created_at: datetime


class DemoProgress(Item, table=records, pk="DEMO", sk="DEMO"):
    """The start time of the demo data, and whether it is complete."""

    started_at: datetime
    complete: bool = False
