"""What was read unchanged is written unchanged: times that another program stored in a form of its own."""

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import hashrange
from hashrange import Get, Gsi, IsoMicros, IsoMillis, Item, Key, Le, Patterns, Query, Table, Update

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)

table = Table(
    "submissions",
    "pk",
    indexes=[Gsi("ByStatus", "status", "status_key"), Gsi("ByTime", "kind", "created_at"), Gsi("ByKey", "kind", "k")],
)


class Submission(Item, table=table, pk="SUB#{name}", status_key="{created_at}#{name}", k="K#{keyed_at}"):
    name: str
    kind: str = "S"
    status: str = "NEW"
    created_at: datetime
    keyed_at: Key[datetime]
    millis_at: IsoMillis | None = None
    micros_at: IsoMicros | None = None
    bounded_at: Annotated[datetime, Field(gt=datetime(2000, 1, 1, tzinfo=UTC))] | None = None


class Submissions(Patterns, Protocol):
    def submission(self, name: str) -> Get[Submission]: ...
    def until(self, kind: str, created_at: Le[datetime]) -> Query[Submission]: ...
    def decide(self, submission: Submission, status: str) -> Update[Submission]: ...
    def date(self, submission: Submission, created_at: datetime) -> Update[Submission]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Submissions)
        yield Submissions.open(database)


def store(db, text, **more):
    """Store an item as another program does, with a time of this form in an attribute and in two keys."""
    raw = {"pk": "SUB#1", "name": "1", "kind": "S", "status": "NEW", "created_at": text}
    raw |= {"status_key": f"{text}#1", "k": f"K#{text}", **more}
    item = {name: {"S": value} for name, value in raw.items()}
    db.session.transport.call("PutItem", {"TableName": "submissions", "Item": item})
    return item


def stored(db):
    return db.session.transport.call("GetItem", {"TableName": "submissions", "Key": {"pk": {"S": "SUB#1"}}})["Item"]


FORMS = ["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.678", "2026-01-02 03:04:05Z"]
EXACT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("text", FORMS)
def test_a_put_of_what_was_read_changes_nothing(db, text):
    raw = store(db, text, millis_at=text, micros_at=text, bounded_at=text)
    found = db.submission("1").required().run()
    db.put(found).run()
    assert stored(db) == raw
    assert found.created_at == EXACT


@pytest.mark.parametrize("text", FORMS)
def test_a_put_that_changes_another_field_leaves_the_index_keys(db, text):
    raw = store(db, text)
    db.put(db.submission("1").required().run().model_copy(update={"status": "DONE"}, deep=True)).run()
    assert stored(db) == raw | {"status": {"S": "DONE"}}


def test_an_update_finds_the_item_and_moves_the_keys_of_a_changed_time_only(db):
    raw = store(db, FORMS[0])
    read = db.decide(db.submission("1").required().run(), "DONE").run()
    assert stored(db) == raw | {"status": {"S": "DONE"}}
    db.date(read, EXACT).run()
    assert stored(db)["created_at"] == {"S": "2026-01-02T03:04:05Z"}
    assert stored(db)["status_key"] == {"S": "2026-01-02T03:04:05Z#1"}
    assert stored(db)["k"] == raw["k"]


def test_a_query_up_to_a_time_that_was_read_finds_its_item(db):
    store(db, FORMS[0])
    found = db.submission("1").required().run()
    assert db.until("S", found.created_at).run() == [found]


def test_what_is_computed_from_such_a_time_is_written_in_the_usual_form(db):
    store(db, FORMS[0])
    found = db.submission("1").required().run()
    later = found.model_copy(update={"created_at": found.created_at + timedelta(seconds=1)})
    db.put(later).run()
    assert stored(db)["created_at"] == {"S": "2026-01-02T03:04:06Z"}
    db.put(later.model_copy(update={"micros_at": found.created_at})).run()
    assert stored(db)["micros_at"] == {"S": "2026-01-02T03:04:05.000000Z"}


def test_copies_remember_the_form_and_look_like_any_time(db):
    raw = store(db, FORMS[0])
    found = db.submission("1").required().run()
    for copied in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert hashrange.dump_item(copied) == raw
    assert repr(found.created_at) == repr(EXACT)
    assert found.model_dump(mode="json")["created_at"] == "2026-01-02T03:04:05Z"


@st.composite
def time_texts(draw):
    zone = draw(st.sampled_from([None, UTC, timezone(timedelta(hours=5, minutes=30))]))
    moment = (EXACT + draw(st.timedeltas(timedelta(days=-700_000), timedelta(days=2_900_000)))).replace(tzinfo=zone)
    precision = draw(st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]))
    text = moment.isoformat(draw(st.sampled_from("T ")), precision)
    return text.removesuffix("+00:00") + "Z" if draw(st.booleans()) and zone is UTC else text


@given(text=time_texts(), field=st.sampled_from(["created_at", "millis_at", "micros_at"]))
def test_every_form_of_a_time_is_written_as_it_was_read(text, field):
    raw = {
        "pk": {"S": "SUB#1"},
        "name": {"S": "1"},
        "kind": {"S": "S"},
        "status": {"S": "NEW"},
        "k": {"S": f"K#{text}"},
    }
    raw |= {"created_at": {"S": text}, field: {"S": text}, "status_key": {"S": f"{text}#1"}}
    loaded = hashrange.load_item([Submission], raw)
    assert hashrange.dump_item(loaded) == raw
    assert getattr(loaded, field).utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
@pytest.mark.parametrize("attribute", ["created_at", "millis_at", "k"])
def test_a_time_outside_the_calendar_is_unreadable_and_can_be_skipped(text, attribute):
    with hashrange.open() as database:
        hashrange.create_tables(database, Submissions)
        db = Submissions.open(database)
        item = hashrange.dump_item(Submission(name="a", created_at=NOON, keyed_at=NOON))
        stored = f"K#{text}" if attribute == "k" else text
        database.call("PutItem", {"TableName": "submissions", "Item": {**item, attribute: {"S": stored}}})
        with pytest.raises(hashrange.Unreadable):
            db.submission("a").run()
