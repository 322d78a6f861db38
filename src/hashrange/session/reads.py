"""Reads that patterns build: Get, Query, Latest, Scan. Run or iterated; pages are filled, cursors are signed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import TypeVar

from hashrange.core.errors import CursorInvalid, DeclarationError, NotFound, Unreadable, ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import Item, Model, View
from hashrange.schema.pattern.value_source import Arguments, values_of
from hashrange.schema.read.read_compiler import plan_read
from hashrange.schema.read.read_plan import ReadPlan
from hashrange.session.filters import Filter
from hashrange.session.query_reader import MAX_PAGE_SIZE, QueryCall, QueryReader
from hashrange.session.runnable import Runnable, Task
from hashrange.session.steps import Call, Steps

if TYPE_CHECKING:
    from hashrange.session.parallel_scan import ParallelScan
    from hashrange.session.session import Session

T_co = TypeVar("T_co", bound=Model, covariant=True)
S = TypeVar("S", bound=Model)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item


class Get(Runnable[T_co | None]):
    """Gets one item by its full key; None when it is absent, expired, or of another class."""

    verb: ClassVar[str] = "Get"

    def __init__(self, session: Session, plan: ReadPlan, arguments: Arguments, *, consistent: bool = False) -> None:
        self.session, self.plan, self.arguments = session, plan, arguments
        self.is_consistent = consistent

    def consistent(self) -> Self:
        """Read with strong consistency, at twice the cost."""
        return type(self)(self.session, self.plan, self.arguments, consistent=True)

    def with_expired(self) -> Self:
        """Return the item also when its time to live has passed and DynamoDB has not deleted it yet."""
        session = replace(self.session, shows_expired=True)
        return type(self)(session, self.plan, self.arguments, consistent=self.is_consistent)

    def required(self) -> Runnable[T_co]:
        """Read it; raise NotFound when there is none."""
        return Task(self.session, self._required)

    def explain(self) -> str:
        """Return a description of the plan."""
        return self.plan.explain()

    def request(self) -> Wire:
        """Return the GetItem request."""
        request: Wire = {"TableName": self.session.name_of(self.plan.table), "Key": self.plan.key_of(self.arguments)}
        if self.is_consistent:
            request["ConsistentRead"] = True
        return request

    def steps(self) -> Steps[T_co | None]:
        """Return the steps: one GetItem."""
        response = yield Call("GetItem", self.request(), self.plan.label)
        return self.load(response.get("Item"))

    def load(self, raw: Raw | None) -> T_co | None:
        """Return the item as its class, if it is the item that was asked for."""
        if raw is None or not self.plan.accepts(raw, self.arguments):
            return None
        found: T_co | None = self.session.load_unexpired(self.plan.table, self.plan.models, raw)
        return found

    def _required(self) -> Steps[T_co]:
        found = yield from self.steps()
        if found is None:
            raise NotFound(f"{self.plan.label}: there is no item with the key {self.request()['Key']}")
        return found


class Page(Struct, Generic[T_co], frozen=True):
    """One page of a query, and the cursor for the next page; None after the last."""

    items: Sequence[T_co]
    cursor: str | None
    skipped: int = 0  # the items up to its end that could not be read, with `skip_unreadable()`

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Query(Runnable[list[T_co]], Generic[T_co]):
    """Reads the items of one partition of one index in key order; iteration reads page after page."""

    verb: ClassVar[str] = "Query"

    def __init__(self, session: Session, plan: ReadPlan, arguments: Arguments) -> None:
        self.session, self.plan, self.arguments = session, plan, arguments
        self._limit: int | None = None
        self._only: tuple[ModelClass, ...] = ()
        self._whole = False
        self._consistent = False
        self._filters: tuple[Filter[Any], ...] = ()

    # ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def steps(self) -> Steps[list[T_co]]:
        """Return the steps: read everything, or up to the limit."""
        return self._all(self._limit)

    def __iter__(self) -> Iterator[T_co]:
        reader, left = self._reader(), self._limit
        while not reader.is_done and left != 0:
            items = Task(self.session, partial(reader.read, left)).run()
            yield from (found for _, found in items)
            left = None if left is None else left - len(items)

    async def __aiter__(self) -> AsyncIterator[T_co]:
        reader, left = self._reader(), self._limit
        while not reader.is_done and left != 0:
            items = await Task(self.session, partial(reader.read, left))
            for _, found in items:
                yield found
            left = None if left is None else left - len(items)

    def first(self) -> Runnable[T_co | None]:
        """Read the first item, or None."""
        return Task(self.session, self._first)

    def page(self, size: int, after: str | None = None) -> Runnable[Page[T_co]]:
        """Read a page of exactly this size, unless it is the last; `after` is the cursor of the page before it."""
        if not 1 <= size <= MAX_PAGE_SIZE:
            raise ValueInvalid(f"a page has 1 to {MAX_PAGE_SIZE} items, not {size}")
        return Task(self.session, partial(self._page, size, after))

    def count(self) -> Runnable[int]:
        """Count the items, up to the limit; it costs as much as reading them, but DynamoDB sends none if it can.

        With `skip_unreadable()` the items are read, and those that are skipped are not counted.
        """
        return Task(self.session, self._count)

    def explain(self) -> str:
        """Return a description of the plan."""
        return self._call().plan.explain()

    # ── refining ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def limit(self, count: int) -> Self:
        """Read at most this many items, on all pages together."""
        if count < 0:
            raise ValueInvalid(f"a query cannot read at most {count} items")
        return self._copy_with(_limit=count)

    def consistent(self) -> Self:
        """Read with strong consistency, at twice the cost; not possible on a global index."""
        return self._copy_with(_consistent=True)

    def with_expired(self) -> Self:
        """Read also the items whose time to live has passed and that DynamoDB has not deleted yet."""
        return self._copy_with(session=replace(self.session, shows_expired=True))

    def skip_unreadable(self, on_unreadable: Callable[[Unreadable], object] = lambda _error: None) -> Self:
        """Skip the items that do not match their declaration, and call a function for each; else a query stops."""
        return self._copy_with(session=replace(self.session, on_unreadable=on_unreadable))

    def filter(self, *filters: Filter[T_co]) -> Self:
        """Read only the items that these filters accept, which patterns of the same class declare."""
        for found in filters:
            if not isinstance(found, Filter):
                raise ValueInvalid(f"{found!r} is not a filter: it takes what patterns that return Filter make")
            found.check(self.plan)
        return self._copy_with(_filters=(*self._filters, *filters))

    def only(self, model: type[S]) -> Query[S]:
        """Read only the items of one class of a union, with its own key condition where it has one."""
        chosen: Any = model
        models = self._models_within(chosen)
        narrowed: Any = self._copy_with(_only=(chosen,))
        if len(self.plan.models) > 1 and self.plan.branches:
            with suppress(DeclarationError):  # it has none: items of other classes are dropped after reading
                narrowed.plan = plan_read(replace(self.plan.signature, models=models))
        found: Query[S] = narrowed
        return found

    def _models_within(self, chosen: ModelClass) -> tuple[ModelClass, ...]:
        """Return what a class has in common with the classes that are read; raise ValueInvalid if that is nothing."""
        models = self.plan.models
        found = tuple(m for m in models if issubclass(m, chosen)) or (chosen,) * issubclass(chosen, models)
        if not found:
            known = ", ".join(each.__name__ for each in models)
            raise ValueInvalid(f"{self.plan.label} reads no {chosen.__name__}: only() takes one of {known}")
        return found

    def whole(self: Query[View[I]]) -> Query[I]:
        """Read the whole items of the views, with BatchGetItem."""
        found: Any = self._copy_with(_whole=True)
        wider: Query[I] = found
        return wider

    def _copy_with(self, **changes: Any) -> Self:
        other = type(self)(self.session, self.plan, self.arguments)
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _all(self, limit: int | None) -> Steps[list[T_co]]:
        found: list[T_co] = []
        reader = self._reader()
        while not reader.is_done and (limit is None or len(found) < limit):
            items = yield from reader.read(None if limit is None else limit - len(found))
            found.extend(item for _, item in items)
        return found

    def _count(self) -> Steps[int]:
        total, limit = 0, self._limit
        call = self._call()
        if self.session.on_unreadable is None:  # else whole items decide what is skipped
            call = replace(call, whole=False)
        for reader in QueryReader(call).all:
            while not reader.is_read and (limit is None or total < limit):
                total += yield from reader.count_page()
            if reader.is_read:
                reader.report_unreadable()
        return total if limit is None else min(total, limit)

    def _first(self) -> Steps[T_co | None]:
        found = yield from self._all(1 if self._limit is None else min(1, self._limit))
        return found[0] if found else None

    def _page(self, size: int, after: str | None) -> Steps[Page[T_co]]:
        """Fill a page, and read one more item to know whether another page follows."""
        from hashrange.session.cursor import seal_cursor

        scope = self._scope()
        starts, returned = self._read_cursor(after, scope) if after is not None else ((), 0)
        left = size + 1 if self._limit is None else self._limit - returned
        size, reader, found = min(size, left), self._reader(starts), list[T_co]()
        while not reader.is_done and len(found) < size:
            items = yield from reader.read(size - len(found), ahead=int(size < left))
            found.extend(item for _, item in items)
        if size >= left or not (yield from reader.has_more()):
            return Page(found, None, reader.skipped)
        following = {"starts": reader.starts, "returned": returned + size}
        return Page(found, seal_cursor(self.session.secret, scope, following), reader.skipped)

    def _reader(self, starts: Sequence[Raw | None] = ()) -> QueryReader:
        return QueryReader(self._call(), starts)

    def _call(self) -> QueryCall:
        plan = self.plan
        for found in self._filters:
            plan = plan.with_filter(found.condition)
        return QueryCall(self.session, plan, self.arguments, self._only, self._whole, self._consistent)

    # ── cursors ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _scope(self) -> bytes:
        from hashrange.session.cursor import scope_of

        parameters: Wire = {
            str(at): values_of(branch.values, self.arguments) for at, branch in enumerate(self.plan.branches)
        }
        if self.plan.given:
            parameters["given"] = {"names": self.plan.given}
        if self._filters:
            parameters["filters"] = {str(at): str(found) for at, found in enumerate(self._filters)}
        table = self.plan.table  # one secret may sign the cursors of several tables of one declaration
        return scope_of(f"{self.plan.label} {table.name}" if table.is_mounted else self.plan.label, parameters)

    def _read_cursor(self, cursor: str, scope: bytes) -> tuple[list[Raw | None], int]:
        """Return the start keys in a cursor, and how many items were on the pages before."""
        from hashrange.session.cursor import open_cursor

        position = open_cursor(self.session.secret, scope, cursor)
        starts: list[Raw | None] | None = position.get("starts")
        if starts is None or len(starts) != len(self.plan.branches):
            raise CursorInvalid("the cursor was made by an older version of this pattern: start from the first page")
        return starts, position.get("returned", 0)


class Latest(Query[T_co]):
    """A query in descending key order."""

    verb: ClassVar[str] = "Latest"


class Scan(Query[T_co]):
    """Reads the whole table."""

    verb: ClassVar[str] = "Scan"

    def parallel(self, segments: int, *, workers: int | None = None) -> ParallelScan[T_co]:
        """Read the table in so many segments at the same time, in no order; at most `workers` requests are in flight.

        By default there is a worker for each segment, at most eight.
        """
        from hashrange.session.parallel_scan import ParallelScan

        return ParallelScan(self._call(), segments, workers, self._limit)
