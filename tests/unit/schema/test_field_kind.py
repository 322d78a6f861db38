"""A field kind is one entry of KINDS: with it, a new type is stored, read, compared and put in keys."""

import re
from datetime import date, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal, Protocol, get_origin
from uuid import UUID

import pytest
from pydantic import Field

import hashrange
from hashrange import (
    Add,
    BeginsWith,
    Conflict,
    DeclarationError,
    Ge,
    Get,
    Gsi,
    Item,
    Patterns,
    Query,
    Scan,
    Table,
    Update,
    ValueInvalid,
    where,
)
from hashrange.schema.declare.codec import make_codec
from hashrange.schema.declare.field_kind import (
    KINDS,
    NUMBER,
    TEXT,
    Codec,
    FieldKind,
    categories_with,
    kind_of,
    read_text,
)
from hashrange.schema.items import changed_in_place, loader
from hashrange.schema.items.dumper import dump


def write_address(value):
    return {"S": ".".join(f"{int(part):03d}" for part in str(value).split("."))}


def parse_address(text):
    return IPv4Address(".".join(str(int(part)) for part in text.split(".")))


def make_address(_random, number):
    return IPv4Address("10.0.0.0") + number


@pytest.fixture
def addresses(monkeypatch):
    """The kind under test: an address with three digits a part, so that text order is the order of addresses."""
    codec = Codec("S", write_address, lambda value: parse_address(value["S"]), parse=parse_address)
    monkeypatch.setitem(KINDS, IPv4Address, FieldKind(IPv4Address, TEXT, codec, is_exact=True, sample=make_address))


@pytest.fixture
def hosts(addresses):
    table = Table("hosts", "pk", "sk", indexes=[Gsi("ByGateway", "gateway")])

    class Host(Item, table=table, pk="NET#{net}", sk="HOST#{address}"):
        net: str
        address: IPv4Address
        gateway: IPv4Address

    class Hosts(Patterns, Protocol):
        def host(self, net: str, address: IPv4Address) -> Get[Host]: ...
        def hosts(self, net: str) -> Query[Host]: ...
        def above(self, net: str, address: Ge[IPv4Address]) -> Query[Host]: ...
        def behind(self, gateway: IPv4Address) -> Query[Host]: ...
        def reroute(self, host: Host, *, gateway: IPv4Address) -> Update[Host]: ...

    return Host, Hosts


def test_a_new_kind_is_stored_read_compared_and_put_in_keys(hosts):
    host, patterns = hosts
    first, second, gateway = IPv4Address("10.0.0.9"), IPv4Address("10.0.0.20"), IPv4Address("10.0.0.1")
    with hashrange.open() as database:
        hashrange.create_tables(database, patterns)
        db = patterns.open(database)
        for address in (second, first):
            db.create(host(net="a", address=address, gateway=gateway)).run()
        assert db.host("a", first).required().run().gateway == gateway
        assert [found.address for found in db.hosts("a").run()] == [first, second]
        assert [found.address for found in db.above("a", IPv4Address("10.0.0.10")).run()] == [second]
        db.reroute(db.host("a", second).required().run(), gateway=second).run()
        assert [found.address for found in db.behind(second).run()] == [second]


def test_a_new_kind_has_samples(hosts):
    host, patterns = hosts
    made = [item for item in hashrange.sample(patterns, seed=7) if isinstance(item, host)]
    assert made
    assert {type(item.address) for item in made} == {IPv4Address}


def test_a_new_kind_has_its_own_form_in_attributes_and_keys(hosts):
    host, _ = hosts
    gateway = IPv4Address("10.0.0.1")
    raw = dump(host(net="a", address=gateway, gateway=gateway))
    assert raw["sk"] == {"S": "HOST#010.000.000.001"}
    assert raw["gateway"] == {"S": "010.000.000.001"}


def test_a_new_kind_has_the_compiled_reader_and_the_careful_one_agree(addresses):
    table = Table("routers", "pk")

    class Router(Item, table=table, pk="ROUTER#{name}"):
        name: str
        address: IPv4Address

    router = Router(name="r", address=IPv4Address("10.0.0.7"))
    (reader,) = loader._readers(Router)
    assert reader.whole(dump(router)) == reader.read_uncompiled(dump(router), "whole") == router  # type: ignore[misc]


def test_a_new_kind_has_the_comparisons_and_changes_of_its_category(hosts):
    host, _ = hosts

    class Fine(Patterns, Protocol):
        def near(self, net: str, address: BeginsWith[str]) -> Query[host]: ...  # type: ignore[valid-type]

    with pytest.raises(DeclarationError, match=r"HR214.* is text, which has no Add"):

        class Wrong(Patterns, Protocol):
            def add(self, host: host, gateway: Add[IPv4Address]) -> Update[host]: ...  # type: ignore[valid-type]


def write_seconds(value):
    return {"N": str(int(value.total_seconds()))}


@pytest.fixture
def durations(monkeypatch):
    """Another kind under test: a duration, stored as a number of seconds."""
    codec = Codec("N", write_seconds, lambda value: timedelta(seconds=int(value["N"])))
    monkeypatch.setitem(KINDS, timedelta, FieldKind(timedelta, NUMBER, codec))


def test_a_new_kind_is_counted_within_its_bounds(durations):
    class Stay(Item, table=Table("stays", "pk"), pk="STAY#{guest}"):
        guest: str
        length: Annotated[timedelta, Field(le=timedelta(hours=2))] = timedelta(0)

    class Stays(Patterns, Protocol):
        def extend(self, guest: str, length: Add[timedelta]) -> Update[Stay]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Stays)
        db = Stays.open(database)
        db.create(Stay(guest="ann", length=timedelta(hours=1))).run()
        assert db.extend("ann", timedelta(hours=1)).run().length == timedelta(hours=2)
        with pytest.raises(Conflict):
            db.extend("ann", timedelta(seconds=1)).run()


def test_a_path_leads_into_no_value_of_a_new_kind(durations):
    class Wait(Item, table=Table("waits", "pk"), pk="WAIT#{guest}"):
        guest: str
        length: timedelta

    with pytest.raises(DeclarationError, match="HR226"):

        class Waits(Patterns, Protocol):
            @where("length.hours = {hours}")
            def of(self, hours: int) -> Scan[Wait]: ...


def test_an_item_with_fields_of_a_new_kind_is_not_validated_again_by_a_put(durations):
    class Wait(Item, table=Table("waits", "pk"), pk="WAIT#{guest}"):
        guest: str
        length: timedelta

    class Waits(Item, table=Table("waits", "pk"), pk="WAITS#{guest}"):
        guest: str
        lengths: list[timedelta]

    assert changed_in_place._checks(Wait) == ()
    good = Waits(guest="ann", lengths=[timedelta(1)])
    assert not changed_in_place.may_have_changed(good)
    good.lengths.append("a day")
    assert changed_in_place.may_have_changed(good)


def test_a_number_of_a_new_kind_in_a_key_says_that_it_has_no_format(durations):
    class Wait(Item, table=Table("waits", "pk"), pk="WAIT#{length}"):
        length: timedelta

    with pytest.raises(DeclarationError, match=r"HR133.*give it a format: there is none for its type"):

        class Waits(Patterns, Protocol):
            def wait(self, length: timedelta) -> Get[Wait]: ...


def test_a_map_is_not_added_to():
    table = Table("maps", "pk")

    class Sheet(Item, table=table, pk="SHEET#{name}"):
        name: str
        cells: dict[str, int]

    with pytest.raises(DeclarationError, match=r"HR214.* is a map, which has no Add; Add is for a number, a set"):

        class Sheets(Patterns, Protocol):
            def add(self, sheet: Sheet, cells: Add[dict[str, int]]) -> Update[Sheet]: ...


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (str, "text"),
        (UUID, "text"),
        (Literal["a", "b"], "text"),
        (Literal[1] | None, "a number"),
        (date, "a date"),
        (list[int], "a list"),
        (set[str], "a set"),
        (dict[str, int], "a map"),
        (int | None, "a number"),
    ],
)
def test_each_type_is_of_a_category(hint, name):
    assert kind_of(hint).category.name == name


def test_a_type_of_no_one_kind_is_of_no_category():
    assert kind_of(Literal["a", 1]) is None
    assert kind_of(int | str) is None


def test_each_comparison_names_the_categories_that_have_it():
    assert categories_with("begins_with") == ["a date", "a time", "bytes", "text"]
    assert categories_with("DELETE") == ["a set"]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: str(kind.type))
def test_the_codec_of_a_type_is_that_of_its_kind(kind):
    assert make_codec(kind.type, ()).encode is kind.codec.encode


@pytest.mark.parametrize("element", ["S", "N", "B"])
def test_the_tag_of_a_set_is_that_of_its_elements(element):
    hint = {"S": set[UUID], "N": set[int], "B": set[bytes]}[element]
    assert make_codec(hint, ()).tag == f"{element}S"


def test_an_empty_or_mixed_set_is_refused():
    for wrong in (set(), {1, "a"}):
        with pytest.raises(ValueInvalid):
            make_codec(set[str], ()).encode(wrong)


def test_a_text_of_another_type_is_left_to_pydantic():
    assert read_text({"N": "5"}) == 5


def test_the_documentation_lists_the_types_of_all_kinds():
    page = (Path(__file__).parents[3] / "docs" / "howto" / "declare-a-table.md").read_text("utf-8")
    table = page.partition("\n## Fields\n")[2].partition("\n## ")[0]
    names = {(get_origin(kind) or kind).__name__ for kind in KINDS}
    assert {name for name in names if not re.search(rf"`{name}\b", table)} == set()
