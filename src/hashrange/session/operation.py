"""Operations as lazy values: built by a pattern, sent by `.run()` or `await`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic

from typing_extensions import TypeVar

from hashrange.session.session import Session
from hashrange.session.work import Work

T_co = TypeVar("T_co", covariant=True)


class Runnable(Generic[T_co]):
    """Something that can be run: `.run()` waits for it, `await` does the same without blocking."""

    session: Session

    def run(self) -> T_co:
        """Send it and wait for the outcome."""
        return self.session.run(self.work())

    def __await__(self) -> Generator[Any, None, T_co]:
        return self.session.wait(self.work()).__await__()

    def work(self) -> Work[T_co]:
        """Return what is to be done, step by step."""
        raise NotImplementedError


class Task(Runnable[T_co]):
    """Work that is ready to be run once."""

    def __init__(self, session: Session, work: Work[T_co]) -> None:
        self.session, self._work = session, work

    def work(self) -> Work[T_co]:
        """Return the work."""
        return self._work
