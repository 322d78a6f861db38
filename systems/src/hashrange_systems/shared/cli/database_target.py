"""Which database a command uses (`--target`, `--data`), and how a command ends when that fails or is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hashrange import Transport

REFUSED, NO_DATABASE = 1, 2  # exit codes
DEFAULT_DATA = Path("data")
DATA_HELP = (
    "Data directory, created if missing (without the option ./data, which must exist); "
    "beside another --target: where the files with keys are."
)

Data = Annotated[Path | None, typer.Option("--data", envvar="HASHRANGE_DATA", help=DATA_HELP, show_envvar=False)]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "--endpoint",  # its former name
        envvar=["HASHRANGE_TARGET", "HASHRANGE_ENDPOINT"],
        help="The database: a data directory, the URL of a running process, aws, or aws:PROFILE/REGION.",
        metavar="DIRECTORY|URL|aws",
        show_envvar=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class DatabaseTarget:
    """The database that a command uses: `name` is a directory, a URL or aws; without it, the one in `data`.

    The tables of a remote database are checked if they `must_exist`; in a directory, missing ones are created.
    """

    data: Path | None = None
    name: str | None = None
    must_exist: bool = False

    @property
    def is_remote(self) -> bool:
        """Whether the database belongs to another process, or to AWS."""
        return self.name is not None and (self.name.partition(":")[0] == "aws" or "://" in self.name)

    def check(self) -> None:
        """Raise BadParameter if the options name no database: an empty one would answer as if nothing were stored."""
        if self.name is None and self.data is None and not DEFAULT_DATA.is_dir():
            raise typer.BadParameter(
                f"there is no ./{DEFAULT_DATA} here: --target names the database, --data {DEFAULT_DATA} creates one"
            )

    def find_directory(self, system: str) -> Path | None:
        """Return the directory of the system's keys and secret; for a local database it is created."""
        self.check()
        if self.name is not None and not self.is_remote:
            directory = Path(self.name) / system
        else:
            directory = (self.data or DEFAULT_DATA) / system
        if self.is_remote and self.data is None:
            return directory if directory.is_dir() else None
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    @contextmanager
    def open(self, *patterns: Any) -> Iterator[Transport]:
        """Open the database; missing tables of the patterns are created in a local one."""
        from hashrange import create_tables, open_target
        from hashrange import open as open_directory

        self.check()
        if self.name is not None and not self.is_remote and not Path(self.name).is_dir():
            raise typer.BadParameter(
                f"--target {self.name} is neither a URL, such as http://127.0.0.1:8000, nor aws, nor a directory that "
                f"exists; --data {self.name} creates it"
            )
        with ExitStack() as stack:
            try:
                opened = open_directory(self.data or DEFAULT_DATA) if self.name is None else open_target(self.name)
                database: Transport = stack.enter_context(opened)
            except ImportError as missing:
                raise fail(str(missing), NO_DATABASE) from missing
            if not self.is_remote:
                create_tables(database, *patterns)
            elif self.must_exist:
                self._check_tables(database, patterns)
            yield database

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
        start = f"hashrange up --target {self.name}" if self.is_remote else "hashrange up"
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
            hint = "If that is hashrange up or serve, work through it: --target URL, the endpoint that it printed"
            raise fail(f"{error}\n{hint}", NO_DATABASE) from error
        except ResourceNotFoundException as error:
            raise fail(self._explain_missing(), NO_DATABASE) from error
        except HashrangeError as error:
            raise fail(str(error), NO_DATABASE) from error


def find_default_url(system: str) -> str:
    """Return the URL of the pages of a system that `hashrange up` hosts, unless its options say otherwise."""
    from hashrange import Host

    return f"{Host.DEFAULT_URL}/{system}"


def fail(text: str, code: int) -> typer.Exit:
    """Print an error; return the exit."""
    typer.echo(f"error: {text}", err=True)
    return typer.Exit(code)
