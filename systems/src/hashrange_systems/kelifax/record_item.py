"""What Kelifax stores besides resources: submissions to confirm, digests, suggestions, features, counters.

All of it is in the table `kelifax-records`. Personal data is only in items under `PERSON#` and in attributes that no
index projects; what a person sent in is found through the links under `PERSON#<address>`. Mails are messages of the
accounts, about the address that they go to.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hashrange import (
    KEYS_ONLY,
    Gsi,
    IsoMillis,
    Item,
    Key,
    Table,
    Ttl,
    View,
    after,
    camel,
)
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.work.presence import PresenceFields

records = Table(
    "${KELIFAX_RECORDS_TABLE:-kelifax-records}",
    "pk",
    "sk",
    naming=camel,
    ttl="expiresAt",
    indexes=[  # added
        Gsi("WaitingIndex", "waitingFor", "createdAt", ["expiresAt"]),  # what waits for a moderator, by kind
        Gsi("DueIndex", "dueShard", "dueAt", KEYS_ONLY),  # links to check, features to start or end, digests to send
    ],
)

StatusVerdict = Literal[
    "submitted",
    "confirmed",
    "approved",
    "rejected",
    "unpublished",
    "resubmitted",
    "undone",
    "deleted",
    "repaired",
]
Verdict = Literal[
    StatusVerdict,
    "featured",
    "unfeatured",
    "edited",
    "renamed",
    "owned",
    "erased",
    "report-dismissed",
    "review-published",
    "review-hidden",
]
Role = Literal["moderator", "admin"]
Address = Annotated[str, AfterValidator(fold_email)]
Short = Annotated[str, Field(max_length=1000)]
Record = dict[str, Any]  # a small map that the model writes and reads


# ── submission ──────────────────────────────────────────────────────────────────────────────────────────────
class Unconfirmed(Item, table=records, pk="UNCONFIRMED#{slug}", sk="UNCONFIRMED"):
    """A submission whose address is not confirmed: it reserves its slug and its URL until it expires."""

    slug: Key[str]
    submission_id: str
    submitted_at: datetime
    form: Record | None = None  # None when it was confirmed: the slug stays reserved while others may be submitting
    expires_at: Ttl


class UsedChallenge(Item, table=records, pk="PROOF#{digest}", sk="PROOF"):
    """Guard: a proof of work is used once."""

    digest: Key[str]
    expires_at: Ttl


class Quota(Item, table=records, pk="QUOTA#{name}", sk="{day}"):
    """How often somebody did something on a day."""

    name: Key[str]
    day: Key[date]
    used: int = 0
    expires_at: Ttl


class PersonLink(Item, table=records, pk="PERSON#{address}", sk="LINK#{kind}#{reference:fit}"):
    """What a person has sent in, for export and erasure; the reference is a slug, or a slug and an id."""

    address: Key[Address]
    kind: Key[Literal["submission", "suggestion", "review", "claim"]]
    reference: str
    created_at: datetime


class Subscription(Item, table=records, pk="PERSON#{address}", sk="DIGEST"):
    """An address that receives the digest, or that is asked whether it wants to."""

    address: Key[Address]
    recipient: str
    created_at: datetime
    categories: list[str] = []


class UnconfirmedSubscription(Subscription):
    subscription_status: Literal["unconfirmed"] = "unconfirmed"
    expires_at: Ttl


class Subscribed(Subscription, dueShard="DIGEST#{address:shard4}"):
    subscription_status: Literal["active"] = "active"
    due_at: datetime
    sent_until: datetime  # the digest has what was published after this


class DueDigest(View[Subscribed]):
    """A subscription in the due index."""

    address: Key[Address]
    due_at: datetime


# ── moderation ──────────────────────────────────────────────────────────────────────────────────────────────
class WorkerPresence(PresenceFields, Item, table=records, pk="WORKERS", sk="{worker_id}"): ...


class Hold(Item, table=records, pk="HOLD#{slug}", sk="HOLD"):
    """The moderator who reviews a resource, so that two do not decide at the same time."""

    slug: Key[str]
    moderator: str
    held_until: datetime
    expires_at: Ttl = after("held_until", days=1)


class Revision(Item, table=records, pk="HISTORY#{slug}", sk="{at}"):
    """What a resource contained before it was changed, without its submitter."""

    slug: Key[str]
    at: Key[IsoMillis]
    cause: Verdict
    actor: str
    content: Record


class FeaturePlan(Item, table=records, pk="FEATURE#{slug}", sk="FEATURE", dueShard="FEATURE#{slug:shard4}"):
    """When a resource is featured; due at its next step."""

    slug: Key[str]
    starts_at: datetime
    ends_at: datetime | None = None
    actor: str
    due_at: datetime


class DueFeature(View[FeaturePlan]):
    """A feature in the due index."""

    slug: Key[str]
    due_at: datetime


class Suggestion(Item, table=records, pk="SUGGESTION#{slug}", sk="{suggestion_id}"):
    """A suggested edit of a published resource: the changed fields, and what they were."""

    slug: Key[str]
    suggestion_id: Key[str]
    created_at: datetime
    changes: Record
    base: Record
    note: Short | None = None
    author: str | None = None  # an address
    expires_at: Ttl = after("created_at", days=365)


class OpenSuggestion(Suggestion, waitingFor="suggestion"):
    outcome: Literal["open"] = "open"


class DecidedSuggestion(Suggestion):
    outcome: Literal["accepted", "declined"]
    decided_by: str
    decided_at: datetime


class WaitingSuggestion(View[OpenSuggestion]):
    slug: Key[str]
    suggestion_id: Key[str]
    created_at: datetime


# ── changes of what is stored ───────────────────────────────────────────────────────────────────────────────
class Migration(Item, table=records, pk="MIGRATION", sk="{name}"):
    """A change of stored items that a worker has made once, for items of earlier versions."""

    name: Key[str]
    finished_at: datetime
