"""Reads that patterns build: Get, Query, Latest, Scan. Run or iterated; pages are filled, cursors are signed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import TypeVar

from hashrange.core.errors import CursorInvalid, DeclarationError, NotFound
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.shape import Item, Shape, View
from hashrange.schema.pattern.expression_text import values_of
from hashrange.schema.pattern.value_source import Arguments
from hashrange.schema.read.read_compiler import plan_read
from hashrange.schema.read.read_plan import Branch, ReadPlan
from hashrange.session.page_decoder import ItemJson, decode_item, decode_items, decode_page
from hashrange.session.runnable import Runnable, Task
from hashrange.session.steps import Call, Steps

if TYPE_CHECKING:
    from hashrange.session.session import DeployedIndex, Session

T_co = TypeVar("T_co", bound=Shape, covariant=True)
S = TypeVar("S", bound=Shape)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item

FoundItems: TypeAlias = list[tuple[ItemJson, Any]]
MAX_PAGE_SIZE = 1000


class Get(Runnable[T_co | None]):
    """Gets one item by its full key; None when it is absent, expired, or of another class."""

    verb: ClassVar[str] = "Get"

    def __init__(self, session: Session, plan: ReadPlan, arguments: Arguments, *, consistent: bool = False) -> None:
        self.session, self.plan, self.arguments = session, plan, arguments
        self._consistent = consistent

    def consistent(self) -> Self:
        """Read with strong consistency, at twice the cost."""
        return type(self)(self.session, self.plan, self.arguments, consistent=True)

    def required(self) -> Runnable[T_co]:
        """Read it; raise NotFound when there is none."""
        return Task(self.session, self._required())

    def explain(self) -> str:
        """Return a description of the plan."""
        return self.plan.explain()

    def request(self) -> Wire:
        """Return the GetItem request."""
        request: Wire = {"TableName": self.session.name_of(self.plan.table), "Key": self.plan.key_of(self.arguments)}
        if self._consistent:
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
        found: T_co | None = self.session.load_unexpired(self.plan.table, self.plan.kinds, raw)
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

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class QueryPosition(Struct, frozen=True):
    """How far a query was read: which of its requests, and the key to continue after."""

    branch: int = 0
    start: Raw | None = None
    read: int = 0  # the items read so far; when few of them match, the next request reads as many again


class Query(Generic[T_co]):
    """Reads the items of one partition of one index in key order; iteration reads page after page."""

    verb: ClassVar[str] = "Query"

    def __init__(self, session: Session, plan: ReadPlan, arguments: Arguments) -> None:
        self.session, self.plan, self.arguments = session, plan, arguments
        self._limit: int | None = None
        self._only: tuple[Kind, ...] = ()
        self._whole = False
        self._consistent = False

    # ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def run(self) -> list[T_co]:
        """Read everything, or up to the limit."""
        return Task(self.session, self._all(self._limit)).run()

    def __await__(self) -> Generator[Any, None, list[T_co]]:
        return Task(self.session, self._all(self._limit)).__await__()

    def __iter__(self) -> Iterator[T_co]:
        position: QueryPosition | None = QueryPosition()
        left = self._limit
        while position is not None and left != 0:
            items, position = Task(self.session, self._fetch(position, left)).run()
            yield from (found for _, found in items)
            left = None if left is None else left - len(items)

    async def __aiter__(self) -> AsyncIterator[T_co]:
        position: QueryPosition | None = QueryPosition()
        left = self._limit
        while position is not None and left != 0:
            items, position = await Task(self.session, self._fetch(position, left))
            for _, found in items:
                yield found
            left = None if left is None else left - len(items)

    def first(self) -> Runnable[T_co | None]:
        """Read the first item, or None."""
        return Task(self.session, self._first())

    def page(self, size: int, after: str | None = None) -> Runnable[Page[T_co]]:
        """Read a page of exactly this size, unless it is the last; `after` is the cursor of the page before it."""
        if not 1 <= size <= MAX_PAGE_SIZE:
            raise ValueError(f"a page has 1 to {MAX_PAGE_SIZE} items, not {size}")
        return Task(self.session, self._page(size, after))

    def explain(self) -> str:
        """Return a description of the plan."""
        return self.plan.explain()

    # ── refining ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def limit(self, count: int) -> Self:
        """Read at most this many items."""
        return self._copy_with(_limit=count)

    def consistent(self) -> Self:
        """Read with strong consistency, at twice the cost; not possible on a global index."""
        return self._copy_with(_consistent=True)

    def only(self, kind: type[S]) -> Query[S]:
        """Read only the items of one class of a union, with its own key condition where it has one."""
        shape: Any = kind
        narrowed: Any = self._copy_with(_only=(shape,))
        if len(self.plan.kinds) > 1:
            with suppress(DeclarationError):  # it has none: items of other classes are dropped after reading
                narrowed.plan = plan_read(replace(self.plan.signature, kinds=(shape,)))
        found: Query[S] = narrowed
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
        position: QueryPosition | None = QueryPosition()
        while position is not None and (limit is None or len(found) < limit):
            items, position = yield from self._fetch(position, None if limit is None else limit - len(found))
            found.extend(item for _, item in items)
        return found

    def _first(self) -> Steps[T_co | None]:
        found = yield from self._all(1)
        return found[0] if found else None

    def _page(self, size: int, after: str | None) -> Steps[Page[T_co]]:
        """Fill a page, and read one more item to know whether another page follows."""
        from hashrange.client.cursor import seal_cursor

        scope = self._scope()
        position: QueryPosition | None = self._read_cursor(after, scope) if after is not None else QueryPosition()
        kept: list[tuple[int, ItemJson, T_co]] = []
        while position is not None and len(kept) <= size:
            branch = position.branch
            items, position = yield from self._fetch(position, size + 1 - len(kept))
            kept += [(branch, encoded, found) for encoded, found in items]
        cursor = None
        if len(kept) > size:
            branch, last, _ = kept[size - 1]
            cursor = seal_cursor(self.session.secret, scope, {"branch": branch, "start": self._start_key(last)})
        return Page([found for _, _, found in kept[:size]], cursor)

    def _fetch(self, position: QueryPosition, limit: int | None) -> Steps[tuple[FoundItems, QueryPosition | None]]:
        """Send one request; return at most `limit` items, and the position to continue from."""
        branch = self.plan.branches[position.branch]
        matches = None
        deployed = yield from self._find_index(branch)
        if deployed is not None and deployed.lacks(branch.filter_attributes):  # DynamoDB would refuse the filter
            branch, matches = branch.without_filter, branch.filter_by(self.arguments)
        request = self._request(branch, position, limit, deployed)
        response = yield Call("Scan" if self.verb == "Scan" else "Query", request, self.plan.label, decode_page)
        encoded: list[ItemJson] = response["Items"]
        excluded = self._excluded_value(branch)
        if excluded is not None:
            encoded = [one for one in encoded if decode_item(one).get(excluded[0]) != excluded[1]]
        if matches is not None:
            encoded = [one for one in encoded if matches(decode_item(one))]
        found = yield from self._load_items(encoded)
        if limit is not None and len(found) > limit:
            found = found[:limit]
            return found, QueryPosition(position.branch, self._start_key(found[-1][0]))
        return found, self._next_position(position, response.get("LastEvaluatedKey"), len(response["Items"]))

    def _find_index(self, branch: Branch) -> Steps[DeployedIndex | None]:
        """Return the deployed index that a branch reads; None for the table itself."""
        declared = branch.request.get("IndexName")
        if declared is None:
            return None
        indexes = yield from self.session.find_indexes(self.plan.table)
        return indexes[declared]

    def _request(self, branch: Branch, position: QueryPosition, limit: int | None, index: DeployedIndex | None) -> Wire:
        table = self.plan.table
        request = {"TableName": self.session.name_of(table), **branch.build(self.arguments)}
        if index is not None:
            request["IndexName"] = index.name
        if position.start is not None:
            request["ExclusiveStartKey"] = position.start
        if self._consistent:
            request["ConsistentRead"] = True
        if limit is not None:
            filtered = self.plan.branches[position.branch].filter is not None
            selects = filtered or branch.excluded is not None or bool(self._only)
            wanted = max(limit * 4, 50) if selects else limit
            request["Limit"] = min(max(wanted, position.read), MAX_PAGE_SIZE)
        return request

    def _load_items(self, encoded: list[ItemJson]) -> Steps[FoundItems]:
        """Return the items that are of the wanted classes; for `whole()`, the items that the views are of."""
        table, kinds = self.plan.table, self.plan.kinds
        if self._whole:
            whole = yield from self._load_whole_items(encoded)
            return whole
        found = zip(encoded, self.session.load_page(table, kinds, decode_items(encoded)), strict=True)
        if self._only:
            return [pair for pair in found if isinstance(pair[1], self._only)]
        return [pair for pair in found if pair[1] is not None]

    def _load_whole_items(self, encoded: list[ItemJson]) -> Steps[FoundItems]:
        from hashrange.session.batch import MAX_BATCH_KEYS, batch_get

        table = self.plan.table
        items = list(dict.fromkeys(introspection.item_of(kind) for kind in self.plan.kinds))
        loaded: FoundItems = []
        for at in range(0, len(encoded), MAX_BATCH_KEYS):
            some = encoded[at : at + MAX_BATCH_KEYS]
            keys = [{attr: raw[attr] for attr in table.keys} for raw in decode_items(some)]
            found = yield from batch_get(self.session, [(table, key) for key in keys], self.plan.label)
            for view, whole in zip(some, found, strict=True):
                item = self.session.load_unexpired(table, items, whole)
                if item is not None:
                    loaded.append((view, item))
        return loaded

    def _excluded_value(self, branch: Branch) -> tuple[str, Any] | None:
        if branch.excluded is None:
            return None
        attr, source = branch.excluded
        return attr, source.value(self.arguments)

    def _next_position(self, position: QueryPosition, start: Raw | None, count: int) -> QueryPosition | None:
        read = position.read + count
        if start is not None:
            return QueryPosition(position.branch, start, read)
        following = position.branch + 1
        return QueryPosition(following, read=read) if following < len(self.plan.branches) else None

    def _start_key(self, encoded: ItemJson) -> Raw:
        """Return the ExclusiveStartKey after an item: its key in the table and in the index."""
        raw = decode_item(encoded)
        names = dict.fromkeys((*self.plan.table.keys, *self.plan.path.keys))
        return {attr: raw[attr] for attr in names}

    # ── cursors ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _scope(self) -> bytes:
        from hashrange.client.cursor import scope_of

        parameters = {str(at): values_of(branch.values, self.arguments) for at, branch in enumerate(self.plan.branches)}
        return scope_of(self.plan.label, parameters)

    def _read_cursor(self, cursor: str, scope: bytes) -> QueryPosition:
        from hashrange.client.cursor import open_cursor

        found = open_cursor(self.session.secret, scope, cursor)
        branch, start = found.get("branch"), found.get("start")
        if not isinstance(branch, int) or not 0 <= branch < len(self.plan.branches) or not isinstance(start, dict):
            raise CursorInvalid("the cursor was made by an older version of this pattern: start from the first page")
        return QueryPosition(branch, start)


class Latest(Query[T_co]):
    """A query in descending key order."""

    verb: ClassVar[str] = "Latest"


class Scan(Query[T_co]):
    """Reads the whole table."""

    verb: ClassVar[str] = "Scan"
