"""A database in this process: DynamoDB's operations as calls, in wire form, and real boto3 objects that run on it.

The operations themselves are the engine's. The boto3 objects are made by `client.boto3_clients`, only when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import orjson

from hashrange.client.optional_import import import_optional
from hashrange.client.request_encoder import encode_request
from hashrange.client.transport import DecodeResponse, decode_all
from hashrange.core.clock import Clock
from hashrange.core.wire import Wire
from hashrange.engine.context import EngineSettings
from hashrange.engine.data_directory import require_single_database
from hashrange.engine.engine import Engine, open_engine
from hashrange.engine.operation import name_method, name_operation
from hashrange.operations import OPERATIONS

if TYPE_CHECKING:
    from hashrange.faults.faults import Faults


def open_database(
    path: str | Path | None = None,
    *,
    fsync: bool = False,
    clock: Clock | None = None,
    region: str = "",
    faults: Faults | None = None,
) -> Database:
    """Open the database in a directory, creating it if necessary; `None` or ":memory:" keeps everything in memory."""
    data = None if path is None or path == ":memory:" else Path(path)
    if data is not None:
        require_single_database(data)
    engine = open_engine(
        data, OPERATIONS, fsync=fsync, clock=clock, settings=EngineSettings(region=region), faults=faults
    )
    engine.jobs.start_thread()
    return Database(engine)


class Database:
    """An open database: `db.call("PutItem", {...})`, `db.put_item(TableName=...)`, `db.client()`, `db.resource()`.

    It may be used from any thread, and as a context manager that closes it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._reset_callbacks: list[Callable[[Engine], None]] = []

    def __repr__(self) -> str:
        directory = self.engine.store.directory
        return f"<{type(self).__name__} {'in memory' if directory is None else directory}>"

    @property
    def region(self) -> str:
        """The region in its ARNs."""
        return self.engine.settings.region

    def call(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Run an operation on a request in wire form, where B may be given as bytes; raise DynamoDB's ServiceError."""
        response = self.engine.call(operation, request or {}, read_as_json)
        return read(response) if response else {}

    async def call_async(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Do the same on an event loop; it takes microseconds, so it needs no thread."""
        faults = self.engine.faults
        if faults is not None and operation in self.engine.operations:
            import asyncio  # tens of milliseconds, which only a test with faults needs

            await asyncio.sleep(faults.take_delay(self.engine.operations[operation], request or {}))
        response = self.engine.call(operation, request or {}, read_as_json, delay=False)
        return read(response) if response else {}

    @property
    def clock(self) -> Clock:
        """Its clock."""
        return self.engine.clock

    def __getattr__(self, name: str) -> Callable[..., Wire]:
        return partial(self._call_with, _find_operation(self, name))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(name_method, OPERATIONS)]

    def _call_with(self, operation: str, /, **members: Any) -> Wire:
        return self.call(operation, members)

    def client(self, config: Any = None) -> Any:
        """Return what `boto3.client("dynamodb")` returns, running on this database; needs the boto3 extra."""
        return import_optional("hashrange.client.boto3_clients").make_client("dynamodb", self, config)

    def streams_client(self, config: Any = None) -> Any:
        """Return what `boto3.client("dynamodbstreams")` returns, running on this database."""
        return import_optional("hashrange.client.boto3_clients").make_client("dynamodbstreams", self, config)

    def resource(self, config: Any = None) -> Any:
        """Return what `boto3.resource("dynamodb")` returns, running on this database."""
        return import_optional("hashrange.client.boto3_clients").make_resource(self, config)

    def wait_until_idle(self) -> None:
        """Finish the background work that is due, such as expiry; with a ManualClock it happens only here."""
        self.engine.finish_jobs()

    def reset(self) -> None:
        """Delete everything, in about a millisecond; clients, sessions and servers of this database stay usable.

        Only a database in memory can be reset.
        """
        before = self.engine
        if not before.store.in_memory:
            raise ValueError("Only a database in memory can be reset: delete the tables, or open another directory.")
        settings, clock, faults = before.settings, before.clock, before.faults
        self.engine = open_engine(None, OPERATIONS, clock=clock, settings=settings, faults=faults)
        self.engine.jobs.start_thread()
        for callback in self._reset_callbacks:
            callback(self.engine)
        before.close()

    @contextmanager
    def on_reset(self, callback: Callable[[Engine], None]) -> Iterator[None]:
        """Call `callback` with the new engine whenever the database is reset during the block."""
        self._reset_callbacks.append(callback)
        try:
            yield
        finally:
            self._reset_callbacks.remove(callback)

    def close(self) -> None:
        """Finish acknowledged writes and release the directory."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncDatabase:
    """The same operations, awaited: `await db.put_item(TableName=...)`; they run in microseconds, on the event loop."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def call(self, operation: str, request: Wire | None = None) -> Wire:
        """Run an operation on a request in wire form; raise DynamoDB's ServiceError."""
        return await self.database.call_async(operation, request)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Wire]]:
        return partial(self._call_with, _find_operation(self, name))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(name_method, OPERATIONS)]

    async def _call_with(self, operation: str, /, **members: Any) -> Wire:
        return await self.call(operation, members)


def _find_operation(database: object, name: str) -> str:
    """Return the operation of a method such as put_item; raise what a missing attribute raises."""
    operation = name_operation(name)
    if operation not in OPERATIONS or name_method(operation) != name:
        raise AttributeError(f"{type(database).__name__!r} object has no attribute {name!r}")
    return operation


def read_as_json(request: Wire) -> Wire:
    """Return a copy of the request, as it would be parsed from JSON."""
    read: Wire = orjson.loads(encode_request(request))
    return read
