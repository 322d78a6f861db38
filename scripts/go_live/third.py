"""The third version: numbers of ten digits, in a table of their own, and the migration to it."""

from datetime import datetime
from typing import Protocol

from hashrange import Delete, Get, Gsi, Item, Key, Patterns, Query, Table, Update
from hashrange.provision import Migration
from scripts.go_live import second

table = Table(
    "parcels-2",
    "pk",
    "sk",
    indexes=[Gsi("ByCustomer", "customer_key", "city_key")],
    stream="NEW_AND_OLD_IMAGES",
    deletion_protection=False,
)


class Parcel(
    Item,
    table=table,
    pk="P#{number:010d}",
    sk="INFO",
    customer_key="CUSTOMER#{customer}",
    city_key="{city}#{number:010d}",
):
    """A parcel and the city that it is in."""

    number: Key[int]
    customer: str
    city: str
    grams: int
    priority: int = 3


class Handling(Item, table=table, pk="P#{number:010d}", sk="HANDLED#{at}"):
    """What happened to a parcel at some time."""

    number: Key[int]
    at: datetime
    place: str


class Parcels(Patterns, Protocol):
    """The access patterns of the program."""

    def parcel(self, number: int) -> Get[Parcel]:
        """Return a parcel."""
        ...

    def handlings(self, number: int) -> Query[Handling]:
        """Return what happened to a parcel."""
        ...

    def of_customer(self, customer: str) -> Query[Parcel]:
        """Return the parcels of a customer, by city."""
        ...

    def move(self, number: int, city: str) -> Update[Parcel]:
        """Move a parcel to another city."""
        ...

    def forget(self, number: int) -> Delete[Parcel]:
        """Delete a parcel."""
        ...


ten_digits = Migration("ten digits", source=second.Parcels, target=Parcels)


@ten_digits.convert(second.Parcel)
def convert_parcel(old: second.Parcel) -> Parcel:
    """Return a parcel with the new keys."""
    return Parcel(number=old.number, customer=old.customer, city=old.city, grams=old.grams, priority=old.priority)


@ten_digits.convert(second.Handling)
def convert_handling(old: second.Handling) -> Handling:
    """Return a handling with the new key."""
    return Handling(number=old.number, at=old.at, place=old.place)
