"""Which database a command uses (`--data`, `--endpoint`), and how a command ends when that fails or is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hashrange import Transport

REFUSED, NO_DATABASE = 1, 2  # exit codes
DEFAULT_DATA = Path("data")
DEFAULT_PAGES = "http://127.0.0.1:8002"  # where `hashrange up` serves pages unless another port is chosen

Data = Annotated[
    Path | None, typer.Option("--data", envvar="HASHRANGE_DATA", help="Data directory (./data).", show_envvar=False)
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        envvar="HASHRANGE_ENDPOINT",
        help="The DynamoDB of a running process instead: a URL, or aws.",
        metavar="URL|aws",
        show_envvar=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class DatabaseTarget:
    """The database that a command uses: a directory, or an endpoint, whose tables are checked if they `must_exist`."""

    data: Path | None = None
    endpoint: str | None = None
    must_exist: bool = False

    def find_directory(self, system: str) -> Path | None:
        """Return the directory of the system's keys and secret; for a local database it is created."""
        directory = (self.data or DEFAULT_DATA) / system
        if self.endpoint is not None and self.data is None:
            return directory if directory.is_dir() else None
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    @contextmanager
    def open(self, *patterns: Any) -> Iterator[Transport]:
        """Open the database; missing tables of the patterns are created in a local one."""
        from hashrange import connect, create_tables
        from hashrange import open as open_directory

        if self.endpoint is None:
            with open_directory(self.data or DEFAULT_DATA) as database:
                create_tables(database, *patterns)
                yield database
            return
        if self.endpoint != "aws" and not self.endpoint.startswith(("http://", "https://")):
            raise typer.BadParameter(f"--endpoint {self.endpoint} is neither a URL, http://127.0.0.1:8000, nor aws")
        try:
            remote = connect(None if self.endpoint == "aws" else self.endpoint)
        except ImportError as missing:
            raise fail(str(missing), NO_DATABASE) from missing
        with remote:
            if self.must_exist:
                self._check_tables(remote, patterns)
            yield remote

    def _check_tables(self, database: Transport, patterns: Sequence[Any]) -> None:
        """Exit unless the tables of the patterns exist; single tables are made by the programs that need them."""
        from hashrange import Table
        from hashrange.provision import plan

        declared = [each for each in patterns if not isinstance(each, Table)]
        steps = plan(database, *declared).steps if declared else ()
        missing = [step.table for step in steps if step.operation == "CreateTable"]
        if missing:
            raise fail(self._explain_missing(missing), NO_DATABASE)

    def _explain_missing(self, tables: Sequence[str] = ()) -> str:
        start = f"hashrange up --endpoint {self.endpoint}" if self.endpoint else "hashrange up"
        which = f"The tables {', '.join(tables)}" if tables else "The tables"
        return f"{which} are not there: {start} makes them."

    @contextmanager
    def exit_on_error(self) -> Iterator[None]:
        """Print an error of the block in one sentence, and exit with its code."""
        from hashrange import DirectoryInUse, HashrangeError, ResourceNotFoundException
        from hashrange_systems.shared.errors import ApplicationError

        try:
            yield
        except ApplicationError as error:
            raise fail(str(error), REFUSED) from error
        except DirectoryInUse as error:
            hint = "If that is hashrange up or serve, work through it: --endpoint URL, the endpoint that it printed"
            raise fail(f"{error}\n{hint}", NO_DATABASE) from error
        except ResourceNotFoundException as error:
            raise fail(self._explain_missing(), NO_DATABASE) from error
        except HashrangeError as error:
            raise fail(str(error), NO_DATABASE) from error


def fail(text: str, code: int) -> typer.Exit:
    """Print an error; return the exit."""
    typer.echo(f"error: {text}", err=True)
    return typer.Exit(code)
