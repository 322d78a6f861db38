"""A job with many parts that is killed between any two of its requests: the next run leaves nothing out.

The parts of a job are recorded with BatchWriteItem, 25 at a time, so a kill can leave some of them, or some of an
earlier run beside those of the new one.
"""

import threading
from contextlib import suppress
from typing import Protocol

import pytest

import hashrange
from hashrange import Get, Gsi, Item, Key, Patterns, Table
from hashrange.provision import Migration, backfill, copy_items, create_tables
from hashrange.provision.job_record import JobPart, begin_job, open_jobs

SEGMENTS = 26  # more than one BatchWriteItem
ITEMS = 12
table = Table(
    "jobs-notes", "pk", indexes=[Gsi("ByTag", "tag_key", "pk")], stream="NEW_AND_OLD_IMAGES", deletion_protection=False
)
copied = Table("jobs-copied", "pk", deletion_protection=False)


class Note(Item, table=table, pk="NOTE#{number:03d}", tag_key="TAG#{tag}"):
    number: Key[int]
    tag: str


class Notes(Patterns, Protocol):
    def note(self, number: int) -> Get[Note]: ...


class Copied(Item, table=copied, pk="NOTE#{number:03d}"):
    number: Key[int]
    tag: str


class CopiedNotes(Patterns, Protocol):
    def note(self, number: int) -> Get[Copied]: ...


migration = Migration("notes", source=Notes, target=CopiedNotes)


@migration.convert(Note)
def convert(note: Note) -> Copied:
    return Copied(number=note.number, tag=note.tag)


class Killed(BaseException):
    """A kill."""


class KillingTransport:
    """Sends so many requests; none after them is sent."""

    def __init__(self, database, requests):
        self.database, self.left, self.lock = database, requests, threading.Lock()
        self.clock = database.clock

    def call(self, operation, request, *read):
        with self.lock:
            self.left -= 1
            if self.left < 0:
                raise Killed
        return self.database.call(operation, request, *read)


def fill(database):
    """Write items as a program without the index does."""
    create_tables(database, Notes)
    requests = [
        {"PutRequest": {"Item": {"pk": {"S": f"NOTE#{number:03d}"}, "tag": {"S": "a"}}}} for number in range(ITEMS)
    ]
    database.call("BatchWriteItem", {"RequestItems": {"jobs-notes": requests}})


def count(database, name, **more):
    return database.call("Scan", {"TableName": name, "Select": "COUNT", **more})["Count"]


def run_backfill(database):
    return backfill(database, Notes, segments=SEGMENTS)[0].scanned


def run_copy(database):
    return copy_items(database, "jobs-notes", database, "jobs-copied", segments=SEGMENTS)


def run_migration(database):
    run = migration.open(database)
    if run.phase in {"new", "copying"}:
        run.copy(segments=SEGMENTS)
    return ITEMS


def empty(database):
    """Take away what a job has done, as if other items had been written since."""
    if database.call("ListTables", {})["TableNames"].count("jobs-copied"):
        database.call("DeleteTable", {"TableName": "jobs-copied"})
    create_tables(database, CopiedNotes)
    fill(database)


def check(database, work):
    if work is run_backfill:
        assert count(database, "jobs-notes", IndexName="ByTag") == ITEMS
    else:
        assert count(database, "jobs-copied") == ITEMS


def count_requests(work, *, after_another):
    """Return how many requests an undisturbed run takes."""
    with hashrange.open() as database:
        empty(database)
        if after_another:
            work(database)
            empty(database)
        counting = KillingTransport(database, 10_000)
        work(counting)
        return 10_000 - counting.left


@pytest.mark.parametrize(
    ("work", "after_another"),
    [(run_backfill, False), (run_backfill, True), (run_copy, False), (run_copy, True), (run_migration, False)],
)
def test_killed_between_any_two_requests_the_next_run_leaves_nothing_out(work, after_another):
    for requests in range(count_requests(work, after_another=after_another)):
        with hashrange.open() as database:
            empty(database)
            if after_another:
                work(database)
                empty(database)
            with pytest.raises(Killed):
                work(KillingTransport(database, requests))
            assert work(database) == ITEMS
            check(database, work)


@pytest.mark.parametrize("earlier", [3, 26, 60])
def test_a_new_run_with_another_number_of_parts_is_begun_whole(earlier):
    names = [f"part {number}" for number in range(30)]
    for requests in range(12):
        with hashrange.open() as database:
            jobs = open_jobs(database)
            for part in begin_job(jobs, "job", [f"part {number}" for number in range(earlier)]):
                jobs.put(JobPart(job="job", part=part.part, done=True)).run()
            with suppress(Killed):
                begin_job(open_jobs(KillingTransport(database, requests)), "job", names)
            parts = begin_job(jobs, "job", names)
            assert sorted(part.part for part in parts) == sorted(names)
            assert not any(part.done for part in parts)


def test_an_unfinished_run_is_continued_with_its_own_parts():
    with hashrange.open() as database:
        jobs = open_jobs(database)
        begin_job(jobs, "job", [f"part {number}" for number in range(40)])
        jobs.put(JobPart(job="job", part="part 7", done=True)).run()
        parts = begin_job(jobs, "job", ["another"])
        assert len(parts) == 40
        assert [part.part for part in parts if part.done] == ["part 7"]
