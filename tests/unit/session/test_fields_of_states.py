"""A write stores only what is read in the state that the item has, and every variant has its own index keys."""

from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Get,
    Gsi,
    Item,
    Patterns,
    Query,
    Table,
    Update,
    Upsert,
    View,
    initially,
)

jobs = Table("jobs", "pk", indexes=[Gsi("ByRun", "queue", "run_key"), Gsi("ByKind", "kind_key")])


class Run(View["Job"]):
    code: str


class Waiting(Run, run_key="WAITING#"): ...


class Running(Run, run_key="RUNNING#"):
    worker: str | None = None


class Leased(Running):
    lease: str


class Job(Item, table=jobs, pk="JOB#{code}", queue="Q", kind_key="JOB#{size:03d}"):
    code: str
    kind: Literal["small", "large"]
    size: int = 0
    name: str = ""
    run: Waiting | Running = initially(Waiting)


class Large(Job, kind_key="LARGE#{size:03d}"):
    kind: Literal["large"] = "large"
    crew: str | None = None


class Listed(View[Job]):
    code: str


class Jobs(Patterns, Protocol):
    def job(self, code: str) -> Get[Job]: ...
    def assign(self, code: str, worker: str) -> Update[Job]: ...
    def assign_listed(self, listed: Listed, worker: str) -> Update[Listed]: ...
    def assign_either(self, run: Waiting | Running, worker: str) -> Update[Job]: ...
    def name_and_assign(self, code: str, name: str = ..., worker: str = ...) -> Update[Listed]: ...
    def man(self, code: str, crew: str) -> Update[Job]: ...
    def resize(self, job: Large, size: int) -> Update[Large]: ...
    def start(self, run: Waiting) -> Update[Running]: ...


class LargeJobs(Patterns, Protocol):
    def of_size(self, size: int) -> Query[Large]: ...


@pytest.fixture
def database():
    with hashrange.open() as database:
        hashrange.create_tables(database, Jobs)
        yield database


@pytest.fixture
def db(database):
    return Jobs.open(database)


def stored(database, code):
    return database.call("GetItem", {"TableName": "jobs", "Key": {"pk": {"S": f"JOB#{code}"}}})["Item"]


@pytest.mark.parametrize(
    "assign",
    [
        lambda db, job: db.assign(job.code, "w"),
        lambda db, job: db.assign_listed(Listed(code=job.code), "w"),
        lambda db, job: db.assign_either(job.run, "w"),
        lambda db, job: db.name_and_assign(job.code, worker="w"),
    ],
    ids=["by key", "from a view", "from one of several states", "optional"],
)
def test_a_field_of_another_state_is_not_stored(database, db, assign):
    job = db.create(Job(code="1", kind="small")).run()
    before = stored(database, "1")
    with pytest.raises(Conflict):
        assign(db, job).run()
    assert stored(database, "1") == before
    running = db.start(job.run).run()
    assert running.worker is None
    assign(db, db.job("1").required().run()).run()
    assert db.job("1").required().run().run == Running(code="1", worker="w")


def test_an_optional_field_of_a_state_that_is_left_out_requires_no_state(db):
    db.create(Job(code="1", kind="small")).run()
    assert db.name_and_assign("1", name="x").run() == Listed(code="1")


def test_a_field_of_another_variant_is_not_stored(database, db):
    db.create(Job(code="1", kind="small")).run()
    with pytest.raises(Conflict):
        db.man("1", "ann").run()
    assert "crew" not in stored(database, "1")
    db.create(Large(code="2")).run()
    assert db.man("2", "ann").run() == Large(code="2", crew="ann")


@pytest.mark.parametrize(
    ("code", "signature"),
    [
        ("HR263", "run: Waiting, worker: str) -> Update[Job]"),
        ("HR263", "run: Waiting, worker: str) -> Update[Listed]"),
        ("HR263", "code: str, kind: Literal['small', 'large'], worker: str) -> Upsert[Job]"),
        ("HR264", "job: Job, kind: Literal['small', 'large']) -> Update[Large]"),
        ("HR248", "job: Large, kind: Literal['small', 'large']) -> Update[Listed]"),
        ("HR248", "job: Large, kind: Literal['small', 'large']) -> Update[Job]"),
    ],
)
def test_a_write_that_would_leave_the_class_that_it_returns_is_refused(code, signature):
    names = {**globals(), "Upsert": Upsert}
    with pytest.raises(DeclarationError) as refused:
        exec(f"class Writes(Patterns, Protocol):\n    def write(self, {signature}: ...\n", names)
    assert refused.value.code == code


def test_a_field_that_tells_a_variant_may_be_a_parameter_with_its_only_value(db, database):
    class Writes(Patterns, Protocol):
        def write(self, job: Large, kind: Literal["large"], size: int) -> Update[Large]: ...

    large = db.create(Large(code="1")).run()
    assert Writes.open(database).write(large, "large", 4).run() == large.model_copy(update={"size": 4})


@pytest.mark.parametrize("kind", [Job, Large])
def test_a_variant_with_a_lifecycle_is_stored_with_the_key_that_it_declares_anew(database, db, kind):
    large = db.create(kind(code="1", kind="large", size=7)).run()
    assert stored(database, "1")["kind_key"] == {"S": "LARGE#007"}
    assert LargeJobs.open(database).of_size(7).run() == [large]
    db.resize(large, 8).run()
    assert hashrange.dump_item(db.job("1").required().run()) == stored(database, "1")


parcels = Table("parcels", "pk", indexes=[Gsi("ByProgress", "city", "progress")])


class Progress(View["Parcel"]):
    code: str
    city: str
    note: str


class Open(Progress, progress="OPEN#"): ...


class Sent(Progress, progress="SENT#{day}"):
    day: str


class Parcel(Item, table=parcels, pk="PARCEL#{code}"):
    code: str
    city: str
    note: str
    progress_state: Open | Sent = initially(Open)


class Parcels(Patterns, Protocol):
    def parcel(self, code: str) -> Get[Parcel]: ...
    def annotate(self, code: str, note: str) -> Update[Parcel]: ...
    def send(self, state: Open, day: str) -> Update[Sent]: ...


def test_a_transaction_returns_what_is_stored_where_another_has_changed_a_field_of_every_state(database):
    hashrange.create_tables(database, Parcels)
    db = Parcels.open(database)
    seen = db.create(Parcel(code="1", city="Graz", note="old")).run()
    db.annotate("1", "new").run()
    (sent,) = db.transact(db.send(seen.progress_state, "2027-01-15")).run()
    assert sent == db.parcel("1").required().run().progress_state
    assert sent.note == "new"
