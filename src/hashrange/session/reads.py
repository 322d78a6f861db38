"""What reads: Get, Query, Latest, Scan. Built by patterns, iterated or run; pages are filled, cursors signed."""

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
from hashrange.schema import anatomy
from hashrange.schema.anatomy import Kind
from hashrange.schema.plan import Branch, ReadPlan, values_of
from hashrange.schema.reading import plan_read
from hashrange.schema.shape import Item, Shape, View
from hashrange.schema.slot import Arguments
from hashrange.session.operation import Runnable, Task
from hashrange.session.rows import Row, read_row, read_rows, split_answer
from hashrange.session.work import Call, Work

if TYPE_CHECKING:
    from hashrange.session.session import Session

T_co = TypeVar("T_co", bound=Shape, covariant=True)
S = TypeVar("S", bound=Shape)
I = TypeVar("I", bound=Item)  # noqa: E741 - an item

Rows: TypeAlias = list[tuple[Row, Any]]
MOST_AT_ONCE = 1000


class Get(Runnable[T_co | None]):
    """One item by its whole key; None when it is absent, expired, or of another shape."""

    verb: ClassVar[str] = "Get"

    def __init__(self, session: Session, plan: ReadPlan, arguments: Arguments, *, consistent: bool = False) -> None:
        self.session, self.plan, self.arguments = session, plan, arguments
        self._consistent = consistent

    def consistent(self) -> Self:
        """Read what the last write left, at twice the cost."""
        return type(self)(self.session, self.plan, self.arguments, consistent=True)

    def required(self) -> Runnable[T_co]:
        """Read it, and raise NotFound when it is not there."""
        return Task(self.session, self._required())

    def explain(self) -> str:
        """Return what it does, as text."""
        return self.plan.explain()

    def request(self) -> Wire:
        """Return the GetItem that is sent."""
        request: Wire = {"TableName": self.session.name_of(self.plan.table), "Key": self.plan.key_of(self.arguments)}
        if self._consistent:
            request["ConsistentRead"] = True
        return request

    def work(self) -> Work[T_co | None]:
        """Return the steps: one GetItem."""
        answer = yield Call("GetItem", self.request(), self.plan.label)
        return self.interpret(answer.get("Item"))

    def interpret(self, raw: Raw | None) -> T_co | None:
        """Return what was found, if it is what was asked for."""
        if raw is None or not self.plan.accepts(raw, self.arguments):
            return None
        found: T_co | None = self.session.read(self.plan.table, self.plan.kinds, raw)
        return found

    def _required(self) -> Work[T_co]:
        found = yield from self.work()
        if found is None:
            raise NotFound(f"{self.plan.label}: nothing under {self.request()['Key']}")
        return found


class Page(Struct, Generic[T_co], frozen=True):
    """Some of the items of a query, and the cursor that the next page starts after; None at the end."""

    items: Sequence[T_co]
    cursor: str | None

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Position(Struct, frozen=True):
    """How far a query was read: which of its requests, and the key after which it goes on."""

    branch: int = 0
    start: Raw | None = None
    read: int = 0  # the rows that it took so far: where few of them are wanted, the next request reads as many again


class Query(Generic[T_co]):
    """Items of one partition of one index, in key order; iterating reads page after page."""

    verb: ClassVar[str] = "Query"

    def __init__(self, session: Session, plan: ReadPlan, arguments: Arguments) -> None:
        self.session, self.plan, self.arguments = session, plan, arguments
        self._most: int | None = None
        self._only: tuple[Kind, ...] = ()
        self._whole = False
        self._consistent = False

    # ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def run(self) -> list[T_co]:
        """Read everything, or up to the limit."""
        return self.session.run(self._all(self._most))

    def __await__(self) -> Generator[Any, None, list[T_co]]:
        return self.session.wait(self._all(self._most)).__await__()

    def __iter__(self) -> Iterator[T_co]:
        position: Position | None = Position()
        left = self._most
        while position is not None and left != 0:
            rows, position = self.session.run(self._fetch(position, left))
            yield from (found for _, found in rows)
            left = None if left is None else left - len(rows)

    async def __aiter__(self) -> AsyncIterator[T_co]:
        position: Position | None = Position()
        left = self._most
        while position is not None and left != 0:
            rows, position = await self.session.wait(self._fetch(position, left))
            for _, found in rows:
                yield found
            left = None if left is None else left - len(rows)

    def first(self) -> Runnable[T_co | None]:
        """Read the first item, or None."""
        return Task(self.session, self._first())

    def page(self, size: int, after: str | None = None) -> Runnable[Page[T_co]]:
        """Read a page of exactly this size, unless it is the last, from where the cursor of another one left off."""
        if not 1 <= size <= MOST_AT_ONCE:
            raise ValueError(f"a page has 1 to {MOST_AT_ONCE} items, not {size}")
        return Task(self.session, self._page(size, after))

    def explain(self) -> str:
        """Return what it does, as text."""
        return self.plan.explain()

    # ── refining ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def limit(self, count: int) -> Self:
        """Read no more than this many."""
        return self._with(_most=count)

    def consistent(self) -> Self:
        """Read what the last write left, at twice the cost; not on a global index."""
        return self._with(_consistent=True)

    def only(self, kind: type[S]) -> Query[S]:
        """Read only the items of one class out of a union, by its own key condition where it has one."""
        shape: Any = kind
        narrowed: Any = self._with(_only=(shape,))
        if len(self.plan.kinds) > 1:
            with suppress(DeclarationError):  # it has none: what is read is sorted out here
                narrowed.plan = plan_read(replace(self.plan.signature, kinds=(shape,)))
        found: Query[S] = narrowed
        return found

    def whole(self: Query[View[I]]) -> Query[I]:
        """Read the items behind the views, with BatchGetItem."""
        found: Any = self._with(_whole=True)
        wider: Query[I] = found
        return wider

    def _with(self, **changes: Any) -> Self:
        other = type(self)(self.session, self.plan, self.arguments)
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    # ── the work ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _all(self, most: int | None) -> Work[list[T_co]]:
        found: list[T_co] = []
        position: Position | None = Position()
        while position is not None and (most is None or len(found) < most):
            rows, position = yield from self._fetch(position, None if most is None else most - len(found))
            found.extend(item for _, item in rows)
        return found

    def _first(self) -> Work[T_co | None]:
        found = yield from self._all(1)
        return found[0] if found else None

    def _page(self, size: int, after: str | None) -> Work[Page[T_co]]:
        """Fill a page, and look one item further to know whether there is another."""
        from hashrange.client.cursor import seal_cursor

        scope = self._scope()
        position: Position | None = self._open(after, scope) if after is not None else Position()
        kept: list[tuple[int, Row, T_co]] = []
        while position is not None and len(kept) <= size:
            branch = position.branch
            rows, position = yield from self._fetch(position, size + 1 - len(kept))
            kept += [(branch, row, found) for row, found in rows]
        cursor = None
        if len(kept) > size:
            branch, last, _ = kept[size - 1]
            cursor = seal_cursor(self.session.secret, scope, {"branch": branch, "start": self._key_of(last)})
        return Page([found for _, _, found in kept[:size]], cursor)

    def _fetch(self, position: Position, most: int | None) -> Work[tuple[Rows, Position | None]]:
        """Run one request; return at most so many rows, and where to go on."""
        branch = self.plan.branches[position.branch]
        request = yield from self._request(branch, position, most)
        answer = yield Call("Scan" if self.verb == "Scan" else "Query", request, self.plan.label, split_answer)
        rows: list[Row] = answer["Items"]
        left_out = self._left_out(branch)
        if left_out is not None:
            rows = [row for row in rows if read_row(row).get(left_out[0]) != left_out[1]]
        found = yield from self._interpret(rows)
        if most is not None and len(found) > most:
            found = found[:most]
            return found, Position(position.branch, self._key_of(found[-1][0]))
        return found, self._after(position, answer.get("LastEvaluatedKey"), len(answer["Items"]))

    def _request(self, branch: Branch, position: Position, most: int | None) -> Work[Wire]:
        table = self.plan.table
        request = {"TableName": self.session.name_of(table), **branch.build(self.arguments)}
        if "IndexName" in request:
            names = yield from self.session.find_indexes(table)
            request["IndexName"] = names[request["IndexName"]]
        if position.start is not None:
            request["ExclusiveStartKey"] = position.start
        if self._consistent:
            request["ConsistentRead"] = True
        if most is not None:
            selects = branch.filter is not None or branch.excluded is not None or bool(self._only)
            wanted = max(most * 4, 50) if selects else most
            request["Limit"] = min(max(wanted, position.read), MOST_AT_ONCE)
        return request

    def _interpret(self, rows: list[Row]) -> Work[Rows]:
        """Return the rows that are of the asked shape; behind views, the whole items."""
        table, kinds = self.plan.table, self.plan.kinds
        if self._whole:
            behind = yield from self._read_whole(rows)
            return behind
        found = zip(rows, self.session.read_all(table, kinds, read_rows(rows)), strict=True)
        if self._only:
            return [row for row in found if isinstance(row[1], self._only)]
        return [row for row in found if row[1] is not None]

    def _read_whole(self, rows: list[Row]) -> Work[Rows]:
        from hashrange.session.batch import MOST_KEYS, fetch_raw

        table = self.plan.table
        items = list(dict.fromkeys(anatomy.item_of(kind) for kind in self.plan.kinds))
        behind: Rows = []
        for at in range(0, len(rows), MOST_KEYS):
            some = rows[at : at + MOST_KEYS]
            keys = [{attr: raw[attr] for attr in table.keys} for raw in read_rows(some)]
            found = yield from fetch_raw(self.session, [(table, key) for key in keys], self.plan.label)
            for row, whole in zip(some, found, strict=True):
                item = self.session.read(table, items, whole)
                if item is not None:
                    behind.append((row, item))
        return behind

    def _left_out(self, branch: Branch) -> tuple[str, Any] | None:
        if branch.excluded is None:
            return None
        attr, slot = branch.excluded
        return attr, slot.value(self.arguments)

    def _after(self, position: Position, start: Raw | None, rows: int) -> Position | None:
        read = position.read + rows
        if start is not None:
            return Position(position.branch, start, read)
        following = position.branch + 1
        return Position(following, read=read) if following < len(self.plan.branches) else None

    def _key_of(self, row: Row) -> Raw:
        """Return what ExclusiveStartKey takes: the keys of the table and of the index."""
        raw = read_row(row)
        names = dict.fromkeys((*self.plan.table.keys, *self.plan.path.keys))
        return {attr: raw[attr] for attr in names}

    # ── cursors ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _scope(self) -> bytes:
        from hashrange.client.cursor import scope_of

        parameters = {str(at): values_of(branch.slots, self.arguments) for at, branch in enumerate(self.plan.branches)}
        return scope_of(self.plan.label, parameters)

    def _open(self, cursor: str, scope: bytes) -> Position:
        from hashrange.client.cursor import open_cursor

        found = open_cursor(self.session.secret, scope, cursor)
        branch, start = found.get("branch"), found.get("start")
        if not isinstance(branch, int) or not 0 <= branch < len(self.plan.branches) or not isinstance(start, dict):
            raise CursorInvalid("the cursor is of an older form of this list: start from the first page")
        return Position(branch, start)


class Latest(Query[T_co]):
    """A query in descending key order."""

    verb: ClassVar[str] = "Latest"


class Scan(Query[T_co]):
    """The whole table, said out loud."""

    verb: ClassVar[str] = "Scan"
