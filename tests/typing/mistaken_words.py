"""Planted mistakes with each word of the vocabulary: both type checkers refuse each marked line, and no other.

The marks are those of `mistakes.py`. `test_typing.py` requires a mistake with every word that the reference lists.
"""

# ruff: noqa: B006, RUF012, T201
# what is printed is used: a checker that complains of unused values finds none

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

import hashrange
from hashrange import (
    ALL,
    KEYS_ONLY,
    AccessDeniedException,
    Add,
    Append,
    AsyncDatabase,
    BeginsWith,
    Between,
    Clock,
    Commas,
    ConditionalCheckFailedException,
    Consumer,
    Contains,
    CorruptFile,
    CursorInvalid,
    DeadLetter,
    DeclarationError,
    DirectoryInUse,
    Discard,
    DiskFull,
    Ensure,
    Eq,
    Event,
    Exploration,
    Faults,
    Ge,
    Get,
    Gt,
    HandlerFailed,
    HashrangeError,
    Hook,
    Host,
    InternalServerError,
    IsoMicros,
    IsoMillis,
    Item,
    ItemChange,
    ItemCollectionSizeLimitExceededException,
    JsonPipes,
    Key,
    Keyring,
    KmsKeys,
    LimitExceededException,
    Lint,
    LocalKeys,
    Lt,
    ManualClock,
    MemberFailure,
    Millis,
    Missing,
    Model,
    Ne,
    NeverRun,
    NotFound,
    Once,
    OpenList,
    ParallelScan,
    Patterns,
    Pipes,
    PlanError,
    ProvisionedThroughputExceededException,
    Put,
    Query,
    ReadCost,
    ReadPlan,
    RequestLimitExceeded,
    ResourceInUseException,
    ResourceNotFoundException,
    Runnable,
    RunningSystem,
    SealError,
    Seconds,
    Secret,
    ServiceError,
    Session,
    StorageError,
    StreamTrimmed,
    System,
    SystemClock,
    Table,
    Taken,
    ThrottlingException,
    Touched,
    Transaction,
    TransactionCanceledException,
    TransactionConflictException,
    Transport,
    TransportError,
    Unreadable,
    Update,
    ValidationException,
    ValueInvalid,
    Version,
    Write,
    WritePlan,
    WrittenUnreadable,
    camel,
    configure_logging,
    create_tables,
    dump_item,
    is_throttling,
    is_transient,
    load_item,
    sample,
    trace_calls,
)
from hashrange.provision import (
    BackfillReport,
    Collision,
    Conversion,
    Declared,
    Difference,
    Dropped,
    ImportReport,
    ItemDifference,
    LinesRefused,
    Migration,
    MigrationReport,
    MigrationRun,
    PlanStep,
    Progress,
    Refusal,
    Repair,
    TablePlan,
    Unrepairable,
    adopt,
    apply,
    backfill,
    copy_items,
    create_request,
    diff_items,
    drift,
    export_items,
    follow_up_requests,
    import_items,
    plan,
)
from tests.typing.declarations import Book, Branch, Isbn, Library

WIDTH: int = ALL  # E assignment: a projection is no number
NARROW: int = KEYS_ONLY  # E assignment: no projection is
print(camel(3))  # E arg-type: a name is text


# ── fields and parameters ────────────────────────────────────────────────────────────────────────────────────────────
class Thing(Item, table=Table("things", "pk"), pk="THING#{name}"):
    name: Key[str, str]  # E type-arg: a field has one type
    kind: OpenList[Literal["a", "b"]] = "c"  # E assignment: not in the list
    token: Secret[str] = 3  # E assignment: a secret is text
    version: Version = "1"  # E assignment: a version is a number
    changed_at: Touched[datetime] = "now"  # E assignment: text for the time of the last write
    at: IsoMillis = "2027"  # E assignment: text for a time in milliseconds
    measured: IsoMicros = 5  # E assignment: a number for a time
    heard: Millis = 1_800_000_000  # E assignment: it is stored as a number, and is a time
    seen: Seconds = 1.5  # E assignment: the same in seconds
    spices: Commas[str] = "salt,pepper"  # E assignment: it is stored as text, and is a list
    steps: Pipes[str] = {"cut"}  # E assignment: a set has no order
    courses: JsonPipes[dict[str, str]] = {"1": "soup"}  # E assignment: one course is no list


class Things(Patterns, Protocol):
    def is_called(self, name: Eq[str, int]) -> Ensure[Thing]: ...  # E type-arg: one type of value
    def is_not(self, kind: Ne[str, int]) -> Query[Thing]: ...  # E type-arg: same
    def before(self, at: Lt[datetime, int]) -> Query[Thing]: ...  # E type-arg: same, of Lt
    def after(self, at: Gt[datetime, int]) -> Query[Thing]: ...  # E type-arg: same, of Gt
    def since(self, at: Ge[datetime, int]) -> Query[Thing]: ...  # E type-arg: same, of Ge
    def within(self, at: Between[datetime, datetime]) -> Query[Thing]: ...  # E type-arg: the pair is meant already
    def like(self, name: BeginsWith[str, str]) -> Query[Thing]: ...  # E type-arg: one start
    def with_spice(self, spices: Contains[str, str]) -> Query[Thing]: ...  # E type-arg: one element
    def count(self, name: str, version: Add[int, int]) -> Update[Thing]: ...  # E type-arg: one amount
    def note(self, name: str, steps: Append[str] = "x") -> Update[Thing]: ...  # E assignment: text is no list
    def untag(self, name: str, tags: Discard[str] = ["x"]) -> Update[Thing]: ...  # E assignment: a list is no set
    def mark(self, name: str, at: Once[datetime, None]) -> Update[Thing]: ...  # E type-arg: one value
    def is_it(self, name: str) -> Ensure[str]: ...  # E type-var: text is no item


def models(book: Book, model: type[Model]) -> None:
    item: Item = model  # E assignment: a class is no Item
    print(item)
    print(model.fields)  # E attr-defined: a Model has model_fields
    print(dump_item({"title": "x"}))  # E arg-type: dump_item takes an item
    print(load_item(Book, dump_item(book)))  # E arg-type: load_item takes a list of classes
    print(sample(Library, seed="7"))  # E arg-type: the seed of a sample is a number
    print(create_tables(Library))  # E arg-type: create_tables takes the database first


# ── databases ────────────────────────────────────────────────────────────────────────────────────────────────────────
def databases(path: Path, clock: Clock, transport: Transport) -> None:
    with hashrange.open_target(8000) as opened:  # E arg-type: open_target takes text
        print(opened)
    print(LocalKeys(3))  # E arg-type: LocalKeys takes a path
    print(LocalKeys.generate(path))  # E call-arg: LocalKeys in memory has no path
    print(KmsKeys(["alias/shops"], region=2))  # E arg-type: KmsKeys takes the name of a region
    print(ManualClock("2027-01-01"))  # E arg-type: ManualClock takes seconds
    clock.advance(5)  # E attr-defined: not every Clock can be moved, only a ManualClock
    fixed: ManualClock = SystemClock()  # E assignment: a SystemClock is not moved
    print(fixed, Faults(7))  # E call-arg: the seed of Faults is given by name
    Faults(seed=7).throttle("PutItem", times="3")  # E arg-type: Faults are counted
    transport.call("ListTables", "{}")  # E arg-type: a Transport takes requests, not their JSON
    keys: Keyring = path  # E assignment: a path is no Keyring
    print(keys)


async def awaited(db: AsyncDatabase) -> None:
    count: int = await db.call("ListTables")  # E assignment: an AsyncDatabase returns the response
    print(count, db.call(3, {}))  # E arg-type: an AsyncDatabase is given the name of an operation


def hooks(db: Library, event: Event, session: Session) -> None:
    def shout(text: str) -> None:
        print(text.upper())

    hook: Hook = shout  # E assignment: a Hook is given an Event
    print(hook, event.duration)  # E attr-defined: an Event has seconds
    print(trace_calls().span)  # E attr-defined: trace_calls returns a Hook
    print(session.database)  # E attr-defined: a Session has a transport
    configure_logging(20)  # E arg-type: configure_logging takes the name of a level
    print(db)


# ── reads and writes ─────────────────────────────────────────────────────────────────────────────────────────────────
def reads(scan: ParallelScan[Book], books: Exploration[Book], cost: ReadCost) -> None:
    print(scan.first())  # E attr-defined: a ParallelScan has no order
    items: list[Book] = scan  # E assignment: a ParallelScan is run first
    print(books.filter("x"))  # E attr-defined: an Exploration has where
    print(items, cost.units)  # E attr-defined: a ReadCost has read_units


def writes(db: Library, put: Put[Book], write: Write[Book], transaction: Transaction[tuple[Book, Book]]) -> None:
    print(put.if_absent())  # E attr-defined: a Put has when
    number: int = write.run()  # E assignment: a Write of a Book returns it
    first: Book = transaction.run()  # E assignment: a Transaction returns what each write does
    print(number, first, db.transact(transaction))  # E call-overload: a Transaction is no write of another


def runs(work: Runnable[int], plan_of: ReadPlan | WritePlan, finding: Lint) -> None:
    text: str = work.run()  # E assignment: a Runnable of numbers
    print(text, plan_of.run())  # E union-attr: neither a ReadPlan nor a WritePlan runs
    print(finding.message)  # E attr-defined: a Lint has a text
    never: type[HashrangeError] = NeverRun  # E assignment: NeverRun is a warning
    print(never)


def consumers(consumer: Consumer, change: ItemChange[Book]) -> None:
    print(consumer.handlers())  # E attr-defined: a Consumer is given functions by on
    print(change.old)  # E attr-defined: an ItemChange has before and after


def dead(letter: DeadLetter, failed: HandlerFailed, trimmed: StreamTrimmed) -> None:
    print(letter.change)  # E attr-defined: a DeadLetter has the record
    print(failed.handler)  # E attr-defined: HandlerFailed has the change
    print(trimmed.stream)  # E attr-defined: StreamTrimmed has the shard


# ── applications ─────────────────────────────────────────────────────────────────────────────────────────────────────
def applications(host: Host, running: RunningSystem, start: Callable[[Host], RunningSystem]) -> None:
    print(System("stock", "Stock", "Counts.", (Library,), start))  # E call-arg: a System is given by name
    host.demo = True  # E misc: a Host is frozen
    running.stop()  # E attr-defined: a RunningSystem is closed


# ── provisioning ─────────────────────────────────────────────────────────────────────────────────────────────────────
def plans(database: Transport, changes: TablePlan, step: PlanStep, told: Progress, found: Difference) -> None:
    print(plan(Library))  # E arg-type: plan takes the database first
    print(changes.apply())  # E attr-defined: a TablePlan is applied by apply
    print(step.lossy)  # E attr-defined: a PlanStep says what it loses
    print(told.percent)  # E attr-defined: Progress has done and total
    print(found.actual)  # E attr-defined: a Difference says what is live
    print(apply(database, Library))  # E arg-type: apply takes a plan
    print(drift(database, "boxes"))  # E arg-type: drift takes what is declared
    declared: Declared = "boxes"  # E assignment: a name is not Declared
    print(declared, create_request("boxes"))  # E arg-type: create_request takes a table
    print(follow_up_requests(Library))  # E arg-type: so does follow_up_requests


def repairs(database: Transport, report: BackfillReport, repair: Repair, failure: Unrepairable) -> None:
    print(backfill(database, Library, max_rate="fast"))  # E arg-type: backfill is limited by a number
    print(report.fixed)  # E attr-defined: a BackfillReport counts the repaired
    print(repair.item)  # E attr-defined: a Repair has the key
    print(failure.error)  # E attr-defined: Unrepairable has a reason


def migrations(database: Transport, run: MigrationRun, report: MigrationReport, done: Conversion) -> None:
    print(Migration("rename", Library, Library))  # E call-arg: the ends of a Migration are given by name
    print(Dropped())  # E call-arg: Dropped without a reason
    run.phase = run.phase  # E misc: a MigrationRun moves by its steps
    print(report.converted)  # E attr-defined: a MigrationReport has outcomes
    print(done.target)  # E attr-defined: a Conversion may have several targets
    print(database)


def transfers(database: Transport, path: Path, clash: Collision, line: Refusal, differing: ItemDifference) -> None:
    print(clash.third)  # E attr-defined: a Collision is of two
    print(adopt(database, Table("boxes", "pk")))  # E arg-type: adopt takes a name
    print(export_items(database, "boxes", "boxes.jsonl"))  # E arg-type: export_items takes a Path
    print(import_items(database, "boxes", path))  # E arg-type: import_items takes several files
    print(line.number)  # E attr-defined: a Refusal has a line
    print(copy_items(database, "boxes", "copy"))  # E arg-type: copy_items takes the other database
    print(diff_items(database, "boxes", database)[0])  # E index: diff_items yields
    print(differing.third)  # E attr-defined: an ItemDifference is of two


def refused(report: ImportReport, lines: LinesRefused) -> None:
    print(report.imported)  # E attr-defined: an ImportReport counts the stored
    print(lines.refusals)  # E attr-defined: LinesRefused has a report


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def errors(failure: MemberFailure, unreadable: Unreadable, missing: Missing, service: ServiceError) -> None:
    print(failure.member)  # E attr-defined: a MemberFailure has the write
    print(unreadable.attributes)  # E attr-defined: Unreadable has the attributes in raw
    print(missing.key)  # E attr-defined: Missing has no key
    print(service.code)  # E attr-defined: a ServiceError has a name
    print(WrittenUnreadable("x").item)  # E attr-defined: WrittenUnreadable has the attributes in raw
    raise HashrangeError from "x"  # E misc: a HashrangeError is caused by another error


def raised() -> None:
    print(DeclarationError("HR101"))  # E call-arg: a DeclarationError says where and what
    print(NotFound("x").current)  # E attr-defined: NotFound has no current item
    print(Taken("x").item)  # E attr-defined: Taken has the current item
    print(ValueInvalid("x").field)  # E attr-defined: ValueInvalid has a text
    print(CursorInvalid("x").cursor)  # E attr-defined: CursorInvalid has a text
    print(TransportError("x").status)  # E attr-defined: a TransportError is no response
    print(StorageError("x").path)  # E attr-defined: a StorageError has a text
    print(DirectoryInUse("x").owner)  # E attr-defined: DirectoryInUse has a text
    print(DiskFull("x").free)  # E attr-defined: DiskFull has a text
    print(CorruptFile("x").file)  # E attr-defined: CorruptFile has a text
    print(PlanError("x").plan)  # E attr-defined: a PlanError has a text
    print(SealError("x").key)  # E attr-defined: a SealError has a text
    print(is_throttling("ThrottlingException", "PutItem"))  # E arg-type: is_throttling takes the error
    print(is_transient(400))  # E arg-type: is_transient takes the error, not its status


def answered() -> None:
    print(AccessDeniedException(3))  # E arg-type: the message of an AccessDeniedException is text
    print(ConditionalCheckFailedException(3))  # E arg-type: same
    print(InternalServerError(3))  # E arg-type: same, of InternalServerError
    print(ItemCollectionSizeLimitExceededException(3))  # E arg-type: same
    print(LimitExceededException(3))  # E arg-type: same
    print(ProvisionedThroughputExceededException(3))  # E arg-type: same
    print(RequestLimitExceeded(3))  # E arg-type: same
    print(ResourceInUseException(3))  # E arg-type: same
    print(ResourceNotFoundException(3))  # E arg-type: same
    print(ThrottlingException(3))  # E arg-type: same
    print(TransactionCanceledException("x"))  # E arg-type: a TransactionCanceledException has reasons
    print(TransactionConflictException(3))  # E arg-type: same
    print(ValidationException(3))  # E arg-type: same


def used(db: Library, branch: Branch, isbn: Isbn) -> Get[Book]:
    return db.book(branch, isbn)
