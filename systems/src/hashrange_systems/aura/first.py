"""Aura Historia, first table layout: PK and SK in capitals, no index, MD5 hashes."""

from typing import Protocol

from hashrange import Get, Item, Key, Patterns, Query, Table

table = Table("${AURA_SOURCE_TABLE:-aura-historia-data}", "PK", "SK", stream="NEW_AND_OLD_IMAGES")


class Shop(Item, table=table, PK="SHOP#{domain}", SK="META#"):
    domain: str
    standards_used: list[str] = []


class Url(Item, table=table, PK="SHOP#{domain}", SK="URL#{url}"):
    domain: Key[str]
    url: str
    standards_used: list[str] = []
    type: str | None = None
    is_product: bool = False
    hash: str | None = None


class FirstAura(Patterns, Protocol):
    def shop(self, domain: str) -> Get[Shop]: ...
    def url(self, domain: str, url: str) -> Get[Url]: ...
    def urls(self, domain: str) -> Query[Url]: ...
    def site(self, domain: str) -> Query[Shop | Url]: ...
