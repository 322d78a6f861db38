"""An engine whose calls go wrong on purpose; whoever opens one without faults never meets this module.

As on AWS, what is wrong with a request comes first. To find out without doing anything, a call is rehearsed: it runs
until its first write, which the store refuses. So a fault before the work changes nothing, and one after it comes when
the work is done and part of the commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from hashrange.core.clock import Clock
from hashrange.core.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ServiceError,
    TransactionCanceledException,
)
from hashrange.core.wire import Wire
from hashrange.engine import shape
from hashrange.engine.engine import Engine, EngineSettings, Reread, as_given
from hashrange.engine.faults.faults import Faults
from hashrange.engine.operation import Operation
from hashrange.engine.store import SqliteError, Store, WriteRefused

logger = logging.getLogger("hashrange")
# What depends on the stored items comes after throttling and the like.
OF_ITEMS = (ConditionalCheckFailedException, DuplicateItemException, TransactionCanceledException)
# These change nothing in memory before their first write; others change definitions.
ITEM_WRITES = frozenset({
    "BatchExecuteStatement", "BatchWriteItem", "DeleteItem", "ExecuteStatement", "ExecuteTransaction", "PutItem",
    "TransactWriteItems", "UpdateItem",
})  # fmt: skip


class FaultyEngine(Engine):
    """An open database with faults."""

    faults: Faults

    def __init__(
        self,
        store: Store,
        operations: Mapping[str, Operation],
        faults: Faults,
        *,
        clock: Clock | None = None,
        settings: EngineSettings | None = None,
    ) -> None:
        super().__init__(store, operations, clock=clock, settings=settings)
        self.faults = faults

    def call(self, name: str, request: Wire, reread: Reread = as_given) -> bytes:
        """Run one request, when its delay is over."""
        time.sleep(self.faults.take_delay(name, request))
        return self.call_at_once(name, request, reread)

    def call_at_once(self, name: str, request: Wire, reread: Reread = as_given) -> bytes:
        """Run one request whose delay somebody else has waited for."""
        return super().call(name, request, reread)

    def perform(self, operation: Operation, request: Wire, reread: Reread = as_given) -> bytes:
        """Run one request inside the group, or let happen to it what is to happen."""
        if self.closed or self._group.failure is not None:
            return super().perform(operation, request, reread)
        request = reread(request)
        if not shape.accept(operation.name, request):
            request = shape.convert(operation.name, request, operation.violations)
        chosen = self.faults.choose(operation.name, request)
        if chosen is None:
            return super().perform(operation, request)
        fault, effect = chosen
        try:
            outcome = effect.strike(self, operation, request)
        except ServiceError:  # refused for a reason of its own
            fault.struck -= 1
            raise
        logger.info("Fault injected into %s: %s", operation.name, fault)
        if isinstance(outcome, ServiceError):
            raise outcome
        return outcome

    # -- what effects ask for ------------------------------------------------------------------------------------------

    def carry_out(self, operation: Operation, request: Wire) -> bytes:
        """Do the work and return its answer."""
        return super().perform(operation, request)

    def rehearse(self, operation: Operation, request: Wire) -> None:
        """Raise what is wrong with a request itself; change nothing."""
        try:
            if operation.writes:
                self._rehearse_write(operation, request)
            else:
                self._run(operation, request, as_given)
        except OF_ITEMS as refusal:
            reasons = refusal.members.get("CancellationReasons", ())
            if any(reason["Code"] == "ValidationError" for reason in reasons):
                raise
        except SqliteError as failure:
            raise self._void(self.store.translate(failure)) from failure

    def _rehearse_write(self, operation: Operation, request: Wire) -> None:
        self.begin_transaction()
        self.catalog.write_counts()
        try:
            with self.store.writes_refused():
                self._run(operation, request, as_given)
        except WriteRefused:
            pass
        finally:
            if operation.name not in ITEM_WRITES:
                self.catalog.reload()

    def find_arn(self, table: str) -> str | None:
        """Return the ARN of a table, if there is one of the name."""
        found = self.catalog.get(table)
        return None if found is None else found.arn
