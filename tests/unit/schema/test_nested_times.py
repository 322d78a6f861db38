"""Times inside lists, maps, sets and nested models keep their digits, and the form that another program gave them."""

import copy
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import hashrange
from hashrange import Append, Contains, Filter, Get, Item, Patterns, Scan, Table, Update, where
from hashrange.schema.declare.marker import At


class Step(BaseModel):
    at: datetime
    until: datetime | None = None
    below: "list[Step]" = []


class Span(TypedDict):
    start: datetime


class Job(Item, table=Table("jobs", "pk"), pk="JOB#{name}"):
    name: str
    step: Step | None = None
    steps: list[Step] = Field(default=[])
    by_name: dict[str, datetime] = Field(default={})
    times: list[datetime] = Field(default=[])
    days: set[datetime] = Field(default=set())
    pair: tuple[str, datetime] | None = None
    span: Span | None = None
    either: datetime | int | None = None
    title: str = ""


class Jobs(Patterns, Protocol):
    def job(self, name: str) -> Get[Job]: ...
    def retitle(self, name: str, title: str) -> Update[Job]: ...
    def add(self, name: str, times: Append[datetime]) -> Update[Job]: ...
    def move(self, name: str, at: Annotated[datetime, At("step.at")]) -> Update[Job]: ...
    def at(self, times: Contains[datetime]) -> Filter[Job]: ...
    def all(self) -> Scan[Job]: ...
    @where("step.at = {at}")
    def rename_at(self, name: str, title: str, at: datetime) -> Update[Job]: ...


@pytest.fixture(scope="module")
def db() -> Any:
    with hashrange.open() as database:
        hashrange.create_tables(database, Jobs)
        yield Jobs.open(database)


def stored(db: Any, name: str = "1") -> Any:
    return db.session.transport.call("GetItem", {"TableName": "jobs", "Key": {"pk": {"S": f"JOB#{name}"}}})["Item"]


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))])
EXACT = st.integers(-(10**15), 10**15).map(
    lambda micros: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
)
TIMES = st.builds(datetime.astimezone, EXACT | EXACT.map(lambda moment: moment.replace(microsecond=0)), ZONES)
STEPS = st.builds(Step, at=TIMES, until=st.none() | TIMES, below=st.lists(st.builds(Step, at=TIMES), max_size=2))
JOBS = st.builds(
    Job,
    name=st.just("1"),
    step=st.none() | STEPS,
    steps=st.lists(STEPS, max_size=2),
    by_name=st.dictionaries(st.sampled_from("ab"), TIMES),
    times=st.lists(TIMES, max_size=3),
    days=st.sets(TIMES, max_size=3),
    pair=st.none() | st.tuples(st.just("x"), TIMES),
    span=st.none() | TIMES.map(lambda moment: Span(start=moment)),
    either=st.none() | TIMES,
    title=st.just(""),
)


@given(job=JOBS)
def test_what_is_read_equals_what_was_written(db: Any, job: Job) -> None:
    db.put(job).run()
    read = db.job("1").required().run()
    assert read == job
    before = stored(db)
    db.put(read).run()
    assert stored(db) == before


FORMS = [
    {"S": "2026-01-02T03:04:05Z"},
    {"S": "2026-01-02T03:04:05.6Z"},
    {"S": "2026-01-02T03:04:05.678Z"},
    {"S": "2026-01-02T03:04:05.678901Z"},
    {"S": "2026-01-02T03:04:05.000000Z"},
    {"S": "2026-01-02T03:04:05+05:30"},
    {"S": "2026-01-02T03:04:05.678"},
    {"S": "2026-01-02 03:04:05Z"},
    {"N": "1798761600"},
    {"N": "1798761600123"},
]


@given(data=st.data())
def test_what_another_program_wrote_is_written_unchanged(db: Any, data: st.DataObject) -> None:
    def form() -> Any:
        return data.draw(st.sampled_from(FORMS))

    def step(depth: int = 0) -> Any:
        return {"M": {"at": form(), "below": {"L": [step(depth + 1)] if depth < 2 else []}}}

    raw = {
        "pk": {"S": "JOB#1"},
        "name": {"S": "1"},
        "step": step(),
        "steps": {"L": [step(), step()]},
        "by_name": {"M": {"a": form()}},
        "times": {"L": [form(), form()]},
        "days": {"SS": ["2026-01-02T03:04:05.6Z", "2026-01-03T03:04:05Z"]},
        "pair": {"L": [{"S": "x"}, form()]},
        "span": {"M": {"start": form()}},
        "title": {"S": ""},
    }
    db.session.transport.call("PutItem", {"TableName": "jobs", "Item": raw})
    read = db.job("1").required().run()
    db.put(copy.deepcopy(read)).run()
    assert stored(db) == raw
    read.times.append(datetime(2027, 1, 1, tzinfo=UTC))  # in place, so that the item is validated again
    db.put(read.model_copy(update={"title": "new"})).run()
    times = {"L": [*raw["times"]["L"], {"S": "2027-01-01T00:00:00Z"}]}
    assert stored(db) == raw | {"title": {"S": "new"}, "times": times}


def test_whole_seconds_are_written_as_before(db: Any) -> None:
    db.put(Job(name="2", times=[datetime(2027, 1, 1, tzinfo=UTC)])).run()
    assert stored(db, "2")["times"] == {"L": [{"S": "2027-01-01T00:00:00Z"}]}


def test_a_search_for_an_exact_time_finds_it(db: Any) -> None:
    moment = datetime(2027, 1, 1, microsecond=5, tzinfo=UTC)
    db.put(Job(name="3", times=[moment], step=Step(at=moment))).run()
    assert [job.name for job in db.all().filter(db.at(moment))] == ["3"]
    assert db.rename_at("3", "found", at=moment).run().title == "found"


def test_changes_inside_a_field_keep_the_digits(db: Any) -> None:
    moment = datetime(2027, 1, 1, microsecond=5, tzinfo=UTC)
    db.put(Job(name="4", step=Step(at=moment))).run()
    later = moment + timedelta(microseconds=1)
    assert db.move("4", later).run().step.at == later
    assert db.add("4", [later]).run().times == [later]


def test_a_text_that_is_no_time_is_unreadable(db: Any) -> None:
    raw = {"pk": {"S": "JOB#5"}, "name": {"S": "5"}, "times": {"L": [{"S": "soon"}]}}
    db.session.transport.call("PutItem", {"TableName": "jobs", "Item": raw})
    with pytest.raises(hashrange.Unreadable, match=r"Job.times.0 is 'soon'"):
        db.job("5").run()
