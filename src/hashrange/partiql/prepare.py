"""A statement of a request met with its table: what the three operations do before they run anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ResourceNotFoundException
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.partiql.plan import Plan, SelectPlan, Statement, read_statement
from hashrange.partiql.reading import Reader, find_index, make_projector
from hashrange.partiql.writing import make_action

if TYPE_CHECKING:
    from hashrange.engine.action import Action
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Index, Table
    from hashrange.engine.write import Row


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement, its plan, and its table if there is one of that name."""

    statement: Statement
    plan: Plan
    request: Wire
    table: Table | None
    index: Index | None

    @property
    def found(self) -> Table:
        """Return the table, or raise when there is none."""
        if self.table is None:
            raise ResourceNotFoundException
        return self.table

    def reader(self) -> Reader:
        """Return the reader of a SELECT, checked against the table."""
        assert isinstance(self.plan, SelectPlan)
        reader = Reader(self.plan, self.found, self.index)
        reader.check(consistent=bool(self.request.get("ConsistentRead")))
        return reader

    def action(self, *, in_transaction: bool = False) -> Action:
        """Return the write of any other statement, ready to run."""
        wanted = self.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        return make_action(self.plan, self.found, return_item=wanted, in_transaction=in_transaction)

    def show(self, row: Row) -> bytes | None:
        """Return a row as a SELECT on its key shows it; None when nothing of it is selected."""
        assert isinstance(self.plan, SelectPlan)
        if self.plan.columns is None:
            return row.body
        item = make_projector(self.plan.columns)(row.item)
        return orjson.dumps(item) if item else None


def prepare(engine: Engine, request: Wire, parameters: Sequence[Value], *, in_transaction: bool = False) -> Prepared:
    """Read a statement and plan it; a missing table is left to the caller, for other faults are told first."""
    statement = read_statement(request["Statement"], parameters, in_transaction=in_transaction)
    table = _find_table(engine, statement.table)
    index = None if table is None or in_transaction else find_index(table, statement.index)
    return Prepared(statement, statement.plan(), request, table, index)


def _find_table(engine: Engine, name: str) -> Table | None:
    try:
        return engine.catalog.find(name)
    except ResourceNotFoundException:
        return None
