"""What the API takes and gives, as JSON in camel case: the forms that the OpenAPI document describes.

What is asked for is tried by the services, which name every fault at once; here it only has a place for each field.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from hashrange_systems.checks.model.delay import LONGEST_DELAY_MS
from hashrange_systems.checks.model.kind import KINDS
from hashrange_systems.checks.model.target import LONGEST_URL
from hashrange_systems.checks.model.tier import TIERS
from hashrange_systems.checks.schema import AnyCheck, Failed, Run, Scheduled
from hashrange_systems.checks.service.draft import LONGEST_NAME, AlertRules
from hashrange_systems.checks.web.view import tell_state

T = TypeVar("T")


class Shown(BaseModel):
    """Something that is given."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class Wish(BaseModel):
    """Something that is asked for."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


def either(*schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of what is one of these."""
    return {"anyOf": list(schemas)}


NULL = {"type": "null"}
TEXT = {"type": "string"}
Url = Annotated[
    object, WithJsonSchema({"type": "string", "maxLength": LONGEST_URL, "examples": ["https://example.com"]})
]
Delay = Annotated[object, WithJsonSchema({"type": "integer", "maximum": LONGEST_DELAY_MS, "examples": [300_000]})]
Name = Annotated[object, WithJsonSchema(either({"type": "string", "maxLength": LONGEST_NAME}, NULL))]
Ids = Annotated[object, WithJsonSchema(either({"type": "array", "items": TEXT}, NULL))]
Rules = Annotated[object, WithJsonSchema(either(AlertRules.model_json_schema(), NULL))]
Windows = Annotated[object, WithJsonSchema(either({"type": "array", "items": {"type": "object"}}, NULL))]
AttributeMap = Annotated[
    object,
    WithJsonSchema({"type": "object", "description": "Of AVAILABILITY and EBAY: see `/check-types`."}),
]


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class CheckWish(Wish):
    """A check to add."""

    url: Url = None
    check_type: str = Field(default="AVAILABILITY", examples=list(KINDS))
    delay_ms: Delay = 300_000
    attributes: AttributeMap = {}
    name: Name = None
    rules: Rules = None
    channels: Ids = None
    maintenance: Windows = None


class CheckChange(Wish):
    """What is to be different about a check; what is not given stays."""

    url: Url = None
    delay_ms: Delay = None
    attributes: AttributeMap = None
    name: Name = None
    rules: Rules = None
    channels: Ids = None
    maintenance: Windows = None
    seen: int | None = Field(default=None, description="The revision that this is based on: a later one is kept.")


class CheckShown(Shown):
    """A check."""

    checkid: str
    url: str
    check_type: str
    name: str | None
    delay_ms: int
    status: str = Field(description="ACTIVE, PAUSED or FAILED: whether it is run.")
    state: str = Field(description="How its target is, in a word.")
    attributes: dict[str, Any]
    rules: dict[str, Any] | None
    channels: list[str] | None
    maintenance: list[dict[str, Any]] | None
    created_at: datetime
    updated_at: datetime
    last_executed_at: datetime | None
    last_result: dict[str, Any] | None
    next_run_at: datetime | None
    failed_reason: str | None
    revision: int


def show_check(check: AnyCheck, now: int) -> CheckShown:
    """Return a check as it is given."""
    return CheckShown(
        checkid=check.checkid,
        url=check.url,
        check_type=check.check_type,
        name=check.name,
        delay_ms=check.delay_ms,
        status=check.status,
        state=tell_state(check, now).word,
        attributes=check.attributes,
        rules=check.rules,
        channels=check.channels,
        maintenance=check.maintenance,
        created_at=check.created_at,
        updated_at=check.updated_at,
        last_executed_at=check.last_executed_at,
        last_result=check.last_result,
        next_run_at=check.next_run_at if isinstance(check, Scheduled) else None,
        failed_reason=check.failed_reason if isinstance(check, Failed) else None,
        revision=check.revision or 0,
    )


class RunShown(Shown):
    """A run of a check; `verdict` is what it says after retries."""

    at: datetime
    result: dict[str, Any]
    verdict: str | None


def show_run(run: Run) -> RunShown:
    """Return a run as it is given."""
    return RunShown(at=run.at, result=dict(run.result), verdict=run.verdict)


class IncidentShown(Shown):
    """An outage; without `endedAt` it goes on."""

    started_at: datetime
    ended_at: datetime | None
    cause: str | None
    evidence: str
    interrupted: bool


class Spent(Shown):
    """How the milliseconds of a period were spent; `uptime` is the share of the known time, rounded down."""

    uptime: str | None
    up: int
    degraded: int
    down: int
    unknown: int
    paused: int
    blind: int
    maintenance: int
    runs: int
    p50: int | None
    p95: int | None
    p99: int | None


class SummaryShown(Spent):
    """How a check spent a period."""

    start: datetime
    end: datetime


class DayShown(Spent):
    """How a check spent a day."""

    day: date


class ReportRowShown(Spent):
    """How a check spent a month."""

    checkid: str
    name: str
    incidents: int


class Listed(Shown, Generic[T]):
    """Some of a list; `cursor` asks for the rest, and is null at the end."""

    items: Sequence[T]
    cursor: str | None = None


# ── account ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class UserShown(Shown):
    """A user."""

    userid: str
    email: str
    tier: str
    status: str
    check_limit: int
    check_count: int | None
    created_at: datetime
    updated_at: datetime
    page_slug: str | None


class EmailWish(Wish):
    """Another e-mail address."""

    email: str


class KeyWish(Wish):
    """A key to make."""

    name: str


class KeyShown(Shown):
    """An API key, without its text."""

    key_id: str
    name: str
    created_at: datetime
    last_used_at: datetime | None


class NewKeyShown(KeyShown):
    """An API key with its text, this once."""

    key: str


class ChannelWish(Wish):
    """A channel to add."""

    kind: Literal["EMAIL", "WEBHOOK", "APPRISE"]
    target: str
    secret: str | None = Field(
        default=None, max_length=200, description="What a webhook is signed with; made if not given."
    )


class TokenWish(Wish):
    """What came by the link that was sent to an address."""

    token: str


class ChannelShown(Shown):
    """Where messages go; without `verifiedAt` none do."""

    channel_id: str
    kind: str
    target: str
    created_at: datetime
    verified_at: datetime | None


class NewChannelShown(ChannelShown):
    """A channel just added; `asked` is whether the link to confirm was sent, `secret` a webhook's, this once."""

    asked: bool
    secret: str | None = None


class PageWish(Wish):
    """The public status page."""

    slug: str
    title: str
    checks: list[str]


class PageShown(PageWish):
    """The public status page, and where it is."""

    url: str


class PublicCheck(Shown):
    """A check as anybody may see it."""

    name: str
    state: str
    uptime: str | None


class PublicPage(Shown):
    """A status page as anybody may see it."""

    title: str
    state: str
    checks: list[PublicCheck]


class CheckTypeShown(Shown):
    """A type of check, and what its attributes may be."""

    check_type: str
    attributes: dict[str, Any]


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────
class UserWish(Wish):
    """A user to take in."""

    email: str
    tier: str = Field(default="FREE", examples=list(TIERS))


class UserChange(Wish):
    """What is to be different about a user."""

    email: str | None = None
    tier: str | None = None


class NewUserShown(UserShown):
    """A user just taken in, with the text of the first key, this once."""

    key: str


class TypedShown(Shown):
    """A check as the index of types and states knows it."""

    checkid: str
    userid: str
    check_type: str
    status: str
    created_at: datetime
