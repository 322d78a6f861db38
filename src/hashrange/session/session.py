"""A session: a transport, and what stands between it and typed items: clock, keys, cursor secret, hooks, live names.

It drives work. What work there is, the operations in `reads`, `writes` and `transaction` say.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from msgspec import Struct, field

from hashrange.client.cursor import SHORTEST_SECRET
from hashrange.client.keyring import Keyring, context_of, is_sealed
from hashrange.client.transport import Transport
from hashrange.core.clock import Clock, SystemClock
from hashrange.core.errors import HashrangeError, ResourceNotFoundException, ServiceError, ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.schema import anatomy
from hashrange.schema.anatomy import Kind
from hashrange.schema.codec import EPOCH, MILLIS_FROM
from hashrange.schema.reader import load, load_all
from hashrange.schema.table import Table
from hashrange.session.work import Call, Pause, Step, Work

T = TypeVar("T")

SECRET_VARIABLE = "HASHRANGE_SECRET"  # noqa: S105 - the name of a variable, not a secret


class Event(Struct, frozen=True):
    """One operation that was run: for logs, metrics and traces."""

    operation: str
    pattern: str
    table: str
    seconds: float
    error: HashrangeError | None
    capacity: Wire | list[Wire] | None  # a list for batches and transactions, one for each table


Hook = Callable[[Event], None]


class Session(Struct):
    """What bound patterns run on."""

    transport: Transport
    clock: Clock = field(default_factory=SystemClock)
    keys: Keyring | None = None
    secret: bytes = b""
    hooks: Sequence[Hook] = ()
    names: dict[int, str] = field(default_factory=dict)
    indexes: dict[int, Mapping[str, str]] = field(default_factory=dict)
    sealed: dict[int, frozenset[str]] = field(default_factory=dict)

    # ── driving ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def run(self, work: Work[T]) -> T:
        """Do the work and wait for it."""
        try:
            step = next(work)
            while True:
                try:
                    answer = self._do(step)
                except HashrangeError as fault:
                    step = work.throw(fault)
                else:
                    step = work.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result

    async def wait(self, work: Work[T]) -> T:
        """Do the work without blocking the event loop."""
        try:
            step = next(work)
            while True:
                try:
                    answer = await self._do_async(step)
                except HashrangeError as fault:
                    step = work.throw(fault)
                else:
                    step = work.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result

    def _do(self, step: Step) -> Wire:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return {}
        if not self.hooks:
            return self.transport.call(step.operation, step.request, step.read)
        watch = _Watch(self.hooks, step)
        with watch:
            watch.answer = self.transport.call(step.operation, watch.request, step.read)
        return watch.answer

    async def _do_async(self, step: Step) -> Wire:
        if isinstance(step, Pause):
            from asyncio import sleep

            await sleep(step.seconds)
            return {}
        if not self.hooks:
            return await self.transport.call_async(step.operation, step.request, step.read)
        watch = _Watch(self.hooks, step)
        with watch:
            watch.answer = await self.transport.call_async(step.operation, watch.request, step.read)
        return watch.answer

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def name_of(self, table: Table) -> str:
        """Return the table's name, as the environment had it when it was first asked for."""
        name = self.names.get(id(table))
        if name is None:
            name = self.names[id(table)] = table.physical_name
        return name

    def find_indexes(self, table: Table) -> Work[Mapping[str, str]]:
        """Return the live name of each declared index: an index is its keys, whatever it was called when deployed."""
        known = self.indexes.get(id(table))
        if known is None:
            known = yield from self._ask_indexes(table)
            self.indexes[id(table)] = known
        return known

    def _ask_indexes(self, table: Table) -> Work[Mapping[str, str]]:
        declared = {index.name: index.keys for index in table.indexes}
        try:
            answer = yield Call("DescribeTable", {"TableName": self.name_of(table)})
        except ResourceNotFoundException:
            raise
        except ServiceError:  # who may query need not be allowed to describe
            return {name: name for name in declared}
        live = _live_keys(answer["Table"])
        by_keys = {keys: name for name, keys in live.items()}
        return {name: name if name in live else by_keys.get(keys, name) for name, keys in declared.items()}

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def now(self) -> datetime:
        """Return the session's time."""
        return EPOCH + timedelta(milliseconds=self.clock.millis())

    def is_expired(self, table: Table, raw: Raw) -> bool:
        """Whether an item's time to live is over: DynamoDB deletes it only later."""
        if table.ttl is None:
            return False
        value = raw.get(table.ttl, {}).get("N")
        if value is None:
            return False
        seconds = float(value)
        if seconds > MILLIS_FROM:  # written in milliseconds by another system
            seconds /= 1000
        return seconds * 1000 <= self.clock.millis()

    def read(self, table: Table, kinds: Sequence[Kind], raw: Raw | None) -> Any:
        """Return a stored item as one of these classes; None when it is absent, expired or of another shape."""
        if raw is None or self.is_expired(table, raw):
            return None
        return self.interpret(table, kinds, raw)

    def read_all(self, table: Table, kinds: Sequence[Kind], raws: Iterable[Raw]) -> list[Any]:
        """Return stored items as these classes, each as `read` does."""
        if table.ttl is None and not self._sealed(table):
            return load_all(kinds, raws)
        return [self.read(table, kinds, raw) for raw in raws]

    def interpret(self, table: Table, kinds: Sequence[Kind], raw: Raw) -> Any:
        """Return a stored item as one of these classes, expired or not; None when it is of another shape."""
        return load(kinds, self.unseal(table, raw))

    def read_any(self, table: Table, raw: Raw | None) -> Any:
        """Return a stored item as whatever it is in its table; None if nothing fits."""
        if raw is None:
            return None
        roots = dict.fromkeys(anatomy.root(item) for item in table.items)
        try:
            return load(list(roots), self.unseal(table, raw))
        except HashrangeError:
            return None

    def seal(self, table: Table, raw: Raw) -> Raw:
        """Encrypt what is declared secret in a whole item, in place."""
        names = self._sealed(table)
        if names:
            key = {attr: raw[attr] for attr in table.keys if attr in raw}
            for name in names & raw.keys():
                raw[name] = self.seal_value(table, key, name, raw[name])
        return raw

    def seal_value(self, table: Table, key: Raw, attribute: str, value: Value) -> Value:
        """Return one value encrypted, bound to its item and attribute."""
        context = context_of(self.name_of(table), key, attribute)
        return {"S": self._keys(table).seal(value["S"].encode(), context)}

    def unseal(self, table: Table, raw: Raw) -> Raw:
        """Return an item with what is encrypted made readable; plain text of older systems stays as it is."""
        secret = self._sealed(table)
        sealed = [name for name in secret & raw.keys() if is_sealed(raw[name].get("S", ""))] if secret else []
        if not sealed:
            return raw
        key = {attr: raw[attr] for attr in table.keys if attr in raw}
        opened = dict(raw)
        for name in sealed:
            context = context_of(self.name_of(table), key, name)
            opened[name] = {"S": self._keys(table).unseal(raw[name]["S"], context).decode()}
        return opened

    def _keys(self, table: Table) -> Keyring:
        if self.keys is None:
            raise ValueInvalid(f"{table.name} has secret fields: open it with keys=, such as LocalKeys('keys.json')")
        return self.keys

    def _sealed(self, table: Table) -> frozenset[str]:
        found = self.sealed.get(id(table))
        if found is None:
            fields = (attribute for item in table.items for attribute in anatomy.known(item).values())
            found = self.sealed[id(table)] = frozenset(attribute.stored for attribute in fields if attribute.sealed)
        return found


def _live_keys(description: Wire) -> dict[str, tuple[str, ...]]:
    indexes = [*description.get("GlobalSecondaryIndexes", ()), *description.get("LocalSecondaryIndexes", ())]
    return {index["IndexName"]: tuple(part["AttributeName"] for part in index["KeySchema"]) for index in indexes}


def make_secret(given: bytes | str | None) -> bytes:
    """Return what cursors are signed with: the one given, the environment's, or a fresh one for this process."""
    found = given or os.environ.get(SECRET_VARIABLE) or ""
    raw = found.encode() if isinstance(found, str) else found
    if raw and len(raw) < SHORTEST_SECRET:
        raise ValueInvalid(f"the secret that signs cursors has {len(raw)} bytes: give at least {SHORTEST_SECRET}")
    return raw or secrets.token_bytes(32)


COUNTED = frozenset(
    {
        "GetItem",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "Query",
        "Scan",
        "BatchGetItem",
        "BatchWriteItem",
        "TransactWriteItems",
        "TransactGetItems",
    }
)


class _Watch:
    """Times a call and tells the hooks."""

    def __init__(self, hooks: Sequence[Hook], call: Call) -> None:
        self.hooks, self.call = hooks, call
        counted = {"ReturnConsumedCapacity": "INDEXES"} if call.operation in COUNTED else {}
        self.request = {**call.request, **counted}
        self.answer: Wire = {}

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        took = time.perf_counter() - self.started
        fault = error if isinstance(error, HashrangeError) else None
        event = Event(
            operation=self.call.operation,
            pattern=self.call.pattern,
            table=self.call.request.get("TableName", ""),
            seconds=took,
            error=fault,
            capacity=self.answer.get("ConsumedCapacity"),
        )
        for hook in self.hooks:
            hook(event)
