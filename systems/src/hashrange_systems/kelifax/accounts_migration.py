"""Moves admins and mails from `kelifax-records`, where the releases before had them, to the table of the accounts.

The former classes are frozen here, and `accounts_migration` says what becomes of them, for `hashrange migrate` too.
`move_accounts` does all of it before a process serves. Each item is written to the new table and deleted from the old
one in one transaction, on the condition that it is as it was read: so a move that was killed goes on where it was,
several processes may move at once, and a mail is in the outbox of one release only. Who has read the whole table
leaves a mark. Sessions and counts of wrong passwords are not moved: they end by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import Field

from hashrange import (
    KEYS_ONLY,
    Clock,
    Conflict,
    Delete,
    Eq,
    Get,
    Gsi,
    IsoMillis,
    Item,
    Key,
    Keyring,
    Patterns,
    PlanError,
    Scan,
    Table,
    Transport,
    Ttl,
    Unreadable,
    Write,
    after,
    camel,
    load_item,
    where,
)
from hashrange.provision import Migration
from hashrange_systems.kelifax.record_item import Address, Role, records
from hashrange_systems.kelifax.record_item import Migration as Mark
from hashrange_systems.kelifax.schema import Kelifax, KelifaxAccounts
from hashrange_systems.shared.accounts.key_mark import verify_keys
from hashrange_systems.shared.accounts.schema import Credentials, Login, Sent, Undeliverable, Waiting
from hashrange_systems.shared.channels.channel_type import ParsedTarget
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.wire import Wire

MARK = "accounts"
PAGE = 500
MAX_NAMED = 100  # items that could not be moved
MAX_ATTEMPTS = 20  # at an item that other processes change
Report: TypeAlias = Callable[[int, int], None]  # called with how many items are read, of about how many

former_records = Table(
    records.name, "pk", "sk", naming=camel, ttl="expiresAt", stream="NEW_AND_OLD_IMAGES",
    indexes=[
        Gsi("OutboxIndex", "outboxShard", "sendAt", KEYS_ONLY),
        Gsi("WaitingIndex", "waitingFor", "createdAt", ["expiresAt"]),
        Gsi("DueIndex", "dueShard", "dueAt", KEYS_ONLY),
    ],
)  # fmt: skip
# the stream is for `hashrange migrate` only


# ── as it was ────────────────────────────────────────────────────────────────────────────────────────────────────────
class FormerAdmin(Item, table=former_records, pk="ADMIN", sk="{name}"):
    """Who may moderate."""

    name: Key[str]
    role: Role
    password_hash: str
    created_at: datetime
    generation: int = 0


class FormerMail(Item, table=former_records, pk="PERSON#{address}", sk="MAIL#{message_id}"):
    """A mail, under the address that it goes to."""

    address: Key[Address]
    message_id: Key[str]
    recipient: str
    topic: str
    content: dict[str, Any]
    created_at: datetime
    attempts: int = 0
    last_error: Annotated[str, Field(max_length=1000)] | None = None
    expires_at: Ttl = after("created_at", days=30)


class FormerWaiting(FormerMail, outboxShard="{message_id:shard4}"):
    """A mail that is still to be sent."""

    delivery: Literal["WAITING"] = "WAITING"
    send_at: IsoMillis


class FormerSent(FormerMail):
    """A mail that was sent."""

    delivery: Literal["SENT"] = "SENT"
    sent_at: datetime


class FormerUndeliverable(FormerMail):
    """A mail that was given up."""

    delivery: Literal["UNDELIVERABLE"] = "UNDELIVERABLE"


AnyFormerMail = FormerWaiting | FormerSent | FormerUndeliverable
CLASSES: list[type[Item]] = [FormerAdmin, FormerWaiting, FormerSent, FormerUndeliverable]


class FormerRecords(Patterns, Protocol, accept="HR401 FormerRecords.mails"):
    """The admins and the mails in `kelifax-records`."""

    def admin(self, name: str) -> Get[FormerAdmin]:
        """Read an admin."""
        ...

    def mail(self, address: str, message_id: str) -> Get[AnyFormerMail]:
        """Read a mail."""
        ...

    def mails(self) -> Scan[AnyFormerMail]:
        """Read all of them, for `hashrange migrate`."""
        ...

    @where("generation = {generation} AND role = {role}")
    def drop_admin(self, name: str, generation: int, role: str) -> Delete[FormerAdmin]:
        """Delete an admin who has not changed."""
        ...

    def drop_waiting(self, address: str, message_id: str, attempts: Eq[int]) -> Delete[FormerWaiting]:
        """Delete a mail that waits, unless it was claimed meanwhile."""
        ...

    def drop_sent(self, address: str, message_id: str) -> Delete[FormerSent]:
        """Delete a mail that was sent."""
        ...

    def drop_undeliverable(self, address: str, message_id: str) -> Delete[FormerUndeliverable]:
        """Delete a mail that was given up."""
        ...


# ── what becomes of it ───────────────────────────────────────────────────────────────────────────────────────────────
accounts_migration = Migration("kelifax accounts", source=FormerRecords, target=KelifaxAccounts)


@accounts_migration.convert(FormerAdmin)
def convert_admin(former: FormerAdmin) -> list[Login | Credentials]:
    """Return the name to sign in with, and the password with the role."""
    return [
        Login(name=former.name, owner=former.name, created_at=former.created_at),
        Credentials(
            owner=former.name,
            created_at=former.created_at,
            password_hash=former.password_hash,
            role=former.role,
            generation=former.generation,
        ),
    ]


@accounts_migration.convert(FormerMail)
def convert_mail(former: FormerMail) -> Waiting | Sent | Undeliverable:
    """Return the message, about the address, with the same id and so the same key for receivers."""
    common: dict[str, Any] = {
        "about": former.address,
        "message_id": former.message_id,
        "recipient": ParsedTarget.public(former.recipient).shown,
        "topic": former.topic,
        "content": former.content,
        "created_at": former.created_at,
        "attempts": former.attempts,
        "last_error": former.last_error,
        "expires_at": former.expires_at,
    }
    match former:
        case FormerWaiting():
            return Waiting(**common, send_at=former.send_at)
        case FormerSent():
            return Sent(**common, sent_at=former.sent_at)
        case _:
            return Undeliverable(**common)


# ── moving it ────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True)
class AccountsMove:
    """What a move did."""

    moved: int = 0
    left: list[str] = field(default_factory=list)  # the first items that could not be moved: key and reason

    def leave(self, item: Wire, reason: str) -> None:
        """Name an item that stays where it was."""
        if len(self.left) < MAX_NAMED:
            key = " ".join(item[name]["S"] for name in ("pk", "sk"))
            self.left.append(f"{records.physical_name} {key}: {reason}")


def move_accounts(
    database: Transport,
    clock: Clock,
    keys: Keyring,
    report: Report = lambda _read, _total: None,
    *,
    again: bool = False,
) -> AccountsMove:
    """Move the admins and mails that are still in `kelifax-records`, unless a process has recorded that all are moved.

    An item that cannot be read, or that differs from one in the new table, stays where it is and is named. `again`
    looks anew.
    """
    db, found = Kelifax.open(database, clock=clock), AccountsMove()
    if not again and db.migration(MARK).consistent().run() is not None:
        return found
    accounts = KelifaxAccounts.open(database, clock=clock, keys=keys)
    verify_keys(accounts, clock, "KELIFAX_KEYS", kept=True)
    move = ItemMove(FormerRecords.open(database, clock=clock), accounts, found)
    total, read = count_records(database), 0
    for page in scan_former(database):
        for item in page["Items"]:
            move.move(item)
        read += page["ScannedCount"]
        if read:
            report(read, max(total, read))
    db.put(Mark(name=MARK, finished_at=from_ms(clock.millis()))).run()
    return found


def count_records(database: Transport) -> int:
    """Return about how many records there are: DynamoDB counts them every few hours."""
    return int(database.call("DescribeTable", {"TableName": records.physical_name})["Table"].get("ItemCount", 0))


def scan_former(database: Transport) -> Iterator[Wire]:
    """Yield pages of the stored items that have the key of a former class."""
    request: Wire = {
        "TableName": records.physical_name,
        "ConsistentRead": True,
        "Limit": PAGE,
        "FilterExpression": "pk = :admin OR (begins_with(pk, :person) AND begins_with(sk, :mail))",
        "ExpressionAttributeValues": {":admin": {"S": "ADMIN"}, ":person": {"S": "PERSON#"}, ":mail": {"S": "MAIL#"}},
    }
    while True:
        page = database.call("Scan", request)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@dataclass(frozen=True, slots=True)
class ItemMove:
    """Moves items: writes what one becomes and deletes it, in one transaction."""

    former: FormerRecords
    accounts: KelifaxAccounts
    found: AccountsMove

    def move(self, item: Wire) -> None:
        """Move an item; name it if it cannot be read, or if there is another account of its name."""
        try:
            former = load_item(CLASSES, item)
            if former is None:
                self.found.leave(item, "it is in no state that is known")
                return
            for _ in range(MAX_ATTEMPTS):
                if self._attempt(item, former):
                    return
                former = self._read(former)
                if former is None:  # another process has moved it
                    return
            self.found.leave(item, "other processes keep changing it")
        except (Unreadable, PlanError) as error:
            self.found.leave(item, str(error))

    def _attempt(self, item: Wire, former: Item) -> bool:
        """Move an item unless it has changed since it was read; return whether nothing is left to do."""
        targets = accounts_migration.apply_to(former).targets
        known = [self._find(each) for each in targets]
        writes: list[Write[Any]] = []
        if not any(known):
            writes = [self.accounts.create(each) for each in targets]
        elif isinstance(former, FormerMail):  # `hashrange migrate` has copied it, as it was then
            if isinstance(known[0], Waiting) and not isinstance(former, FormerWaiting):
                writes = [self.accounts.put(each) for each in targets]
        elif known != list(targets):
            if self._read(former) is not None:  # unless another process has moved it between these reads
                self.found.leave(item, "there is another account of this name already")
            return True
        try:
            self.accounts.transact_all([*writes, self._drop(former)]).unread().run()
        except Conflict:
            return False
        self.found.moved += 1
        return True

    def _find(self, target: Item) -> Item | None:
        """Return what the new table has under the key of an item."""
        match target:
            case Login():
                return self.accounts.login(target.name).consistent().run()
            case Credentials():
                return self.accounts.credentials(target.owner).consistent().run()
            case Waiting() | Sent() | Undeliverable():
                return self.accounts.message(target.about, target.message_id).consistent().run()
        raise TypeError(type(target).__name__)

    def _read(self, former: Item) -> Item | None:
        """Return an item of the old table as it is now."""
        if isinstance(former, FormerMail):
            return self.former.mail(former.address, former.message_id).consistent().run()
        assert isinstance(former, FormerAdmin)
        return self.former.admin(former.name).consistent().run()

    def _drop(self, former: Item) -> Write[Any]:
        """Return the write that deletes an item if it is still as it was read."""
        match former:
            case FormerAdmin():
                return self.former.drop_admin(former.name, generation=former.generation, role=former.role)
            case FormerWaiting():
                return self.former.drop_waiting(former.address, former.message_id, attempts=former.attempts)
            case FormerSent():
                return self.former.drop_sent(former.address, former.message_id)
            case FormerUndeliverable():
                return self.former.drop_undeliverable(former.address, former.message_id)
        raise TypeError(type(former).__name__)
