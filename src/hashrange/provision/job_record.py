"""How far long work is, stored in the database that it works on: after a kill it continues from there.

A job is divided into parts, such as the segments of a scan. Each part records its position and what it counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import orjson

from hashrange.client.transport import Transport
from hashrange.core.errors import NOTHING_WRITTEN, InternalServerError, StorageError
from hashrange.core.values import Item as Raw
from hashrange.provision.plan_executor import create_tables
from hashrange.provision.table_scan import DONE, ScannedPage, check_segments, scan_pages
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Table
from hashrange.session.patterns import Patterns
from hashrange.session.reads import Query

ALL_PARTS = "all parts"  # the mark of a job whose parts are all recorded
job_table = Table("${HASHRANGE_JOBS:-hashrange-jobs}", "job", "part", deletion_protection=False)


class JobPart(Item, table=job_table, job="{job}", part="{part}"):
    """One part of a job: where it continues, and what it has counted."""

    job: str
    part: str
    position: str | None = None  # the start key of the next page, as JSON; an old DynamoDB Local stores no empty text
    done: bool = False
    counts: dict[str, int] = {}  # noqa: RUF012 - pydantic copies defaults

    @property
    def start_key(self) -> Raw | None:
        """The key after which it continues."""
        return orjson.loads(self.position) if self.position else None

    def advance(self, start_key: Raw | None, counts: dict[str, int]) -> JobPart:
        """Return the part after a page; without a start key it is done."""
        position = orjson.dumps(start_key).decode() if start_key else None
        return JobPart(job=self.job, part=self.part, position=position, done=start_key is None, counts=counts)


class JobRecords(Patterns, Protocol):
    """The jobs of a database."""

    def parts(self, job: str) -> Query[JobPart]:
        """Return the parts of a job."""
        ...


def open_jobs(database: Transport) -> JobRecords:
    """Return the jobs of a database; their table is created if necessary."""
    create_tables(database, job_table)
    return JobRecords.open(database)


def begin_job(jobs: JobRecords, job: str, parts: list[str]) -> list[JobPart]:
    """Return the parts of a job: those of an unfinished run, else new ones.

    More than 25 parts are written by several requests. A mark that all are there is deleted before the first of them,
    and written after the last: without it a killed process has left some of the parts, and no work was done.
    """
    found = jobs.parts(job).consistent().run()
    marks = [part for part in found if part.part == ALL_PARTS]
    known = [part for part in found if part.part != ALL_PARTS]
    is_whole = bool(marks) and marks[0].counts["parts"] == len(known)
    if is_whole and not all(part.done for part in known):
        return known
    jobs.batch(delete=marks).run()
    fresh = [JobPart(job=job, part=part) for part in parts]
    jobs.batch(fresh, delete=[part for part in known if part.part not in parts]).run()
    jobs.put(JobPart(job=job, part=ALL_PARTS, counts={"parts": len(parts)})).run()
    return fresh


@contextmanager
def count_written(work: str, count: Callable[[], int]) -> Iterator[None]:
    """Let a failure of the disk say what the work has written before the request that failed, and how it goes on."""
    try:
        yield
    except (StorageError, InternalServerError) as error:
        cause, found, _ = str(error).partition(NOTHING_WRITTEN)
        if not found:
            raise
        raise type(error)(
            f"{cause}The {work} has written at least {count():,} items, which stay. Free some space, then run it "
            "again: it continues where it stopped."
        ) from error


class RecordedScan:
    """Reads a whole table in segments, and records each page when the next one is asked for.

    A page whose work was interrupted is read again by the next run.
    """

    def __init__(self, database: Transport, name: str, jobs: JobRecords, job: str, segments: int) -> None:
        check_segments(segments)
        self.database, self.name, self.jobs = database, name, jobs
        parts = begin_job(jobs, job, [str(segment) for segment in range(segments)])
        self.parts = {int(part.part): part for part in parts}

    @property
    def items(self) -> int:
        """The number of items that were read and recorded, earlier runs included."""
        return sum(part.counts.get("items", 0) for part in self.parts.values())

    def __iter__(self) -> Iterator[ScannedPage]:
        positions = {segment: DONE if part.done else part.start_key for segment, part in self.parts.items()}
        for page in scan_pages(self.database, self.name, positions):
            yield page
            part = self.parts[page.segment]
            counts = {"items": part.counts.get("items", 0) + len(page.items)}
            self.parts[page.segment] = part.advance(page.position or None, counts)
            self.jobs.put(self.parts[page.segment]).run()
