"""Moves keys, channels and messages from the working table, where the releases before had them, to the accounts.

The former classes are frozen here, and `accounts_migration` says what becomes of them, for `hashrange migrate` too.
`move_accounts` does all of it before a process serves: what becomes of an item is written, and the item deleted, in one
transaction. So a kill at any call, a second process or a half moved table end with the same items, and a message that
waits is sent once. An item that cannot be moved stays, is named, and is no hindrance to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from hashrange import (
    Clock,
    Conflict,
    Delete,
    Eq,
    Get,
    Gsi,
    HashrangeError,
    IsoMillis,
    Item,
    Key,
    Keyring,
    Patterns,
    Query,
    SealError,
    Secret,
    Stored,
    Table,
    Taken,
    Transport,
    Ttl,
    Unreadable,
    Write,
)
from hashrange.provision import Dropped, Migration
from hashrange_systems.aura.service.notices import TOPIC
from hashrange_systems.aura.work_schema import AccountsMove, AuraAccounts, Member, Subscription, Work, work
from hashrange_systems.shared.accounts.key_mark import KeysDiffer
from hashrange_systems.shared.accounts.schema import (
    ApiKey,
    Channel,
    KeyOwner,
    Login,
    Sent,
    Undeliverable,
    Waiting,
)
from hashrange_systems.shared.channels.channel_type import Shown
from hashrange_systems.shared.channels.channels import CONFIRM
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.epoch import from_ms

KEY_ID_LENGTH = 32  # of the hash of a key, which was its id
Data: TypeAlias = dict[str, str]
Report: TypeAlias = Callable[[int, int], None]  # called with how many members are moved, of how many

former_work = Table(
    work.name,
    "pk",
    "sk",
    ttl="expires_at",
    indexes=[Gsi("GroupIndex", "group", "group_sk"), Gsi("TodoIndex", "todo", "todo_at")],
    stream="NEW_AND_OLD_IMAGES",  # for `hashrange migrate` only
)


# ── as it was ────────────────────────────────────────────────────────────────────────────────────────────────────────
class FormerEmail(Item, table=former_work, pk="EMAIL#{address}", sk="EMAIL"):
    """Guard: one member per e-mail address."""

    address: Key[str]
    member_id: str


class FormerKey(
    Item, table=former_work, pk="KEY#{digest}", sk="KEY", group="KEYS#{member_id}", group_sk="{created_at}"
):
    """The owner of an API key, by its hash."""

    digest: Key[str]
    member_id: str
    name: str
    created_at: datetime


class FormerSession(Item, table=former_work, pk="MEMBER#{member_id}", sk="SESSION#{session_id}"):
    """A session that was ended by signing out."""

    member_id: Key[str]
    session_id: Key[str]
    expires_at: Ttl


class FormerChannel(
    Item, table=former_work, pk="MEMBER#{member_id}", sk="CHANNEL#{channel_id}",
    group="CHANNELS#{subscription}", group_sk="{member_id}#{channel_id}",
):  # fmt: skip
    """Where messages of a member went; a webhook was used without a confirmation."""

    member_id: Key[str]
    channel_id: Key[str]
    channel_type: Annotated[str, Stored("kind")]
    target: Shown
    secret: Secret[str] | None = None
    subscription: Subscription = "WATCHED"
    created_at: datetime
    confirmed_at: datetime | None = None


class FormerMessage(
    Item, table=former_work, pk="MESSAGE#{message_id}", sk="MESSAGE",
    group="MESSAGES#{member_id}", group_sk="{created_at}#{message_id}",
):  # fmt: skip
    """A message to a channel of a member."""

    message_id: str
    member_id: str
    channel_id: str
    subject: str
    text: str
    data: Data = {}  # noqa: RUF012 - pydantic copies it
    confirms: bool = False
    created_at: IsoMillis
    attempts: int = 0
    last_error: str | None = None
    expires_at: Ttl


class FormerWaiting(FormerMessage, todo="SEND#{message_id:shard4}", todo_at="{send_at}"):
    """A message that waits, or is being sent."""

    sent: Literal["WAITING"] = "WAITING"
    send_at: IsoMillis


class FormerSent(FormerMessage):
    """A message that was sent."""

    sent: Literal["SENT"] = "SENT"
    sent_at: IsoMillis


class FormerGivenUp(FormerMessage):
    """A message that was given up."""

    sent: Literal["GIVEN_UP"] = "GIVEN_UP"


AnyFormerMessage = FormerWaiting | FormerSent | FormerGivenUp


class FormerAccounts(Patterns, Protocol):
    """The accounts in the working table."""

    def email(self, address: str) -> Get[FormerEmail]:
        """Read the guard of an address."""
        ...

    def keys_of(self, member_id: str) -> Query[FormerKey]:
        """Read the keys of a member."""
        ...

    def of_member(self, member_id: str) -> Query[FormerChannel | FormerSession]:
        """Read the channels and ended sessions of a member."""
        ...

    def messages(self, member_id: str) -> Query[AnyFormerMessage]:
        """Read the messages of a member."""
        ...

    def drop_email(self, address: str, member_id: Eq[str]) -> Delete[FormerEmail]:
        """Delete the guard of an address."""
        ...

    def drop_key(self, digest: str, member_id: Eq[str]) -> Delete[FormerKey]:
        """Delete a key."""
        ...

    def drop_session(self, member_id: str, session_id: str, expires_at: Eq[datetime]) -> Delete[FormerSession]:
        """Delete an ended session."""
        ...

    def drop_channel(self, member_id: str, channel_id: str, channel_type: Eq[str]) -> Delete[FormerChannel]:
        """Delete a channel."""
        ...

    def drop_waiting(self, message_id: str, attempts: Eq[int], send_at: Eq[datetime]) -> Delete[FormerWaiting]:
        """Delete a message that waits, unless it was claimed meanwhile."""
        ...

    def drop_sent(self, message_id: str) -> Delete[FormerSent]:
        """Delete a message that was sent."""
        ...

    def drop_given_up(self, message_id: str) -> Delete[FormerGivenUp]:
        """Delete a message that was given up."""
        ...


# ── what becomes of it ───────────────────────────────────────────────────────────────────────────────────────────────
accounts_migration = Migration("aura accounts", source=FormerAccounts, target=AuraAccounts)


@accounts_migration.convert(FormerEmail)
def convert_email(former: FormerEmail) -> Login:
    """Return the login of a member: when it was made is not known, and of no use."""
    return Login(name=former.address, owner=former.member_id, created_at=from_ms(0))


@accounts_migration.convert(FormerKey)
def convert_key(former: FormerKey) -> tuple[ApiKey, KeyOwner]:
    """Return the key with its hash, which goes on."""
    key_id = former.digest[:KEY_ID_LENGTH]
    return (
        ApiKey(
            owner=former.member_id,
            key_id=key_id,
            name=former.name,
            digest=former.digest,
            created_at=former.created_at,
        ),
        KeyOwner(digest=former.digest, owner=former.member_id, key_id=key_id),
    )


@accounts_migration.convert(FormerSession)
def convert_session(_former: FormerSession) -> Dropped:
    """Return nothing: sessions of the former kind are over."""
    return Dropped("sessions are stored by the server now")


@accounts_migration.convert(FormerChannel)
def convert_channel(former: FormerChannel) -> Channel:
    """Return the channel; a webhook was used without a confirmation, and goes on."""
    confirmed_at = former.created_at if former.channel_type == "WEBHOOK" else None
    return Channel(
        owner=former.member_id,
        channel_id=former.channel_id,
        channel_type=former.channel_type,
        shown=former.target,
        secret=former.secret,
        subscription=former.subscription,
        created_at=former.created_at,
        confirmed_at=former.confirmed_at or confirmed_at,
    )


@accounts_migration.convert(FormerWaiting)
def convert_waiting(former: FormerWaiting) -> Waiting:
    """Return the message, which waits."""
    return Waiting(**list_fields(former), send_at=former.send_at)


@accounts_migration.convert(FormerSent)
def convert_sent(former: FormerSent) -> Sent:
    """Return the message, which was sent."""
    return Sent(**list_fields(former), sent_at=former.sent_at)


@accounts_migration.convert(FormerGivenUp)
def convert_given_up(former: FormerGivenUp) -> Undeliverable:
    """Return the message, which was given up."""
    return Undeliverable(**list_fields(former))


def list_fields(former: FormerMessage) -> dict[str, Any]:
    """Return the fields of a message: it keeps its id; the text of a question is made when it is sent."""
    return {
        "about": former.member_id,
        "message_id": former.message_id,
        "owner": former.member_id,
        "channel_id": former.channel_id,
        "topic": CONFIRM if former.confirms else TOPIC,
        "content": {} if former.confirms else former.model_dump(include={"subject", "text", "data"}),
        "created_at": former.created_at,
        "attempts": former.attempts,
        "last_error": former.last_error,
        "expires_at": former.expires_at,
    }


# ── moving it ────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True)
class AccountMove:
    """What a move did: how many items are moved, and which stay where they were."""

    moved: int = 0
    left: list[str] = field(default_factory=list)


def move_accounts(
    database: Transport,
    clock: Clock,
    keys: Keyring,
    report: Report = lambda _moved, _total: None,
    *,
    again: bool = False,
    before: Callable[[], None] = lambda: None,
) -> AccountMove:
    """Move the accounts of all members, unless a process has recorded that all are moved; `again` looks anew.

    Raise KeysDiffer, before anything is changed, if the keys are not those that the secrets were sealed with. `before`
    is called after that, and before anything is changed.
    """
    items, found = Work.open(database, clock=clock), AccountMove()
    known = items.accounts_move().consistent().run()
    if known is not None and not known.left and not again:
        before()
        return found
    mover = AccountMover(
        FormerAccounts.open(database, clock=clock, keys=keys),
        AuraAccounts.open(database, clock=clock, keys=keys),
        found,
    )
    members = items.members().skip_unreadable(mover.leave_unreadable).run()
    for member in members:  # all secrets are opened before anything is changed
        mover.list_former(member, mover.ignore)
    before()
    for number, member in enumerate(members, start=1):
        mover.move_member(member)
        report(number, len(members))
    mark = AccountsMove(moved_at=from_ms(clock.millis()), left=found.left)
    if known is None or found.left or known.left:
        items.put(mark).run()
    return found


@dataclass(frozen=True, slots=True)
class AccountMover:
    """Moves what is left of members, each item in a transaction of its own."""

    former: FormerAccounts
    accounts: AuraAccounts
    found: AccountMove

    def move_member(self, member: Member) -> None:
        """Move everything of a member; what another process has moved meanwhile is moved."""
        for item in self.list_former(member, self.leave_unreadable):
            self.move_item(item)

    def move_item(self, item: Item) -> None:
        """Move an item; one that another process has moved or changed since it was read is passed over."""
        try:
            made = accounts_migration.functions[type(item)](item)
            fresh = () if isinstance(made, Dropped) else made if isinstance(made, tuple) else (made,)
            writes: list[Write[Any]] = [self._drop(item), *(self.accounts.create(each) for each in fresh)]
            self.accounts.transact_all(writes).unread().run()
        except Taken as taken:
            self.leave(item, f"the accounts have another item under its key: {taken}")
        except Conflict:
            return
        except (HashrangeError, ValueError) as error:  # a field that the accounts do not take
            self.leave(item, str(error))
        else:
            self.found.moved += 1

    def list_former(self, member: Member, on_unreadable: Callable[[Unreadable], object]) -> list[Item]:
        """Return what is left of a member; raise KeysDiffer if a secret cannot be opened."""
        former, member_id = self.former, member.member_id
        try:
            return [
                *self._find_email(member, on_unreadable),
                *former.keys_of(member_id).skip_unreadable(on_unreadable).run(),
                *former.of_member(member_id).consistent().skip_unreadable(on_unreadable).run(),
                *former.messages(member_id).skip_unreadable(on_unreadable).run(),
            ]
        except SealError as error:
            raise KeysDiffer(
                f"The accounts of aura cannot be moved, because this process has other keys: {error} "
                "Nothing was changed. Copy keys.json of the directory of the first process, or set AURA_KEYS to it."
            ) from error

    def _find_email(self, member: Member, on_unreadable: Callable[[Unreadable], object]) -> Iterator[FormerEmail]:
        try:
            email = self.former.email(fold_email(member.email)).consistent().run()
        except Unreadable as error:
            on_unreadable(error)
            return
        if email is not None and email.member_id == member.member_id:
            yield email

    def _drop(self, item: Item) -> Write[Any]:
        former = self.former
        match item:
            case FormerEmail():
                return former.drop_email(item.address, member_id=item.member_id)
            case FormerKey():
                return former.drop_key(item.digest, member_id=item.member_id)
            case FormerSession():
                return former.drop_session(item.member_id, item.session_id, expires_at=item.expires_at)
            case FormerChannel():
                return former.drop_channel(item.member_id, item.channel_id, channel_type=item.channel_type)
            case FormerWaiting():
                return former.drop_waiting(item.message_id, attempts=item.attempts, send_at=item.send_at)
            case FormerSent():
                return former.drop_sent(item.message_id)
            case FormerGivenUp():
                return former.drop_given_up(item.message_id)
            case _:
                raise AssertionError(type(item))

    def leave(self, item: Item, reason: str) -> None:
        """Name an item that stays where it was."""
        self._name(f"{type(item).__name__.removeprefix('Former')} {name_item(item)}: {reason}")

    def leave_unreadable(self, error: Unreadable) -> None:
        """Name an item that cannot be read."""
        self._name(str(error))

    def _name(self, text: str) -> None:
        if text not in self.found.left:
            self.found.left.append(text[:500])

    def ignore(self, _error: Unreadable) -> None:
        """Pass over what is named when it is moved."""


def name_item(item: Item) -> str:
    """Return what an operator finds an item by: no secret."""
    names: Iterable[str] = ("address", "member_id", "channel_id", "session_id", "message_id")
    return " ".join(str(getattr(item, name)) for name in names if hasattr(item, name))
