"""The read path: a page is a range of keys, read forward or backward, filtered, projected and counted.

The rules of Select and of the projections of indexes decide what a page may contain. Ranges come from key conditions,
scan segments and start keys, all as bytes. Rows that need neither filter nor projection are returned as the bytes they
are stored as.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import defstruct
from msgspec.json import Decoder

from hashrange.core.errors import ValidationException
from hashrange.core.keys import KeyEncoder, rowid_of, successor
from hashrange.core.values import INVALID_PARAMETER, Item, Value, measure_item
from hashrange.core.wire import Wire
from hashrange.engine.partial_work import definition_inputs
from hashrange.engine.sql import TOP
from hashrange.engine.table import check_scalars

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Index, Table
    from hashrange.expr.condition import Predicate
    from hashrange.expr.key_condition_expression import KeyClause
    from hashrange.expr.request_expressions import Expressions

PAGE_BYTES = 1_048_576
# Comparisons and function calls of one page: about half a second of the slowest. Five of them test each item of any
# page: the smallest items are 100,000 in a megabyte.
MAX_WORK = 500_000
PART_WORK, PART_BYTES = 10_000, 262_144  # of a part of a page, after which other requests may run
BYTES_PER_TEST = 32  # of an item, which a function like `contains` searches in the time of a comparison
NO_LIMIT = -1
MAX_ROWS = 2**31 - 1  # a limit may be any number, but SQLite takes only so many
SMALL_PAGE = 100  # rows that are fetched at once: quicker, and no page worth cutting short
MAX_NAMES = 2_000  # limits the memory of the cached decoders
has_special_characters = re.compile(r'["\\\x00-\x1f]').search  # msgspec has no fields of such names
Rows = Iterable[tuple[int, bytes]]


@dataclass(slots=True)
class RowSource:
    """The range of keys that a page is read from, and the filter and projection of each row."""

    table: Table
    index: Index | None = None
    low: bytes = b""
    high: bytes = TOP
    forward: bool = True
    start: tuple[bytes, bytes] | None = (
        None  # (index key, table key) to go on after; the table's own start is in the range
    )
    limit: int = NO_LIMIT
    test: Predicate | None = None
    project: Callable[[Item], Item] | None = None
    fetches: bool = False  # a local index that reads the attributes it lacks from the table
    counts_only: bool = False
    columns: int = 0  # how many paths `project` selects
    work: int = MAX_WORK  # comparisons and calls that may be evaluated
    room: int = PAGE_BYTES

    @property
    def weight(self) -> int:
        """Return how many comparisons and calls a row takes; four selected paths take as long as one."""
        return max(1, (self.test.weight if self.test is not None else 0) + self.columns // 4)

    def find_end(self) -> tuple[int, int]:
        """Return after how many rows, and after how many bytes, a page that is tested or projected ends.

        That is a megabyte, unless the filter is so costly that other clients would wait too long.
        """
        searches = self.test.searches if self.test is not None else 0
        most = max(1, self.work // self.weight)
        return most, min(self.room, max(1, self.work // searches * BYTES_PER_TEST)) if searches else self.room

    def start_after(self, index_key: bytes | None, key: bytes) -> None:
        """Start after a position: on an index its key and that of the table together."""
        if index_key is not None:
            self.start = (index_key, key)
        elif self.forward:
            self.low = max(self.low, key + b"\x00")
        else:
            self.high = min(self.high, key)

    def start_after_item(self, item: Item) -> None:
        """Start after an item of the source."""
        key = self.table.key_encoder.encode(item)
        assert key is not None
        self.start_after(self.index.key_encoder.encode(item) if self.index else None, key)


@dataclass(slots=True)
class RowPage:
    """What a page holds, and what reading it took."""

    bodies: list[bytes]
    count: int
    scanned: int
    size: int  # bytes evaluated, as the source holds them
    fetched: list[int]  # sizes of the items a local index had to fetch
    last: Item | None  # the item at which the page was cut off

    def add(self, other: RowPage) -> None:
        """Add the rows that follow."""
        self.bodies += other.bodies
        self.count += other.count
        self.scanned += other.scanned
        self.size += other.size
        self.fetched += other.fetched
        self.last = other.last

    def count_work(self, source: RowSource) -> int:
        """Return how many comparisons and calls the page took."""
        searches = source.test.searches if source.test is not None else 0
        return max(self.scanned * source.weight, self.size // BYTES_PER_TEST * searches)


def check_select(request: Wire, prefix: str = "") -> None:
    """Raise when Select contradicts the other parameters; `prefix` is the envelope that only Query has."""
    select = request.get("Select")
    given = [name for name in ("AttributesToGet", "ProjectionExpression") if request.get(name) is not None]
    if select is None:
        return
    if select == "SPECIFIC_ATTRIBUTES":
        if not given:
            text = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            raise ValidationException(prefix + text)
    elif given:
        chosen = "only the Count" if select == "COUNT" else select
        raise ValidationException(f"{prefix}Cannot specify the {given[0]} when choosing to get {chosen}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise ValidationException(prefix + "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")


def find_index(table: Table, request: Wire) -> Index | None:
    """Return the index that a request names, or raise."""
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.indexes_by_name.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.is_global and request.get("ConsistentRead"):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if index.backfilling:
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    return index


def apply_select(source: RowSource, request: Wire, expressions: Expressions) -> None:
    """Set what is read, filtered and returned; raise if an index does not project what is requested."""
    index, projection = source.index, expressions.projection
    source.counts_only = request.get("Select") == "COUNT"
    source.limit = request.get("Limit", -1)
    source.test = expressions.filter
    source.project = projection
    source.columns = len(projection.paths) if projection is not None else 0
    if index is not None and not index.keeps_all:
        everything = request.get("Select") == "ALL_ATTRIBUTES"
        missing = projection.attributes - index.projected if projection else frozenset()
        if index.is_global:
            _check_projected(index, missing, everything=everything)
        else:
            source.fetches = everything or bool(missing)
    if expressions.filter is not None:
        check_scalars(source.table, expressions.filter.document_attributes)


def _check_projected(index: Index, missing: frozenset[str], *, everything: bool) -> None:
    if everything:
        raise ValidationException(
            f"{INVALID_PARAMETER}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
            "because its projection type is not ALL"
        )
    if missing:
        shown = ", ".join(sorted(missing))
        raise ValidationException(f"{INVALID_PARAMETER}Global secondary index {index.name} does not project [{shown}]")


def check_filter_projected(index: Index, attributes: Iterable[str]) -> None:
    """Raise when a query filters by attributes that the index does not project; a scan takes them as absent."""
    if index.keeps_all:
        return
    missing = [name for name in attributes if name not in index.projected]
    if missing:
        shown = ", ".join(in_hash_order(missing))
        text = f"Secondary index {index.name} does not project one or more filter attributes: [{shown}]"
        raise ValidationException(INVALID_PARAMETER + text)


def in_hash_order(names: list[str]) -> list[str]:
    """Return names in the order of the service's hash set."""
    buckets = 16
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    return sorted(names, key=lambda name: _java_hash(name) % buckets)


def _java_hash(name: str) -> int:
    total = 0
    units = name.encode("utf-16-be")
    for at in range(0, len(units), 2):
        total = (31 * total + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return total ^ (total >> 16)


def fetch(engine: Engine, table: Table, key: bytes) -> tuple[int, bytes] | None:
    """Return the size and the stored bytes of the item of a key."""
    found: tuple[int, bytes] | None = engine.store.run(table.sql.fetch, (key, rowid_of(key))).get
    if found is None and table.has_collisions:
        found = engine.store.run(table.sql.fetch_by_key, (key,)).get
    return found


def read_page(engine: Engine, source: RowSource) -> RowPage:
    """Read rows until the limit, a megabyte, or the end of the range."""
    if source.test is None and source.project is None and (source.index is None or source.index.keeps_all):
        return _read_stored(_open(engine, source), source)
    if not engine.may_pause:
        return _read_decoded(engine, source)
    work, source.work, source.room = source.work, min(PART_WORK, source.work), PART_BYTES
    first = _read_decoded(engine, source)
    source.work, source.room = work, PAGE_BYTES
    return first if first.last is None or first.scanned == source.limit else _read_in_parts(engine, source)


def _read_in_parts(engine: Engine, source: RowSource) -> RowPage:
    """Read a page that may take long in parts: each starts where the one before ended."""
    whole, rest = RowPage([], 0, 0, 0, [], None), copy(source)
    while True:
        rest.work = min(PART_WORK, source.work - whole.count_work(source))
        rest.room = min(PART_BYTES, PAGE_BYTES - whole.size)
        part_name = f"page after {rest.low!r} {rest.high!r} {rest.start!r}"
        (part,) = engine.do_parts(part_name, definition_inputs, _read_decoded, [(engine, rest)])
        whole.add(part)
        is_full = whole.size >= PAGE_BYTES or whole.count_work(source) >= source.work
        if part.last is None or is_full or whole.scanned == source.limit:
            return whole
        rest.start_after_item(part.last)
        if source.limit > 0:
            rest.limit = source.limit - whole.scanned


def _open(engine: Engine, source: RowSource) -> Rows:
    sql, index, limit = source.table.sql, source.index, min(source.limit, MAX_ROWS)
    if index is None:
        text = sql.page[source.forward]
        rows = engine.store.execute(text, (source.low, source.high, limit))
    else:
        text = sql.index_pages[index.column, source.forward, source.start is not None]
        rows = engine.store.execute(text, (source.low, source.high, *(source.start or ()), limit))
    return rows.fetchall() if 0 < source.limit <= SMALL_PAGE else rows  # type: ignore[no-any-return]


def _read_stored(rows: Rows, source: RowSource) -> RowPage:
    """Collect stored bytes as they are."""
    bodies: list[bytes] = []
    size = 0
    cut = False
    for row_size, body in rows:
        bodies.append(body)
        size += row_size
        if size >= PAGE_BYTES:
            cut = True
            break
    last = orjson.loads(bodies[-1]) if bodies and (cut or len(bodies) == source.limit) else None
    return RowPage(bodies, len(bodies), len(bodies), size, [], last)


def _read_decoded(engine: Engine, source: RowSource) -> RowPage:
    """Return the items that pass the filter, projected."""
    rows = _open(engine, source)
    if source.project is None and (source.index is None or source.index.keeps_all):
        return _filter(rows, source)
    return _reshape(rows, source)


def _filter(rows: Rows, source: RowSource) -> RowPage:
    """Look only at the attributes that the test names, and keep stored bytes as they are."""
    page = RowPage([], 0, 0, 0, [], None)
    test = source.test
    assert test is not None
    decode = choose_decoder(test.attributes)
    size = scanned = 0
    body = b""
    most, end = source.find_end()
    for row_size, body in islice(rows, most):
        size += row_size
        scanned += 1
        if test(decode(body)):
            page.bodies.append(body)
        if size >= end:
            break
    page.size, page.scanned, page.count = size, scanned, len(page.bodies)
    if size >= end or scanned == most or (scanned and scanned == source.limit):
        page.last = orjson.loads(body)
    return page


def choose_decoder(names: frozenset[str]) -> Callable[[bytes], Item]:
    """Return what decodes at least these attributes of a stored item."""
    text = "".join(names)
    return orjson.loads if len(text) > MAX_NAMES or has_special_characters(text) else make_partial_decoder(names)


@lru_cache(maxsize=512)
def make_partial_decoder(names: frozenset[str]) -> Callable[[bytes], Item]:
    """Return what decodes only these attributes of a stored item, in a third of the time of decoding all of it."""
    fields = {f"f{number}": name for number, name in enumerate(sorted(names))}
    columns = [(field, Any, None) for field in fields]
    decode: Callable[[bytes], Any] = Decoder(defstruct("PartialItem", columns, rename=fields, gc=False)).decode

    def decode_some(body: bytes) -> Item:
        seen = decode(body)
        return {name: value for field, name in fields.items() if (value := getattr(seen, field)) is not None}

    if not 1 <= len(fields) <= 2:
        return decode_some
    first, last = fields["f0"], fields.get("f1", fields["f0"])

    def decode_two(body: bytes) -> Item:  # most filters name one or two, and most items have them
        seen = decode(body)
        one = seen.f0
        other = one if first is last else seen.f1
        return {first: one, last: other} if one is not None and other is not None else decode_some(body)

    return decode_two


def _reshape(rows: Rows, source: RowSource) -> RowPage:
    """Decode each row, test it, and cut it to what the index or the projection shows."""
    page = RowPage([], 0, 0, 0, [], None)
    test, project, index = source.test, source.project, source.index
    narrow = index is not None and not index.keeps_all
    stored_form = project is None and (not narrow or source.fetches)
    item: Item = {}
    most, end = source.find_end()
    for row_size, body in islice(rows, most):
        entry = shown = item = orjson.loads(body)
        if narrow and index is not None:
            entry = index.project(item)
            page.size += measure_item(entry)
            if source.fetches:
                page.fetched.append(row_size)
            else:
                shown = entry
        else:
            page.size += row_size
        page.scanned += 1
        if test is None or test(entry):
            page.count += 1
            if not source.counts_only:
                page.bodies.append(body if stored_form else orjson.dumps(project(shown) if project else shown))
        if page.size >= end:
            page.last = item
            return page
    if page.scanned in (source.limit, most):
        page.last = item
    return page


def key_range(key_encoder: KeyEncoder, hashes: Sequence[Value], clauses: Sequence[KeyClause]) -> tuple[bytes, bytes]:
    """Return the range of keys that a key condition selects."""
    low = key_encoder.partition([_content(value) for value in hashes])
    for position, clause in enumerate(clauses):
        operands = [_content(operand) for operand in clause.operands]
        if clause.operator == "=" and position < len(key_encoder.ranges) - 1:
            low += key_encoder.range_part(position, operands[0])
            continue
        return _bound(key_encoder, low, position, clause.operator, operands)
    return low, successor(low) or TOP


def _bound(
    key_encoder: KeyEncoder, prefix: bytes, position: int, operator: str, operands: list[str]
) -> tuple[bytes, bytes]:
    end = successor(prefix) or TOP
    if operator == "begins_with":
        start = prefix + key_encoder.range_prefix(position, operands[0])
        return start, successor(start) or TOP
    part = prefix + key_encoder.range_part(position, operands[0])
    is_last = position == len(key_encoder.ranges) - 1
    upper = prefix + key_encoder.range_part(position, operands[-1])
    after = upper + b"\x00" if is_last else (successor(upper) or TOP)
    ranges = {
        "=": (part, after),
        "<": (prefix, part),
        "<=": (prefix, after),
        ">": (after, end),
        ">=": (part, end),
        "BETWEEN": (part, after),
    }
    return ranges[operator]


def _content(value: Value) -> str:
    return str(next(iter(value.values())))
