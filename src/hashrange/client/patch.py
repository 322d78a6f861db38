"""Redirects the DynamoDB calls of boto3, aiobotocore and aioboto3 to databases in this process, while it is active.

Here are the context manager and the decorators; `client.botocore_hooks` has what is replaced in those libraries, and is
imported when a patch is made, because it needs botocore.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar, overload

from hashrange.client.database import Database
from hashrange.client.optional_import import import_optional
from hashrange.client.patched_class import patch_class
from hashrange.client.regional_databases import ActivePatch, RegionalDatabases
from hashrange.core.clock import Clock

Target = TypeVar("Target", bound=Callable[..., Any])
PatchConfig = Mapping[str, Any]  # of moto's form: {"core": {"mock_credentials": False}}


@overload
def patch_boto3(target: Target) -> Target: ...


@overload
def patch_boto3(
    *,
    database: Database | None = None,
    clock: Clock | None = None,
    region: str | None = None,
    config: PatchConfig | None = None,
) -> Boto3Patch: ...


def patch_boto3(
    target: Target | None = None,
    *,
    database: Database | None = None,
    clock: Clock | None = None,
    region: str | None = None,
    config: PatchConfig | None = None,
) -> Boto3Patch | Target:
    """Run every DynamoDB call of boto3 and aiobotocore on fresh in-memory databases, or on the one given.

    It is a context manager that gives the database of the default region, and a decorator of functions and of test
    classes, with or without parentheses. It holds for the whole process. `config` takes what moto's `mock_aws` takes.
    """
    patch = Boto3Patch(database=database, clock=clock, region=region, config=config)
    return patch if target is None else patch(target)


class Boto3Patch:
    """The patch. Inside another one it shares its databases, unless it was given a database or a clock."""

    def __init__(
        self,
        *,
        database: Database | None = None,
        clock: Clock | None = None,
        region: str | None = None,
        config: PatchConfig | None = None,
    ) -> None:
        library = import_optional("hashrange.client.botocore_hooks")
        self._hooks = library.hooks
        self._find_default_region = library.find_default_region
        self._given = database
        self._clock = clock
        self._region = region
        self._fakes_credentials = check_config(config or {})
        self._entered: list[ActivePatch] = []

    def __enter__(self) -> Database:
        self.enter()
        return self.database()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Database:
        """Activate the patch, in a `setUp`; `stop` deactivates it."""
        return self.__enter__()

    def stop(self) -> None:
        """Deactivate the patch."""
        if not self._entered:
            raise RuntimeError("The patch is not active: start() comes before stop().")
        self.leave(self._entered[-1])

    def database(self, region: str | None = None) -> Database:
        """Return the database that clients of a region use now; by default that of clients without one."""
        if not self._entered:
            raise RuntimeError("The patch is not active: there is no database.")
        active = self._entered[-1]
        return active.databases.find(region or self._find_default_region(active))

    def enter(self, *, isolated: bool = False) -> ActivePatch:
        """Activate the patch; `isolated`, its databases are empty even inside another patch."""
        active = self._join(self.find_outer(), isolated=isolated)
        self._hooks.install(active, fake_credentials=self._fakes_credentials)
        self._entered.append(active)
        return active

    def leave(self, active: ActivePatch) -> None:
        """Deactivate what `enter` returned."""
        self._entered.remove(active)
        self._hooks.remove(active)

    def find_outer(self) -> ActivePatch | None:
        """Return the patch that is active now."""
        outer: ActivePatch | None = self._hooks.innermost
        return outer

    def _join(self, outer: ActivePatch | None, *, isolated: bool) -> ActivePatch:
        if self._given is not None:
            return ActivePatch(RegionalDatabases(given=self._given), self._region)
        region = self._region or (outer.region if outer else None)
        if outer is None or isolated or (self._clock is not None and outer not in self._entered):
            return ActivePatch(RegionalDatabases(clock=self._clock), region)
        return ActivePatch(outer.databases, region)

    def __call__(self, target: Target) -> Target:
        """Wrap a function, or each test of a class with its set-up, so that it runs with the patch active."""
        wrapped: Target = patch_class(target, self) if isinstance(target, type) else self.wrap_function(target)
        return wrapped

    def wrap_function(self, function: Any) -> Any:
        """Return the function, running with the patch active."""
        wrap = next(wrap for fits, wrap in _WRAPPERS if fits(function))
        return functools.wraps(function)(wrap(self, function))


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


def check_config(config: PatchConfig) -> bool:
    """Return whether the credentials of the environment are replaced; refuse to let DynamoDB through."""
    core = config.get("core", {})
    through = {"dynamodb", "dynamodbstreams"}.intersection(core.get("passthrough", {}).get("services", []))
    if through:
        raise ValueError(f"patch_boto3 lets no {min(through)} call through: leave it out of passthrough.services.")
    return core.get("mock_credentials", True) is not False
