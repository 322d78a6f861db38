"""Lazy operations: a pattern builds one, `.run()` or `await` sends it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from hashrange.core.errors import HashrangeError

if TYPE_CHECKING:
    from hashrange.session.session import Session
    from hashrange.session.steps import Steps

T_co = TypeVar("T_co", covariant=True)


class Runnable(ABC, Generic[T_co]):
    """Something that can be run: `.run()` waits for the result, `await` does so without blocking."""

    session: Session

    def run(self) -> T_co:
        """Send it and wait for the result."""
        steps, execute = self.steps(), self.session.execute
        try:
            step = next(steps)
            while True:
                try:
                    response = execute(step)
                except HashrangeError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            result: T_co = done.value
            return result

    def __await__(self) -> Generator[Any, None, T_co]:
        return self._run_async().__await__()

    async def _run_async(self) -> T_co:
        steps, execute = self.steps(), self.session.execute_async
        try:
            step = next(steps)
            while True:
                try:
                    response = await execute(step)
                except HashrangeError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            result: T_co = done.value
            return result

    @abstractmethod
    def steps(self) -> Steps[T_co]:
        """Return the steps that produce the result."""


class Task(Runnable[T_co]):
    """A function that returns steps; each run calls it again."""

    def __init__(self, session: Session, start: Callable[[], Steps[T_co]]) -> None:
        self.session, self._start = session, start

    def steps(self) -> Steps[T_co]:
        """Return the steps."""
        return self._start()
