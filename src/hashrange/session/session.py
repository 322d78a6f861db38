"""A session: a transport plus what turns its items into typed ones: clock, encryption keys, cursor secret, hooks.

It executes single steps; `runnable` runs through those of an operation.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from inspect import isawaitable, iscoroutine
from typing import Any, TypeVar

from msgspec import Struct, field

from hashrange.client.keyring import Keyring, context_of, is_sealed
from hashrange.client.transport import Transport
from hashrange.core.clock import Clock, SystemClock
from hashrange.core.errors import HashrangeError, ResourceNotFoundException, ServiceError, Unreadable, ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.core.wire import Wire
from hashrange.engine.service_model import find_service_operation
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_kind import EPOCH
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.table import Gsi, Table
from hashrange.schema.items.loader import load, load_all
from hashrange.session.cursor import MIN_SECRET_LENGTH
from hashrange.session.lone_surrogate import refuse_lone_surrogates
from hashrange.session.steps import Call, Handle, Pause, Step, Steps

T = TypeVar("T")

SECRET_VARIABLE = "HASHRANGE_SECRET"  # noqa: S105 - the name of a variable, not a secret


class Event(Struct, frozen=True):
    """One executed operation: for logs, metrics and traces."""

    operation: str
    pattern: str
    table: str
    seconds: float
    error: HashrangeError | None
    capacity: Wire | list[Wire] | None  # a list for batches and transactions, one for each table


Hook = Callable[[Event], None]
OnUnreadable = Callable[[Unreadable], object]


class DeployedIndex(Struct, frozen=True):
    """An index as it exists: it may have another name and project fewer attributes than declared."""

    name: str
    keys: tuple[str, ...] = ()
    projected: frozenset[str] | None = None  # of a global index that does not project all
    is_active: bool = True

    def lacks(self, attributes: Iterable[str]) -> bool:
        """Return whether one of these attributes is not projected."""
        return self.projected is not None and not self.projected.issuperset(attributes)


class Session(Struct):
    """Executes the operations of bound patterns."""

    transport: Transport
    clock: Clock = field(default_factory=SystemClock)
    keys: Keyring | None = None
    secret: bytes = b""
    hooks: Sequence[Hook] = ()
    shows_expired: bool = False  # reads return items whose time to live has passed
    on_unreadable: OnUnreadable | None = None  # called for each item that queries skip; without it they stop
    mounted: Mapping[Table, Table] = field(default_factory=dict)  # the tables in use, by those that items name
    names: dict[int, str] = field(default_factory=dict)
    indexes: dict[int, Mapping[str, DeployedIndex]] = field(default_factory=dict)
    encrypted: dict[int, frozenset[str]] = field(default_factory=dict)

    # ── executing ────────────────────────────────────────────────────────────────────────────────────────────────────
    def execute(self, step: Step) -> Wire:
        """Make a call or a pause; return the response."""
        if not isinstance(step, Call):
            return _perform(step)
        try:
            return self._call(step)
        except TypeError:
            refuse_lone_surrogates(step.request, step.pattern or step.operation)
            raise

    def _call(self, step: Call) -> Wire:
        if not self.hooks:
            return self.transport.call(step.operation, step.request, step.read)
        timed = _TimedCall(self.hooks, step)
        with timed:
            timed.response = self.transport.call(step.operation, timed.request, step.read)
        return timed.response

    async def execute_async(self, step: Step) -> Wire:
        """Do the same without blocking the event loop."""
        if not isinstance(step, Call):
            return await _perform_async(step)
        try:
            return await self._call_async(step)
        except TypeError:
            refuse_lone_surrogates(step.request, step.pattern or step.operation)
            raise

    async def _call_async(self, step: Call) -> Wire:
        if not self.hooks:
            return await self.transport.call_async(step.operation, step.request, step.read)
        timed = _TimedCall(self.hooks, step)
        with timed:
            timed.response = await self.transport.call_async(step.operation, timed.request, step.read)
        return timed.response

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def table_of(self, model: ModelClass) -> Table:
        """Return the table that stores the items of a class: the one it names, or where that is mounted."""
        table = introspection.table_of(model)
        return self.mounted.get(table, table)

    def name_of(self, table: Table) -> str:
        """Return the physical name of a table; the environment is read once per session."""
        name = self.names.get(id(table))
        if name is None:
            name = self.names[id(table)] = table.physical_name
        return name

    def find_indexes(self, table: Table) -> Steps[Mapping[str, DeployedIndex]]:
        """Return the deployed index of each declared one: the one with the same keys, if the names differ."""
        known = self.indexes.get(id(table))
        if known is None:
            known = yield from self._describe_indexes(table)
            self.indexes[id(table)] = known
        return known

    def forget_indexes(self, table: Table) -> None:
        """Let the next read describe a table again."""
        self.indexes.pop(id(table), None)

    def _describe_indexes(self, table: Table) -> Steps[Mapping[str, DeployedIndex]]:
        try:
            response = yield Call("DescribeTable", {"TableName": self.name_of(table)})
        except ResourceNotFoundException:
            raise
        except ServiceError:  # the credentials may allow Query and not DescribeTable
            return {index.name: DeployedIndex(index.name) for index in table.indexes}
        live = list(_deployed_indexes(table, response["Table"]))
        return {index.name: _choose_index(index, live) for index in table.indexes}

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def now(self) -> datetime:
        """Return the current time of the session's clock."""
        return EPOCH + timedelta(milliseconds=self.clock.millis())

    def is_expired(self, table: Table, raw: Raw) -> bool:
        """Return whether an item is hidden because its time to live has passed: DynamoDB deletes it only later."""
        if table.ttl is None or self.shows_expired:
            return False
        value = raw.get(table.ttl, {}).get("N")
        if value is None:
            return False
        return table.read_ttl(float(value)) * 1000 <= self.clock.millis()

    def load_unexpired(self, table: Table, models: Sequence[ModelClass], raw: Raw | None) -> Any:
        """Return a stored item as one of these classes; None when it is absent, expired or of another class."""
        if raw is None or (table.ttl is not None and self.is_expired(table, raw)):
            return None
        return self.load(table, models, raw)

    def load_page(self, table: Table, models: Sequence[ModelClass], raws: Iterable[Raw]) -> list[Any]:
        """Return stored items as these classes, each as `load_unexpired` does."""
        if table.ttl is None and not self.secret_names(table):
            return load_all(models, raws, table)
        return [self.load_unexpired(table, models, raw) for raw in raws]

    def load(self, table: Table, models: Sequence[ModelClass], raw: Raw) -> Any:
        """Return a stored item as one of these classes, expired or not; None when it is of another class."""
        return load(models, self.decrypt_item(table, raw) if self.secret_names(table) else raw, table)

    def load_any(self, table: Table, raw: Raw | None) -> Any:
        """Return a stored item as any class of its table; None if none fits."""
        if raw is None:
            return None
        roots = dict.fromkeys(introspection.root(item) for item in introspection.items_of(table))
        try:
            return load(list(roots), self.decrypt_item(table, raw), table)
        except HashrangeError:
            return None

    def encrypt_item(self, table: Table, raw: Raw) -> Raw:
        """Encrypt the secret attributes of a whole item, in place."""
        names = self.secret_names(table)
        if names:
            key = {attr: raw[attr] for attr in table.keys if attr in raw}
            for name in names & raw.keys():
                raw[name] = self.encrypt_value(table, key, name, raw[name])
        return raw

    def encrypt_value(self, table: Table, key: Raw, attribute: str, value: Value) -> Value:
        """Return one value encrypted, bound to its item and attribute."""
        context = context_of(self.name_of(table), key, attribute)
        try:
            text = value["S"].encode()
        except UnicodeEncodeError:
            raise ValueInvalid(f"{attribute} has half of a surrogate pair: it is no valid text") from None
        return {"S": self._keys(table).seal(text, context)}

    def decrypt_item(self, table: Table, raw: Raw) -> Raw:
        """Return an item with its encrypted attributes decrypted; plain text of older systems stays as it is."""
        secret = self.secret_names(table)
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

    def secret_names(self, table: Table) -> frozenset[str]:
        """Return the attributes of the items of a table that are stored sealed."""
        found = self.encrypted.get(id(table))
        if found is None:
            fields = (
                declared
                for item in introspection.items_of(table)
                for declared in introspection.all_fields(item).values()
            )
            found = self.encrypted[id(table)] = frozenset(declared.stored for declared in fields if declared.sealed)
        return found


def _perform(step: Pause | Handle) -> Wire:
    """Wait, or call a user's function."""
    if isinstance(step, Pause):
        time.sleep(step.seconds)
        return {}
    try:
        result = step.function(step.argument)
    except Exception as error:  # noqa: BLE001 - the error of a user's function, which the caller decides about
        return {"error": error}
    if iscoroutine(result):
        result.close()
        name = getattr(step.function, "__qualname__", step.function)
        raise ValueInvalid(f"{name} is a coroutine function: await the consumer instead of running it")
    return {}


async def _perform_async(step: Pause | Handle) -> Wire:
    """Do the same without blocking the event loop; a coroutine function is awaited."""
    if isinstance(step, Pause):
        from asyncio import sleep

        await sleep(step.seconds)
        return {}
    try:
        result = step.function(step.argument)
        if isawaitable(result):
            await result
    except Exception as error:  # noqa: BLE001 - the error of a user's function, which the caller decides about
        return {"error": error}
    return {}


def _deployed_indexes(table: Table, description: Wire) -> Iterator[DeployedIndex]:
    for index in description.get("LocalSecondaryIndexes", ()):  # what one lacks is fetched from the table
        yield DeployedIndex(index["IndexName"], _key_names(index))
    for index in description.get("GlobalSecondaryIndexes", ()):
        keys, projection = _key_names(index), index.get("Projection", {})
        given = frozenset({*keys, *table.keys, *projection.get("NonKeyAttributes", ())})
        projected = None if projection.get("ProjectionType") == "ALL" else given
        yield DeployedIndex(index["IndexName"], keys, projected, index.get("IndexStatus", "ACTIVE") == "ACTIVE")


def _choose_index(index: Gsi, live: Sequence[DeployedIndex]) -> DeployedIndex:
    """Return the index that serves a declared one: its keys, or its name; active and with its attributes if possible.

    There are two with the same keys while an index is replaced by one with another projection.
    """

    def rank(one: DeployedIndex) -> tuple[bool, ...]:
        covers = one.projected is None or (not index.projects_all and one.projected.issuperset(index.attributes))
        return one.is_active, covers, one.name == index.name

    candidates = [one for one in live if one.keys == index.keys]
    candidates = candidates or [one for one in live if one.name == index.name]
    return max(candidates, key=rank, default=DeployedIndex(index.name))


def _key_names(index: Wire) -> tuple[str, ...]:
    return tuple(part["AttributeName"] for part in index["KeySchema"])


def clock_of(database: Transport) -> Clock:
    """Return the clock of a database in this process, else the system's."""
    return getattr(database, "clock", None) or SystemClock()


def choose_cursor_secret(given: bytes | str | None) -> bytes:
    """Return the secret that signs cursors: the one given, the environment's, or a random one for this process."""
    found = given or os.environ.get(SECRET_VARIABLE) or ""
    raw = found.encode() if isinstance(found, str) else found
    if raw and len(raw) < MIN_SECRET_LENGTH:
        raise ValueInvalid(f"the secret that signs cursors has {len(raw)} bytes: give at least {MIN_SECRET_LENGTH}")
    return raw or secrets.token_bytes(32)


class _TimedCall:
    """Times a call and calls the hooks."""

    def __init__(self, hooks: Sequence[Hook], call: Call) -> None:
        self.hooks, self.call = hooks, call
        counted = (
            {"ReturnConsumedCapacity": "INDEXES"} if find_service_operation(call.operation).reports_capacity else {}
        )
        self.request = {**call.request, **counted}
        self.response: Wire = {}

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, _error_type: object, error: BaseException | None, _traceback: object) -> None:
        seconds = time.perf_counter() - self.started
        caught = error if isinstance(error, HashrangeError) else None
        event = Event(
            operation=self.call.operation,
            pattern=self.call.pattern,
            table=self.call.request.get("TableName", ""),
            seconds=seconds,
            error=caught,
            capacity=self.response.get("ConsumedCapacity"),
        )
        for hook in self.hooks:
            hook(event)
