"""Request and response models of the API, JSON in camel case; the OpenAPI document describes them.

The services validate the input, and report all errors at once; the models only have the fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from hashrange_systems.checks.history_schema import Run
from hashrange_systems.checks.model.announcement import Announcement, Importance
from hashrange_systems.checks.model.attributes import MAX_GROUP_LENGTH, MAX_NAME_LENGTH
from hashrange_systems.checks.model.delay import MAX_DELAY_MS
from hashrange_systems.checks.model.tier import TIERS
from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.checks.schema import AnyCheck, Failed, Scheduled
from hashrange_systems.checks.service.check_input import AlertRules
from hashrange_systems.checks.web.check_view import describe_state
from hashrange_systems.checks.web.heartbeat_url import find_signal_url
from hashrange_systems.shared.channels.type_registry import CHANNEL_TYPES
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.user_url import MAX_URL_LENGTH

T = TypeVar("T")


class ResponseModel(BaseModel):
    """Base of the response models."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class RequestModel(BaseModel):
    """Base of the request models."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


def either(*schemas: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that allows any of these."""
    return {"anyOf": list(schemas)}


NULL = {"type": "null"}
TEXT = {"type": "string"}
Url = Annotated[
    object, WithJsonSchema({"type": "string", "maxLength": MAX_URL_LENGTH, "examples": ["https://example.com"]})
]
Delay = Annotated[object, WithJsonSchema({"type": "integer", "maximum": MAX_DELAY_MS, "examples": [300_000]})]
Name = Annotated[object, WithJsonSchema(either({"type": "string", "maxLength": MAX_NAME_LENGTH}, NULL))]
GroupName = Annotated[object, WithJsonSchema(either({"type": "string", "maxLength": MAX_GROUP_LENGTH}, NULL))]
Ids = Annotated[object, WithJsonSchema(either({"type": "array", "items": TEXT}, NULL))]
Rules = Annotated[object, WithJsonSchema(either(AlertRules.model_json_schema(), NULL))]
Windows = Annotated[object, WithJsonSchema(either({"type": "array", "items": {"type": "object"}}, NULL))]
AttributeMap = Annotated[
    object,
    WithJsonSchema({"type": "object", "description": "Those of its type: see `/check-types`."}),
]


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class CheckInputModel(RequestModel):
    """A check to add."""

    url: Url = None
    check_type: str = Field(default="AVAILABILITY", examples=list(CHECK_TYPES))
    delay_ms: Delay = Field(default=None, description="Usually that of its type.")
    attributes: AttributeMap = {}
    name: Name = None
    rules: Rules = None
    channels: Ids = None
    maintenance: Windows = None
    group: GroupName = None
    tags: Ids = None


class CheckChange(RequestModel):
    """Changes to a check; omitted fields stay as they are."""

    url: Url = None
    delay_ms: Delay = None
    attributes: AttributeMap = None
    name: Name = None
    rules: Rules = None
    channels: Ids = None
    maintenance: Windows = None
    group: GroupName = None
    tags: Ids = None
    seen: int | None = Field(default=None, description="The revision that this is based on: a later one is kept.")


class CheckModel(ResponseModel):
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
    group: str | None
    tags: list[str] | None
    created_at: datetime
    updated_at: datetime
    last_executed_at: datetime | None
    last_result: dict[str, Any] | None
    next_run_at: datetime | None
    failed_reason: str | None
    revision: int
    signal_url: str | None = Field(description="Of a heartbeat: what the job calls.")


def to_check_model(check: AnyCheck, now: int, base_url: str) -> CheckModel:
    """Return the response model of a check."""
    return CheckModel(
        checkid=check.checkid,
        url=check.url,
        check_type=check.check_type,
        name=check.name,
        delay_ms=check.delay_ms,
        status=check.status,
        state=describe_state(check, now).word,
        attributes=check.attributes,
        rules=check.rules,
        channels=check.channels,
        maintenance=check.maintenance,
        group=check.group,
        tags=check.tags,
        created_at=check.created_at,
        updated_at=check.updated_at,
        last_executed_at=check.last_executed_at,
        last_result=check.last_result,
        next_run_at=check.next_run_at if isinstance(check, Scheduled) else None,
        failed_reason=check.failed_reason if isinstance(check, Failed) else None,
        revision=check.revision or 0,
        signal_url=find_signal_url(base_url, check),
    )


class RunModel(ResponseModel):
    """A run of a check; `verdict` is the result after retries."""

    at: datetime
    result: dict[str, Any]
    verdict: str | None


def to_run_model(run: Run) -> RunModel:
    """Return the response model of a run."""
    return RunModel(at=run.at, result=dict(run.result), verdict=run.verdict)


class IncidentModel(ResponseModel):
    """An outage; ongoing without `endedAt`."""

    started_at: datetime
    ended_at: datetime | None
    cause: str | None
    evidence: str
    interrupted: bool


class RollupModel(ResponseModel):
    """Milliseconds of a period in each state; `uptime` is the share of the known time, rounded down."""

    uptime: str | None
    up: int
    degraded: int
    down: int
    unknown: int
    paused: int
    unobserved: int
    blind: int = Field(
        validation_alias=AliasChoices("unobserved", "blind"),
        description="The same as `unobserved`, under its name of before 0.4.",
        deprecated=True,
    )
    maintenance: int
    runs: int
    p50: int | None
    p95: int | None
    p99: int | None


class SummaryModel(RollupModel):
    """The roll-up of a period."""

    start: datetime
    end: datetime


class DayModel(RollupModel):
    """The roll-up of a day."""

    day: date


class ReportRowModel(RollupModel):
    """The roll-up of a month."""

    checkid: str
    name: str
    incidents: int


class Listed(ResponseModel, Generic[T]):
    """A page of a list; `cursor` requests the next page, and is null at the end."""

    items: Sequence[T]
    cursor: str | None = None


# ── account ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class UserModel(ResponseModel):
    """A user."""

    userid: str
    email: str
    tier: str
    status: str
    check_limit: int
    check_count: int | None
    created_at: datetime
    updated_at: datetime


class EmailInput(RequestModel):
    """A new e-mail address."""

    email: str


class KeyInput(RequestModel):
    """An API key to create."""

    name: str


class KeyModel(ResponseModel):
    """An API key, without the key itself."""

    key_id: str
    name: str
    created_at: datetime
    last_used_at: datetime | None


class NewKeyModel(KeyModel):
    """A new API key; the key is shown only once."""

    key: str


class ChannelInput(RequestModel):
    """A channel to add."""

    channel_type: str = Field(
        validation_alias=AliasChoices("channelType", "kind"),
        description="`kind`, the name of before 0.4, is deprecated.",
        json_schema_extra={"enum": list(CHANNEL_TYPES)},
    )
    target: str
    secret: str | None = Field(
        default=None, max_length=200, description="What a webhook is signed with; made if not given."
    )


class TokenInput(RequestModel):
    """The token of a verification link."""

    token: str


class ChannelModel(ResponseModel):
    """A channel; it receives messages after it was verified."""

    channel_id: str
    channel_type: str
    kind: str = Field(
        validation_alias=AliasChoices("channel_type", "kind"),
        description="The same as `channelType`, under its name of before 0.4.",
        deprecated=True,
    )
    target: str
    created_at: datetime
    verified_at: datetime | None


class NewChannelModel(ChannelModel):
    """A new channel; `asked` is whether the verification link was sent, `secret` of a webhook is shown only once."""

    asked: bool
    secret: str | None = None


class PageInput(RequestModel):
    """A public status page."""

    title: str
    checks: list[str]
    intro: str = Field(default="", description="Text below the title.")


class AnnouncementInput(RequestModel):
    """An announcement for a status page."""

    importance: Importance = Importance.INFO
    title: str
    text: str = ""
    ends_at: datetime | None = Field(default=None, description="When it is no longer shown.")


class AnnouncementModel(ResponseModel):
    """An announcement on a status page."""

    announcement_id: str
    at: datetime
    importance: Importance
    title: str
    text: str
    ends_at: datetime | None


class PageModel(ResponseModel):
    """A public status page and its URL."""

    slug: str
    title: str
    checks: list[str]
    intro: str
    announcements: list[AnnouncementModel]
    url: str


def to_announcement_model(announcement: Announcement) -> AnnouncementModel:
    """Return the response model of an announcement."""
    ends_at = announcement.ends_at
    return AnnouncementModel(
        announcement_id=announcement.announcement_id,
        at=from_ms(announcement.at),
        importance=announcement.importance,
        title=announcement.title,
        text=announcement.text,
        ends_at=None if ends_at is None else from_ms(ends_at),
    )


class PublicCheck(ResponseModel):
    """A check on a public status page."""

    name: str
    state: str
    uptime: str | None


class MonitoringModel(ResponseModel):
    """Whether checks are being run."""

    state: str = Field(description="working, late, or interrupted: then states are Unknown.")
    since: datetime | None = Field(description="While it is interrupted: when a worker was seen last.")


class PublicPage(ResponseModel):
    """A public status page."""

    title: str
    intro: str
    state: str
    monitoring: MonitoringModel
    checks: list[PublicCheck]
    announcements: list[AnnouncementModel]


class CheckTypeModel(ResponseModel):
    """A type of check and the schema of its attributes."""

    check_type: str
    title: str
    attributes: dict[str, Any]


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────
class UserInput(RequestModel):
    """A user to add."""

    email: str
    tier: str = Field(default="FREE", examples=list(TIERS))


class UserChange(RequestModel):
    """Changes to a user."""

    email: str | None = None
    tier: str | None = None


class NewUserModel(UserModel):
    """A new user; the first API key is shown only once."""

    key: str


class TypedCheckModel(ResponseModel):
    """A check as the index by type and status has it."""

    checkid: str
    userid: str
    check_type: str
    status: str
    created_at: datetime
