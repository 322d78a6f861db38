"""Users and checks for the tests: example items of the original system, and ours."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from hashrange import Conflict
from hashrange_systems.checks.schema import Active, ActiveUser, EmailClaim, Paused, Scheduled

TABLES = ("USER", "CHECK", "checks-history")
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

USER = {
    "PK": "123456",
    "SK": "USER",
    "email": "user@example.com",
    "tier": "PRO",
    "checkLimit": 100,
    "status": "ACTIVE",
    "createdAt": "2024-06-29T12:00:00Z",
    "updatedAt": "2024-06-29T12:00:00Z",
}
CHECK = {
    "PK": "abcdef",
    "SK": "CHECK",
    "userid": "123456",
    "url": "https://example.com",
    "checkType": "AVAILABILITY",
    "delayMs": 300000,
    "status": "ACTIVE",
    "attributes": {"keyword": "Example"},
    "createdAt": "2024-06-29T14:00:00Z",
    "updatedAt": "2024-06-29T14:00:00Z",
    "lastExecutedAt": "2024-06-29T14:05:00Z",
    "lastResult": {"status": "UP", "responseTime": 250, "keywordFound": True},
}


def to_wire(item):
    """The item as a client of the original system sends it."""
    return {name: TypeSerializer().serialize(value) for name, value in item.items()}


def to_plain(raw):
    """A stored item as a client of the original system sees it."""
    return {name: TypeDeserializer().deserialize(value) for name, value in raw.items()}


def put_plain(database, table, item):
    database.call("PutItem", {"TableName": table, "Item": to_wire(item)})


def get_plain(database, table, pk, sk):
    key = {"PK": {"S": pk}, "SK": {"S": sk}}
    return to_plain(database.call("GetItem", {"TableName": table, "Key": key})["Item"])


def make_user(userid="u1", **more):
    given = {
        "email": f"{userid}@example.com",
        "tier": "FREE",
        "check_limit": 5,
        "check_count": 0,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return ActiveUser(userid=userid, **(given | more))


def sign_up(db, userid="u1", **more):
    """Add a user as a service does: the user and the address, or neither."""
    user = make_user(userid, **more)
    return db.transact(db.create(user), db.create(EmailClaim(address=user.email, owner=userid))).run()[0]


def given_check(checkid, **more):
    return {
        "checkid": checkid,
        "userid": "u1",
        "url": "https://example.com",
        "check_type": "AVAILABILITY",
        "delay_ms": 300_000,
        "created_at": NOON,
        "updated_at": NOON,
    } | more


def make_check(checkid="c1", **more):
    """A check that is due at noon."""
    return Scheduled(**given_check(checkid, **({"next_run_at": NOON} | more)))


def make_active(checkid="c1", **more):
    """A check of the original system: active, but not scheduled."""
    return Active(**given_check(checkid, **more))


def make_paused(checkid="c1", **more):
    return Paused(**given_check(checkid, **more))


def add_check(db, user, check):
    """Add a check within the user's limit, or not at all."""
    return db.transact(db.reserve_check(user, check_count=1), db.create(check)).run()[1]


def due(db, at=NOON):
    """The ids of all checks that are due, over all shards."""
    return sorted(due_at.checkid for shard in range(8) for due_at in db.due(str(shard), at))


def find_due(db, checkid, at=NOON):
    (due_at,) = [due_at for shard in range(8) for due_at in db.due(str(shard), at) if due_at.checkid == checkid]
    return due_at


def race(count, attempt):
    """Run an attempt many times concurrently; return the results, including conflicts."""

    def run(number):
        try:
            return attempt(number)
        except Conflict as conflict:
            return conflict

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def winners(outcomes):
    return [found for found in outcomes if not isinstance(found, Conflict)]
