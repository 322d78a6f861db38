"""SELECT: reads key ranges or scans, page by page, and makes the NextToken."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.keys import ENCODERS
from hashrange.core.values import INVALID_PARAMETER, Item, Value, canonicalise_values
from hashrange.engine.capacity import ConsumedCapacity, read_units
from hashrange.engine.page_response import last_key, page_capacity
from hashrange.engine.read import (
    MAX_WORK,
    NO_LIMIT,
    PAGE_BYTES,
    RowPage,
    RowSource,
    check_filter_projected,
    read_page,
)
from hashrange.engine.start_key import start_query, start_scan
from hashrange.engine.table import check_scalars
from hashrange.expr.condition import Predicate, bind_condition
from hashrange.expr.nodes import paths_of
from hashrange.expr.path import document_attributes, make_getter
from hashrange.partiql.key_ranges import KeyRange, KeyRangePlanner, WhereBranch

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Index, Table
    from hashrange.partiql.statement_plan import SelectColumn, SelectPlan

MULTIPLE_KEYS = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
)
NO_INDEX = "The table does not have the specified index"
STRONG_ON_GLOBAL = "Strongly consistent read is not supported on Global Secondary Indexes"
ORDER_NEEDS_WHERE = "Must have WHERE clause in the statement when using ORDER BY clause."
ORDER_NEEDS_HASH = "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
ORDER_LACKS_HASH = (
    "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
)
INVALID_TOKEN = "Invalid NextToken"  # noqa: S105 - a page token, not a secret
TOKEN_MISMATCH = "NextToken does not match request"  # noqa: S105


@dataclass(frozen=True, slots=True)
class SelectPosition:
    """Where the next page starts: the number of the key range, and the last key read in it."""

    read: int = 0
    key: Item | None = None


@dataclass(slots=True)
class SelectPage:
    """The items of a page, where the next page starts, and the consumed capacity."""

    cost: ConsumedCapacity
    bodies: list[bytes] = field(default_factory=list)
    next: SelectPosition | None = None


def find_index(table: Table, name: str | None) -> Index | None:
    """Return the index that FROM names; PartiQL does not support keys of several attributes."""
    if name is None:
        return None
    index = table.indexes_by_name.get(name)
    if index is None:
        raise ValidationException(NO_INDEX)
    if len(index.key_encoder.hashes) > 1 or len(index.key_encoder.ranges) > 1:
        raise ValidationException(MULTIPLE_KEYS)
    return index


class SelectReader:
    """Executes a SELECT on a table or an index."""

    def __init__(self, plan: SelectPlan, table: Table, index: Index | None) -> None:
        self.plan = plan
        self.table = table
        self.index = index
        self.key_ranges = KeyRangePlanner(index.key_encoder if index else table.key_encoder)
        self.branches = self.key_ranges.branches(plan.where)

    def check(self, *, consistent: bool) -> None:
        """Raise the errors that depend on the table."""
        index = self.index
        if index is not None and consistent and index.is_global:
            raise ValidationException(STRONG_ON_GLOBAL)
        if index is not None and index.backfilling:
            raise ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")
        if self.plan.where is not None:
            check_scalars(self.table, frozenset(document_attributes(paths_of(self.plan.where))))
        if index is not None and index.is_global:
            _check_columns(self.plan.columns or (), index)

    def single_key(self) -> Item | None:
        """Return the key of the item if the WHERE clause is just its key; None otherwise."""
        if self.branches is None:
            return None
        key = self.key_ranges.single_key(self.branches)
        if key is None:
            self.key_ranges.ranges(self.branches)
        return None if self.index else key

    def sources(self) -> list[RowSource]:
        """Return the row sources to read, in order."""
        if self.plan.order:
            self._check_order()
        if self.branches is None:
            return [self._apply_select(RowSource(self.table, self.index), self._make_predicate())]
        ranges = self._in_order(self.key_ranges.ranges(self.branches))
        if self.index is not None:
            _check_filters(self.branches, self.key_ranges, self.index)
        predicate = None if all(found.exact for found in ranges) else self._make_predicate()
        return [self._make_source(found, predicate) for found in ranges]

    def _make_predicate(self) -> Predicate | None:
        return None if self.plan.where is None else bind_condition(self.plan.where)

    def _make_source(self, found: KeyRange, predicate: Predicate | None) -> RowSource:
        source = RowSource(self.table, self.index, found.low, found.high, self._is_forward())
        return self._apply_select(source, None if found.exact else predicate)

    def _apply_select(self, source: RowSource, predicate: Predicate | None) -> RowSource:
        source.test = predicate
        columns = self.plan.columns
        if columns is not None:
            source.project, source.columns = make_projector(columns), len(columns)
            if self.index is not None and not self.index.keeps_all:
                source.fetches = any(_attribute_of(column) not in self.index.projected for column in columns)
        return source

    def _check_order(self) -> None:
        names = [attribute.name for attribute in self.key_ranges.key_encoder.attributes]
        if self.plan.where is None:
            raise ValidationException(ORDER_NEEDS_WHERE)
        for name, _ in self.plan.order:
            if name not in names:
                raise ValidationException(f"Attribute {name} in ORDER BY clause must be part of the primary key")
        if self.branches is None:
            raise ValidationException(ORDER_NEEDS_HASH)
        partitions = [branch.values_of(self.key_ranges.hash)[0] for branch in self.branches]
        if any(value != partitions[0] for value in partitions) and names[0] not in dict(self.plan.order):
            raise ValidationException(ORDER_LACKS_HASH)

    def _is_forward(self) -> bool:
        """Return whether sort keys ascend: without ORDER BY, or if ORDER BY names the sort key as ascending."""
        sort = self.key_ranges.sort
        return not self.plan.order or (sort is not None and (sort.name, False) in self.plan.order)

    def _in_order(self, ranges: list[KeyRange]) -> list[KeyRange]:
        descending = (self.key_ranges.hash.name, True) in self.plan.order
        by_low = sorted(ranges, key=lambda found: found.low, reverse=not self._is_forward())
        return sorted(by_low, key=lambda found: found.order, reverse=descending)

    # -- pages ----------------------------------------------------------------------------------------------------

    def read(
        self, engine: Engine, name: str, position: SelectPosition, limit: int | None, *, consistent: bool
    ) -> SelectPage:
        """Read from a position up to the limit, a megabyte, or the end."""
        sources = self.sources()
        rows = SelectPage(ConsumedCapacity(name))
        size, left, work = 0, NO_LIMIT if limit is None else limit, MAX_WORK
        for at in range(position.read, len(sources)):
            source = sources[at]
            source.limit, source.work = left, work
            if at == position.read and not self._start(source, position.key):
                continue
            page = read_page(engine, source)
            rows.bodies += page.bodies
            _add_cost(rows.cost, page_capacity(page, source, name, consistent=consistent))
            size += page.size
            work -= page.count_work(source)
            left = left if limit is None else left - page.scanned
            rows.next = _next_position(
                page, source, at, is_full=(size >= PAGE_BYTES or work <= 0) and at + 1 < len(sources)
            )
            if rows.next is not None:
                return rows
        if not rows.cost.table and not rows.cost.indexes:
            rows.cost.add_table(read_units(0, consistent=consistent))
        return rows

    def _start(self, source: RowSource, key: Item | None) -> bool:
        """Start a source after a key; False if nothing can follow that key."""
        if key is None:
            return True
        if self.branches is None:
            start_scan(source, key, 0, 1)
        elif self.index is None and self.key_ranges.sort is None:
            return False
        else:
            start_query(source, key, b"")
        return True


def _next_position(page: RowPage, source: RowSource, at: int, *, is_full: bool) -> SelectPosition | None:
    if page.last is not None:
        return SelectPosition(at, last_key(page, source))
    return SelectPosition(at + 1) if is_full else None


def make_projector(columns: Sequence[SelectColumn]) -> Callable[[Item], Item]:
    """Return a function that selects the columns of an item; missing ones are left out."""
    getters = [(column.label, make_getter(column.path.elements)) for column in columns]

    def project(item: Item) -> Item:
        found = ((label, get(item)) for label, get in getters)
        return {label: value for label, value in found if value is not None}

    return project


def _attribute_of(column: SelectColumn) -> str:
    return str(column.path.elements[0])


def _add_cost(total: ConsumedCapacity, cost: ConsumedCapacity) -> None:
    total.add_table(cost.table)
    for index, units in cost.indexes.items():
        total.add_index(index, units)


# -- attributes that an index does not project ------------------------------------------------------------------------


def _check_columns(columns: Iterable[SelectColumn], index: Index) -> None:
    missing = (
        []
        if index.keeps_all
        else [_attribute_of(column) for column in columns if _attribute_of(column) not in index.projected]
    )
    if missing:
        shown = ", ".join(dict.fromkeys(missing))
        raise ValidationException(f"{INVALID_PARAMETER}Global secondary index {index.name} does not project [{shown}]")


def _check_filters(branches: Sequence[WhereBranch], planner: KeyRangePlanner, index: Index) -> None:
    """Refuse a query if all branches test attributes that the index does not project; name those of the last one."""
    tag = planner.hash.tag
    ordered = sorted(branches, key=lambda branch: ENCODERS[tag](branch.values_of(planner.hash)[0][tag]))
    missing = [_unprojected(branch, index) for branch in ordered]
    if all(missing):
        check_filter_projected(index, missing[-1])


def _unprojected(branch: WhereBranch, index: Index) -> list[str]:
    named = (str(path.elements[0]) for condition in branch.filters for path in paths_of(condition))
    return list(dict.fromkeys(name for name in named if name not in index.projected))


# -- tokens -----------------------------------------------------------------------------------------------------------


def write_token(position: SelectPosition, statement: str, parameters: Sequence[Value]) -> str:
    """Return a position as a NextToken that is valid only for the same statement."""
    content = [_digest(statement, parameters), position.read, position.key]
    return urlsafe_b64encode(orjson.dumps(content)).decode()


def read_token(token: str, statement: str, parameters: Sequence[Value]) -> SelectPosition:
    """Return the position of a NextToken, or raise if it is not valid for the statement."""
    try:
        digest, read, key = orjson.loads(urlsafe_b64decode(token.encode()))
        position = SelectPosition(range(2**31)[read], None if key is None else canonicalise_values(dict(key)))
    except (ValueError, TypeError, IndexError, AttributeError):  # any content of a forged token
        raise ValidationException(INVALID_TOKEN) from None
    if digest != _digest(statement, parameters):
        raise ValidationException(TOKEN_MISMATCH)
    return position


def _digest(statement: str, parameters: Sequence[Value]) -> str:
    content = orjson.dumps([statement, list(parameters)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(content).hexdigest()[:32]
