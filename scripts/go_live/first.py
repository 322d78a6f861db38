"""The first version: parcels and what happened to them, by a number of six digits."""

from datetime import datetime
from typing import Protocol

from hashrange import Delete, Get, Item, Key, Patterns, Query, Table, Update

table = Table("parcels", "pk", "sk", deletion_protection=False)


class Parcel(Item, table=table, pk="PARCEL#{number:06d}", sk="INFO"):
    """A parcel and the city that it is in."""

    number: Key[int]
    customer: str
    city: str
    grams: int


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

    def move(self, number: int, city: str) -> Update[Parcel]:
        """Move a parcel to another city."""
        ...

    def forget(self, number: int) -> Delete[Parcel]:
        """Delete a parcel."""
        ...
