"""What all processes of a deployment share: the address policy, a mark of the keys, presence, budgets, the demo."""

from datetime import date, datetime
from typing import Annotated

from hashrange import Item, Key, Secret, Stored, Ttl
from hashrange_systems.checks.table_definitions import checks, users
from hashrange_systems.shared.work.presence import PresenceFields


class AddressPolicy(Item, table=users, PK="POLICY", SK="POLICY"):
    """Which non-public addresses may be checked: the same for all processes, and changed on purpose."""

    allow: list[str]
    updated_at: datetime
    revision: int = 1


class KeyMark(Item, table=users, PK="KEYS", SK="KEYS"):
    """A value that only the right keys can decrypt, so that a process with other keys does not start."""

    mark: Secret[str]
    created_at: datetime


class DemoProgress(Item, table=users, PK="DEMO", SK="DEMO"):
    """The start time of the demo data, and whether it is complete."""

    started_at: Annotated[datetime, Stored("anchor")]
    complete: bool = False


class WorkerPresence(PresenceFields, Item, table=users, PK="WORKERS", SK="WORKER#{worker_id}"):
    """The presence of a process."""


class MessageBudget(Item, table=checks, PK="MESSAGES#{scope}", SK="MESSAGES#{day}"):
    """How many confirmation messages a user asked for, or an address was sent, on a day."""

    scope: Key[str]
    day: Key[date]
    sent: int = 0
    expires_at: Ttl


class ManualRunBudget(Item, table=checks, PK="RUNS#{userid}", SK="RUNS"):
    """When the budget of a user for runs besides the schedule is full again, in milliseconds."""

    userid: Key[str]
    refilled_at: int
    expires_at: Ttl
