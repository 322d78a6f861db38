"""Accounts as a part that several systems share: declared once, and mounted into a table of each system."""

from datetime import datetime
from typing import Literal, Protocol

from hashrange import (
    Ensure,
    Eq,
    Ge,
    Get,
    Gsi,
    In,
    Item,
    Key,
    Latest,
    Patterns,
    Query,
    Scan,
    Secret,
    Table,
    Ttl,
    Update,
    Upsert,
)

accounts = Table(
    "accounts",
    "pk",
    "sk",
    indexes=[Gsi("ByOwner", "owner", "created_at"), Gsi("ByState", "state", "pk")],
    ttl="expires_at",
    stream="NEW_AND_OLD_IMAGES",
    deletion_protection=False,
)


class Login(Item, table=accounts, pk="LOGIN#{name}", sk="LOGIN"):
    name: Key[str]
    owner: str
    created_at: datetime
    token: Secret[str] | None = None
    visits: int = 0


class SignIn(Item, table=accounts, pk="SIGNIN#{digest}", sk="SIGNIN"):
    digest: Key[str]
    user: str
    expires_at: Ttl


class Message(Item, table=accounts, pk="MESSAGE#{number:04d}", sk="MESSAGE"):
    number: Key[int]
    state: Literal["WAITING", "SENT"] = "WAITING"


class Waiting(Message):
    state: Literal["WAITING"] = "WAITING"


class Sent(Message):
    state: Literal["SENT"] = "SENT"


class Accounts(Patterns, Protocol, accept=("HR401 Accounts.everything",)):
    def login(self, name: str) -> Get[Login]: ...
    def logins_of(self, owner: str, created_at: Ge[datetime] | None = None) -> Query[Login]: ...
    def visited(self, owner: str, visits: In[int]) -> Query[Login]: ...
    def latest_of(self, owner: str) -> Latest[Login]: ...
    def everything(self) -> Scan[Login]: ...
    def visit(self, name: str, visits: int) -> Update[Login]: ...
    def give_token(self, name: str, token: str) -> Update[Login]: ...
    def is_of(self, name: str, owner: Eq[str]) -> Ensure[Login]: ...
    def sign_in(self, digest: str) -> Get[SignIn]: ...
    def renew(self, digest: str, user: str, expires_at: datetime) -> Upsert[SignIn]: ...
    def message(self, number: int) -> Get[Message]: ...
    def waiting(self) -> Query[Waiting]: ...
    def send(self, message: Waiting) -> Update[Sent]: ...
