"""What every system stores for the people who use it, in one table: how they sign in, their keys, channels, messages.

A system mounts `Accounts` in a table of its own name. An `owner` is an opaque text, such as a user id, an address or a
domain; the system's own items say what an owner is. Everything of an owner is under `OWNER#{owner}` or in `OwnerIndex`,
which also lists what stands under another key: logins, sessions, messages, and memberships in the spaces of others.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, Field

from hashrange import (
    KEYS_ONLY,
    Add,
    Delete,
    Ensure,
    Eq,
    Get,
    Gsi,
    IsoMillis,
    Item,
    Key,
    Latest,
    Le,
    Once,
    Patterns,
    Query,
    Secret,
    Table,
    Ttl,
    Update,
    Upsert,
    View,
    after,
    camel,
    where,
)
from hashrange_systems.shared.accounts.owner_name import check_owner, fold_login
from hashrange_systems.shared.channels.channel_type import Shown

accounts = Table("accounts", "pk", "sk", naming=camel, ttl="expiresAt", indexes=[
    Gsi("OwnerIndex", "owner", "createdAt", ["expiresAt"]),
    Gsi("OutboxIndex", "outboxShard", "sendAt", ["expiresAt"]),
    Gsi("AccountIndex", "accountShard", "createdAt", ["role"]),  # all accounts, for operators
    Gsi("SubscriptionIndex", "subscription", "createdAt", KEYS_ONLY),  # channels of all owners, by what they get
])

Owner = Annotated[str, AfterValidator(check_owner)]
LoginName = Annotated[str, AfterValidator(fold_login)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # SHA-256 of a secret, never the secret itself
Scope = Literal["write", "read"]
Role = Literal["owner", "editor", "reader"]  # in the space of an owner
Short = Annotated[str, Field(max_length=1000)]
Record = dict[str, Any]  # a small map that the system writes and reads


# ── signing in ───────────────────────────────────────────────────────────────────────────────────────────────────────
class Login(Item, table=accounts, pk="LOGIN#{name}", sk="LOGIN"):
    """Guard: an e-mail address or a name belongs to one owner; written in the transaction of the owner."""

    name: Key[LoginName]
    owner: Owner
    created_at: IsoMillis
    spelled: str | None = None  # if folding it made other letters of some: its mailbox may be another's

class ListedLogin(View[Login]):
    name: Key[LoginName]

class Credentials(Item, table=accounts, pk="OWNER#{owner}", sk="CREDENTIALS", accountShard="{owner:shard4}"):
    """The password and the role of an account; sessions and tokens of an older generation are over."""

    owner: Key[Owner]
    created_at: IsoMillis
    password_hash: Secret[str] | None = None
    role: str | None = None  # a word of the system, such as moderator
    generation: int = 0

class AccountState(View[Credentials]):
    """What a session depends on, without the password."""

    owner: Key[Owner]
    created_at: IsoMillis
    role: str | None = None
    generation: int = 0

class ListedAccount(View[Credentials]):
    owner: Key[Owner]
    created_at: IsoMillis
    role: str | None = None

class ApiKey(Item, table=accounts, pk="OWNER#{owner}", sk="KEY#{key_id}"):
    """An API key as its owner sees it."""

    owner: Key[Owner]
    key_id: Key[str]
    name: Short
    digest: Digest
    scope: Scope = "write"
    created_at: IsoMillis
    last_used_at: datetime | None = None

class KeyOwner(Item, table=accounts, pk="KEY#{digest}", sk="KEY"):
    """Guard: the owner of an API key, by its hash; written and deleted with the key."""

    digest: Key[Digest]
    owner: Owner
    key_id: str

class StoredSession(Item, table=accounts, pk="SESSION#{digest}", sk="SESSION"):
    """A sign-in session; the digest is that of the cookie."""

    digest: Key[Digest]
    owner: Owner  # who signed in
    space: Owner | None = None  # the owner in whose place they act, as a member of the team; None: their own
    key_id: str | None = None  # the API key that they signed in with: its end is the end of the session
    generation: int = 0  # of the credentials, and since when there are these: an owner may be deleted and come back
    since: IsoMillis | None = None
    created_at: IsoMillis
    expires_at: Ttl

class ListedSession(View[StoredSession]):
    digest: Key[Digest]

class SecondFactor(Item, table=accounts, pk="OWNER#{owner}", sk="TOTP"):
    """The second factor of an account: required for signing in once it is confirmed with a code."""

    owner: Key[Owner]
    secret: Secret[str]
    created_at: IsoMillis
    confirmed_at: IsoMillis | None = None
    generation: int = 0  # of the credentials and since when there are these, when it was begun, as in a session
    since: IsoMillis | None = None
    recovery: list[str] = []  # hashes of the recovery codes that are left
    last_step: int = 0  # the time step of the last code: no code is accepted twice
    failures: int = 0  # wrong codes in a row
    locked_until: IsoMillis | None = None

class SignInAttempts(Item, table=accounts, pk="ATTEMPTS#{digest}", sk="ATTEMPTS"):
    """Wrong passwords for a login, by its hash, whether it exists or not: the answers are the same."""

    digest: Key[Digest]
    failures: int = 0
    locked_until: IsoMillis | None = None
    expires_at: Ttl

class Membership(Item, table=accounts, pk="OWNER#{space}", sk="MEMBER#{member}", owner="{member}"):
    """A member of an owner's team; `OwnerIndex` lists the teams of a member."""

    space: Key[Owner]
    member: Key[Owner]
    team_role: Role
    address: LoginName | None = None  # that they were invited with
    created_at: IsoMillis

class ListedMembership(View[Membership]):
    space: Key[Owner]
    member: Key[Owner]

class Invitation(Item, table=accounts, pk="OWNER#{space}", sk="INVITATION#{invitation_id}"):
    """An invitation to an owner's team, for who signs in or up with an address."""

    space: Key[Owner]
    invitation_id: Key[str]
    address: LoginName
    team_role: Role
    invited_by: Owner  # an owner of the space: the invitation is over when they are not any more
    created_at: IsoMillis
    expires_at: Ttl


# ── channels and messages ────────────────────────────────────────────────────────────────────────────────────────────
class Channel(Item, table=accounts, pk="OWNER#{owner}", sk="CHANNEL#{channel_id}"):
    """Where messages go; nothing but the link to confirm is sent to one that needs a confirmation and has none."""

    owner: Key[Owner]
    channel_id: Key[str]
    channel_type: str  # one of channels.types
    shown: Shown
    secret: Secret[str] | None = None  # signs messages, or is the address
    subscription: str | None = None  # a word of the system: what the channel gets
    created_at: IsoMillis
    asked_at: datetime | None = None  # when the last link to confirm was sent
    confirmed_at: datetime | None = None

class ListedChannel(View[Channel]):
    """A channel in the index by subscription."""

    owner: Key[Owner]
    channel_id: Key[str]

class UsableChannel(View[Channel]):
    """What writing a message needs of a channel, and no secret."""

    owner: Key[Owner]
    channel_id: Key[str]
    channel_type: str
    shown: Shown
    subscription: str | None = None
    confirmed_at: datetime | None = None

class Message(Item, table=accounts, pk="ABOUT#{about}", sk="MESSAGE#{message_id}"):
    """A message to a channel or an address; its id is derived from its cause, so that it is written once."""

    about: Key[str]  # what it is about: an id of the system, or the owner
    message_id: Key[str]
    owner: Owner | None = None  # whose it is; None for people without an account
    channel_id: str | None = None
    recipient: Shown | None = None  # an e-mail address, for a message to no channel
    topic: str
    content: Record = {}
    created_at: IsoMillis
    attempts: int = 0
    last_error: Short | None = None
    expires_at: Ttl = after("created_at", days=90)

class Waiting(Message, outboxShard="{message_id:shard4}"):
    delivery: Literal["WAITING"] = "WAITING"
    send_at: IsoMillis  # the time of the next attempt, or while it is sent the end of the lease

class Sent(Message):
    delivery: Literal["SENT"] = "SENT"
    sent_at: datetime

class Undeliverable(Message):
    delivery: Literal["UNDELIVERABLE"] = "UNDELIVERABLE"

class Outgoing(View[Waiting]):
    """A message in the outbox index."""

    about: Key[str]
    message_id: Key[str]
    send_at: IsoMillis

class ListedMessage(View[Message]):
    """A message in the index by owner."""

    about: Key[str]
    message_id: Key[str]

AnyMessage = Waiting | Sent | Undeliverable


# ── what the processes of a deployment share ─────────────────────────────────────────────────────────────────────────
class DayBudget(Item, table=accounts, pk="BUDGET#{scope}", sk="{day}"):
    """How many messages an owner asked for, or an address was sent, on a day."""

    scope: Key[str]
    day: Key[date]
    sent: int = 0
    expires_at: Ttl

class KeyMark(Item, table=accounts, pk="KEYS", sk="KEYS"):
    """A value that only the right keys can decrypt, so that a process with other keys does not start."""

    mark: Secret[str]
    created_at: IsoMillis


class Accounts(Patterns, Protocol):
    # logins and credentials
    def login(self, name: str) -> Get[Login]: ...
    def logins_of(self, owner: str) -> Query[ListedLogin]: ...
    def is_login_of(self, name: str, owner: Eq[str]) -> Ensure[Login]: ...
    def release_login(self, name: str, owner: Eq[str]) -> Delete[Login]: ...
    def credentials(self, owner: str) -> Get[Credentials]: ...
    def account_state(self, owner: str) -> Get[AccountState]: ...
    def accounts(self) -> Query[ListedAccount]: ...
    def set_password(
        self, owner: str, created_at: Once[datetime], generation: Add[int], password_hash: str
    ) -> Upsert[Credentials]: ...
    @where("generation = {seen} AND created_at = {since}")
    def reset_password(
        self, owner: str, password_hash: str, generation: Add[int], seen: int, since: datetime
    ) -> Update[Credentials]: ...
    def rehash(self, owner: str, generation: Eq[int], password_hash: str) -> Update[Credentials]: ...
    def set_role(
        self, owner: str, created_at: Once[datetime], generation: Add[int], role: str | None
    ) -> Upsert[Credentials]: ...
    def end_sessions(self, owner: str, created_at: Once[datetime], generation: Add[int]) -> Upsert[Credentials]: ...
    def drop_credentials(self, owner: str) -> Delete[Credentials]: ...
    def listed(self, owner: str) -> Query[ListedLogin | ListedSession | ListedMessage]: ...
    def under_owner(self, owner: str) -> Query[Credentials | ApiKey | SecondFactor | Channel]: ...

    # keys
    def api_key(self, owner: str, key_id: str) -> Get[ApiKey]: ...
    def api_keys(self, owner: str) -> Query[ApiKey]: ...
    def key_owner(self, digest: str) -> Get[KeyOwner]: ...
    @where("attribute_not_exists(last_used_at) OR last_used_at <= {before}")
    def used_key(self, owner: str, key_id: str, last_used_at: datetime, before: datetime) -> Update[ApiKey]: ...
    def drop_key(self, owner: str, key_id: str, digest: Eq[str]) -> Delete[ApiKey]: ...
    def release_key(self, digest: str, owner: Eq[str]) -> Delete[KeyOwner]: ...

    # sessions
    def stored_session(self, digest: str) -> Get[StoredSession]: ...
    def sessions_of(self, owner: str) -> Query[ListedSession]: ...
    def extend_session(self, digest: str, expires_at: datetime) -> Update[StoredSession]: ...
    def drop_session(self, digest: str) -> Delete[StoredSession]: ...
    def attempts(self, digest: str) -> Get[SignInAttempts]: ...
    @where("failures = {seen}")
    def count_attempt(
        self, digest: str, failures: int, seen: int, locked_until: datetime | None, expires_at: datetime
    ) -> Update[SignInAttempts]: ...
    def forget_attempts(self, digest: str) -> Delete[SignInAttempts]: ...
    def membership(self, space: str, member: str) -> Get[Membership]: ...
    def members(self, space: str) -> Query[Membership]: ...
    def memberships(self, member: str) -> Query[ListedMembership]: ...

    # teams
    def set_team_role(self, space: str, member: str, team_role: Role) -> Update[Membership]: ...
    def is_member_as(self, space: str, member: str, team_role: Eq[Role]) -> Ensure[Membership]: ...
    def drop_member(self, space: str, member: str) -> Delete[Membership]: ...
    def invitation(self, space: str, invitation_id: str) -> Get[Invitation]: ...
    def invitations(self, space: str) -> Query[Invitation]: ...
    def withdraw_invitation(self, space: str, invitation_id: str) -> Delete[Invitation]: ...
    def use_invitation(self, space: str, invitation_id: str, address: Eq[str]) -> Delete[Invitation]: ...
    def act_in(self, digest: str, owner: Eq[str], space: str | None) -> Update[StoredSession]: ...

    # second factor
    def second_factor(self, owner: str) -> Get[SecondFactor]: ...
    @where("attribute_not_exists(confirmed_at) AND created_at = {seen}")
    def begin_factor_anew(
        self, owner: str, secret: str, created_at: datetime, generation: int, since: datetime | None, seen: datetime
    ) -> Update[SecondFactor]: ...
    @where("attribute_not_exists(confirmed_at) AND created_at = {seen}")
    def confirm_factor(
        self, owner: str, confirmed_at: datetime, last_step: int, recovery: list[str], seen: datetime
    ) -> Update[SecondFactor]: ...
    @where("last_step = {seen}")
    def accept_code(
        self, owner: str, last_step: int, seen: int, failures: int, locked_until: datetime | None
    ) -> Update[SecondFactor]: ...
    @where("recovery = {seen}")
    def change_recovery(
        self, owner: str, recovery: list[str], seen: list[str],
        failures: int = ..., locked_until: datetime | None = ...,
    ) -> Update[SecondFactor]: ...
    @where("failures = {seen}")
    def count_code(
        self, owner: str, failures: int, seen: int, locked_until: datetime | None
    ) -> Update[SecondFactor]: ...
    def drop_factor(self, owner: str) -> Delete[SecondFactor]: ...

    # channels
    def channel(self, owner: str, channel_id: str) -> Get[Channel]: ...
    def channels(self, owner: str) -> Query[Channel]: ...
    def usable_channels(self, owner: str) -> Query[UsableChannel]: ...
    def subscribed(self, subscription: str) -> Query[ListedChannel]: ...
    @where("attribute_not_exists(asked_at) OR asked_at <= {before}")
    def ask(self, owner: str, channel_id: str, asked_at: datetime, before: datetime) -> Update[Channel]: ...
    def confirm_channel(self, owner: str, channel_id: str, confirmed_at: datetime) -> Update[Channel]: ...
    def drop_channel(self, owner: str, channel_id: str) -> Delete[Channel]: ...

    # messages
    def message(self, about: str, message_id: str) -> Get[AnyMessage]: ...
    def messages_about(self, about: str) -> Query[AnyMessage]: ...
    def messages_of(self, owner: str) -> Latest[ListedMessage]: ...
    def drop_message(self, about: str, message_id: str) -> Delete[Message]: ...
    def outbox(self, send_at: Le[datetime]) -> Query[Outgoing]: ...
    def claim_message(self, message: Outgoing, send_at: datetime, attempts: Add[int]) -> Update[Waiting]: ...
    def retry_message(self, message: Waiting, send_at: datetime, last_error: str) -> Update[Waiting]: ...
    def mark_sent(self, message: Waiting, sent_at: datetime) -> Update[Sent]: ...
    @where("send_at = {lease}")
    def give_up(self, message: Waiting, lease: datetime, last_error: str) -> Update[Undeliverable]: ...
    @where("attribute_not_exists(sent) OR sent < {most}")
    def spend_message(
        self, scope: str, day: date, sent: Add[int], expires_at: datetime, most: int
    ) -> Upsert[DayBudget]: ...
    def key_mark(self) -> Get[KeyMark]: ...
