"""lint() finds transitions that accept the object of a lease that has ended; what the documentation shows is none."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol

import pytest

import hashrange
from hashrange import Conflict, Gsi, Item, Patterns, Table, Update, Version, View, initially, where

NOW = datetime(2027, 1, 1, tzinfo=UTC)


class Job(Item, table=Table("jobs", "job_id")):
    job_id: str


class Queued(Job, initial=True):
    status: Literal["QUEUED"] = "QUEUED"


class Working(Job):
    status: Literal["WORKING"] = "WORKING"
    lease_until: datetime


class Leased(Working):
    lease: str


class Finished(Job):
    status: Literal["FINISHED"] = "FINISHED"


class Careless(Patterns, Protocol):
    def start(self, job: Queued, lease_until: datetime) -> Update[Working]: ...
    def extend(self, job: Working, lease_until: datetime) -> Update[Working]: ...
    def finish(self, job: Working) -> Update[Finished]: ...
    @where("lease_until < {now}")
    def take_back(self, job: Working, now: datetime) -> Update[Queued]: ...


def codes(patterns: Any) -> list[tuple[str, str]]:
    return [(lint.code, lint.location) for lint in patterns.lint() if lint.code == "HR413"]


def test_a_transition_from_a_lease_that_compares_nothing_of_it_is_found() -> None:
    assert codes(Careless) == [("HR413", "Careless.extend"), ("HR413", "Careless.finish")]


class Careful(Patterns, Protocol):
    def start(self, job: Queued, lease_until: datetime, lease: str) -> Update[Leased]: ...
    def extend(self, job: Leased, lease_until: datetime) -> Update[Leased]: ...
    def finish(self, job: Leased) -> Update[Finished]: ...


def test_a_field_that_a_subclass_adds_tells_leases_apart_and_allows_heartbeats() -> None:
    assert [location for _, location in codes(Careful)] == ["Careless.extend", "Careless.finish"]  # of the same table
    with hashrange.open() as database:
        hashrange.create_tables(database, Careful)
        db, careless = Careful.open(database), Careless.open(database)
        queued = careless.create(Queued(job_id="1")).run()
        first = db.start(queued, lease_until=NOW, lease="1").run()
        db.extend(first, lease_until=NOW + timedelta(minutes=1)).run()
        queued = careless.take_back(first, now=NOW + timedelta(minutes=2)).run()
        second = db.start(queued, lease_until=NOW + timedelta(minutes=3), lease="2").run()
        with pytest.raises(Conflict):
            db.finish(first).run()
        db.extend(second, lease_until=NOW + timedelta(minutes=4)).run()
        db.finish(second).run()


def test_a_version_and_a_key_with_a_field_of_the_state_tell_visits_apart() -> None:
    class Position(View["Seat"]):
        seat: str

    class Free(Position, k="FREE#"): ...

    class Held(Position, k="HELD#{until}"):
        until: datetime

    class Seat(Item, table=Table("seats", "pk", indexes=[Gsi("ByState", "event", "k")]), pk="SEAT#{seat}"):
        seat: str
        event: str
        state: Free | Held = initially(Free)

    class Seats(Patterns, Protocol):
        def hold(self, state: Free, until: datetime) -> Update[Held]: ...
        def release(self, state: Held) -> Update[Free]: ...
        @where("until < {now}")
        def take_back(self, state: Held, now: datetime) -> Update[Free]: ...

    class Task(Item, table=Table("tasks", "task_id")):
        task_id: str
        version: Version = 0

    class Waiting(Task, initial=True):
        status: Literal["W"] = "W"

    class Running(Task):
        status: Literal["R"] = "R"
        until: datetime

    class Tasks(Patterns, Protocol):
        def start(self, task: Waiting, until: datetime) -> Update[Running]: ...
        def stop(self, task: Running) -> Update[Waiting]: ...
        @where("until < {now}")
        def take_back(self, task: Running, now: datetime) -> Update[Waiting]: ...

    assert codes(Seats) == codes(Tasks) == []


def test_a_time_in_the_key_does_not_tell_who_holds_the_item() -> None:
    class Place(View["Ticket"]):
        seat: str

    class Open(Place, k="OPEN#"): ...

    class Taken(Place, k="TAKEN#{until}"):
        until: datetime
        holder: str

    class Sold(Place, k="SOLD#"):
        buyer: str

    class Ticket(Item, table=Table("tickets", "pk", indexes=[Gsi("ByState", "event", "k")]), pk="SEAT#{seat}"):
        seat: str
        event: str
        state: Open | Taken | Sold = initially(Open)

    class Tickets(Patterns, Protocol):
        def hold(self, state: Open, until: datetime, holder: str) -> Update[Taken]: ...
        @where("until > {now}")
        def sell(self, state: Taken, buyer: str, now: datetime) -> Update[Sold]: ...
        @where("until <= {now}")
        def take_back(self, state: Taken, now: datetime) -> Update[Open]: ...
        @where("holder = {who}")
        def release(self, state: Taken, who: str) -> Update[Open]: ...

    assert codes(Tickets) == [("HR413", "Tickets.sell")]
