"""Completes the items of existing tables: index keys, defaults, versions and derived attributes of the declaration.

The table is scanned in segments, and each incomplete item gets one conditional update: an item that somebody changes
meanwhile is read again, never overwritten. The progress is stored in the database, so a killed run is continued.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field

from hashrange.client.transport import Transport
from hashrange.core.errors import (
    ConditionalCheckFailedException,
    ItemCollectionSizeLimitExceededException,
    PlanError,
    TransactionConflictException,
    ValidationException,
)
from hashrange.core.values import Item as Raw
from hashrange.provision.item_repair import Finding, Repair, Unrepairable, find_repair
from hashrange.provision.job_record import JobPart, JobRecords, begin_job, count_written, open_jobs
from hashrange.provision.live_table import describe_table
from hashrange.provision.table_plan import require_tables
from hashrange.provision.table_scan import DONE, check_segments, scan_segment
from hashrange.schema.declare import introspection
from hashrange.schema.declare.table import Declared, Table

SEGMENTS = 4
MAX_ATTEMPTS = 20  # for one item that is changed again and again
MAX_EXAMPLES = 3  # of each kind of repair
MAX_LISTED = 100  # items that could not be completed
ITEM_ERRORS = (  # of an update that concern its item alone; others, such as AccessDeniedException, concern all
    ValidationException,
    ItemCollectionSizeLimitExceededException,
    TransactionConflictException,
)


class BackfillReport(Struct, kw_only=True):
    """What a backfill found in a table, and what it changed."""

    table: str
    total: int = 0  # items of the table, as DynamoDB estimates them
    scanned: int = 0
    repaired: int = 0  # with dry_run: what would be
    undeclared: int = 0  # items whose keys fit no declared class
    unreadable: int = 0  # items that could not be read or completed
    repairs: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)  # by class and changed attributes
    examples: dict[tuple[str, tuple[str, ...]], list[Repair]] = field(default_factory=dict)
    failures: list[Unrepairable] = field(default_factory=list)  # the first of the unreadable items, with the reason


Report = Callable[[BackfillReport], None]


def backfill(
    database: Transport,
    *declared: Declared | Table,
    dry_run: bool = False,
    segments: int = SEGMENTS,
    max_rate: float | None = None,
    report: Report | None = None,
) -> list[BackfillReport]:
    """Complete the items of the tables of these patterns, and return a report of each table.

    `dry_run` only counts and collects examples. `max_rate` limits the items that are scanned in a second. An item that
    cannot be read or completed is listed in the report, and does not stop the others.
    """
    check_segments(segments)
    if max_rate is not None and not max_rate > 0:
        raise PlanError(
            f"max_rate is {max_rate:g}: give the items to read in a second, more than 0; None for no limit."
        )
    tables = require_tables(declared)
    absent = [table.physical_name for table in tables if describe_table(database, table.physical_name) is None]
    if absent:
        raise PlanError(f"There is no table {' or '.join(absent)}: create it first, with apply or create_tables.")
    jobs = None if dry_run else open_jobs(database)
    pace = _Pace(max_rate)
    return [_Backfill(database, table, jobs, pace, report or _ignore).run(segments) for table in tables]


def _ignore(_report: BackfillReport) -> None:
    """Report nothing."""


class _Backfill:
    """The backfill of one table."""

    def __init__(self, database: Transport, table: Table, jobs: JobRecords | None, pace: _Pace, report: Report) -> None:
        self.database, self.table, self.jobs, self.pace, self.report = database, table, jobs, pace, report
        self.name = table.physical_name
        description = describe_table(database, self.name) or {}
        self.found = BackfillReport(table=self.name, total=description.get("ItemCount", 0))
        self.lock = threading.Lock()

    def run(self, segments: int) -> BackfillReport:
        """Work through all segments, each in its own thread."""
        job = f"backfill {self.name} {identify(self.table)}"
        names = [f"segment {number} of {segments}" for number in range(segments)]
        parts = begin_job(self.jobs, job, names) if self.jobs else [JobPart(job=job, part=name) for name in names]
        for part in parts:  # before the first report, which would otherwise lack what other segments have recorded
            self._add_counts(part.counts)
        with count_written("backfill", lambda: self.found.repaired), ThreadPoolExecutor(len(parts)) as pool:
            for outcome in [pool.submit(self._run_part, part) for part in parts]:
                outcome.result()
        return self.found

    def _run_part(self, part: JobPart) -> None:
        segment, total = (int(word) for word in part.part.split() if word.isdigit())
        counts = Counter(part.counts)
        position = DONE if part.done else part.start_key
        for page in scan_segment(self.database, self.name, segment, total, position):
            found = self._complete(page.items)
            counts.update(found)
            part = part.advance(page.position or None, dict(counts))
            if self.jobs is not None:
                self.jobs.put(part).run()
            with self.lock:
                self._add_counts(found)
                self.report(self.found)
            self.pace.wait(len(page.items))

    def _complete(self, items: Iterable[Raw]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for raw in items:
            counts["scanned"] += 1
            model, finding = find_repair(self.table, raw)
            if isinstance(finding, Repair) and self.jobs is not None:
                finding = self._repair(finding)
            if isinstance(finding, Repair):
                counts["repaired"] += 1
                self._note_example(finding)
            elif isinstance(finding, Unrepairable):
                counts["unreadable"] += 1
                self._note_failure(finding)
            elif not model:
                counts["undeclared"] += 1
        return counts

    def _repair(self, repair: Repair) -> Finding:
        """Update an item until it is complete; return the update, why it failed, or None if none was needed."""
        finding: Finding = repair
        for _ in range(MAX_ATTEMPTS):
            if not isinstance(finding, Repair):
                return finding
            try:
                self.database.call("UpdateItem", finding.request(self.name))
            except ConditionalCheckFailedException as error:
                current = error.members.get("Item")
                finding = find_repair(self.table, current)[1] if current else None
            except ITEM_ERRORS as error:
                return Unrepairable(repair.key, str(error))
            else:
                return finding
        return Unrepairable(repair.key, "changes faster than it can be completed: try again later")

    def _add_counts(self, counts: Counter[str] | dict[str, int]) -> None:
        for name, number in counts.items():
            setattr(self.found, name, getattr(self.found, name) + number)

    def _note_example(self, repair: Repair) -> None:
        what = repair.model, repair.attributes
        with self.lock:
            self.found.repairs[what] += 1
            examples = self.found.examples.setdefault(what, [])
            if len(examples) < MAX_EXAMPLES:
                examples.append(repair)

    def _note_failure(self, failure: Unrepairable) -> None:
        with self.lock:
            if len(self.found.failures) < MAX_LISTED:
                self.found.failures.append(failure)


def identify(table: Table) -> str:
    """Return a digest of what is declared for the items of a table: another declaration is another job."""
    facts = [
        (model.__name__, attr, template.text)
        for item in introspection.items_of(table)
        for model in introspection.item_and_states(item)
        for attr, template in sorted(introspection.keys(model).items())
    ]
    fields = [(item.__name__, sorted(introspection.all_fields(item))) for item in introspection.items_of(table)]
    return hashlib.sha256(repr((facts, fields)).encode()).hexdigest()[:12]


class _Pace:
    """Limits how many items are read in a second."""

    def __init__(self, max_rate: float | None) -> None:
        self.max_rate, self.free_at, self.lock = max_rate, time.monotonic(), threading.Lock()

    def wait(self, items: int) -> None:
        """Wait until the rate allows what follows these items."""
        if self.max_rate is None:
            return
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + items / self.max_rate
            pause = self.free_at - time.monotonic()
        time.sleep(max(pause, 0))
