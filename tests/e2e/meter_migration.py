"""A migration of the meters of `stream_worker` to another key, for the command line."""

from typing import Protocol

from hashrange import Get, Item, Key, Patterns, Table
from hashrange.provision import Migration
from tests.e2e.stream_worker import Meter, Meters

new_table = Table("new-meters", "pk", deletion_protection=False)


class NewMeter(Item, table=new_table, pk="NEW#{name}"):
    name: Key[str]
    reading: int


class NewMeters(Patterns, Protocol):
    def meter(self, name: str) -> Get[NewMeter]: ...


renamed = Migration("renamed meters", source=Meters, target=NewMeters)


@renamed.convert(Meter)
def convert(old: Meter) -> NewMeter:
    """Give a meter its new key."""
    return NewMeter(name=old.name, reading=old.reading)
