"""A parsed statement with its table: what the PartiQL operations prepare before they execute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ResourceNotFoundException
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.partiql.modify import make_write
from hashrange.partiql.select import SelectReader, find_index, make_projector
from hashrange.partiql.statement_plan import ParsedStatement, Plan, SelectPlan, parse_statement

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Index, Table
    from hashrange.engine.write import ItemWrite, Row


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A statement, its plan, and its table if that exists."""

    statement: ParsedStatement
    plan: Plan
    request: Wire
    table: Table | None
    index: Index | None

    @property
    def existing_table(self) -> Table:
        """Return the table, or raise if it does not exist."""
        if self.table is None:
            raise ResourceNotFoundException
        return self.table

    def make_reader(self) -> SelectReader:
        """Return the reader of a SELECT, checked against the table."""
        assert isinstance(self.plan, SelectPlan)
        reader = SelectReader(self.plan, self.existing_table, self.index)
        reader.check(consistent=bool(self.request.get("ConsistentRead")))
        return reader

    def make_write(self, *, in_transaction: bool = False) -> ItemWrite:
        """Return the write of any other statement."""
        wanted = self.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        return make_write(self.plan, self.existing_table, return_item=wanted, in_transaction=in_transaction)

    def select_columns(self, row: Row) -> bytes | None:
        """Return the selected columns of a row as JSON; None if it has none of them."""
        assert isinstance(self.plan, SelectPlan)
        if self.plan.columns is None:
            return row.body
        item = make_projector(self.plan.columns)(row.item)
        return orjson.dumps(item) if item else None


def prepare_statement(
    engine: Engine, request: Wire, parameters: Sequence[Value], *, in_transaction: bool = False
) -> PreparedStatement:
    """Parse and plan a statement; the caller raises for a missing table, because other errors come first."""
    statement = parse_statement(request["Statement"], parameters, in_transaction=in_transaction)
    table = _find_table(engine, statement.table)
    index = None if table is None or in_transaction else find_index(table, statement.index)
    return PreparedStatement(statement, statement.plan(), request, table, index)


def _find_table(engine: Engine, name: str) -> Table | None:
    try:
        return engine.catalog.find(name)
    except ResourceNotFoundException:
        return None
