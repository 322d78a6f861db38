"""Lazy operations: a pattern builds one, `.run()` or `await` sends it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from hashrange.core.errors import HashrangeError, ResourceNotFoundException
from hashrange.core.wire import Wire
from hashrange.session.steps import Call

if TYPE_CHECKING:
    from hashrange.session.session import Session
    from hashrange.session.steps import Step, Steps

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
                    name_missing_table(error, step)
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            result: T_co = done.value
            return result

    if not TYPE_CHECKING:  # a type checker knows the attributes, and refuses others

        def __getattr__(self, name: str) -> Any:
            operation = type(self).__name__
            text = f"{operation!r} object has no attribute {name!r}"
            if not name.startswith("_"):
                text += f": a {operation} has the attributes of its result only when it was run, with .run() or await"
            raise AttributeError(text, name=name, obj=self)

        def __bool__(self) -> bool:  # unseen, so that mypy's truthy-bool finds it
            self.used = True  # one error says enough
            raise TypeError(
                f"a {type(self).__name__} that was not run is neither true nor false: "
                "test its result, which .run() or await returns"
            )

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
                    name_missing_table(error, step)
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            result: T_co = done.value
            return result

    @abstractmethod
    def steps(self) -> Steps[T_co]:
        """Return the steps that produce the result."""


def name_missing_table(error: HashrangeError, step: Step) -> None:
    """Add to DynamoDB's "Requested resource not found" which table it was, and what creates it."""
    if not isinstance(error, ResourceNotFoundException) or not isinstance(step, Call):
        return
    names = sorted(tables_of(step.request))
    if names and error.args == (error.message,):  # once; `message` stays DynamoDB's
        absent = f"The database has no table {' or no table '.join(names)}"
        creates = "hashrange.create_tables(database, ...) and `hashrange apply` create the tables of a Patterns class"
        error.args = (f"{error.message}. {absent}. {creates}.",)


def tables_of(request: Wire) -> set[str]:
    """Return the names of the tables that a request is about."""
    members = [member for entry in request.get("TransactItems", ()) for member in entry.values()]
    named = [each["TableName"] for each in (request, *members) if "TableName" in each]
    return {*named, *request.get("RequestItems", ())}


class Task(Runnable[T_co]):
    """A function that returns steps; each run calls it again."""

    def __init__(self, session: Session, start: Callable[[], Steps[T_co]]) -> None:
        self.session, self._start = session, start

    def steps(self) -> Steps[T_co]:
        """Return the steps."""
        return self._start()
