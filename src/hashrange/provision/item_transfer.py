"""Moves items: from a table into a file, from files into a table, from one table to another.

An export and a copy continue after an interruption: an export by a file beside its own, a copy and an import by the job
record of the database that they write to. An import checks all lines before it writes the first item.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self

import orjson
from msgspec import Struct, field

from hashrange.client.database import Database
from hashrange.client.optional_import import import_optional
from hashrange.client.transport import Transport
from hashrange.core.errors import HashrangeError, PlanError, SerializationException
from hashrange.core.limits import MAX_BATCH_WRITES
from hashrange.core.values import MAX_ITEM_BYTES, check_item
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.engine.import_files import BadLine, ImportFiles, find_files
from hashrange.provision.item_format import Csv, DynamoJson, Parquet, choose_format, read_file
from hashrange.provision.item_repair import roots_of
from hashrange.provision.job_record import JobPart, RecordedScan, begin_job, count_written, open_jobs
from hashrange.provision.live_table import describe_table
from hashrange.provision.parquet_file import write_parquet
from hashrange.provision.table_plan import require_tables
from hashrange.provision.table_scan import BEGIN, check_segments, scan_pages
from hashrange.schema.declare.table import Declared, Table
from hashrange.schema.items.loader import load
from hashrange.session.batch import batch_write
from hashrange.session.runnable import Task
from hashrange.session.session import Session

SEGMENTS = 4
MAX_WRITERS = 8
RECORD_INTERVAL = 1.0  # seconds between two records of the progress
ITEMS_PER_RECORD = 2_000
MAX_LISTED = 100
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # what a disk without room says

ReportCount = Callable[[int, int], None]  # called with how many items of how many are done; 0 of 0 if unknown


class Refusal(Struct, frozen=True):
    """A line that holds no item that can be stored."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


class ImportReport(Struct):
    """What an import stored, and which lines it refused."""

    stored: int = 0
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list)  # the first hundred

    def add(self, refusal: Refusal) -> None:
        """Count a refused line, and remember the first."""
        self.refused += 1
        self.refusals += [refusal] if len(self.refusals) < MAX_LISTED else []


class LinesRefused(PlanError):
    """An import that stored nothing, because lines were refused; `report` lists them."""

    def __init__(self, report: ImportReport) -> None:
        shown = "; ".join(str(refusal) for refusal in report.refusals[:3])
        super().__init__(f"Nothing was imported, because {report.refused:,} lines were refused: {shown}")
        self.report = report


# ── export ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def export_items(
    database: Transport,
    table: str,
    path: Path,
    *,
    form: str | None = None,
    segments: int = SEGMENTS,
    report: ReportCount | None = None,
) -> int:
    """Write the items of a table to a file, and return how many. An interrupted export to the same file continues."""
    check_segments(segments)
    description = require_table(database, table)
    if path.exists():
        raise PlanError(f"{path} exists. Remove it, or choose another name.")
    with _Export(path, table, form, segments) as export:
        for page in scan_pages(database, table, export.positions):
            export.write(page.items, page.segment, page.position)
            if report is not None:
                report(export.count, description.get("ItemCount", 0))
        export.finish()
    return export.count


class _Export:
    """A file that is being written, and beside it how far it is."""

    def __init__(self, path: Path, table: str, form: str | None, segments: int) -> None:
        self.path, self.table, self.format = path, table, choose_format(path, form)
        if isinstance(self.format, Parquet):
            import_optional("pyarrow")  # before hours of reading
        self.partial = path.with_name(f"{path.name}.part")
        self.progress = path.with_name(f"{path.name}.progress")
        self.positions: dict[int, Raw | None] = dict.fromkeys(range(segments), BEGIN)
        self.count = self.size = 0
        self.recorded_at = time.monotonic()
        try:
            self._resume()
            self.file = self.partial.open("r+b" if self.size else "wb")
            self.file.truncate(self.size)
            self.file.seek(self.size)
        except OSError as error:
            raise PlanError(f"{self.partial} cannot be written: {error.strerror}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what is left in its buffer: a complete export has flushed it
            self.file.close()

    def _resume(self) -> None:
        if not (self.progress.exists() and self.partial.exists()):
            return
        found: dict[str, Any] = orjson.loads(self.progress.read_bytes())
        is_other = found["table"] != self.table or found["format"] != self.format.name
        if is_other or self.partial.stat().st_size < found["size"]:
            raise PlanError(
                f"{self.partial} belongs to another export. Remove it and {self.progress.name} to begin again."
            )
        self.positions = {int(segment): position for segment, position in found["positions"].items()}
        self.count, self.size = found["count"], found["size"]
        if isinstance(self.format, Csv):
            self.format.columns = [(name, tag) for name, tag in found["columns"]]

    def write(self, items: Sequence[Raw], segment: int, position: Raw | None) -> None:
        """Append a page."""
        with _explaining(self.partial):
            if items:
                self._append(items)
            self.positions[segment] = position
            if time.monotonic() - self.recorded_at >= RECORD_INTERVAL:
                self._record()

    def _append(self, items: Sequence[Raw]) -> None:
        text = self.format.encode(items, first=self.size == 0)
        if self.path.suffix == ".gz":
            text = gzip.compress(text, 6)  # each page is a member of its own, so that the file can be cut after it
        self.file.write(text)
        self.size, self.count = self.size + len(text), self.count + len(items)

    def _record(self) -> None:
        """Store how far the file is, after its bytes."""
        self.file.flush()
        os.fsync(self.file.fileno())
        facts = {
            "table": self.table,
            "format": self.format.name,
            "size": self.size,
            "count": self.count,
            "positions": {str(segment): position for segment, position in self.positions.items()},
            "columns": self.format.columns if isinstance(self.format, Csv) else [],
        }
        fresh = self.progress.with_name(f"{self.progress.name}.new")
        fresh.write_bytes(orjson.dumps(facts))
        fresh.replace(self.progress)
        self.recorded_at = time.monotonic()

    def finish(self) -> None:
        """Give the complete file its name."""
        with _explaining(self.partial):
            if self.size == 0:
                self._append([])
            self._record()
            if not isinstance(self.format, Parquet):
                self.partial.replace(self.path)
        if isinstance(self.format, Parquet):
            self._convert()
        self.progress.unlink(missing_ok=True)

    def _convert(self) -> None:
        """Make the Parquet file of the items that were collected."""
        fresh = self.path.with_name(f"{self.path.name}.new")
        try:
            with _explaining(fresh):
                write_parquet(self.partial, fresh)
                fresh.replace(self.path)
                self.partial.unlink()
        except PlanError:
            fresh.unlink(missing_ok=True)
            raise


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Say what to do about a file that cannot be written."""
    try:
        yield
    except OSError as error:
        first = "Free some space, then export" if error.errno in FULL else "Export"
        raise PlanError(
            f"{path} cannot be written: {error.strerror}. {first} again: it continues where it stopped."
        ) from error


# ── import ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def import_items(
    database: Transport,
    table: str,
    paths: Sequence[Path],
    *declared: Declared | Table,
    form: str | None = None,
    skip_refused: bool = False,
    workers: int = 1,
    report: ReportCount | None = None,
) -> ImportReport:
    """Put the items of files into a table; with a declaration, only items that it can read.

    All lines are checked first. If one is refused nothing is stored, except with `skip_refused`. `workers` is the
    number of processes that read DynamoDB JSON for a database in this process.
    """
    description = require_table(database, table)
    files = [file for path in paths for file in find_files(path)]
    check = _Check(description, require_tables(declared), table)
    if isinstance(database, Database):
        if not check.models and all(_is_dynamo_json(file, form) for file in files):
            with suppress(BadLine):  # then all bad lines are found below
                return _load_files(database, table, files, workers, report)
        return _load_lines(database, table, check, files, form, report, skip_refused=skip_refused)
    result = check.run(files, form)
    if result.refused and not skip_refused:
        raise LinesRefused(result)
    items = (item for item in check.read(files, form) if isinstance(item, dict))
    total = result.stored
    job = f"import {table} {_identify(files)}"
    result.stored = _write_batches(database, table, check.keys, items, job, lambda done: report and report(done, total))
    return result


def _is_dynamo_json(path: Path, form: str | None) -> bool:
    return type(choose_format(path, form)) is DynamoJson


def _load_files(
    database: Database, table: str, files: Sequence[Path], workers: int, report: ReportCount | None
) -> ImportReport:
    from hashrange.engine.bulk_load import ignore_progress, load_files

    located = database.engine.catalog.locate(table)
    report_phase = (lambda _phase, done, total: report(done, total)) if report is not None else ignore_progress
    return ImportReport(stored=load_files(database.engine, located, ImportFiles(list(files)), report_phase, workers))


def _load_lines(
    database: Database,
    table: str,
    check: _Check,
    files: Sequence[Path],
    form: str | None,
    report: ReportCount | None,
    *,
    skip_refused: bool,
) -> ImportReport:
    """Load files of any format into a data directory, reading each line once; nothing is stored before the last one."""
    from hashrange.engine.bulk_load import load_rows, make_row  # slow to import: it can start processes

    located, result = database.engine.catalog.locate(table), ImportReport()

    def rows() -> Iterator[Any]:
        for number, found in enumerate(check.read(files, form, lambda item: make_row(located, item)), 1):
            if isinstance(found, Refusal):
                result.add(found)
            elif skip_refused or not result.refused:
                yield found
            if report is not None and number % ITEMS_PER_RECORD == 0:
                report(number, 0)
        if result.refused and not skip_refused:
            raise LinesRefused(result)

    result.stored = load_rows(database.engine, located, rows())
    return result


class _Check:
    """Decides whether a line can be stored in a table."""

    def __init__(self, description: Wire, declared: Iterable[Table], name: str) -> None:
        self.types = {one["AttributeName"]: one["AttributeType"] for one in description["AttributeDefinitions"]}
        self.keys = [key["AttributeName"] for key in description["KeySchema"]]
        self.models = [model for table in declared if table.physical_name == name for model in roots_of(table)]

    def run(self, files: Sequence[Path], form: str | None) -> ImportReport:
        """Check every line; `stored` is how many items there are to store."""
        result = ImportReport()
        for found in self.read(files, form):
            if isinstance(found, Refusal):
                result.add(found)
            else:
                result.stored += 1
        return result

    def read(
        self, files: Sequence[Path], form: str | None, prepare: Callable[[Raw], Any] | None = None
    ) -> Iterator[Any | Refusal]:
        """Yield the items of files, or what `prepare` makes of them; a refusal for each line that holds none."""
        for path in files:
            for line, found in read_file(path, form):
                reason, made = (found, None) if isinstance(found, str) else self._prepare(found, prepare or _check_size)
                yield Refusal(path, line, reason) if reason else made

    def _prepare(self, item: Raw, prepare: Callable[[Raw], Any]) -> tuple[str, Any]:
        """Return why an item is refused, or else what `prepare` makes of it."""
        for name, tag in self.types.items():
            if name in self.keys and list(item.get(name, ())) != [tag]:
                return f"has no {name} of type {tag}, which is a key of the table", None
            if name in item and list(item[name]) != [tag]:
                return f"has a {name} that is not of type {tag}, as the index has it", None
        try:
            made = prepare(item)
            if self.models and load(self.models, item) is None:
                return "fits no declared class", None
        except SerializationException as error:
            return f"has a value of a wrong type: {(error.message or '').partition(': ')[2]}", None
        except HashrangeError as error:
            return str(error), None
        except Exception as error:  # noqa: BLE001 - a value of a wrong JSON type, anywhere in an item
            return f"has a value of a wrong type: {error}", None
        return "", made


def _check_size(item: Raw) -> Raw:
    """Return an item whose values and whose size can be stored."""
    size = check_item(item)[1]
    if size > MAX_ITEM_BYTES:
        raise PlanError(f"has a size of {size:,} bytes; DynamoDB stores at most {MAX_ITEM_BYTES:,}")
    return item


def _identify(files: Sequence[Path]) -> str:
    facts = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


def _write_batches(
    database: Transport,
    table: str,
    keys: Iterable[str],
    items: Iterator[Raw],
    job: str,
    report: Callable[[int], object],
) -> int:
    """Put items with BatchWriteItem; continues after the items that an interrupted run has recorded."""
    jobs = open_jobs(database)
    [part] = begin_job(jobs, job, ["items"])
    done = part.counts.get("items", 0)
    for _ in islice(items, done):
        pass
    with count_written("import", lambda: done), _BatchWriter(database, table, list(keys)) as writer:
        while page := list(islice(items, ITEMS_PER_RECORD)):
            writer.put(page)
            done += len(page)
            jobs.put(JobPart(job=job, part="items", counts={"items": done})).run()
            report(done)
    jobs.put(JobPart(job=job, part="items", done=True, counts={"items": done})).run()
    return done


class _BatchWriter:
    """Puts items with several BatchWriteItem requests at a time; unprocessed ones are sent again."""

    def __init__(self, database: Transport, table: str, keys: Sequence[str]) -> None:
        self.session, self.table, self.keys = Session(database), Table(table, *keys), keys
        self.pool = ThreadPoolExecutor(1 if isinstance(database, Database) else MAX_WRITERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)

    def put(self, items: Iterable[Raw]) -> None:
        """Put items; of several with one key, the last."""
        unique = list({orjson.dumps([item[key] for key in self.keys]): item for item in items}.values())
        batches = [unique[at : at + MAX_BATCH_WRITES] for at in range(0, len(unique), MAX_BATCH_WRITES)]
        list(self.pool.map(self._put_batch, batches))

    def _put_batch(self, items: list[Raw]) -> None:
        puts = [(self.table, item) for item in items]
        Task(self.session, lambda: batch_write(self.session, puts, (), "transfer")).run()


# ── copy ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def copy_items(
    source: Transport,
    table: str,
    target: Transport,
    to: str | None = None,
    *,
    create: bool = False,
    segments: int = SEGMENTS,
    report: ReportCount | None = None,
) -> int:
    """Copy the items of a table to a table of another database, and return how many. An interrupted copy continues."""
    check_segments(segments)
    name = to or table
    description = require_table(source, table)
    if source is target and name == table:
        raise PlanError(f"{table} cannot be copied onto itself.")
    if create and describe_table(target, name) is None:
        target.call("CreateTable", _create_like(description, name))
    existing = require_table(target, name)
    if existing["KeySchema"] != description["KeySchema"]:
        raise PlanError(f"{name} has other keys than {table}: migrate the items instead.")
    scan = RecordedScan(source, table, open_jobs(target), f"copy {description['TableArn']} to {name}", segments)
    keys = [key["AttributeName"] for key in description["KeySchema"]]
    with count_written("copy", lambda: scan.items), _BatchWriter(target, name, keys) as writer:
        for page in scan:
            writer.put(page.items)
            if report is not None:
                report(scan.items + len(page.items), description.get("ItemCount", 0))
    return scan.items


def _create_like(description: Wire, name: str) -> Wire:
    """Return the CreateTable request of a table like another one, billed by the request."""
    request: Wire = {
        "TableName": name,
        "KeySchema": description["KeySchema"],
        "AttributeDefinitions": description["AttributeDefinitions"],
        "BillingMode": "PAY_PER_REQUEST",
    }
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        indexes = [
            {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
            for index in description.get(member, ())
        ]
        if indexes:
            request[member] = indexes
    return request


def require_table(database: Transport, name: str) -> Wire:
    """Return the description of a table, or refuse a name that does not exist."""
    description = describe_table(database, name)
    if description is None:
        names = database.call("ListTables", {"Limit": 20})["TableNames"]
        raise PlanError(f"There is no table {name}. There are: {', '.join(names) or 'none'}.")
    return description
