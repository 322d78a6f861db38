"""Migrations: the items of one declaration become those of another while programs write.

    migration = Migration("orders by customer", source=OldOrders, target=Orders)

    @migration.convert(OldOrder)
    def convert(old: OldOrder) -> Order | Dropped: ...

    run = migration.open(database)
    run.copy()      # every item; continues after an interruption
    run.follow()    # what has changed since; again and again, until the programs use the new tables
    run.verify()
    run.switch()    # when no program writes to the source any more, and before one writes to the target

The stream of the source tables says which items have changed. A changed item is read again and converted again, so the
order in which copies and changes are applied does not matter: after `follow` has seen the last change, the target is
the converted source. The source is never written to; `finish` ends the way back. What programs have written to the
target is overwritten or deleted only by a repair with `allow_loss`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias, cast

from typing_extensions import TypeVar

from hashrange.client.keyring import Keyring
from hashrange.client.transport import Transport
from hashrange.core.errors import Conflict, PlanError, StreamTrimmed
from hashrange.core.values import Item as Raw
from hashrange.provision.item_conversion import convert_item, is_of
from hashrange.provision.item_repair import roots_of
from hashrange.provision.item_transfer import SEGMENTS, ReportCount
from hashrange.provision.job_record import JobPart, JobRecords, RecordedScan, count_written, job_table, open_jobs
from hashrange.provision.key_collision import Collision, TargetKeys, digest_key
from hashrange.provision.live_table import describe_table
from hashrange.provision.migration_changes import MigrationChanges
from hashrange.provision.migration_report import (
    MAX_EXAMPLES,
    MAX_LISTED,
    Conversion,
    Converted,
    MigrationReport,
    classes_in,
)
from hashrange.provision.migration_source import NO_KEYS, MigrationSource
from hashrange.provision.migration_target import MigrationTarget
from hashrange.provision.plan_executor import create_tables
from hashrange.provision.table_scan import BEGIN, check_segments, scan_pages
from hashrange.schema.declare import introspection
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Declared, Table
from hashrange.session.item_change import ItemChange
from hashrange.session.outage import is_outage
from hashrange.session.stream_consumer import Consumer

I = TypeVar("I", bound=Item)  # noqa: E741 - an item
checkpoint_table = Table(
    "${HASHRANGE_CHECKPOINTS:-hashrange-checkpoints}", "consumer", "shard", deletion_protection=False
)

STREAM_VIEW = "NEW_AND_OLD_IMAGES"

Phase: TypeAlias = Literal["new", "copying", "following", "switched", "finished"]


NEXT: dict[Phase, str] = {
    "new": "run copy first",
    "copying": "run copy again, which goes on where it stopped",
    "following": "run follow, verify or switch",
    "switched": "run finish, or back to return to the source",
    "finished": "nothing is left to do",
}


class Migration:
    """Functions that convert the items of one declaration into those of another."""

    def __init__(self, name: str, *, source: Declared, target: Declared) -> None:
        self.name, self.source, self.target = name, source, target
        self.functions: dict[type[Item], Callable[[Any], Converted]] = {}
        self._sources = {table.declared: table for table in source.tables()}

    def convert(self, model: type[I]) -> Callable[[Callable[[I], Converted]], Callable[[I], Converted]]:
        """Convert the items of a class, variants included, with the decorated function."""
        if introspection.table_of(model) not in self._sources:
            raise PlanError(f"{model.__name__} is stored in no table of the source of {self.name!r}.")

        def register(function: Callable[[I], Converted]) -> Callable[[I], Converted]:
            self.functions[model] = function
            return function

        return register

    def open(
        self,
        source: Transport,
        target: Transport | None = None,
        *,
        keys: Keyring | None = None,
        new_keys: Keyring | None = None,
        command: str = "",
    ) -> MigrationRun:
        """Bind it to the databases of the source and of the target tables; by default the same.

        `keys` open the secret fields of the source and seal those of the target, or `new_keys` do the latter. Errors
        advise a step as a call, or as this command, in which `{step}` is replaced by its name.
        """
        if not self.functions:
            raise PlanError(
                f"The migration {self.name!r} converts nothing: write a function for each class of the source, with "
                "@migration.convert(Class)."
            )
        self._check_keys(keys, self.functions)
        self._check_keys(new_keys or keys, {model for each in self.functions.values() for model in classes_in(each)})
        return MigrationRun(
            self,
            MigrationSource(self.source, self.functions, self.target.tables(), source, keys),
            MigrationTarget(self.target, target or source, new_keys or keys),
            command,
        )

    def _check_keys(self, keys: Keyring | None, models: Iterable[type[Item]]) -> None:
        """Refuse to move secret fields without keys: a sealed value opens in its own table only."""
        secret = (
            f"{model.__name__}.{field.name}"
            for model in models
            for field in introspection.all_fields(model).values()
            if field.sealed
        )
        if keys is None and (name := next(secret, None)) is not None:
            raise PlanError(
                f"The migration {self.name!r} needs keys, because {name} is a Secret and is sealed for its own table: "
                "open(..., keys=LocalKeys('keys.json')), or --keys keys.json with the command."
            )

    def apply_to(self, item: Item, key: Raw | None = None) -> Conversion:
        """Convert one item; raise PlanError with the reason if its function fails, whatever it raises."""
        table = introspection.table_of(type(item))
        return convert_item(self.functions, self.target.tables(), item, (self._sources.get(table, table), key or {}))


class MigrationRun:
    """A migration of two databases: its phases, each of which can be run again after an interruption."""

    def __init__(
        self, migration: Migration, source: MigrationSource, target: MigrationTarget, command: str = ""
    ) -> None:
        self.migration, self.source, self.target, self.command = migration, source, target, command
        self.changes = MigrationChanges(source, target)
        self.job = f"migration {migration.name}"

    @property
    def changed(self) -> int:
        """The changes of items that are converted, in the last `follow`."""
        return self.changes.changed

    # ── phases ───────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def phase(self) -> Phase:
        """How far it is, as recorded in the target database."""
        if describe_table(self.target.database, job_table.physical_name) is None:
            return "new"
        found = [part for part in open_jobs(self.target.database).parts(self.job).run() if part.part == "phase"]
        return cast("Phase", found[0].position) if found else "new"

    def _enter(self, phase: Phase) -> None:
        open_jobs(self.target.database).put(JobPart(job=self.job, part="phase", position=phase)).run()

    def _require(self, *phases: Phase) -> None:
        if (phase := self.phase) not in phases:
            raise PlanError(f"The migration {self.migration.name!r} is {phase}: {NEXT[phase]}.")

    def _advise(self, step: str, *options: str) -> str:
        """Return how a step is run: the command, or the call."""
        if self.command:
            return " ".join([self.command.format(step=step), *(f"--{each.replace('_', '-')}" for each in options)])
        return f"{step}({', '.join(f'{each}=True' for each in options)})"

    def preview(self, *, examples: int = MAX_EXAMPLES, report: ReportCount | None = None) -> MigrationReport:
        """Convert every item without writing: counts, and examples of each kind of change."""
        found, keys = MigrationReport(), TargetKeys()
        for conversions in self.source.convert_all(found, report):
            self._note(keys, conversions, found)
            for conversion in conversions:
                shown = found.examples.setdefault(conversion.outcome, [])
                if len(shown) < examples:
                    shown.append(conversion)
        return found

    def copy(self, *, segments: int = SEGMENTS, report: ReportCount | None = None) -> MigrationReport:
        """Convert and write every item of the source, and return what was found. Goes on after an interruption.

        A copy that is complete is not repeated: a killed process may have recorded it before it could say so.
        """
        check_segments(segments)
        if self.phase == "following":
            return MigrationReport()
        self._require("new", "copying")
        self._check_streams()
        create_tables(self.target.database, *self.target.tables)
        create_tables(self.source.database, checkpoint_table)
        if self.phase == "new":
            self._consumer(_skip).run()  # earlier changes are copied with their items
            self._enter("copying")
        jobs, found, keys = open_jobs(self.target.database), MigrationReport(), TargetKeys()
        with count_written("copy", lambda: found.written):
            for table in self.source.tables:
                self._copy_table(table, jobs, segments, found, keys, report)
        self.changes.keys = keys
        self._enter("following")
        return found

    def _copy_table(
        self,
        table: Table,
        jobs: JobRecords,
        segments: int,
        found: MigrationReport,
        keys: TargetKeys,
        report: ReportCount | None,
    ) -> None:
        name, job, total = table.physical_name, self._copy_job(table), self.source.count_items(table)
        scan = RecordedScan(self.source.database, name, jobs, job, segments)
        if scan.items:  # an earlier run has copied some: what they become must be known too
            for page in scan_pages(self.source.database, name, dict.fromkeys(range(segments), BEGIN)):
                self._check_collisions(keys, list(self.source.convert_page(table, page.items, MigrationReport())), jobs)
        for page in scan:
            conversions = list(self.source.convert_page(table, page.items, found))
            self._check_collisions(keys, conversions, jobs)
            found.written += self.target.put([item for each in conversions for item in each.stored], "copy")
            if report is not None:
                report(scan.items + len(page.items), total)

    def _copy_job(self, table: Table) -> str:
        return f"{self.job} copy {table.physical_name}"

    def _check_collisions(self, keys: TargetKeys, conversions: list[Conversion], jobs: JobRecords) -> None:
        """Refuse items of which one would replace the other; the next copy begins again, with another conversion."""
        found = MigrationReport()
        self._note(keys, conversions, found)
        if not found.collisions:
            return
        for table in self.source.tables:
            jobs.batch(delete=jobs.parts(self._copy_job(table)).run()).run()
        raise PlanError(
            f"The migration {self.migration.name!r} stopped: {found.collisions[0]} The source is unchanged. Then run "
            f"copy, which begins again; follow; and {self._advise('verify', 'repair', 'allow_loss')}, which deletes "
            "what this copy wrote."
        )

    def _note(self, keys: TargetKeys, conversions: list[Conversion], report: MigrationReport) -> None:
        """Note what items become, and report two that become the same one, unless one has changed meanwhile."""
        for each in conversions:
            source = each.table, each.key
            for target in each.stored:
                others = keys.add(source, digest_key(*target))
                if not others:
                    continue
                if len(report.collisions) == MAX_LISTED:
                    report.collided += 1
                elif collision := self.source.find_collision([*others, source], target):
                    report.add_collision(collision)

    @property
    def collisions(self) -> list[Collision]:
        """The items of the source that `follow` has found to become the same item of the target.

        The target keeps the item that it had, until only one of them is left that becomes it.
        """
        return list(self.changes.collisions.values())

    def follow(self, *, report: ReportCount | None = None) -> int:
        """Apply the changes of the source since the last time, and return how many there were.

        Before the first change, the source is read once, to know what becomes which item of the target; `report` is
        called with the progress of that.
        """
        self._require("following")
        self.changes.begin(report)
        try:
            return self._follow_once()
        except StreamTrimmed as error:
            self._enter("new")
            self.changes.keys = None
            self._consumer().forget().run()
            raise PlanError(
                f"The migration {self.migration.name!r} has not followed {error.shard.partition('/')[0]} for a day, "
                "and its stream may have lost changes. The migration begins again, and nothing else must be repaired: "
                f"{self._advise('copy')}, {self._advise('follow')}, then "
                f"{self._advise('verify', 'repair', 'allow_loss')}, which deletes what was deleted from the source "
                "meanwhile."
            ) from error

    def verify(
        self, *, repair: bool = False, allow_loss: bool = False, report: ReportCount | None = None
    ) -> MigrationReport:
        """Compare the target with the converted source, both ways.

        `repair` follows first, then writes what the target lacks; with `allow_loss` it also overwrites the items that
        differ and deletes the surplus ones, which may be what a program has written to the target.
        """
        if allow_loss and not repair:
            raise PlanError(f"allow_loss belongs to a repair: {self._advise('verify', 'repair', 'allow_loss')}.")
        if repair:
            self.follow()
        self._require("following", "switched")
        return self._compare(repair=repair, allow_loss=allow_loss, report=report)

    def _compare(self, *, repair: bool, allow_loss: bool, report: ReportCount | None) -> MigrationReport:
        found, expected = MigrationReport(), TargetKeys()
        for conversions in self.source.convert_all(found, report):
            self._note(expected, conversions, found)
            self._verify_page(conversions, found, repair=repair, allow_loss=allow_loss)
        self._verify_surplus(expected, found, allow_loss=allow_loss)
        return found

    def _verify_page(
        self, conversions: list[Conversion], found: MigrationReport, *, repair: bool, allow_loss: bool
    ) -> None:
        wanted = [item for each in conversions for item in each.stored]
        pairs = list(zip(wanted, self.target.fetch(wanted), strict=True))
        missing = [item for item, raw in pairs if raw is None]
        differing = [item for item, raw in pairs if raw is not None and not self.target.holds(item, raw)]
        found.add_difference("missing", missing)
        found.add_difference("differing", differing)
        if repair:
            alone = [item for item in missing if not self.changes.find_collision(item)]
            found.written += self.target.put_missing(alone)
        if allow_loss:
            self.target.put([item for item in differing if not self.changes.find_collision(item)], "verify")

    def _verify_surplus(self, expected: TargetKeys, found: MigrationReport, *, allow_loss: bool) -> None:
        """Find items of the target that no source item becomes, of the classes that the conversions return."""
        made = {
            introspection.root(model)
            for function in self.migration.functions.values()
            for model in classes_in(function)
        }
        made |= {introspection.root(model) for model in found.classes}
        for table in self.target.tables:
            for page in scan_pages(self.target.database, table.physical_name, dict.fromkeys(range(SEGMENTS), BEGIN)):
                other = [
                    raw
                    for raw in page.items
                    if digest_key(table, raw) not in expected and self.target.root_of(table, raw) in made
                ]
                keys = [(table, {attr: raw[attr] for attr in table.keys}) for raw in self._drop_sources(table, other)]
                found.add_difference("surplus", keys)
                if allow_loss:
                    self.target.delete(keys, "verify")

    def _drop_sources(self, table: Table, items: list[Raw]) -> list[Raw]:
        """Return items without those that the source has under the same table and key, of a class that it declares."""
        same = next((one for one in self.source.tables if one.physical_name == table.physical_name), None)
        if same is None or same.keys != table.keys:
            return items
        mine = [raw for raw in items if is_of(roots_of(same), raw)]
        keys = [(same, {attr: raw[attr] for attr in same.keys}) for raw in mine]
        found = self.source.read(keys, "verify")
        kept = {digest_key(same, raw) for raw in found if raw is not None}
        return [raw for raw in items if digest_key(same, raw) not in kept]

    def switch(self, *, keep_differences: bool = False, report: ReportCount | None = None) -> None:
        """Record that programs use the target, after the last changes and a verification without differences.

        No program may write to the source any more, and none to the target yet. `keep_differences` leaves items of the
        target that differ or are surplus as they are, because a program has written them. A switch that is recorded is
        not repeated.
        """
        if self.phase == "switched":
            return
        self.follow()
        found = self.verify(report=report)
        self.follow()
        if self.changed:
            raise PlanError(
                f"The migration {self.migration.name!r} cannot be switched: a program still writes to the source, "
                f"{self.changed:,} changes while it was compared. They have been applied. Stop the program, then run "
                f"{self._advise('switch')} again."
            )
        if found.collided:
            raise PlanError(
                f"The migration {self.migration.name!r} cannot be switched: {found.differences}. Change or delete one "
                f"of two such items, and {self._advise('switch')} again; or give the target a key that distinguishes "
                "them, or let the conversion drop one."
            )
        if found.failed or found.missing or not (found or keep_differences):
            raise PlanError(
                f"The migration {self.migration.name!r} cannot be switched: {found.differences}. "
                f"{self._advise('verify', 'repair')} writes missing items. If a program has written differing or "
                f"surplus ones to the target, keep them: {self._advise('switch', 'keep_differences')}. Otherwise "
                f"{self._advise('verify', 'repair', 'allow_loss')} overwrites and deletes them."
            )
        self._enter("switched")

    def move(
        self, *, keep_differences: bool = False, leave_failed: bool = False, report: ReportCount | None = None
    ) -> MigrationReport:
        """Copy, compare and switch at once: for a database to which no other process writes until that is done.

        It needs no stream, replaces nothing that the target has, and does nothing when it was done before. Killed, it
        is called again. `keep_differences` leaves items of the target that differ or are surplus as they are,
        `leave_failed` those of the source that cannot be converted or become the same item; the report names them.
        """
        if self._is_moved():
            return MigrationReport()
        if self.phase == "following" and all(self._find_view(table) == STREAM_VIEW for table in self.source.tables):
            self.follow()
        found, self.changes.keys = MigrationReport(), TargetKeys()
        for conversions in self.source.convert_all(found, report and (lambda done, total: report(done // 2, total))):
            self._note(self.changes.keys, conversions, found)
        if not (found or leave_failed):
            options = ["leave_failed", *(["keep_differences"] if keep_differences else [])]
            raise PlanError(self._explain_unmoved(found, "in the source", options))
        create_tables(self.target.database, *self.target.tables)
        second = report and (lambda done, total: report((total + done) // 2, total))
        found = self._compare(repair=True, allow_loss=False, report=second)
        found.missing -= found.written
        if (found.differing or found.surplus) and not keep_differences:
            options = ["keep_differences", *(["leave_failed"] if leave_failed else [])]
            raise PlanError(self._explain_unmoved(found, "in the target", options))
        if found.items or found.failed or found.not_converted:  # a scan of an empty source costs less than the record
            self._enter("switched")
        return found

    def require_moved(self) -> None:
        """Refuse a source with items that were not moved yet: where other processes may write, people run the steps."""
        if self._is_moved():
            return
        found = MigrationReport()
        for conversions in self.source.convert_all(found, None):
            if conversions or found.failed:
                steps = ", ".join(self._advise(step) for step in ("copy", "follow", "switch"))
                raise PlanError(
                    f"The items of the migration {self.migration.name!r} must be moved before this program starts, and "
                    f"other processes may write to this database: {steps}; then start it again."
                )
        if found.not_converted:
            create_tables(self.target.database, *self.target.tables)
            self._enter("switched")

    def _is_moved(self) -> bool:
        """Return whether nothing is left to move: it was done, or the source does not exist."""
        if self.phase in {"switched", "finished"}:
            return True
        self.source.leave_out_absent_tables()
        return not self.source.tables

    def _explain_unmoved(self, found: MigrationReport, place: str, options: Sequence[str]) -> str:
        """Return why a move was not done, with the first item, and how it can be."""
        first = f" The first: {found.failures[0]}" if found.failures else ""
        return (
            f"The migration {self.migration.name!r} cannot be completed: {found.differences}.{first} Nothing was "
            f"replaced or deleted. Correct the items, or leave them {place} as they are: "
            f"{self._advise('move', *options)}."
        )

    def back(self) -> None:
        """Return to the source, which was never changed. What was written to the target only is not copied back."""
        self._require("switched")
        self._enter("following")

    def finish(self) -> None:
        """End the migration: the changes of the source are no longer followed. The source tables stay."""
        if self.phase == "finished":
            return
        self._require("switched")
        self._consumer().forget().run()
        self._enter("finished")

    # ── the stream ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _check_streams(self) -> None:
        for table in self.source.tables:
            if self._find_view(table) != STREAM_VIEW:
                raise PlanError(
                    f"{table.physical_name} needs a stream with {STREAM_VIEW}, so that changes can be followed: "
                    f'declare stream="{STREAM_VIEW}", then apply.'
                )

    def _find_view(self, table: Table) -> str | None:
        """Return what the stream of a table of the source contains; None if it has no stream."""
        live = describe_table(self.source.database, table.physical_name)
        if live is None:
            raise PlanError(
                f"There is no table {table.physical_name} to migrate from: check the target, and the "
                "variables of the table's name."
            )
        view: str | None = live.get("StreamSpecification", {}).get("StreamViewType")
        return view

    def _follow_once(self) -> int:
        create_tables(self.source.database, checkpoint_table)
        try:
            return self._consumer().run()
        except Conflict as error:
            raise PlanError(
                f"Another process follows the migration {self.migration.name!r}: end it (Ctrl-C ends follow), then run "
                "this step again."
            ) from error

    def _consumer(self, handle: Callable[[ItemChange[Any]], None] | None = None) -> Consumer:
        """Return the consumer of the source's streams. It sets aside what cannot be read; `verify` reports it."""
        consumer = Consumer(self.source.session, self.source.tables, self.job, checkpoint_table, attempts=2)
        consumer.stops_at = _is_no_fault_of_an_item
        for model in self.migration.functions:
            consumer.on(model)(handle or self._apply_change)
        if handle is None:
            consumer.on_page(self.changes.apply)
        return consumer

    def _apply_change(self, change: ItemChange[Any]) -> None:
        self.changes.apply([change])


def _is_no_fault_of_an_item(error: Exception) -> bool:
    """Return whether an error is that of the database or of the keyring, and not of the change that met it."""
    return is_outage(error) or isinstance(error, NO_KEYS)


def _skip(_change: ItemChange[Any]) -> None:
    """Leave a change to the copy."""
