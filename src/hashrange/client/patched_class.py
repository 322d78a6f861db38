"""Decorates a test class: the patch is active in the set-up, the fixtures, the tests and the tear-down of the class.

pytest calls `setup_class` before the class's own fixtures of class scope, and `setup_method` before the others.
unittest calls `setUpClass`, and `run` for each test.
"""

from __future__ import annotations

import functools
import inspect
import unittest
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

from hashrange.client.regional_databases import ActivePatch, RegionalDatabases


class Patch(Protocol):
    """A patch, as far as a class needs it."""

    def enter(self, *, isolated: bool = False) -> ActivePatch:
        """Activate it."""
        ...

    def leave(self, active: ActivePatch) -> None:
        """Deactivate it."""
        ...

    def find_outer(self) -> ActivePatch | None:
        """Return the patch that is active now."""
        ...

    def wrap_function(self, function: Any) -> Any:
        """Return a function that runs with the patch active."""
        ...


def patch_class(cls: Any, patch: Patch) -> Any:
    """Change the class so that the patch is active wherever its code runs, and return it."""
    scope = ClassScope(patch)
    if issubclass(cls, unittest.TestCase):
        cls.run = scope.wrap_run(cls.run)
        scope.wrap_class_hooks(cls, "setUpClass", "tearDownClass")
    else:
        scope.wrap_class_hooks(cls, "setup_class", "teardown_class")
        for name in [name for name in dir(cls) if name.startswith("test")]:
            wrap_test(cls, name, patch)  # for a subclass that replaces the set-up, and for direct calls
    scope.wrap_test_hooks(cls)
    for name, member in list(vars(cls).items()):
        if isinstance(member, type) and (name.startswith("Test") or issubclass(member, unittest.TestCase)):
            patch_class(member, patch)
    return cls


def wrap_test(cls: Any, name: str, patch: Patch) -> None:
    """Replace a test by one that runs with the patch active; a static method stays one, and a class method too."""
    member = inspect.getattr_static(cls, name)
    if isinstance(member, (staticmethod, classmethod)):
        setattr(cls, name, type(member)(patch.wrap_function(member.__func__)))
    elif inspect.isfunction(member):
        setattr(cls, name, patch.wrap_function(member))


# The databases of classes, which a class inside one of them, or below it, shares. Its tests are isolated all the same.
_OF_CLASSES: WeakSet[RegionalDatabases] = WeakSet()


class ClassScope:
    """Activates a patch for a class and for each of its tests.

    Each test has empty databases. If the set-up of the class used its databases, all tests share those.
    """

    def __init__(self, patch: Patch) -> None:
        self._patch = patch
        self._own: ActivePatch | None = None  # the class's, unless it joined a patch that is not of a class
        self._classes: list[ActivePatch] = []
        self._tests: list[ActivePatch] = []
        # By object: pytest calls the hooks of a nested class once more for each class around it.
        self._running: Counter[int] = Counter()

    def _start_class(self) -> None:
        outer = self._patch.find_outer()
        active = self._patch.enter()
        self._classes.append(active)
        self._own = active if outer is None or outer.databases in _OF_CLASSES else None
        if self._own is not None:
            _OF_CLASSES.add(active.databases)

    def _stop_class(self) -> None:
        while self._tests:  # of a subclass whose tear-down does not call ours
            self._patch.leave(self._tests.pop())
        if self._classes:
            self._patch.leave(self._classes.pop())
        self._own = None

    def _start_test(self) -> None:
        outer, own = self._patch.find_outer(), self._own
        is_first = outer is not None and own is not None and outer.databases is own.databases
        self._tests.append(self._patch.enter(isolated=is_first and not (own and own.databases.is_used)))

    def _stop_test(self) -> None:
        if self._tests:
            self._patch.leave(self._tests.pop())

    def wrap_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `TestCase.run`, which calls `setUp`, the test and `tearDown`."""

        @functools.wraps(run)
        def run_patched(*args: Any, **kwargs: Any) -> Any:
            self._start_test()
            try:
                return run(*args, **kwargs)
            finally:
                self._stop_test()

        return run_patched

    def wrap_class_hooks(self, cls: Any, set_up: str, tear_down: str) -> None:
        """Start before the set-up of the class, and stop after its tear-down or when the set-up fails."""
        before, after = (inspect.getattr_static(cls, name, None) for name in (set_up, tear_down))

        def start(cls: type) -> None:
            self._set_up(self._start_class, self._stop_class, Hook(before, None, cls, cls))

        def stop(cls: type) -> None:
            self._tear_down(self._stop_class, Hook(after, None, cls, cls))

        setattr(cls, set_up, classmethod(start))
        setattr(cls, tear_down, classmethod(stop))

    def wrap_test_hooks(self, cls: Any) -> None:
        """Start before `setup_method`, and stop after `teardown_method` or when the set-up fails."""
        before, after = (inspect.getattr_static(cls, name, None) for name in ("setup_method", "teardown_method"))

        def setup_method(test: Any, method: Any = None) -> None:  # a subclass may call it without
            self._set_up(self._start_test, self._stop_test, Hook(before, test, type(test), method))

        def teardown_method(test: Any, method: Any = None) -> None:
            self._tear_down(self._stop_test, Hook(after, test, type(test), method))

        cls.setup_method = setup_method
        cls.teardown_method = teardown_method

    def _set_up(self, start: Callable[[], None], stop: Callable[[], None], hook: Hook) -> None:
        """Start, and call the set-up that the class had; if that fails, its tear-down is never called."""
        self._running[hook.owner] += 1
        if self._running[hook.owner] > 1:
            return
        start()
        try:
            hook.call()
        except BaseException:
            del self._running[hook.owner]
            stop()
            raise

    def _tear_down(self, stop: Callable[[], None], hook: Hook) -> None:
        self._running[hook.owner] -= 1
        if self._running[hook.owner] > 0:
            return
        del self._running[hook.owner]
        try:
            hook.call()
        finally:
            stop()


class Hook(NamedTuple):
    """A set-up or tear-down that a class had before it was decorated."""

    function: Any
    test: Any
    cls: type
    argument: Any

    @property
    def owner(self) -> int:
        """What is set up: the test, or the class."""
        return id(self.cls if self.test is None else self.test)

    def call(self) -> None:
        """Call it, if there is one; its argument is optional."""
        if self.function is not None:
            bound = self.function.__get__(self.test, self.cls)
            bound(*[self.argument][: len(inspect.signature(bound).parameters)])
