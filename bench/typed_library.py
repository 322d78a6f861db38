"""The same item in three libraries: hashrange, PynamoDB and pydynox, each with put, get and a query of a hundred."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from bench.peers import Unavailable
from bench.settings import PEERS_DIR
from hashrange import Get, Item, Key, Patterns, Query, Table

NAME = "orders"
CUSTOMER = "42"  # each library has its own customer: PynamoDB does not read the times of others
COUNT = 100
AT = datetime(2026, 1, 15, 12, tzinfo=UTC)

table = Table(NAME, "pk", "sk", deletion_protection=False)


class Order(Item, table=table, pk="CUSTOMER#{customer}", sk="ORDER#{number:06d}"):
    """An order, as a shop might keep it."""

    customer: Key[str]
    number: Key[int]
    status: str
    total: int
    currency: str
    paid: bool
    placed_at: datetime
    lines: list[str]
    address: dict[str, str]
    note: str | None = None


class Orders(Patterns, Protocol):
    """What is measured."""

    def order(self, customer: str, number: int) -> Get[Order]: ...  # noqa: D102 - the signature says it
    def orders(self, customer: str) -> Query[Order]: ...  # noqa: D102 - same


VALUES: dict[str, Any] = {
    "status": "PLACED",
    "total": 12_990,
    "currency": "EUR",
    "paid": True,
    "lines": ["one chair", "two tables", "a lamp that is rather long to write down here"],
    "address": {"street": "Hauptstraße 1", "city": "Berlin", "country": "DE"},
}


@dataclass(frozen=True, slots=True)
class Library:
    """One library on one database: three calls to be measured."""

    name: str
    put: Callable[[int], object]
    get: Callable[[int], object]
    query: Callable[[], int]


def use_hashrange(database: Any, name: str) -> Library:
    """hashrange on any transport."""
    db = Orders.open(database)

    def put(number: int) -> object:
        return db.put(Order(customer=CUSTOMER, number=number, placed_at=AT, **VALUES)).run()

    return Library(name, put, lambda number: db.order(CUSTOMER, number).run(), lambda: len(db.orders(CUSTOMER).run()))


def use_pynamodb(url: str) -> Library:
    """PynamoDB on an endpoint."""
    from pynamodb.attributes import (
        BooleanAttribute,
        ListAttribute,
        MapAttribute,
        NumberAttribute,
        UnicodeAttribute,
        UTCDateTimeAttribute,
    )
    from pynamodb.models import Model

    class PynamoOrder(Model):
        class Meta:
            table_name = NAME
            host = url
            region = "eu-west-2"
            aws_access_key_id = "local"
            aws_secret_access_key = "local"

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        status = UnicodeAttribute()
        total = NumberAttribute()
        currency = UnicodeAttribute()
        paid = BooleanAttribute()
        placed_at = UTCDateTimeAttribute()
        lines = ListAttribute()
        address = MapAttribute()
        note = UnicodeAttribute(null=True)

    def put(number: int) -> object:
        return PynamoOrder("CUSTOMER#43", f"ORDER#{number:06d}", placed_at=AT, **VALUES).save()

    def get(number: int) -> object:
        return PynamoOrder.get("CUSTOMER#43", f"ORDER#{number:06d}")

    return Library("PynamoDB", put, get, lambda: len(list(PynamoOrder.query("CUSTOMER#43"))))


def use_pydynox(url: str) -> Library:
    """pydynox on an endpoint; installed beside the other peers on first use."""
    pydynox, attributes = find_pydynox()
    client = pydynox.DynamoDBClient(region="eu-west-2", access_key="local", secret_key="local", endpoint_url=url)
    text, number_of = attributes.StringAttribute, attributes.NumberAttribute

    class RustOrder(pydynox.Model):  # type: ignore[misc, name-defined]  # it is imported when it is there
        model_config = pydynox.ModelConfig(table=NAME, client=client)
        pk = text(partition_key=True)
        sk = text(sort_key=True)
        status = text()
        total = number_of()
        currency = text()
        paid = attributes.BooleanAttribute()
        placed_at = attributes.DatetimeAttribute()
        lines = attributes.ListAttribute()
        address = attributes.MapAttribute()
        note = text()

    def put(number: int) -> object:
        order = RustOrder(pk="CUSTOMER#44", sk=f"ORDER#{number:06d}", placed_at=AT, **VALUES)
        return order.sync_save()

    def get(number: int) -> object:
        return RustOrder.sync_get(pk="CUSTOMER#44", sk=f"ORDER#{number:06d}")

    return Library("pydynox", put, get, lambda: len(list(RustOrder.sync_query("CUSTOMER#44"))))


def find_pydynox() -> tuple[Any, Any]:
    """pydynox and its attributes."""
    directory = PEERS_DIR / "pydynox"
    if not directory.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(directory), "pydynox"]
        if subprocess.run(command, check=False).returncode:
            raise Unavailable("pydynox could not be installed")
    sys.path.append(str(directory))
    return importlib.import_module("pydynox"), importlib.import_module("pydynox.attributes")
