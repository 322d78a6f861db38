"""Planted mistakes in declarations: both type checkers refuse each line that is marked `# E code: what`, and no other.

The code is mypy's, and the only one that it gives the line. Nothing here is ever run.
"""

from datetime import datetime
from typing import Annotated, Literal, Protocol

from hashrange import (
    At,
    ByKey,
    Delete,
    Filter,
    Formerly,
    Get,
    Gsi,
    In,
    Item,
    Latest,
    Le,
    Lsi,
    Patterns,
    Prefixed,
    Provisioned,
    Query,
    Scan,
    Stored,
    Table,
    Ttl,
    Update,
    Upsert,
    View,
    after,
    initially,
    via,
    where,
)

Table("shops")  # E call-arg: no key
Table("shops", "pk", "sk", ())  # E call-arg: indexes are given by name
Table("shops", "pk", index=[Gsi("ByName", "name")])  # E call-arg: misspelt keyword
Table("shops", "pk", indexes=["ByName"])  # E list-item: a name is no index
Table("shops", "pk", stream="NEW")  # E arg-type: no such view of a stream
Table("shops", "pk", billing="PROVISIONED")  # E arg-type: provisioned how?
Table("shops", "pk", billing=Provisioned(read="5", write=5))  # E arg-type: text for a capacity
Table("shops", "pk", naming="camel")  # E arg-type: the rule is a function
Table("shops", "pk", ttl=3600)  # E arg-type: ttl names the attribute
Gsi("ByName", "name", None, "SOME")  # E arg-type: ALL, KEYS_ONLY or a list
Lsi("ByName", "pk", "name", 5)  # E arg-type: same
where(("price", ">", 3))  # E arg-type: an expression is text
Stored(3)  # E arg-type: an attribute has a name
Prefixed()  # E call-arg: which prefix?
Formerly("NEVER#", 3)  # E arg-type: a prefix is text
via(3)  # E arg-type: an index has a name

table = Table("shops", "pk", "sk", indexes=[Gsi("ByCountry", "country", "gsi_sk")])


class Open(View["Shop"], gsi_sk="OPEN#"):
    domain: str


class Closed(View["Shop"], gsi_sk="CLOSED#{closed_at}"):
    domain: str
    closed_at: datetime


class Foreign(View["Shop"]):
    domain: str


class Shop(Item, table=table, pk="SHOP#{domain}", sk="META#"):
    domain: str
    country: Annotated[str, Prefixed("COUNTRY#")] = "ZZ"
    first: Open | Closed = initially(Foreign)  # E assignment: no state of this lifecycle
    tier: Literal["FREE", "PRO"] = "FRE"  # E assignment: misspelt default
    visits: int = None  # E assignment: not optional
    founded: datetime
    expires: Ttl = after("founded", weeks=2)  # E call-arg: days, hours or minutes
    expires_too: Ttl = after(3, days=2)  # E arg-type: the other field is named


class Wrong(Patterns, Protocol):
    def text(self, domain: str) -> Get[str]: ...  # E type-var: text is no item
    def rows(self, domain: str) -> Query[dict[str, str]]: ...  # E type-var: a dict is no item
    def none(self, domain: str) -> Latest[Shop | None]: ...  # E type-var: absent rows are not read
    def both(self, domain: str) -> Query[Shop, Open]: ...  # E type-arg: a union is written with |
    def table(self) -> Scan[table]: ...  # E valid-type: the table is no type
    def rename(self, domain: str, name: str) -> Update[int]: ...  # E type-var: a number is no item
    def touch(self, domain: str) -> Upsert[bytes]: ...  # E type-var: bytes are no item
    def before(self, shop: Shop, name: str) -> Update[Shop, int]: ...  # E type-var: a number was no item
    def many(self, shop: Shop, name: str) -> Update[Shop, Open, Closed]: ...  # E type-arg: a union is written with |
    def deep(self, name: str, x: Annotated[int, At("a.b")] = "1") -> Update[Shop]: ...  # E assignment: text inside
    def drop(self, domain: str) -> Delete[bool]: ...  # E type-var: what was there is an item
    def since(self, country: str, closed_at: Le) -> Query[Closed]: ...  # E type-arg: compared with what?
    def left_out(self, country: str, tier: str | None = 3) -> Query[Shop]: ...  # E assignment: a number for a text
    def few(self, country: str, visits: Le[int] = "3") -> Query[Shop]: ...  # E assignment: text for a number
    def among(self, country: str, tier: In) -> Query[Shop]: ...  # E type-arg: a list of what?
    def either(self, country: str, tier: In[str, int]) -> Query[Shop]: ...  # E type-arg: one type of values
    def is_long(self, length: int) -> Filter[int]: ...  # E type-var: numbers are no items
    def month(self, country: str, closed_at: ByKey) -> Query[Closed]: ...  # E type-arg: of what?
    def untyped(self, domain) -> Get[Shop]: ...  # E no-untyped-def: a parameter has a type
    @where(b"tier = :pro")  # E arg-type: an expression is text
    def paying(self, country: str) -> Query[Shop]: ...


class Misspelt(Patterns, Protocol, tennant="domain"):  # E call-arg: misspelt keyword
    def shop(self, domain: str) -> Get[Shop]: ...


class Mounted(Wrong, Protocol, names={"table": "other-shops"}):  # E dict-item: a table, not its name
    pass


class Unnamed(Wrong, Protocol, names="other-shops"):  # E arg-type: which table?
    pass


FORMER = Table("former", "pk", ttl="ends", former_ttl="minutes")  # E arg-type: milliseconds, or nothing
HERE = At(3)  # E arg-type: a path is text
NOWHERE = At()  # E call-arg: without a path


class OfOne(View[str]):  # E type-var: text is no item
    domain: str
