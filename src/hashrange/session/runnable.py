"""Lazy operations: a pattern builds one, `.run()` or `await` sends it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from hashrange.session.session import Session
    from hashrange.session.steps import Steps

T_co = TypeVar("T_co", covariant=True)


class Runnable(ABC, Generic[T_co]):
    """Something that can be run: `.run()` waits for the result, `await` does so without blocking."""

    session: Session

    def run(self) -> T_co:
        """Send it and wait for the result."""
        return self.session.run(self.steps())

    def __await__(self) -> Generator[Any, None, T_co]:
        return self.session.wait(self.steps()).__await__()

    @abstractmethod
    def steps(self) -> Steps[T_co]:
        """Return the steps that produce the result."""


class Task(Runnable[T_co]):
    """Steps that can be run once."""

    def __init__(self, session: Session, steps: Steps[T_co]) -> None:
        self.session, self._steps = session, steps

    def steps(self) -> Steps[T_co]:
        """Return the steps."""
        return self._steps


class NeverRun(UserWarning):
    """A write was built and discarded without being run: nothing was written."""


class PendingWrite(Runnable[T_co]):
    """Something that writes when it is run; warns when it is discarded before."""

    label: str
    used = False

    def __del__(self) -> None:
        if not self.used and hasattr(self, "label"):
            warnings.warn(f"{self.label} was built and never run: nothing was written", NeverRun, stacklevel=2)
