"""The commands of a system: each runs an action with the application, on the database that its options name.

    commands = make_cli("stock", "Stock: what there is, and where.", EXAMPLES, load)

    @commands.command()
    def count(runner: Runner[Application], shelf: str) -> None:
        typer.echo(runner.run(lambda services: services.shelves.count(shelf)))

`load` imports the application when a command runs, so that help is shown without it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, get_type_hints

import typer

from hashrange_systems.shared.cli.database_target import Data, DatabaseTarget, Target, find_default_url
from hashrange_systems.shared.cli.worker_runner import LogLevel, run_worker, work_until_stopped

if TYPE_CHECKING:
    from hashrange_systems.shared.application.application_type import ApplicationType, SystemApplication

HELP = """{summary}

[bold]Examples[/bold]

\b
{examples}

[bold]Which database[/bold]

\b
  --target DIR                      a directory that no other process uses; --data DIR creates it
  --target http://127.0.0.1:8000    what a running hashrange up or serve has
  --target aws                      DynamoDB at AWS

[bold]Exit codes[/bold]

{exit_codes}."""
EXIT_CODES = "0 success, 1 refused or not found, 2 wrong usage or no database"
FORGET_HELP = """Remove the presence of a worker that was killed, before it is removed after a week.

[bold]Example[/bold]

\b
  hashrange {name} forget-worker 5f0c9a1e

An unknown id is answered with the known ones."""

A = TypeVar("A", bound="SystemApplication")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Runner(Generic[A]):
    """Runs actions with the application of a system, on the database that a command names."""

    load: Callable[[], ApplicationType[A]]
    target: DatabaseTarget

    def run(self, action: Callable[[A], Awaitable[T]], *, create: bool = True) -> T:
        """Return the result of an action; an error is printed and sets the exit code.

        `create` makes missing tables of a local database.
        """

        async def act() -> T:
            async with self.open(create=create, is_command=True) as services:
                return await action(services)

        with self.target.exit_on_error():
            return asyncio.run(act())

    @asynccontextmanager
    async def open(self, *, create: bool = True, is_command: bool = False) -> AsyncIterator[A]:
        """Open the database, and build the application."""
        from hashrange import Host, SystemClock
        from hashrange_systems.shared.application.runtime import Runtime

        application = self.load()
        with self.target.open(*(application.patterns if create else ())) as database:
            host = Host(
                database=database,
                clock=SystemClock(),
                directory=self.target.find_directory(application.name),
                base_url=find_default_url(application.name),
                demo=False,
                own_ports=frozenset(),
                environment=os.environ,
                owns_database=not self.target.is_remote,
            )
            runtime = Runtime.open(host, application.settings, is_command=is_command)
            try:
                yield application.build(runtime)
            finally:
                await runtime.close()


class SystemCommands(typer.Typer, Generic[A]):
    """Commands of a system, or a group of them; what their options --target and --data name is the `runner`."""

    def __init__(self, name: str, load: Callable[[], ApplicationType[A]], help: str) -> None:  # noqa: A002 - as in typer
        super().__init__(help=help, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)
        self.system_name, self.load = name, load

    def command(self, name: str | None = None, **options: Any) -> Callable[[F], F]:
        """Add a command; one whose first parameter is `runner` gets the options of the database for it."""
        register = super().command(name, **options)

        def add(function: F) -> F:
            parameters = list_parameters(function)
            needs_runner = bool(parameters) and parameters[0].name == "runner"
            register(self._add_target(function) if needs_runner else function)
            return function

        return add

    def add_group(self, name: str, help: str) -> SystemCommands[A]:  # noqa: A002 - as in typer
        """Add a group of commands, such as `hashrange stock key ...`."""
        group = SystemCommands(self.system_name, self.load, help)
        self.add_typer(group, name=name)
        return group

    def _add_target(self, function: Callable[..., None]) -> Callable[..., None]:
        """Return a function that has the options of the database instead of the runner."""

        @functools.wraps(function)
        def run(*, data: Data = None, database: Target = None, **given: Any) -> None:
            function(Runner(self.load, DatabaseTarget(data, database)), **given)

        (runner, *others), target = list_parameters(function), list_parameters(run)[:2]
        run.__annotations__ = {"data": Data, "database": Target} | {
            name: kind for name, kind in function.__annotations__.items() if name != runner.name
        }
        kinds = get_type_hints(run, include_extras=True)
        shown = [each.replace(kind=each.KEYWORD_ONLY, annotation=kinds[each.name]) for each in (*others, *target)]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # which typer reads
        return run


def list_parameters(function: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the parameters of a function itself, not of one that it wraps."""
    return list(inspect.signature(function, follow_wrapped=False).parameters.values())


def make_cli(
    name: str,
    summary: str,
    examples: str,
    load: Callable[[], ApplicationType[A]],
    *,
    exit_codes: str = EXIT_CODES,
) -> SystemCommands[A]:
    """Return the commands of a system; `add_worker_commands` adds those that every system has."""
    return SystemCommands(name, load, HELP.format(summary=summary, examples=examples, exit_codes=exit_codes))


def add_worker_commands(
    commands: SystemCommands[A],
    worker_help: str,
    describe: Callable[[A], str] = lambda _: "working",
) -> None:
    """Add `worker`, which says what `describe` returns, and `forget-worker`."""

    @commands.command("worker", help=worker_help)
    def work(runner: Runner[A], log_level: LogLevel = "info") -> None:
        """Do the background work until Ctrl-C."""

        async def act(target: DatabaseTarget) -> None:
            async with replace(runner, target=target).open() as application:
                await work_until_stopped(application.loops.work(), describe(application))

        run_worker(runner.target, log_level, act)

    @commands.command("forget-worker", help=FORGET_HELP.format(name=commands.system_name))
    def forget_worker(
        runner: Runner[A], worker: Annotated[str, typer.Argument(metavar="WORKER", help="The id of the worker.")]
    ) -> None:
        """Remove the presence of a worker."""
        runner.run(lambda application: application.loops.presence.forget(worker))
        typer.echo(f"forgotten  {worker}")
