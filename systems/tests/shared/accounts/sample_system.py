"""A small system with accounts: people in a table of their own, who sign in, and the services of their accounts."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol
from urllib.parse import parse_qs, urlsplit

import hashrange
from hashrange import Conflict, Ensure, Get, HashrangeError, Item, Key, LocalKeys, Patterns, Table, Update
from hashrange_systems.shared.accounts.account_services import make_account_services
from hashrange_systems.shared.accounts.schema import Accounts, accounts
from hashrange_systems.shared.accounts.sign_up_policy import OPEN
from hashrange_systems.shared.channels.channels import ChannelOptions
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.signed_token import TokenSigner

people = Table("people", "pk")
KEYS = LocalKeys.generate()
SECRET = b"a secret of the tests, long enough"
PASSWORD = "correct horse battery"


class Person(Item, table=people, pk="PERSON#{owner}"):
    owner: Key[str]
    status: str


class Active(Person):
    status: Literal["ACTIVE"] = "ACTIVE"


class Suspended(Person):
    status: Literal["SUSPENDED"] = "SUSPENDED"


class People(Patterns, Protocol):
    def person(self, owner: str) -> Get[Active | Suspended]: ...
    def suspend(self, owner: str, status: Literal["SUSPENDED"]) -> Update[Person]: ...
    def ensure(self, person: Active) -> Ensure[Active]: ...


class PeopleAccounts(Accounts, Protocol, names={accounts: "people-accounts"}): ...


class PeopleOwners:
    """The people of the system as owners."""

    def __init__(self, db):
        self.db = db

    async def find_active(self, owner):
        found = await self.db.person(owner).consistent()
        return found if isinstance(found, Active) else None

    def ensure_active(self, owner):
        return self.db.ensure(Active(owner=owner))

    def write_new(self, owner, address):
        return [self.db.create(Active(owner=owner))]


def render(message, channel):
    """What the system says in a message."""
    text = f"{message.topic} {message.content.get('text', '')}"
    return Notification(severity="info", subject=message.topic, text=text, html=text, data=dict(message.content))


class SampleSystem:
    """All services on one database."""

    def __init__(self, database, clock, *, demo=False, transport=None, hooks=(), sign_up=OPEN, owners=None, **more):
        self.database, self.clock = database, clock
        carrier = transport or database
        self.db = People.open(carrier, clock=clock, hooks=hooks)
        self.accounts = PeopleAccounts.open(carrier, clock=clock, keys=KEYS, secret=SECRET, hooks=hooks)
        self.owners = owners or PeopleOwners(self.db)
        self.services = make_account_services(
            self.accounts,
            self.owners,
            clock,
            TokenSigner(SECRET, "sample"),
            base_url="https://sample.example",
            demo=demo,
            channels=ChannelOptions(**more),
            sign_up=sign_up,
        )
        self.keys, self.factors, self.credentials = self.services.keys, self.services.factors, self.services.credentials
        self.sign_in, self.logins = self.services.sign_in, self.services.logins
        self.messages, self.channels = self.services.messages, self.services.channels
        self.sign_up, self.reset = self.services.sign_up, self.services.password_reset
        self.teams = self.services.teams
        self.mailbox = Mailbox(clock)
        self.outbox = self.services.make_outbox({"EMAIL": self.mailbox, "WEBHOOK": self.mailbox}, render)

    async def read_mail(self, address):
        """Send what is due; return the last mail to an address, or None."""
        await self.outbox.send_all()
        return next((mail.notification for mail in self.mailbox.all() if mail.recipient == address), None)

    async def read_link(self, address):
        """Send what is due; return the token of the link in the last mail to an address."""
        url = (await self.read_mail(address)).data["url"]
        assert url.startswith("https://sample.example/")
        return parse_qs(urlsplit(url).query)["token"][0]

    async def add(self, owner="ann", login=None, password=None, role=None):
        """Add a person with a login and a first key, in one transaction; return the key."""
        key = self.keys.prepare(owner, "first key")
        password_hash = None if password is None else await self.credentials.hash_new(password)
        writes = [self.db.create(Active(owner=owner)), self.logins.claim(login or f"{owner}@example.com", owner)]
        writes += [self.credentials.write_new(owner, role, password_hash), *self.keys.write(key)]
        await self.accounts.transact_all(writes).unread()
        return key

    def stored(self):
        """Every item of the accounts, as text by its keys."""
        items = self.database.call("Scan", {"TableName": "people-accounts"})["Items"]
        return {(item["pk"]["S"], item["sk"]["S"]): repr(item) for item in items}


def make_system(database, clock, **more):
    """The services on a new database."""
    hashrange.create_tables(database, People, PeopleAccounts)
    return SampleSystem(database, clock, **more)


def do(coroutine):
    return asyncio.run(coroutine)


def race(count, attempt):
    """Run attempts at the same moment, each on its own event loop; return the results, including errors."""

    def run(number):
        try:
            return asyncio.run(attempt(number))
        except (HashrangeError, Conflict) as refusal:
            return refusal

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def winners(outcomes):
    return [found for found in outcomes if not isinstance(found, Exception)]
