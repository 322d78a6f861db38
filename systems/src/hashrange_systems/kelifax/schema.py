"""Kelifax: a public directory of resources, from submission through moderation to listing.

`kelifax-resources` is the table of the original system, with two public indexes and guard items added; `kelifax-audit`
has every decision. What else is stored is in `record_item` and `visitor_item`; `Kelifax` has all access patterns but
those of admins and mails, which `KelifaxAccounts` has.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field

from hashrange import (
    Add,
    Commas,
    Contains,
    Delete,
    Ensure,
    Eq,
    Filter,
    Ge,
    Get,
    Gsi,
    Gt,
    IsoMillis,
    Item,
    JsonPipes,
    Key,
    Latest,
    Le,
    Patterns,
    Pipes,
    Query,
    Scan,
    Table,
    Update,
    Upsert,
    View,
    camel,
    via,
    where,
)
from hashrange_systems.kelifax.model.content import KINDS, LISTED_FIELDS, Category
from hashrange_systems.kelifax.model.field_kind import Lesson
from hashrange_systems.kelifax.record_item import (
    DecidedSuggestion,
    DueDigest,
    DueFeature,
    FeaturePlan,
    Hold,
    Migration,
    OpenSuggestion,
    PersonLink,
    Quota,
    Record,
    Revision,
    Subscribed,
    Subscription,
    Suggestion,
    Unconfirmed,
    UnconfirmedSubscription,
    Verdict,
    WaitingSuggestion,
    WorkerPresence,
)
from hashrange_systems.kelifax.visitor_item import (
    AnyOwnership,
    AnyReview,
    Collection,
    DayViews,
    DueLink,
    Facets,
    Favourite,
    GrantedOwnership,
    HiddenReview,
    LinkReport,
    LinkState,
    Ownership,
    PublishedReview,
    QueuedLinkReport,
    QueuedOwnership,
    QueuedReview,
    RefusedOwnership,
    Review,
    Score,
    SharedCollection,
    TagEntry,
    UnconfirmedOwnership,
    UnconfirmedReview,
    Views,
    Vote,
    WaitingOwnership,
    WaitingReview,
)
from hashrange_systems.shared.accounts.schema import Accounts, Credentials, Login, accounts

PUBLIC = [
    "resourceStatus", *(each.name for each in LISTED_FIELDS), "searchText", "featured", "publishedAt", "viewCount",
    "damage",
]

table = Table("${KELIFAX_TABLE:-kelifax-resources}", "resourceSlug", naming=camel, unset="",
              stream="NEW_AND_OLD_IMAGES", indexes=[
    Gsi("ResourceStatusIndex", "resourceStatus", "createdAt"),
    Gsi("CategoryIndex", "category", "createdAt"),
    Gsi("PublicFeedIndex", "publicFeed", "publishedAt", PUBLIC),  # added: approved only, no personal data
    Gsi("PublicCategoryIndex", "publicCategory", "publishedAt", PUBLIC),
])
audit = Table("${KELIFAX_AUDIT_TABLE:-kelifax-audit}", "resourceSlug", "decidedAt", naming=camel)  # added
checkpoints = Table("${KELIFAX_CHECKPOINTS_TABLE:-kelifax-checkpoints}", "consumer", "shard")  # of the search index

Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]


# ── the resources, as the original system stores them ────────────────────────────────────────────────────────────────
class ListedContent(BaseModel, frozen=True):
    """The fields of `model.content` that lists have."""

    resource_name: str
    resource_url: str
    usage_purpose: str
    category: str
    tags: Commas[str] = []
    pricing: set[str] = set()  # added; not stored while it is empty
    logo_image: str | None = None


class StoredContent(ListedContent, frozen=True):
    """All fields of `model.content`."""

    key_features: Pipes[str] = []
    use_cases: Pipes[str] = []
    learning_resources: JsonPipes[Lesson] = []


class Resource(StoredContent, Item, table=table):
    resource_slug: Annotated[str, Field(pattern=r"^[^#]+$")]  # never the key of a claim or an alias
    submission_id: str
    created_at: datetime  # of the first submission, never changed
    submitted_at: datetime  # of the latest submission
    submitter_first_name: str
    submitter_last_name: str
    submitter_email: str
    submitter_company: str | None = None
    submitter_phone: str | None = None
    submitter_domain: str | None = None
    search_text: str | None = None
    featured: bool = False
    view_count: int = 0
    last_viewed: datetime | None = None
    damage: set[str] = set()  # added: attributes that cannot be read, as other programs stored them


class Pending(Resource):
    resource_status: Literal["pending"] = "pending"


def length_of(attribute: str, pattern: str | None = None) -> Any:
    """Return the bounds of a text, as the form has them."""
    length = KINDS[attribute].length
    return Field(min_length=length[0], max_length=length[-1], pattern=pattern)


def longest_of(attribute: str) -> Any:
    """Return the bound of each text of a list; the form may ask for longer ones."""
    return Field(max_length=KINDS[attribute].length[-1])


def amount_of(attribute: str, fewest: int = 0) -> Any:
    """Return the bounds of a list; the form may ask for more entries."""
    return Field(min_length=fewest, max_length=KINDS[attribute].amount[-1])


class Submission(Pending):
    """A pending resource that the form allows; those of the original system are only Pending."""

    resource_slug: Slug
    resource_name: Annotated[str, length_of("resource_name")]
    resource_url: Annotated[str, length_of("resource_url", r"^https?://")]
    usage_purpose: Annotated[str, length_of("usage_purpose")]
    category: Category
    logo_image: Annotated[str, length_of("logo_image", r"^\w[\w.-]*$")] | None = None  # a name, never a path
    tags: Annotated[Commas[Annotated[str, longest_of("tags")]], amount_of("tags")] = []
    # required here but not in Resource, which pyright reports as a wrong order of parameters
    key_features: Annotated[Pipes[Annotated[str, longest_of("key_features")]], amount_of("key_features", 1)]  # pyright: ignore[reportGeneralTypeIssues]
    use_cases: Annotated[Pipes[Annotated[str, longest_of("use_cases")]], amount_of("use_cases", 1)]  # pyright: ignore[reportGeneralTypeIssues]
    learning_resources: Annotated[JsonPipes[Lesson], amount_of("learning_resources")] = []


class Approved(Resource):
    resource_status: Literal["approved"] = "approved"
    approved_at: datetime


class Published(Approved, publicFeed="approved", publicCategory="{category}"):
    """An approved resource in the added public indexes; those of the original system are only Approved."""

    published_at: datetime


class Rejected(Resource):
    resource_status: Literal["rejected"] = "rejected"
    rejected_at: datetime
    rejection_reason: str | None = None


AnyResource = Pending | Approved | Rejected


class Listing(ListedContent, View[Published]):
    """A resource in public lists."""

    resource_slug: str
    resource_status: str = "approved"  # other programs may reject it without knowing these lists
    search_text: str | None = None
    featured: bool = False
    published_at: datetime
    view_count: int = 0
    damage: set[str] = set()


class UrlClaim(Item, table=table, resourceSlug="URL#{resource_url:fit}"):
    """Guard: one resource per normalised URL, written in the same transaction."""

    resource_url: str
    claimed_by: str
    owner: str | None = None  # the id of the submission
    reserved_until: datetime | None = None  # while the submission is not confirmed


class Alias(Item, table=table, resourceSlug="ALIAS#{alias}"):
    """Another slug of a resource, whose own never changes."""

    alias: Key[str]
    slug: str


class Decision(Item, table=audit):
    """Who decided what, when and why."""

    resource_slug: str
    decided_at: IsoMillis
    actor: str
    verdict: Verdict
    reason: str | None = None
    before: Record | None = None  # what undoing the decision restores

class Checkpoint(Item, table=checkpoints):
    """How far a consumer of the stream is in a shard; hashrange writes it."""

    consumer: str
    shard: str


unclaimed = where(
    "attribute_not_exists(claimed_by) OR (claimed_by = {claimed_by} AND owner = {owner})"
    " OR (reserved_until >= {epoch} AND reserved_until <= {now})"  # a kept claim stores "", which is before any time
)
decided_when = where("approved_at = {seen}")


class Kelifax(Patterns, Protocol):
    # the queries of the original system
    def resource(self, resource_slug: str) -> Get[AnyResource]: ...
    def published(self, resource_slug: str) -> Get[Approved]: ...
    def approved(self, created_at: Le[datetime] | None = None) -> Latest[Approved]: ...
    @via("CategoryIndex")
    def approved_in(self, category: str) -> Latest[Approved]: ...
    @via("CategoryIndex")
    def approved_in_since(self, category: str, created_at: Gt[datetime]) -> Latest[Approved]: ...
    def in_category(self, category: str) -> Latest[AnyResource]: ...
    def pending(self, created_at: Gt[datetime] | None = None) -> Query[Pending]: ...  # oldest first
    def pending_since(self, created_at: Gt[datetime]) -> Latest[Pending]: ...
    def rejected(self, created_at: Le[datetime] | None = None) -> Latest[Rejected]: ...
    def search(self, search_text: Contains[str]) -> Scan[Approved]: ...
    def from_domain(self, submitter_domain: str) -> Scan[Resource]: ...
    def popular(self, view_count: Ge[int]) -> Scan[Approved]: ...

    # the public lists
    def feed(self, published_at: Le[datetime] | None = None) -> Latest[Listing]: ...
    def listing(self, category: str, published_at: Le[datetime] | None = None) -> Latest[Listing]: ...
    def published_since(self, published_at: Gt[datetime]) -> Latest[Listing]: ...
    def find(self, search_text: Contains[str]) -> Latest[Listing]: ...
    def highlighted(self, featured: bool) -> Filter[Listing]: ...
    def with_pricing(self, pricing: Contains[str]) -> Filter[Listing]: ...  # one for each `filter` of a choice

    # for operators
    def everything(self) -> Scan[AnyResource]: ...
    def stored(self) -> Scan[Resource]: ...  # also what has a status of no kind
    def claims(self) -> Scan[UrlClaim]: ...
    def aliases(self) -> Scan[Alias]: ...
    def alias(self, alias: str) -> Get[Alias]: ...
    def claim(self, resource_url: str) -> Get[UrlClaim]: ...
    def decisions(self, resource_slug: str) -> Latest[Decision]: ...
    def checkpoint(self, consumer: str, shard: str) -> Get[Checkpoint]: ...
    def decision(self, resource_slug: str, decided_at: datetime) -> Get[Decision]: ...

    # the life of a resource
    def approve(self, resource: Pending, approved_at: datetime, published_at: datetime) -> Update[Published]: ...
    def publish(self, resource: Approved, published_at: datetime) -> Update[Published]: ...
    def reject(self, resource: Pending, rejected_at: datetime, rejection_reason: str) -> Update[Rejected]: ...
    def unpublish(
        self, resource: Approved, rejected_at: datetime, rejection_reason: str, featured: bool
    ) -> Update[Rejected]: ...
    def resubmit(
        self, resource: Rejected, submitted_at: datetime, content: StoredContent, search_text: str
    ) -> Update[Pending]: ...
    @decided_when
    def undo_approval(self, resource: Approved, seen: datetime, featured: bool) -> Update[Pending]: ...
    @where("rejected_at = {seen}")
    def undo_rejection(self, resource: Rejected, seen: datetime) -> Update[Pending]: ...
    @where("rejected_at = {seen}")
    def republish(
        self, resource: Rejected, seen: datetime, approved_at: datetime, published_at: datetime, featured: bool
    ) -> Update[Published]: ...
    @where("resource_name = {seen_name} AND resource_url = {seen_url}")
    def edit(
        self, resource: Published, seen_name: str, seen_url: str, content: StoredContent, search_text: str
    ) -> Update[Published]: ...
    def is_approved(self, resource: Approved) -> Ensure[Approved]: ...
    def feature(self, resource: Approved, featured: bool) -> Update[Approved]: ...
    def recategorise(self, resource: Published, category: Category) -> Update[Published]: ...
    def count_views(self, resource: Approved, view_count: Add[int], last_viewed: datetime) -> Update[Approved]: ...
    def erase(
        self, resource_slug: str, submitter_first_name: Literal["erased"], submitter_last_name: Literal["erased"],
        submitter_email: Literal["erased"], submitter_company: None, submitter_phone: None, submitter_domain: None,
        damage: set[str] = ...,
    ) -> Update[Resource]: ...
    @where("attribute_not_exists(search_text) OR search_text = {empty}")
    def complete(self, resource_slug: str, search_text: str, empty: str) -> Update[Resource]: ...
    def drop(self, resource_slug: str, submission_id: Eq[str]) -> Delete[Resource]: ...

    # guards
    @unclaimed
    def reserve_url(
        self, resource_url: str, claimed_by: str, owner: str, reserved_until: datetime | None, now: datetime,
        epoch: datetime,
    ) -> Upsert[UrlClaim]: ...
    def keep_url(self, resource_url: str, claimed_by: Eq[str], reserved_until: None) -> Update[UrlClaim]: ...
    def release(self, resource_url: str, claimed_by: Eq[str]) -> Delete[UrlClaim]: ...
    @where("claimed_by = {claimed_by} OR attribute_not_exists(claimed_by)")
    def release_own(self, resource_url: str, claimed_by: str) -> Delete[UrlClaim]: ...

    # submission
    def unconfirmed(self, slug: str) -> Get[Unconfirmed]: ...
    @where("attribute_not_exists(submission_id) OR expires_at < {now}")
    def reserve_slug(
        self, slug: str, submission_id: str, submitted_at: datetime, form: Record,
        expires_at: datetime, now: datetime,
    ) -> Upsert[Unconfirmed]: ...
    def finish_confirmation(
        self, slug: str, submission_id: Eq[str], form: None, expires_at: datetime
    ) -> Update[Unconfirmed]: ...
    def drop_reservation(self, slug: str) -> Delete[Unconfirmed]: ...
    @where("attribute_not_exists(used) OR used < {limit}")
    def use_quota(self, name: str, day: date, used: Add[int], expires_at: datetime, limit: int) -> Upsert[Quota]: ...

    # persons
    def everything_of(self, address: str) -> Query[PersonLink | Subscription]: ...
    def links(self, address: str) -> Query[PersonLink]: ...
    def subscription(self, address: str) -> Get[UnconfirmedSubscription | Subscribed]: ...
    def confirm_subscription(
        self, subscription: UnconfirmedSubscription, due_at: datetime, sent_until: datetime
    ) -> Update[Subscribed]: ...
    def digests_due(self, due_at: Le[datetime]) -> Query[DueDigest]: ...
    def move_digest(self, digest: DueDigest, due_at: datetime) -> Update[Subscribed]: ...
    @where("due_at = {lease}")
    def digest_sent(
        self, digest: Subscribed, lease: datetime, due_at: datetime, sent_until: datetime
    ) -> Update[Subscribed]: ...
    def unsubscribe(self, address: str) -> Delete[Subscription]: ...

    def migration(self, name: str) -> Get[Migration]: ...
    def workers(self) -> Query[WorkerPresence]: ...
    def forget_worker(self, worker_id: str) -> Delete[WorkerPresence]: ...

    # moderation
    def hold_of(self, slug: str) -> Get[Hold]: ...
    @where("attribute_not_exists(moderator) OR moderator = {moderator} OR held_until < {now}")
    def hold(
        self, slug: str, moderator: str, held_until: datetime, expires_at: datetime, now: datetime
    ) -> Upsert[Hold]: ...
    def release_hold(self, slug: str, moderator: Eq[str]) -> Delete[Hold]: ...
    def drop_hold(self, slug: str) -> Delete[Hold]: ...
    def revisions(self, slug: str) -> Latest[Revision]: ...
    def feature_plan(self, slug: str) -> Get[FeaturePlan]: ...
    def features_due(self, due_at: Le[datetime]) -> Query[DueFeature]: ...
    def move_feature(self, plan: FeaturePlan, due_at: datetime) -> Update[FeaturePlan]: ...
    def drop_feature(self, slug: str) -> Delete[FeaturePlan]: ...
    def suggestion(self, slug: str, suggestion_id: str) -> Get[OpenSuggestion | DecidedSuggestion]: ...
    def suggestions(self, slug: str) -> Query[OpenSuggestion | DecidedSuggestion]: ...
    def waiting_suggestions(self) -> Query[WaitingSuggestion]: ...
    def forget_author(self, slug: str, suggestion_id: str, author: None) -> Update[Suggestion]: ...
    def decide_suggestion(
        self, suggestion: OpenSuggestion, outcome: Literal["accepted", "declined"], decided_by: str,
        decided_at: datetime,
    ) -> Update[DecidedSuggestion]: ...

    # the public site
    def tag_entries(self, tag: str, published_at: Le[datetime] | None = None) -> Latest[TagEntry]: ...
    def all_tag_entries(self) -> Scan[TagEntry]: ...
    def drop_tag_entry(self, tag: str, published_at: datetime, slug: str) -> Delete[TagEntry]: ...
    def facets(self) -> Get[Facets]: ...
    def views(self, slug: str) -> Get[Views]: ...
    def unflushed_views(self) -> Query[Views]: ...
    def viewed(self, slug: str, views: Add[int], last_viewed: datetime) -> Upsert[Views]: ...
    def flushed(self, slug: str, views: Eq[int]) -> Delete[Views]: ...
    def viewed_on(self, slug: str, day: date, views: Add[int], expires_at: datetime) -> Upsert[DayViews]: ...
    def trend(self, slug: str) -> Latest[DayViews]: ...
    def link(self, slug: str) -> Get[LinkState]: ...
    def links_due(self, due_at: Le[datetime]) -> Query[DueLink]: ...
    def claim_link(self, link: DueLink, due_at: datetime) -> Update[LinkState]: ...
    def report_link(self, slug: str, due_at: datetime, reports: Add[int]) -> Upsert[LinkState]: ...
    @where("due_at = {lease}")
    def link_checked(
        self, slug: str, lease: datetime, due_at: datetime, checked_at: datetime, outcome: str, failures: int,
        failing_since: datetime | None, reports: int = ...,
    ) -> Update[LinkState]: ...
    def link_report(self, slug: str) -> Get[LinkReport]: ...
    def count_report(self, slug: str, reports: Add[int]) -> Update[LinkReport]: ...
    def waiting_link_reports(self) -> Query[QueuedLinkReport]: ...
    def drop_link_report(self, slug: str) -> Delete[LinkReport]: ...
    def drop_link_state(self, slug: str) -> Delete[LinkState]: ...
    def score(self, slug: str) -> Get[Score]: ...
    def count_vote(self, slug: str, votes: Add[int]) -> Upsert[Score]: ...
    def count_rating(self, slug: str, rating_sum: Add[int], rating_count: Add[int]) -> Upsert[Score]: ...
    def vote(self, slug: str, visitor: str) -> Get[Vote]: ...
    def votes(self, slug: str) -> Query[Vote]: ...
    def drop_vote(self, slug: str, visitor: str, created_at: Eq[datetime]) -> Delete[Vote]: ...
    def review(self, slug: str, reviewer: str) -> Get[AnyReview]: ...
    def reviews(self, slug: str) -> Query[AnyReview]: ...
    def waiting_reviews(self) -> Query[QueuedReview]: ...
    def confirm_review(self, review: UnconfirmedReview) -> Update[WaitingReview]: ...
    def publish_review(self, review: WaitingReview, decided_at: datetime) -> Update[PublishedReview]: ...
    def hide_review(
        self, review: WaitingReview | PublishedReview, decided_at: datetime
    ) -> Update[HiddenReview]: ...
    def drop_review(self, slug: str, reviewer: str, created_at: Eq[datetime]) -> Delete[Review]: ...
    def favourites(self, visitor: str) -> Query[Favourite]: ...
    def drop_favourite(self, visitor: str, slug: str) -> Delete[Favourite]: ...
    def collection(self, visitor: str, collection_id: str) -> Get[Collection]: ...
    def collections(self, visitor: str) -> Query[Collection]: ...
    @where("slugs = {seen}")
    def change_collection(
        self, visitor: str, collection_id: str, seen: list[str], slugs: list[str] = ..., title: str = ...,
        shared: bool = ...,
    ) -> Update[Collection]: ...
    def drop_collection(self, visitor: str, collection_id: str) -> Delete[Collection]: ...
    def shared_collection(self, collection_id: str) -> Get[SharedCollection]: ...
    def drop_shared(self, collection_id: str) -> Delete[SharedCollection]: ...
    def ownership(self, slug: str, claim_id: str) -> Get[AnyOwnership]: ...
    def ownerships(self, slug: str) -> Query[AnyOwnership]: ...
    def waiting_ownerships(self) -> Query[QueuedOwnership]: ...
    def confirm_ownership(self, claim: UnconfirmedOwnership) -> Update[WaitingOwnership]: ...
    def grant_ownership(self, claim: WaitingOwnership, decided_at: datetime) -> Update[GrantedOwnership]: ...
    def refuse_ownership(
        self, claim: WaitingOwnership | GrantedOwnership, decided_at: datetime
    ) -> Update[RefusedOwnership]: ...
    def drop_ownership(self, slug: str, claim_id: str) -> Delete[Ownership]: ...


class KelifaxAccounts(Accounts, Protocol, names={accounts: "${KELIFAX_ACCOUNTS_TABLE:-kelifax-accounts}"}):
    """The admins and moderators, whose owner is their name, and all mails, which are about the address they go to."""

    def has_login(self, name: str, owner: Eq[str]) -> Ensure[Login]: ...
    def has_role(self, owner: str, role: Eq[str]) -> Ensure[Credentials]: ...
