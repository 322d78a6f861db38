"""Reads the requests of a Query, Latest or Scan, a page of each at a time, and merges their items in key order."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from hashrange.core.errors import Unreadable, ValidationException
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import Model
from hashrange.schema.pattern.value_source import Arguments
from hashrange.schema.read.read_plan import Branch, ReadPlan
from hashrange.session.page_decoder import ItemJson, decode_item, decode_items, decode_page
from hashrange.session.steps import Call, Steps

if TYPE_CHECKING:
    from hashrange.session.session import DeployedIndex, Session

FoundItems: TypeAlias = list[tuple[ItemJson, Any]]  # as stored, and as loaded
MAX_PAGE_SIZE = 1000
NO_INDEX = "does not have the specified index"  # DynamoDB's words
ORDERS: dict[str, Callable[[Any], Any]] = {"S": str, "N": Decimal, "B": base64.b64decode}  # by type of a sort key


def order_of(value: Value) -> Any:
    """Return a sort key as a value that Python orders as DynamoDB does."""
    [(tag, content)] = value.items()
    return ORDERS[tag](content)


class QueryCall(Struct, frozen=True, dict=True):
    """A query as it was called and refined."""

    session: Session
    plan: ReadPlan
    arguments: Arguments
    only: tuple[ModelClass, ...] = ()
    whole: bool = False
    consistent: bool = False
    segment: tuple[int, int] | None = None  # of a parallel scan: which, of how many

    @property
    def counts_rows(self) -> bool:
        """Whether every row that is found is one of its items, so that DynamoDB can count them."""
        hides_expired = self.plan.table.ttl is not None and not self.session.shows_expired
        skips = self.session.on_unreadable is not None
        return self.plan.finds_only_its_models and not (hides_expired or skips) and self.only in {(), self.plan.models}

    def start_key(self, encoded: ItemJson) -> Raw:
        """Return the ExclusiveStartKey after an item: its key in the table and in the index."""
        raw = decode_item(encoded)
        names = dict.fromkeys((*self.plan.table.keys, *self.plan.path.keys))
        return {attr: raw[attr] for attr in names}

    def position_of(self, raw: Raw) -> Any:
        """Return the position of an item in the order of the query; all are alike where there is no sort key."""
        attrs = self.plan.path.sort
        return order_of(raw[attrs[0]]) if len(attrs) == 1 else tuple(order_of(raw[attr]) for attr in attrs)


class BranchReader:
    """Reads one request of a query page by page."""

    def __init__(self, call: QueryCall, branch: Branch, start: Raw | None) -> None:
        self.call, self.branch = call, branch
        self.found: FoundItems = []  # read and not taken yet
        self.is_read = False  # whether there are no more pages
        self.after = start  # the key to continue after
        self.skipped = 0  # the items that could not be read, and that were passed
        self.count = 0  # the items read so far; when few of them match, the next request reads as many again
        self._start = start
        self._taken: ItemJson | None = None
        self._taken_count = 0
        self._unreadable = deque[tuple[int, Unreadable]]()  # not passed yet, with the number of items before each

    @property
    def start(self) -> Raw | None:
        """The key to continue after what was taken."""
        return self._start if self._taken is None else self.call.start_key(self._taken)

    @property
    def position(self) -> Any:
        """The earliest position of its next item; None if that is not known."""
        if self.found:
            return self.call.position_of(decode_item(self.found[0][0]))
        if self.after is not None:
            return self.call.position_of(self.after)
        return self.bounds[0]

    @cached_property
    def bounds(self) -> tuple[Any, Any]:
        """The positions between which its items stand, in the direction of the query; None where not known."""
        attrs = self.call.plan.path.sort
        if len(attrs) != 1:
            return (None, None) if attrs else ((), ())
        low, high = (None if key is None else order_of(key) for key in self.branch.bounds(self.call.arguments))
        return (low, high) if self.call.plan.forward else (high, low)

    def _skip_empty_range(self) -> bool:
        """Return whether a range has no value of the precision that is stored; then there is nothing to read."""
        if not self.branch.ranges:
            return False
        ends = [[end.value(self.call.arguments) for end in pair] for pair in self.branch.ranges]
        if not any(low and high and order_of(low) > order_of(high) for low, high in ends):
            return False
        self.is_read, self.after = True, None
        return True

    def take(self, count: int | None) -> FoundItems:
        """Remove and return the first items that were read."""
        taken, self.found = (self.found, []) if count is None else (self.found[:count], self.found[count:])
        if taken:
            self._taken = taken[-1][0]
            self._taken_count += len(taken)
            self.report_unreadable(self._taken_count)
        return taken

    def report_unreadable(self, before: int | None = None) -> None:
        """Report the unreadable items before an item, or all: each once, on the page that passes it."""
        while self._unreadable and (before is None or self._unreadable[0][0] < before):
            _, error = self._unreadable.popleft()
            self.skipped += 1
            if self.call.session.on_unreadable is not None:
                self.call.session.on_unreadable(error)

    def fill(self, limit: int | None) -> Steps[None]:
        """Send one request for about so many items."""
        if self._skip_empty_range():
            return
        try:
            yield from self._fill(limit)
        except ValidationException as error:
            if not self._forget_index(error):
                raise
            yield from self._fill(limit)

    def _forget_index(self, error: ValidationException) -> bool:
        """Return whether an index was dropped after it was described: one with the same keys may have replaced it."""
        if "IndexName" not in self.branch.request or NO_INDEX not in str(error):
            return False
        self.call.session.forget_indexes(self.call.plan.table)
        return True

    def _fill(self, limit: int | None) -> Steps[None]:
        branch, matches = self.branch, None
        deployed = yield from self._find_index()
        if deployed is not None and deployed.lacks(branch.filter_attributes):  # DynamoDB would refuse the filter
            branch, matches = branch.without_filter, branch.filter_by(self.call.arguments)
        operation = "Scan" if self.call.plan.verb == "Scan" else "Query"
        response = yield Call(operation, self._request(branch, limit, deployed), self.call.plan.label, decode_page)
        encoded: list[ItemJson] = response["Items"]
        self.count += len(encoded)
        self.after = response.get("LastEvaluatedKey")
        self.is_read = self.after is None
        if branch.check is not None:
            is_in_range = branch.check.bind(self.call.arguments)
            encoded = [one for one in encoded if is_in_range(decode_item(one))]
        if matches is not None:
            encoded = [one for one in encoded if matches(decode_item(one))]
        self.found += yield from self._load(encoded)

    def count_page(self) -> Steps[int]:
        """Send one request; return how many items it found, which DynamoDB counts if it can."""
        if self._skip_empty_range():
            return 0
        try:
            return (yield from self._count_page())
        except ValidationException as error:
            if not self._forget_index(error):
                raise
            return (yield from self._count_page())

    def _count_page(self) -> Steps[int]:
        branch, deployed = self.branch, (yield from self._find_index())
        if not self.call.counts_rows or branch.check or (deployed and deployed.lacks(branch.filter_attributes)):
            yield from self.fill(None)
            return len(self.take(None))
        request = {**self._request(branch.without_projection, None, deployed), "Select": "COUNT"}
        operation = "Scan" if self.call.plan.verb == "Scan" else "Query"
        response = yield Call(operation, request, self.call.plan.label)
        self.after = response.get("LastEvaluatedKey")
        self.is_read = self.after is None
        count: int = response["Count"]
        return count

    def _find_index(self) -> Steps[DeployedIndex | None]:
        """Return the deployed index that is read; None for the table itself."""
        declared = self.branch.request.get("IndexName")
        if declared is None:
            return None
        indexes = yield from self.call.session.find_indexes(self.call.plan.table)
        return indexes[declared]

    def _request(self, branch: Branch, limit: int | None, index: DeployedIndex | None) -> Wire:
        call = self.call
        request = {"TableName": call.session.name_of(call.plan.table), **branch.build(call.arguments)}
        if index is not None:
            request["IndexName"] = index.name
        if self.after is not None:
            request["ExclusiveStartKey"] = self.after
        if call.consistent:
            request["ConsistentRead"] = True
        if call.segment is not None:
            request["Segment"], request["TotalSegments"] = call.segment
        if limit is not None:
            selects = self.branch.filter is not None or branch.check is not None or bool(call.only)
            wanted = max(limit * 4, 50) if selects else limit
            request["Limit"] = min(max(wanted, self.count), MAX_PAGE_SIZE)
        return request

    def _load(self, encoded: list[ItemJson]) -> Steps[FoundItems]:
        """Return the items that are of the wanted classes; for `whole()`, the items that the views are of."""
        if self.call.whole:
            whole = yield from self._load_whole_items(encoded)
            return self._keep(whole)
        only = self.call.only
        found = zip(encoded, self._load_page(encoded), strict=True)
        if only or self.call.session.on_unreadable is not None:
            return self._keep(found, only or (Model,))
        return [pair for pair in found if pair[1] is not None]

    def _keep(self, pairs: Iterable[tuple[ItemJson, Any]], only: tuple[ModelClass, ...] = (Model,)) -> FoundItems:
        """Return the items of these classes, and remember where those are that cannot be read."""
        kept: FoundItems = []
        before = self._taken_count + len(self.found)
        for pair in pairs:
            if isinstance(pair[1], only):
                kept.append(pair)
            elif isinstance(pair[1], Unreadable):
                self._unreadable.append((before + len(kept), pair[1]))
        return kept

    def _load_page(self, encoded: list[ItemJson]) -> list[Any]:
        """Return items as objects; None for those of other classes, the error for those that are skipped."""
        session, table, models = self.call.session, self.call.plan.table, self.branch.models
        try:
            return session.load_page(table, models, decode_items(encoded))
        except Unreadable:
            if session.on_unreadable is None:
                raise
        return [self._load_or_skip(models, raw) for raw in decode_items(encoded)]

    def _load_or_skip(self, models: Sequence[ModelClass], raw: Raw | None) -> Any:
        try:
            return self.call.session.load_unexpired(self.call.plan.table, models, raw)
        except Unreadable as error:
            if self.call.session.on_unreadable is None:
                raise
            return error

    def _load_whole_items(self, encoded: list[ItemJson]) -> Steps[FoundItems]:
        from hashrange.core.limits import MAX_BATCH_KEYS
        from hashrange.session.batch import batch_get

        session, table = self.call.session, self.call.plan.table
        items = list(dict.fromkeys(introspection.item_of(model) for model in self.branch.models))
        loaded: FoundItems = []
        for at in range(0, len(encoded), MAX_BATCH_KEYS):
            some = encoded[at : at + MAX_BATCH_KEYS]
            keys = [{attr: raw[attr] for attr in table.keys} for raw in decode_items(some)]
            found = yield from batch_get(session, [(table, key) for key in keys], self.call.plan.label)
            loaded += [(view, self._load_or_skip(items, whole)) for view, whole in zip(some, found, strict=True)]
        return loaded


class QueryReader:
    """Merges the requests of a query. A request is sent when its items may come next, so that few are sent."""

    def __init__(self, call: QueryCall, starts: Sequence[Raw | None] = ()) -> None:
        branches = call.plan.branches
        self.call = call
        self.forward = call.plan.forward
        self.all = tuple(map(BranchReader, repeat(call), branches, starts or repeat(None)))
        self.left = list(self.all) if not starts else self._still_to_read(list(filter(None, starts)))

    def _still_to_read(self, starts: list[Raw]) -> list[BranchReader]:
        """Return the readers whose items may come after the start keys."""
        here = (max if self.forward else min)(map(self.call.position_of, starts))
        return [
            reader for reader in self.all if reader.bounds[1] is None or not self._is_before(reader.bounds[1], here)
        ]

    @property
    def is_done(self) -> bool:
        """Whether everything was returned."""
        return not self.left

    @property
    def skipped(self) -> int:
        """The number of items that could not be read."""
        return sum(reader.skipped for reader in self.all)

    @property
    def starts(self) -> list[Raw | None]:
        """The keys to continue after, one for each request."""
        return [reader.start for reader in self.all]

    def read(self, limit: int | None, *, ahead: int = 0) -> Steps[FoundItems]:
        """Return the next items in order, at most `limit`; send one request if none were read yet."""
        found: FoundItems = []
        while self.left and (limit is None or len(found) < limit):
            reader = self._next_reader()
            if reader.found:
                found += reader.take(self._count_before_others(reader, None if limit is None else limit - len(found)))
            elif not found:
                yield from reader.fill(None if limit is None else limit + ahead)
            else:
                break
            self._drop_read()
        if self.is_done:
            self.report_unreadable(self.all)
        return found

    @staticmethod
    def report_unreadable(readers: Iterable[BranchReader]) -> None:
        """Report what is left of the unreadable items of requests of which nothing more is read."""
        for reader in readers:
            reader.report_unreadable()

    def has_more(self) -> Steps[bool]:
        """Return whether an item follows; read until one does."""
        while self.left and not any(reader.found for reader in self.left):
            yield from self.left[0].fill(1)
            self._drop_read()
        if self.call.session.on_unreadable is not None:
            self.report_unreadable(self._not_read_again())
        return bool(self.left)

    def _not_read_again(self) -> list[BranchReader]:
        """Return the readers that the next page does not read, because all their items come before its start."""
        starts = list(filter(None, self.starts))
        again = self._still_to_read(starts) if self.left and starts else self.left
        return [reader for reader in self.all if reader not in again]

    def _drop_read(self) -> None:
        self.left = [reader for reader in self.left if reader.found or not reader.is_read]

    def _next_reader(self) -> BranchReader:
        """Return the reader whose items come next; it has none yet if it must be read first."""
        first, *others = self.left
        best = first.position if others else 0
        for reader in others:
            if best is None:
                break
            position = reader.position
            if position is None or self._is_before(position, best):
                first, best = reader, position
        return first

    def _count_before_others(self, reader: BranchReader, limit: int | None) -> int | None:
        """Return how many of the items that were read come before those of the other requests; None for all."""
        others = [other.position for other in self.left if other is not reader]
        if not others:
            return limit
        nearest = min(others) if self.forward else max(others)
        within = reader.found[:limit]
        if self._is_before(self._position_in(within[-1]), nearest):
            return limit
        return (
            next((at for at, one in enumerate(within) if not self._is_before(self._position_in(one), nearest)), 0) or 1
        )

    def _position_in(self, found: tuple[ItemJson, Any]) -> Any:
        return self.call.position_of(decode_item(found[0]))

    def _is_before(self, one: Any, other: Any) -> bool:
        """Return whether a position comes before another in the direction of the query."""
        result: bool = one < other if self.forward else one > other
        return result
