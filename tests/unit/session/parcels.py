"""The declarations of the tests of consumers: parcels that are moved and paid, with a stream."""

from typing import Literal, Protocol

from hashrange import Delete, Get, Item, Key, Patterns, Table, Update

table = Table("parcels", "pk", "sk", stream="NEW_AND_OLD_IMAGES")
checkpoints = Table("checkpoints", "consumer", "shard")


class Parcel(Item, table=table, pk="PARCEL#{number}", sk="PARCEL"):
    number: Key[str]
    city: str
    paid: bool = False


class Paid(Parcel):
    paid: Literal[True] = True


class Unpaid(Parcel):
    paid: Literal[False] = False


class Note(Item, table=table, pk="PARCEL#{number}", sk="NOTE"):
    number: Key[str]
    text: str


class Parcels(Patterns, Protocol):
    def parcel(self, number: str) -> Get[Parcel]: ...
    def move(self, number: str, city: str) -> Update[Parcel]: ...
    def pay(self, parcel: Unpaid) -> Update[Paid]: ...
    def drop(self, number: str) -> Delete[Parcel]: ...
