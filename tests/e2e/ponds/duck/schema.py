"""One table of ducks."""

from typing import Protocol

from hashrange import Get, Item, Patterns, Query, Table

ducks = Table("ducks", "pk", "sk")


class Duck(Item, table=ducks, pk="POND#{pond}", sk="DUCK#{name}"):
    pond: str
    name: str


class Ducks(Patterns, Protocol):
    def duck(self, pond: str, name: str) -> Get[Duck]: ...
    def ducks(self, pond: str) -> Query[Duck]: ...
