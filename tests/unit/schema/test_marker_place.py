"""A marker inside the value of a field, where no codec reads it, is refused when it is declared."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, NewType, Protocol

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType, TypedDict

import hashrange
from hashrange import (
    Commas,
    DeclarationError,
    Formerly,
    Get,
    Gsi,
    IsoMicros,
    IsoMillis,
    Item,
    Key,
    LocalKeys,
    Millis,
    OpenList,
    Patterns,
    Pipes,
    Prefixed,
    Query,
    Seconds,
    Secret,
    Stored,
    Table,
    Touched,
    Ttl,
    Version,
    View,
    initially,
)

Code = NewType("Code", str)
SecretCode = Annotated[Code, Stored("secret_code")]


class Card(BaseModel):
    number: Secret[str] | None = None


class Wallet(BaseModel):
    cards: dict[str, list[Card]] = {}


class Node(BaseModel):
    below: "list[Node]" = []
    at: Millis


class Row(TypedDict):
    at: Seconds


class Pair(NamedTuple):
    at: IsoMillis
    n: int


@dataclass
class Point:
    at: IsoMicros


def declare(hint: Any) -> None:
    class Account(Item, table=Table("accounts", "pk"), pk="ACCOUNT#{name}"):
        name: str
        value: hint | None = None

    class Accounts(Patterns, Protocol):
        def account(self, name: str) -> Get[Account]: ...


NESTED = {
    "list": (list[Secret[str]], "Secret in list"),
    "set": (set[Annotated[str, Prefixed("P#")]], "Prefixed in set"),
    "dict": (dict[str, Millis], "Millis in dict"),
    "tuple": (tuple[IsoMicros, ...], "IsoMicros in tuple"),
    "optional elements": (list[Secret[str] | None], "Secret in list"),
    "union of containers": (list[str] | dict[str, Secret[str]], "Secret in dict"),
    "list of lists": (list[list[Ttl]], "Ttl in list"),
    "part of a joined list": (Commas[Secret[str]], "Secret in list"),
    "joined list in a list": (list[Pipes[str]], "Pipes in list"),
    "new type": (list[SecretCode], "Stored in list"),
    "former prefix": (list[Annotated[str, Formerly("OLD#")]], "Formerly in list"),
    "version": (list[Version], "Version in list"),
    "touched": (list[Touched[datetime]], "Touched in list"),
    "key": (list[Key[str]], "Key in list"),
    "model": (Card, "Secret in Card.number"),
    "model in a model": (Wallet, "Secret in Card.number"),
    "model that contains itself": (Node, "Millis in Node.at"),
    "typed dict": (list[Row], "Seconds in Row.at"),
    "named tuple": (Pair, "IsoMillis in Pair.at"),
    "dataclass": (dict[str, Point], "IsoMicros in Point.at"),
    "alias": (TypeAliasType("Hidden", Secret[str]), "Secret in Hidden"),
}


@pytest.mark.parametrize(("hint", "found"), NESTED.values(), ids=NESTED)
def test_a_marker_inside_a_value_is_refused(hint: Any, found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(hint)
    assert caught.value.code == "HR167"
    assert f"Account.value: has the marker {found}" in str(caught.value)
    assert "a field of its own" in str(caught.value)


def test_a_marker_inside_a_value_of_a_state_or_a_view_is_refused() -> None:
    def in_state() -> None:
        class Position(View["Seat"]):
            seat: str

        class Free(Position, k="FREE"): ...

        class Held(Position, k="HELD"):
            tokens: list[Secret[str]]

        class Seat(Item, table=Table("seats", "pk", indexes=[Gsi("ByState", "event", "k")]), pk="SEAT#{seat}"):
            seat: str
            event: str
            state: Free | Held = initially(Free)

        class Seats(Patterns, Protocol):
            def free(self, event: str) -> Query[Free]: ...

    def in_view() -> None:
        class Job(Item, table=Table("jobs", "pk"), pk="JOB#{code}"):
            code: str
            times: list[datetime]

        class Times(View[Job]):
            times: list[Millis]

        class Jobs(Patterns, Protocol):
            def times(self, code: str) -> Get[Times]: ...

    declares: tuple[Callable[[], None], ...] = (in_state, in_view)
    for declares_it in declares:
        with pytest.raises(DeclarationError, match="HR167"):
            declares_it()


def test_markers_beside_a_field_and_its_none_keep_their_effect() -> None:
    for hint in (Secret[str], Secret[str] | None, Millis | None, Commas[str], Annotated[Code, Prefixed("C#")]):
        declare(hint)


def test_a_secret_of_a_state_is_a_field_and_is_encrypted() -> None:
    class Position(View["Account"]):
        name: str

    class New(Position, k="NEW"): ...

    class Linked(Position, k="LINKED"):
        token: Secret[str]

    class Account(Item, table=Table("accounts", "pk", indexes=[Gsi("ByState", "group", "k")]), pk="A#{name}"):
        name: str
        group: str
        state: New | Linked = initially(New)

    class Accounts(Patterns, Protocol):
        def account(self, name: str) -> Get[Account]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Accounts)
        db = Accounts.open(database, keys=LocalKeys.generate())
        db.create(Account(name="a", group="g", state=Linked(name="a", token="plain"))).imported().run()
        assert "plain" not in str(database.scan(TableName="accounts")["Items"])


def test_an_open_list_works_inside_a_value() -> None:
    class Note(BaseModel):
        kind: OpenList[Literal["a", "b"]]

    class Account(Item, table=Table("accounts", "pk"), pk="ACCOUNT#{name}"):
        name: str
        notes: list[Note]
        kinds: list[OpenList[Literal["a", "b"]]]

    class Accounts(Patterns, Protocol):
        def account(self, name: str) -> Get[Account]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Accounts)
        db = Accounts.open(database)
        raw: Any = {
            "pk": {"S": "ACCOUNT#1"},
            "name": {"S": "1"},
            "notes": {"L": [{"M": {"kind": {"S": "c"}}}]},
            "kinds": {"L": [{"S": "c"}]},
        }
        database.put_item(TableName="accounts", Item=raw)
        found = db.account("1").required().run()
        assert found.notes[0].kind == found.kinds[0] == "c"
        with pytest.raises(ValueError, match="Input should be 'a' or 'b'"):
            Account(name="2", notes=[], kinds=["c"])
