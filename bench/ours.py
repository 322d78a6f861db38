"""The only module that imports hashrange's internals: how it is opened, and how its bulk load is called."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.peers import Unavailable
from bench.rows import require
from bench.settings import PEERS_DIR
from bench.workload import KEY, TABLE, Json, dump, fill


class Database(Protocol):
    """What the benchmarks need of an open database."""

    def call(self, operation: str, request: Json) -> Json:
        """Runs one operation."""

    def close(self) -> None:
        """Lets go of the directory."""


def open_database(path: Path | None) -> Database:
    """Opens the database in a directory, or one in memory."""
    try:
        import hashrange

        database: Database = hashrange.open(str(path) if path else ":memory:")
    except (ImportError, AttributeError) as reason:
        raise Unavailable(f"hashrange cannot be opened in process: {reason}") from reason
    return database


def require_item(database: Database, partition: int, sort: int) -> Json:
    """The stored item; raises when it is not there: a benchmark of empty answers would be fast."""
    key = json.loads(fill(dump(KEY), partition=partition, sort=sort, count=0, partitions=partition + 1))
    response = database.call("GetItem", {"TableName": TABLE, "Key": key})
    require("Item" in response, f"there is no item {dump(key)}")
    item: Json = response["Item"]
    return item


@dataclass(frozen=True, slots=True)
class RowQuery:
    """The SQL of a get, how its parameters are made from a key, and the page cache it is asked with."""

    text: str
    bind: Callable[[Json], tuple[bytes, int]]
    cache_size: int


def find_row(database: Any) -> RowQuery:
    """How the engine asks for the row of a key."""
    from hashrange.core.keys import rowid_of

    table = database.engine.catalog.find(TABLE)
    (cache_size,) = database.engine.store.execute("PRAGMA cache_size").fetchone()

    def bind(request: Json) -> tuple[bytes, int]:
        key = table.key_of(request)
        return key, rowid_of(key)

    return RowQuery(table.sql.fetch, bind, cache_size)


def load_file(file: Path, data: Path) -> None:
    """Loads a DynamoDB export file into the existing table, in a process of its own."""
    run_command("load", "--data", str(data), "--table", TABLE, str(file))


def import_file(file: Path, data: Path) -> None:
    """Imports a file of any format into the existing table, in a process of its own."""
    run_command("data", "import", TABLE, str(file), "--target", str(data))


def export_file(data: Path, file: Path) -> None:
    """Exports the table into a file; its name gives the format."""
    run_command("data", "export", TABLE, str(file), "--target", str(data))


def run_command(*arguments: str) -> None:
    """Runs a command of hashrange."""
    program = Path(sys.executable).parent / "hashrange"
    log = PEERS_DIR / "logs" / f"hashrange-{arguments[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        outcome = subprocess.run([str(program), *arguments], stdout=output, stderr=subprocess.STDOUT, check=False)
    if outcome.returncode:
        raise Unavailable(f"`hashrange {arguments[0]}` failed: {log.read_text(errors='replace')[-400:].strip()}")
