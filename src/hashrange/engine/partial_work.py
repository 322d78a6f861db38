"""Long requests in parts: when the time of a turn is over, other requests run before the next part.

A part is work whose result depends only on the request and on given inputs, such as the stored bytes of a row. Its
result is kept. At the end of a turn the operation is abandoned with `Paused`, before it has written anything, and later
run again from its beginning: it finds the results of the parts whose inputs are still the same, and does the others. So
the last run sees one state of the database, whatever others have written between the turns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")
Part: TypeAlias = tuple[Hashable, ...]  # its name in the request
Inputs: TypeAlias = tuple[Any, ...]

MAX_REPEATED = 20  # parts whose inputs have changed; then it runs to its end: others could change them for ever


def no_inputs(*_arguments: object) -> Inputs:
    """Return the inputs of a part that depends on the request alone."""
    return ()


def definition_inputs(engine: CatalogContext, *_arguments: object) -> Inputs:
    """Return the inputs of a part that depends on the definitions of the tables too."""
    return (engine.catalog.version,)


class Paused(BaseException):
    """The turn of a request is over; it has written nothing, and is to be run again."""


class PartialWork:
    """The results of the parts of one request that are done."""

    __slots__ = ("_engine", "_left", "_repeated", "_results", "_seconds", "started")

    def __init__(self, seconds: float, started: float | None = None) -> None:
        self.started = perf_counter() if started is None else started  # also the waiting for its turn
        self._seconds = seconds  # of parts in a turn: finding the results of earlier ones does not count
        self._results: dict[Part, tuple[Inputs, Any]] = {}
        self._repeated = 0
        self._engine: object = None
        self.start_turn()

    def start_turn(self) -> None:
        """Begin a turn."""
        self._left = self._seconds

    def use_engine(self, engine: object) -> None:
        """Forget all results if they are of another engine: a database that was closed, and opened again."""
        if self._engine is not engine:
            if self._engine is not None:
                self._results.clear()
            self._engine = engine

    def do(self, part: Part, inputs: Inputs, work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Return the result of a part, done now unless its inputs are as before; raise Paused if the turn is over."""
        found = self._results.get(part)
        if found is not None and found[0] == inputs:
            return found[1]  # type: ignore[no-any-return]
        started = perf_counter()
        result = work(*arguments)
        self._left -= perf_counter() - started
        self._results[part] = inputs, result
        self._repeated += found is not None
        if self._left < 0 and self._repeated < MAX_REPEATED:
            raise Paused
        return result
