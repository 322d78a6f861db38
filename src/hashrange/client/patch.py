"""Redirects the DynamoDB calls of all boto3 clients to a database in this process, while a patch is active.

It replaces two public methods of botocore: `Session.create_client`, so that no credentials or region need to be
configured, and `URLLib3Session.send`, which every client uses, also one made before. Other services are not affected.
"""

from __future__ import annotations

import functools
import inspect
import os
import unittest
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar, overload

from botocore.httpsession import URLLib3Session
from botocore.session import Session

from hashrange.client.boto3_clients import InProcessSession
from hashrange.client.botocore_adapter import is_for_dynamodb, send_to_engine
from hashrange.client.database import Database, open_database
from hashrange.core.clock import Clock

Target = TypeVar("Target", bound=Callable[..., Any])

_SERVICES = {"dynamodb", "dynamodbstreams"}


@overload
def patch_boto3(target: Target) -> Target: ...


@overload
def patch_boto3(
    *, database: Database | None = None, clock: Clock | None = None, region: str | None = None
) -> Boto3Patch: ...


def patch_boto3(
    target: Target | None = None,
    *,
    database: Database | None = None,
    clock: Clock | None = None,
    region: str | None = None,
) -> Boto3Patch | Target:
    """Run every boto3 DynamoDB call on a fresh in-memory database, or on the one given.

    It is a context manager that gives the database, and a decorator of functions and of test classes, with or without
    parentheses. The region defaults to the one in the environment. It holds for the whole process.
    """
    patch = Boto3Patch(database=database, clock=clock, region=region)
    return patch if target is None else patch(target)


class Boto3Patch:
    """The patch; each entry or decorated call opens its own database unless one was given."""

    def __init__(self, *, database: Database | None, clock: Clock | None, region: str | None) -> None:
        self._given = database
        self._clock = clock
        self._region = region
        self._entered: list[Database] = []

    def __enter__(self) -> Database:
        database = self._given or open_database(clock=self._clock, region=self._region or _region_of_environment())
        self._entered.append(database)
        _hooks.install(database)
        return database

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        database = self._entered.pop()
        _hooks.remove(database)
        if database is not self._given:
            database.close()

    def start(self) -> Database:
        """Activate the patch, in a `setUp`; `stop` deactivates it."""
        return self.__enter__()

    def stop(self) -> None:
        """Deactivate the patch."""
        self.__exit__(None, None, None)

    def __call__(self, target: Target) -> Target:
        """Wrap a function, or each test of a class, so that it runs with the patch active."""
        wrapped: Target = self._wrap_class(target) if isinstance(target, type) else self._wrap_function(target)
        return wrapped

    def _wrap_function(self, function: Any) -> Any:
        wrap = next(wrap for fits, wrap in _WRAPPERS if fits(function))
        return functools.wraps(function)(wrap(self, function))

    def _wrap_class(self, cls: Any) -> Any:
        """Wrap each test of a class: its whole run if unittest runs it, so that `setUp` is inside."""
        if issubclass(cls, unittest.TestCase):
            cls.run = self._wrap_function(cls.run)
            return cls
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            if name.startswith("test"):
                setattr(cls, name, self._wrap_function(member))
        return cls


def _wrap_coroutine(patch: Boto3Patch, function: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        with patch:
            return await function(*args, **kwargs)

    return run


def _wrap_async_generator(patch: Boto3Patch, function: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with patch:
            async for value in function(*args, **kwargs):
                yield value

    return run


def _wrap_generator(patch: Boto3Patch, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with patch:
            yield from function(*args, **kwargs)

    return run


def _wrap_plain(patch: Boto3Patch, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with patch:
            return function(*args, **kwargs)

    return run


_WRAPPERS = (
    (inspect.iscoroutinefunction, _wrap_coroutine),
    (inspect.isasyncgenfunction, _wrap_async_generator),
    (inspect.isgeneratorfunction, _wrap_generator),  # a pytest fixture that yields
    (callable, _wrap_plain),
)


def _region_of_environment() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


class _BotocoreHooks:
    """Replaces botocore's two methods while there are databases; the innermost patch is last."""

    def __init__(self) -> None:
        self.databases: list[Database] = []
        self._lock = Lock()

    def install(self, database: Database) -> None:
        with self._lock:
            if not self.databases:
                self.create_client, Session.create_client = Session.create_client, _create_client
                self.send, URLLib3Session.send = URLLib3Session.send, _send
            self.databases.append(database)

    def remove(self, database: Database) -> None:
        with self._lock:
            innermost = max(at for at, other in enumerate(self.databases) if other is database)
            del self.databases[innermost]
            if not self.databases:
                Session.create_client = self.create_client
                URLLib3Session.send = self.send


_hooks = _BotocoreHooks()


def _create_client(*args: Any, **kwargs: Any) -> Any:
    call = inspect.signature(_hooks.create_client).bind(*args, **kwargs)
    if call.arguments["service_name"] not in _SERVICES or isinstance(args[0], InProcessSession):
        return _hooks.create_client(*args, **kwargs)
    _fill_in(call.arguments)
    client = _hooks.create_client(*call.args, **call.kwargs)
    # Before any other library that would answer: moto's handler is for all services, and so comes after ours.
    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register_first(f"before-send.{service}", _send_to_database)
    return client


def _fill_in(arguments: dict[str, Any]) -> None:
    """Give the client a region, and credentials that are useless after the patch."""
    settled = arguments.get("region_name") or getattr(arguments.get("config"), "region_name", None)
    if not settled and not arguments["self"].get_config_variable("region"):
        arguments["region_name"] = _hooks.databases[-1].region
    if not arguments.get("aws_access_key_id"):
        arguments.update(aws_access_key_id="hashrange", aws_secret_access_key="hashrange")  # noqa: S106 - no secret


def _send(session: Any, request: Any) -> Any:
    return _send_to_database(request) or _hooks.send(session, request)


def _send_to_database(request: Any, **_event: Any) -> Any:
    if _hooks.databases and is_for_dynamodb(request):
        return send_to_engine(_hooks.databases[-1].engine, request)
    return None
