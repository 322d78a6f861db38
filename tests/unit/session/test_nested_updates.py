"""Updates inside a field: members of models and maps, elements of lists."""

from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

import pytest
from pydantic import BaseModel, Field

import hashrange
from hashrange import (
    Add,
    Append,
    At,
    Commas,
    Conflict,
    DeclarationError,
    Delete,
    Discard,
    Eq,
    Get,
    Gsi,
    Item,
    Missing,
    Once,
    Patterns,
    Query,
    Secret,
    Table,
    Touched,
    Update,
    Upsert,
    ValueInvalid,
    Version,
    where,
)

table = Table("people", "pk", indexes=[Gsi("ByTeam", "team", "team_key")])
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


class Address(BaseModel):
    city: str
    street: str | None = None
    floors: Annotated[int, Field(ge=0)] = 3
    seen: datetime | None = None


class Person(Item, table=table, pk="PERSON#{name}", team_key="{rank}#{name}"):
    name: str
    team: str = "A"
    rank: str = "x"
    address: Address | None = None
    words: dict[str, int] = {}  # noqa: RUF012 - pydantic copies it
    notes: list[str] = []  # noqa: RUF012 - same
    homes: list[Address] = []  # noqa: RUF012 - same
    groups: dict[str, list[str]] = {}  # noqa: RUF012 - same
    anything: dict[str, Any] = {}  # noqa: RUF012 - same
    tags: dict[str, set[str]] = {}  # noqa: RUF012 - same
    joined: Commas[str] = []  # noqa: RUF012 - same
    secret: Secret[str] | None = None
    changed_at: Touched[datetime] = NOON
    version: Version = 0


class People(Patterns, Protocol):
    def person(self, name: str) -> Get[Person]: ...
    def move(self, name: str, city: Annotated[str, At("address.city")]) -> Update[Person]: ...
    def move_street(self, name: str, street: Annotated[str | None, At("address.street")]) -> Update[Person]: ...
    def see(self, name: str, seen: Annotated[Once[datetime], At("address.seen")]) -> Update[Person]: ...
    def build(self, name: str, floors: Annotated[Add[int], At("address.floors")]) -> Update[Person]: ...
    def count(self, name: str, word: str, times: Annotated[Add[int], At("words.{word}")]) -> Update[Person]: ...
    def forget(self, name: str, word: str, times: Annotated[None, At("words.{word}")] = None) -> Update[Person]: ...
    def renote(self, name: str, index: int, note: Annotated[str, At("notes[{index}]")]) -> Update[Person]: ...
    def drop_note(
        self, name: str, index: int, note: Annotated[None, At("notes[{index}]")] = None
    ) -> Update[Person]: ...
    def rehome(self, name: str, index: int, city: Annotated[str, At("homes[{index}].city")]) -> Update[Person]: ...
    def first_home(self, name: str, home: Annotated[Address, At("homes[0]")]) -> Update[Person]: ...
    def join(self, name: str, group: str, members: Annotated[Append[str], At("groups.{group}")]) -> Update[Person]: ...
    def tag(self, name: str, key: str, tags: Annotated[Add[set[str]], At("tags.{key}")]) -> Update[Person]: ...
    def untag(self, name: str, key: str, tags: Annotated[Discard[str], At("tags.{key}")]) -> Update[Person]: ...
    def store(self, name: str, key: str, value: Annotated[float, At("anything.{key}.deep")]) -> Update[Person]: ...
    def promote(
        self,
        person: Person,
        rank: str,
        city: Annotated[str, At("address.city")] = ...,
        word: Annotated[int, At("words.rank")] = ...,
    ) -> Update[Person]: ...
    def team(self, team: str) -> Query[Person]: ...
    @where("address.city = {old}")
    def move_from(self, name: str, old: str, city: Annotated[str, At("address.city")]) -> Update[Person]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, People)
        db = People.open(database)
        person = Person(
            name="ann",
            address=Address(city="Wien", street="Ring"),
            words={"a": 1},
            notes=["one", "two"],
            homes=[Address(city="Graz"), Address(city="Linz")],
            groups={"x": ["bo"]},
            anything={"k": {"deep": 1}},
        )
        db.create(person).run()
        db.create(Person(name="bare")).run()
        yield db


def test_a_member_of_a_model_is_set_and_removed(db):
    assert db.move("ann", "Rom").run().address == Address(city="Rom", street="Ring")
    assert db.move_street("ann", None).run().address == Address(city="Rom")
    assert db.move_street("ann", "Via").run().address == Address(city="Rom", street="Via")
    assert db.see("ann", NOON).run().address.seen == NOON
    assert db.see("ann", NOON.replace(hour=1)).run().address.seen == NOON


def test_members_of_a_map_are_named_by_arguments(db):
    for word in ("a", "b", "a.b", "name", "{word}", "#x"):
        db.count("ann", word, 2).run()
    assert db.person("ann").required().run().words == {"a": 3, "b": 2, "a.b": 2, "name": 2, "{word}": 2, "#x": 2}
    assert "a" not in db.forget("ann", "a").run().words


def test_elements_of_a_list_are_set_and_removed(db):
    assert db.renote("ann", 1, "2").run().notes == ["one", "2"]
    assert db.drop_note("ann", 0).run().notes == ["2"]
    assert [home.city for home in db.rehome("ann", 1, "Bern").run().homes] == ["Graz", "Bern"]
    assert db.first_home("ann", Address(city="Oslo")).run().homes[0] == Address(city="Oslo")


def test_lists_and_sets_inside_maps_grow_and_shrink(db):
    assert db.join("ann", "x", ["cy"]).run().groups == {"x": ["bo", "cy"]}
    assert db.join("ann", "y", ["di"]).run().groups == {"x": ["bo", "cy"], "y": ["di"]}
    db.tag("ann", "k", {"1", "2"}).run()
    assert db.untag("ann", "k", {"1"}).run().tags == {"k": {"2"}}
    assert db.store("ann", "k", 2.5).run().anything == {"k": {"deep": 2.5}}


def test_a_number_inside_a_model_is_counted_from_its_default_and_within_its_bounds(db):
    key = {"TableName": "people", "Key": {"pk": {"S": "PERSON#ann"}}}
    db.session.transport.call("UpdateItem", {**key, "UpdateExpression": "REMOVE address.floors"})
    with pytest.raises(Conflict):
        db.build("ann", -4).run()
    assert db.build("ann", -3).run().address.floors == 0
    with pytest.raises(Conflict):
        db.build("ann", -1).run()


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.move("bare", "Rom"),
        lambda db: db.renote("ann", 2, "x"),
        lambda db: db.drop_note("ann", 2),
        lambda db: db.rehome("ann", 9, "x"),
        lambda db: db.store("ann", "other", 1.0),
    ],
)
def test_a_place_that_does_not_exist_is_a_conflict(db, write):
    before = [db.person(name).run() for name in ("ann", "bare")]
    with pytest.raises(Conflict):
        write(db).run()
    assert [db.person(name).run() for name in ("ann", "bare")] == before


def test_an_item_that_does_not_exist_is_missing(db):
    with pytest.raises(Missing):
        db.count("nobody", "a", 1).run()


def test_touched_times_versions_and_index_keys_are_written_beside(db):
    ann = db.person("ann").required().run()
    first = db.promote(ann, "y", city="Rom").run()
    assert (first.rank, first.address.city, first.version) == ("y", "Rom", 1)
    second = db.promote(first, "z", word=7).run()
    assert (second.words, second.address.city) == ({"a": 1, "rank": 7}, "Rom")
    raw = db.session.transport.call("GetItem", {"TableName": "people", "Key": {"pk": {"S": "PERSON#ann"}}})["Item"]
    assert raw["team_key"] == {"S": "z#ann"}
    assert second.changed_at != NOON
    with pytest.raises(Conflict):
        db.promote(first, "q", city="Bern").run()


def test_a_condition_on_the_same_place(db):
    with pytest.raises(Conflict):
        db.move_from("ann", "Graz", "Rom").run()
    assert db.move_from("ann", "Wien", "Rom").returning_old().run().address.city == "Wien"


def test_values_and_places_are_validated_before_anything_is_sent(db):
    for write in (
        lambda: db.move("ann", 7),
        lambda: db.count("ann", "", 1).run(),
        lambda: db.renote("ann", -1, "x").run(),
        lambda: db.renote("ann", True, "x").run(),
    ):
        with pytest.raises(ValueInvalid):
            write()


def test_a_transaction_takes_nested_updates(db):
    moved, counted = db.transact(db.move("ann", "Rom"), db.count("bare", "a", 1)).run()
    assert (moved.address.city, counted.words) == ("Rom", {"a": 1})


def test_the_plan_shows_the_path():
    shown = People.plan("count").explain()
    assert "SET" in shown
    assert "words.{word} {times}" in shown
    assert "REMOVE notes[{index}]" in People.plan("drop_note").explain()


class Other(BaseModel):
    city: str


class Keyed(Item, table=Table("keyed", "pk", indexes=[Gsi("ByKey", "gp", "gs")]), pk="K#{name}", gp="P", gs="{place}"):
    name: str
    place: str
    other: list[str] = []  # noqa: RUF012 - pydantic copies it


WRONG = {
    "a misspelt member": (Person, "name: str, a: Annotated[str, At('address.town')]", "Update"),
    "a misspelt field": (Person, "name: str, a: Annotated[str, At('adress.town')]", "Update"),
    "a whole field": (Person, "name: str, a: Annotated[str, At('address')]", "Update"),
    "no path": (Person, "name: str, a: Annotated[str, At('address..city')]", "Update"),
    "a member of a list": (Person, "name: str, a: Annotated[str, At('notes.first')]", "Update"),
    "an element of a map": (Person, "name: str, a: Annotated[int, At('words[0]')]", "Update"),
    "inside text": (Person, "name: str, a: Annotated[str, At('team.x')]", "Update"),
    "inside a joined list": (Person, "name: str, a: Annotated[str, At('joined[0]')]", "Update"),
    "inside a secret": (Person, "name: str, a: Annotated[str, At('secret.x')]", "Update"),
    "another type": (Person, "name: str, a: Annotated[int, At('address.city')]", "Update"),
    "another model": (Person, "name: str, a: Annotated[Other, At('homes[0]')]", "Update"),
    "no such change": (Person, "name: str, a: Annotated[Add[str], At('address.city')]", "Update"),
    "a required member": (Person, "name: str, a: Annotated[None, At('address.city')] = None", "Update"),
    "an element that may be None": (Person, "name: str, a: Annotated[str | None, At('notes[0]')]", "Update"),
    "a comparison": (Person, "name: str, a: Annotated[Eq[str], At('address.city')]", "Update"),
    "no such parameter": (Person, "name: str, a: Annotated[int, At('words.{word}')]", "Update"),
    "a position that is text": (Person, "name: str, i: str, a: Annotated[str, At('notes[{i}]')]", "Update"),
    "a name that is a number": (Person, "name: str, i: int, a: Annotated[int, At('words.{i}')]", "Update"),
    "an optional name": (Person, "name: str, a: Annotated[int, At('words.{w}')], w: str = ...", "Update"),
    "the whole and a part": (Person, "name: str, words: dict[str, int], a: Annotated[int, At('words.x')]", "Update"),
    "a part of a part": (
        Person,
        "name: str, a: Annotated[Address, At('homes[0]')], b: Annotated[str, At('homes[0].city')]",
        "Update",
    ),
    "an upsert": (Person, "name: str, a: Annotated[int, At('words.x')]", "Upsert"),
    "a delete": (Person, "name: str, a: Annotated[int, At('words.x')]", "Delete"),
    "a read": (Person, "name: str, a: Annotated[int, At('words.x')]", "Get"),
    "a field of a key": (Keyed, "name: str, a: Annotated[str, At('place.x')]", "Update"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_path_that_cannot_be_written_is_refused(case):
    model, parameters, verb = WRONG[case]
    text = f"class Wrong(Patterns, Protocol):\n    def write(self, {parameters}) -> {verb}[{model.__name__}]: ...\n"
    with pytest.raises(DeclarationError, match=r"HR253|HR206|HR210"):
        exec(text, {**globals(), "Delete": Delete, "Eq": Eq, "Upsert": Upsert})
