"""Resources for the tests: the example item as the seed prints it, the seed's functions, and submissions of ours."""

import json
from datetime import UTC, datetime, timedelta

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from hashrange_systems.kelifax.schema import Decision, StoredContent, Submission, UrlClaim

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)

EXAMPLE = {
    "resourceSlug": "amazing-dev-tool",
    "submissionId": "uuid-v4-string",
    "resourceStatus": "pending",
    "createdAt": "2025-10-25T10:30:00Z",
    "submittedAt": "2025-10-25T10:30:00Z",
    "approvedAt": "",
    "rejectedAt": "",
    "rejectionReason": "",
    "submitterFirstName": "John",
    "submitterLastName": "Doe",
    "submitterEmail": "john@techcorp.com",
    "submitterCompany": "Tech Corp",
    "submitterPhone": "+1234567890",
    "resourceName": "Amazing Dev Tool",
    "resourceUrl": "https://amazingdevtool.com",
    "usagePurpose": "This tool helps developers...",
    "category": "development",
    "logoImage": "Amazing_Dev_Tool.png",
    "tags": "productivity,development,automation",
    "keyFeatures": "Automated code generation|Integrated debugging tools|Real-time collaboration",
    "useCases": "Rapid prototyping for startups|Enterprise app development",
    "learningResources": '{"title":"Getting Started","url":"https://docs.com","type":"documentation"}'
    '|{"title":"Video Tutorial","url":"https://video.com","type":"video"}',
    "searchText": "amazing dev tool development productivity automation",
    "featured": False,
    "viewCount": 0,
    "lastViewed": "",
    "submitterDomain": "techcorp.com",
}


def to_wire(item):
    """The item as a client of the original system sends it."""
    return {name: TypeSerializer().serialize(value) for name, value in item.items()}


def to_plain(raw):
    """A stored item as a client of the original system sees it."""
    return {name: TypeDeserializer().deserialize(value) for name, value in raw.items()}


def put_plain(database, item, table="kelifax-resources"):
    database.call("PutItem", {"TableName": table, "Item": to_wire(item)})


def get_plain(database, slug, table="kelifax-resources"):
    return to_plain(database.call("GetItem", {"TableName": table, "Key": {"resourceSlug": {"S": slug}}})["Item"])


# ── the seed's own functions ─────────────────────────────────────────────────────────────────────────────────────────
def format_tags_for_dynamo(tags_list):
    return ",".join(tags_list) if tags_list else ""


def format_features_for_dynamo(features_list):
    return "|".join(features_list) if features_list else ""


def format_learning_resources_for_dynamo(resources_list):
    if not resources_list:
        return ""
    return "|".join(json.dumps(resource) for resource in resources_list)


def parse_learning_resources(text):
    return [json.loads(item) for item in text.split("|") if item]


def create_search_text(resource_name, tags, category, features):
    search_parts = [
        resource_name.lower(),
        category.lower(),
        " ".join(tags).lower() if tags else "",
        " ".join(features).lower() if features else "",
    ]
    return " ".join(filter(None, search_parts))


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_submission(slug="amazing-dev-tool", minute=0, **more):
    """A submission, so many minutes after noon."""
    given = {
        "submission_id": f"id-of-{slug}",
        "created_at": NOON + timedelta(minutes=minute),
        "submitted_at": NOON + timedelta(minutes=minute),
        "submitter_first_name": "Zoë",
        "submitter_last_name": "Díaz",
        "submitter_email": "zoe@techcorp.com",
        "submitter_domain": "techcorp.com",
        "resource_name": slug.replace("-", " ").title(),
        "resource_url": f"https://{slug}.example/",
        "usage_purpose": "It helps developers to do their work.",
        "category": "development",
        "key_features": ["Generates code automatically"],
        "use_cases": ["Rapid prototyping for startups"],
        "search_text": f"{slug.replace('-', ' ')} development",
    }
    return Submission(resource_slug=slug, **(given | more))


def submit(db, slug, minute=0, **more):
    """Take a submission in as a service would: the resource and its URL, or neither."""
    entry = make_submission(slug, minute, **more)
    claim = UrlClaim(resource_url=entry.resource_url, claimed_by=slug)
    return db.transact(db.create(entry), db.create(claim)).run()[0]


def resubmit(db, rejected, at):
    """Submit a rejected resource again, with the same content."""
    same = StoredContent.model_construct()
    return db.resubmit(rejected, submitted_at=at, content=same, search_text=rejected.search_text)


def approve(db, entry, at, actor="ann"):
    """Approve and note it, or neither."""
    noted = Decision(resource_slug=entry.resource_slug, decided_at=at, actor=actor, verdict="approved")
    return db.transact(db.approve(entry, approved_at=at, published_at=at), db.create(noted)).run()[0]


def slugs(entries):
    return [entry.resource_slug for entry in entries]
