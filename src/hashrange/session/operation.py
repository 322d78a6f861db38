"""Operations as lazy values: built by a pattern, sent by `.run()` or `await`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from hashrange.session.session import Session
    from hashrange.session.work import Work

T_co = TypeVar("T_co", covariant=True)


class Runnable(ABC, Generic[T_co]):
    """Something that can be run: `.run()` waits for it, `await` does the same without blocking."""

    session: Session

    def run(self) -> T_co:
        """Send it and wait for the outcome."""
        return self.session.run(self.work())

    def __await__(self) -> Generator[Any, None, T_co]:
        return self.session.wait(self.work()).__await__()

    @abstractmethod
    def work(self) -> Work[T_co]:
        """Return what is to be done, step by step."""


class NeverRun(UserWarning):
    """A write was built and thrown away: nothing was written."""


class Unsent(Runnable[T_co]):
    """Something that writes when it is run; thrown away before, it warns."""

    label: str
    used = False

    def __del__(self) -> None:
        if not self.used and hasattr(self, "label"):
            warnings.warn(f"{self.label} was built and never run: nothing was written", NeverRun, stacklevel=2)


class Task(Runnable[T_co]):
    """Work that is ready to be run once."""

    def __init__(self, session: Session, work: Work[T_co]) -> None:
        self.session, self._work = session, work

    def work(self) -> Work[T_co]:
        """Return the work."""
        return self._work
