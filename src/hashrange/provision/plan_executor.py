"""Applies a plan: one request after the other, waiting until the table and its indexes are active again.

A plan with an obstacle is refused before anything is sent. If a step fails, those before it stay: plan and apply again,
which goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from hashrange.client.transport import Transport
from hashrange.core.errors import HashrangeError, PlanError, ServiceError, UnknownOperationException
from hashrange.provision.live_table import BUSY, describe_table
from hashrange.provision.plan_step import PlanStep
from hashrange.provision.table_plan import TablePlan, plan, plan_creation, require_tables
from hashrange.schema.declare.table import Declared, Table

MAX_WAIT = 24 * 3600.0  # AWS builds the index of a large table for hours
POLL_INTERVALS = (0.02, 0.1, 0.5, 2.0, 5.0)


class Progress(Struct, frozen=True, kw_only=True):
    """How far a step is: the entries of an index that is being built, and the items of its table."""

    step: PlanStep
    number: int  # of the step, from 1
    steps: int
    done: int = 0
    total: int = 0


Report = Callable[[Progress], None]


def apply(
    database: Transport,
    changes: TablePlan,
    *,
    allow_loss: bool = False,
    report: Report | None = None,
    max_wait: float = MAX_WAIT,
) -> list[PlanStep]:
    """Apply a plan and return the steps that were applied: those that lose nothing, with `allow_loss` all of them."""
    if changes.obstacles:
        raise PlanError(_explain_obstacles(changes))
    steps = [step for step in changes.steps if allow_loss or not step.loses]
    applied: list[PlanStep] = []
    for number, step in enumerate(steps, 1):
        progress = Progress(step=step, number=number, steps=len(steps))
        waiting = _Waiting(database, progress, report or _ignore, time.monotonic() + max_wait)
        try:
            if _apply_step(database, changes, step, waiting):
                applied.append(step)
        except HashrangeError as error:
            raise PlanError(_explain_failure(step, len(applied), len(steps), error)) from error
    return applied


def create_tables(database: Transport, *declared: Declared | Table) -> list[str]:
    """Create the tables of these patterns that the database does not have; return the names of those created."""
    tables = require_tables(declared)
    absent = [table for table in tables if describe_table(database, table.physical_name) is None]
    applied = apply(database, TablePlan(tables, tuple(plan_creation(table) for table in absent)))
    return [step.table for step in applied if step.operation == "CreateTable"]


def _apply_step(database: Transport, changes: TablePlan, step: PlanStep, waiting: _Waiting) -> bool:
    """Send the request of a step and wait for its effect; return False when another process was first.

    Emulators do not serve the operations of every option: such a step is left out, as in the next plan.
    """
    if step.operation != "CreateTable":
        waiting.wait()
    try:
        if step.operation:
            database.call(step.operation, step.request)
    except UnknownOperationException:
        return False
    except ServiceError:
        if describe_table(database, step.table) is None:
            raise
        waiting.wait()
        if step in plan(database, *changes.tables).steps:
            raise
        return False
    waiting.wait()
    return True


class _Waiting:
    """Waits until no change of a table is under way."""

    def __init__(self, database: Transport, progress: Progress, report: Report, deadline: float) -> None:
        self.database, self.progress, self.report, self.deadline = database, progress, report, deadline

    def wait(self) -> None:
        step, attempt = self.progress.step, 0
        self.report(self.progress)
        while not self._is_idle():
            if time.monotonic() > self.deadline:
                raise PlanError(f"{step.table} is still being changed: check its status, then plan again")
            time.sleep(POLL_INTERVALS[min(attempt // 3, len(POLL_INTERVALS) - 1)])
            attempt += 1

    def _is_idle(self) -> bool:
        step = self.progress.step
        description = describe_table(self.database, step.table)
        if description is None:
            return step.operation != "CreateTable"
        indexes = description.get("GlobalSecondaryIndexes", ())
        for index in indexes:
            if index["IndexName"] == step.index:
                done, total = index.get("ItemCount", 0), description.get("ItemCount", 0)
                self.report(
                    Progress(step=step, number=self.progress.number, steps=self.progress.steps, done=done, total=total)
                )
        busy = [description["TableStatus"], *(index.get("IndexStatus") for index in indexes)]
        return not BUSY.intersection(busy)


def _ignore(_progress: Progress) -> None:
    """Report nothing."""


def _explain_obstacles(changes: TablePlan) -> str:
    lines = [
        f"{one.table}: {one.subject}: declared {one.declared}, exists {one.live}: {one.obstacle}."
        for one in changes.obstacles
    ]
    return "Nothing was changed. " + " ".join(lines)


def _explain_failure(step: PlanStep, applied: int, steps: int, error: HashrangeError) -> str:
    done = (
        f"{applied} of {steps} steps were applied; plan and apply again to go on" if applied else "Nothing was changed"
    )
    return f"{step.table}: cannot {step.action}: {error}. {done}."
