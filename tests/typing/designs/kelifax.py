"""A design for the typing tests: a directory of resources, from submission through moderation to listing."""

from datetime import datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field
from typing_extensions import TypedDict

from hashrange import (
    Add,
    Commas,
    Contains,
    Delete,
    Eq,
    Ge,
    Get,
    Gsi,
    Gt,
    IsoMillis,
    Item,
    JsonPipes,
    Key,
    Latest,
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

PUBLIC = [
    "resourceName",
    "resourceUrl",
    "usagePurpose",
    "category",
    "logoImage",
    "tags",
    "searchText",
    "featured",
    "publishedAt",
]

table = Table(
    "${KELIFAX_TABLE:-kelifax-resources}",
    "resourceSlug",
    naming=camel,
    unset="",
    indexes=[
        Gsi("ResourceStatusIndex", "resourceStatus", "createdAt"),
        Gsi("CategoryIndex", "category", "createdAt"),
        Gsi("PublicFeedIndex", "publicFeed", "publishedAt", PUBLIC),  # added: approved only, no personal data
        Gsi("PublicCategoryIndex", "publicCategory", "publishedAt", PUBLIC),
    ],
)
audit = Table("${KELIFAX_AUDIT_TABLE:-kelifax-audit}", "resourceSlug", "decidedAt", naming=camel)  # added

Category = Literal["development", "design", "productivity", "learning", "ai", "analytics", "other"]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]


class Lesson(TypedDict):
    title: str
    url: str
    type: str  # documentation, tutorial, video, course


class Resource(Item, table=table):
    resource_slug: Annotated[str, Field(pattern=r"^[^#]+$")]  # never the key of a claim, an alias or a counter
    submission_id: str
    created_at: datetime  # of the first submission, never changed
    submitted_at: datetime  # of the latest submission
    submitter_first_name: str
    submitter_last_name: str
    submitter_email: str
    submitter_company: str | None = None
    submitter_phone: str | None = None
    submitter_domain: str | None = None
    resource_name: str
    resource_url: str
    usage_purpose: str
    category: str
    logo_image: str | None = None
    tags: Commas[str] = []
    key_features: Pipes[str] = []
    use_cases: Pipes[str] = []
    learning_resources: JsonPipes[Lesson] = []
    search_text: str | None = None
    featured: bool = False
    view_count: int = 0
    last_viewed: datetime | None = None


class Pending(Resource):
    resource_status: Literal["pending"] = "pending"


class Submission(Pending):
    """A pending resource that the form allows; those of the original system are only Pending."""

    resource_slug: Slug
    resource_name: Annotated[str, Field(min_length=3, max_length=100)]
    resource_url: Annotated[str, Field(pattern=r"^https?://", max_length=2000)]
    usage_purpose: Annotated[str, Field(min_length=20, max_length=500)]
    category: Category
    logo_image: Annotated[str, Field(pattern=r"^\w[\w.-]*$", max_length=100)] | None = None  # a name, never a path
    tags: Annotated[Commas[Annotated[str, Field(max_length=30)]], Field(max_length=10)] = []
    # required here but not in Resource, which pyright reports as a wrong order of parameters
    key_features: Annotated[Pipes[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=10)]  # pyright: ignore[reportGeneralTypeIssues]
    use_cases: Annotated[Pipes[Annotated[str, Field(max_length=300)]], Field(min_length=1, max_length=8)]  # pyright: ignore[reportGeneralTypeIssues]
    learning_resources: Annotated[JsonPipes[Lesson], Field(max_length=5)] = []


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


class Listing(View[Published]):
    """A resource in public lists."""

    resource_slug: str
    resource_name: str
    resource_url: str
    usage_purpose: str
    category: str
    logo_image: str | None = None
    tags: Commas[str] = []
    search_text: str | None = None
    featured: bool = False
    published_at: datetime


class UrlClaim(Item, table=table, resourceSlug="URL#{resource_url:fit}"):
    """Guard: one resource per normalised URL, written in the same transaction."""

    resource_url: str
    claimed_by: str


class Alias(Item, table=table, resourceSlug="ALIAS#{alias}"):
    """Another slug of a resource, whose own never changes."""

    alias: Key[Slug]
    slug: str


class Views(Item, table=table, resourceSlug="VIEWS#{slug}"):
    """Counters in a separate item, so that a view does not write to an index."""

    slug: Key[str]
    views: int = 0
    last_viewed: datetime | None = None


class Hold(Item, table=table, resourceSlug="HOLD#{slug}"):
    """The moderator who reviews a resource, so that two do not decide at the same time."""

    slug: Key[str]
    moderator: str
    held_until: datetime


class Decision(Item, table=audit):
    """Who decided what, when and why."""

    resource_slug: str
    decided_at: IsoMillis
    actor: str
    verdict: Literal["approved", "rejected", "unpublished", "resubmitted"]
    reason: str | None = None


class Kelifax(Patterns, Protocol):
    def resource(self, resource_slug: str) -> Get[AnyResource]: ...
    def published(self, resource_slug: str) -> Get[Approved]: ...
    def approved(self) -> Latest[Approved]: ...
    @via("CategoryIndex")
    def approved_in(self, category: Category) -> Latest[Approved]: ...
    @via("CategoryIndex")
    def approved_in_since(self, category: Category, created_at: Gt[datetime]) -> Latest[Approved]: ...
    def in_category(self, category: str) -> Latest[AnyResource]: ...
    def pending(self) -> Query[Pending]: ...  # oldest first
    def pending_since(self, created_at: Gt[datetime]) -> Latest[Pending]: ...
    def rejected(self) -> Latest[Rejected]: ...
    def search(self, search_text: Contains[str]) -> Scan[Approved]: ...
    def from_domain(self, submitter_domain: str) -> Scan[Resource]: ...
    def popular(self, view_count: Ge[int]) -> Scan[Approved]: ...

    def feed(self) -> Latest[Listing]: ...
    def listing(self, category: Category) -> Latest[Listing]: ...
    def find(self, search_text: Contains[str]) -> Latest[Listing]: ...
    def alias(self, alias: str) -> Get[Alias]: ...
    def views(self, slug: str) -> Get[Views]: ...
    def claim(self, resource_url: str) -> Get[UrlClaim]: ...
    def decisions(self, resource_slug: str) -> Latest[Decision]: ...

    def approve(self, resource: Pending, approved_at: datetime, published_at: datetime) -> Update[Published]: ...
    def publish(self, resource: Approved, published_at: datetime) -> Update[Published]: ...
    def reject(self, resource: Pending, rejected_at: datetime, rejection_reason: str) -> Update[Rejected]: ...
    def unpublish(self, resource: Approved, rejected_at: datetime, rejection_reason: str) -> Update[Rejected]: ...
    def resubmit(self, resource: Rejected, submitted_at: datetime) -> Update[Pending]: ...
    def feature(self, resource: Approved, featured: bool) -> Update[Approved]: ...
    def recategorise(self, resource: Published, category: Category) -> Update[Published]: ...
    def viewed(self, slug: str, views: Add[int], last_viewed: datetime) -> Upsert[Views]: ...
    def count_views(self, resource: Approved, view_count: Add[int], last_viewed: datetime) -> Update[Approved]: ...
    @where("attribute_not_exists(moderator) OR moderator = {moderator} OR held_until < {now}")
    def hold(self, slug: str, moderator: str, held_until: datetime, now: datetime) -> Upsert[Hold]: ...
    def let_go(self, slug: str, moderator: Eq[str]) -> Delete[Hold]: ...
    def release(self, resource_url: str, claimed_by: Eq[str]) -> Delete[UrlClaim]: ...
    def erase(
        self,
        resource_slug: str,
        submitter_first_name: Literal["erased"],
        submitter_last_name: Literal["erased"],
        submitter_email: Literal["erased"],
        submitter_company: None,
        submitter_phone: None,
        submitter_domain: None,
    ) -> Update[Resource]: ...
