"""The second version: an index of the parcels of a customer, a priority, and a stream for the migration."""

from datetime import datetime
from typing import Protocol

from hashrange import Delete, Get, Gsi, Item, Key, Patterns, Query, Table, Update

table = Table(
    "parcels",
    "pk",
    "sk",
    indexes=[Gsi("ByCustomer", "customer_key", "city_key")],
    stream="NEW_AND_OLD_IMAGES",
    deletion_protection=False,
)


class Parcel(
    Item,
    table=table,
    pk="PARCEL#{number:06d}",
    sk="INFO",
    customer_key="CUSTOMER#{customer}",
    city_key="{city}#{number:06d}",
):
    """A parcel and the city that it is in."""

    number: Key[int]
    customer: str
    city: str
    grams: int
    priority: int = 3


class Handling(Item, table=table, pk="PARCEL#{number:06d}", sk="HANDLED#{at}"):
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
