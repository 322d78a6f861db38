"""Separate databases for each access key and region, chosen by the credential that a request is signed with.

On disk, the database of a key and region is the directory DIR/databases/KEY/REGION, made with its first table: anybody
can invent access keys. Until then an empty database in memory answers. When too many are open, one that can be opened
again without loss is closed: an empty one, or one on disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from hashrange.core.errors import InvalidSignatureException, LimitExceededException
from hashrange.core.wire import Wire
from hashrange.engine.data_directory import DATABASES
from hashrange.engine.engine import Engine
from hashrange.engine.operation import Operation
from hashrange.server.authentication import is_complete, is_signed, parse_signature
from hashrange.server.http_request import HttpRequest

REGION = re.compile(r"[a-z0-9_-]{1,64}")
MAX_KEY = 128  # characters of an access key, as on AWS
MAX_DIRECTORY_NAME = 255  # bytes
MAX_DATABASES = 100  # that are open
MAX_DIRECTORIES = 1000
MAX_REMEMBERED = 1024  # beginnings of Authorization headers
TOO_MANY = (
    "This server has {} databases with tables, one for each access key and region that was used. To have one for all "
    "of them, start it with --shared"
)
TOO_MANY_DIRECTORIES = (
    "There are {} databases in {}, one for each access key and region that a table was created with. Remove those that "
    "are not needed or, to have one database for all, start the server with --shared and another directory"
)
KEY_TOO_LONG = (
    f"The access key in Credential is too long: at most {MAX_KEY} letters and digits; "
    "any other character counts as three or more"
)

OpenEngine = Callable[[Path | None, str], Engine]  # takes a directory, None for memory, and a region


class SeparateDatabases:
    """The engines of one server."""

    def __init__(self, open_engine: OpenEngine, data: Path | None, key: str, region: str) -> None:
        self._open = open_engine
        self._data = data
        self._default = key, region  # of requests without a credential
        self._engines: dict[tuple[str, str], Engine] = {}
        self._found: dict[bytes, Engine] = {}
        self.endpoint: str | None = None
        self.main = self._open_at(self._locate(key, region), key, region)

    @property
    def engines(self) -> list[Engine]:
        """The engines that are open."""
        return list(self._engines.values())

    def find(self, request: HttpRequest, operation: Operation, wire: Wire) -> Engine:
        """Return the engine of a request's access key and region; open it if necessary.

        Raise what the operation would raise if that is known without making a directory.
        """
        head = request.head
        engine = self._found.get(head.authorization)
        if engine is not None:
            return engine
        key, region = self._read_credential(request)
        engine = self._find(key, region)
        if self._lacks_directory(engine) and operation.writes == "tables":
            engine = self._make_directory(engine, operation, wire, key, region)
        if is_complete(head.authorization) and not self._lacks_directory(engine):
            if len(self._found) >= MAX_REMEMBERED:
                self._found.clear()
            self._found[head.authorization] = engine
        return engine

    def close(self) -> None:
        """Close all of them."""
        for engine in self._engines.values():
            engine.close()

    def _read_credential(self, request: HttpRequest) -> tuple[str, str]:
        """Return the access key and the region that the request is signed with."""
        elements = parse_signature(request)["Credential"].split("/") if is_signed(request) else []
        if len(elements) < 3 or not elements[0] or not elements[2]:
            return self._default
        key, _, region, *_ = elements
        if len(key) > MAX_KEY or len(name_directory(key)) > MAX_DIRECTORY_NAME:
            raise InvalidSignatureException(KEY_TOO_LONG)
        if not REGION.fullmatch(region.lower()):
            raise InvalidSignatureException(f"Credential should be scoped to a valid region, not '{region[:MAX_KEY]}'.")
        return key, region.lower()

    def _find(self, key: str, region: str) -> Engine:
        engine = self._engines.get((key, region))
        if engine is None:
            if len(self._engines) >= MAX_DATABASES:
                self._close_one()
            directory = self._locate(key, region)
            is_there = directory is not None and directory.exists()
            engine = self._open_at(directory if is_there else None, key, region)
        return engine

    def _locate(self, key: str, region: str) -> Path | None:
        return None if self._data is None else locate_database(self._data, key, region)

    def _open_at(self, directory: Path | None, key: str, region: str) -> Engine:
        engine = self._engines[key, region] = self._open(directory, region)
        engine.endpoint = self.endpoint
        return engine

    def _lacks_directory(self, engine: Engine) -> bool:
        """Return whether a database is in memory only until it gets a table."""
        return self._data is not None and engine.store.in_memory

    def _make_directory(self, empty: Engine, operation: Operation, wire: Wire, key: str, region: str) -> Engine:
        """Open a database on disk in place of an empty one, unless the operation fails without writing anything."""
        if empty.is_busy:  # another request of the same tick has taken it
            empty.dry_run(operation, wire)
        else:
            empty.run_in_group(empty.dry_run, operation, wire)
        assert self._data is not None
        if sum(1 for _ in self._data.glob(f"{DATABASES}/*/*")) >= MAX_DIRECTORIES:
            raise LimitExceededException(TOO_MANY_DIRECTORIES.format(MAX_DIRECTORIES, self._data))
        return self._open_at(self._locate(key, region), key, region)

    def _close_one(self) -> None:
        """Close a database that the next request for it opens again; raise if there is none."""
        others = {name: engine for name, engine in self._engines.items() if not (engine is self.main or engine.is_busy)}
        empty = (name for name, engine in others.items() if engine.is_empty)
        on_disk = (name for name, engine in others.items() if not engine.store.in_memory)
        chosen = next(chain(empty, on_disk), None)
        if chosen is None:
            raise LimitExceededException(TOO_MANY.format(MAX_DATABASES))
        closed = self._engines.pop(chosen)
        self._found = {header: engine for header, engine in self._found.items() if engine is not closed}
        closed.close()


def locate_database(data: Path, key: str, region: str) -> Path:
    """Return the directory of the database of an access key and a region."""
    return data / DATABASES / name_directory(key) / region


def name_directory(key: str) -> str:
    """Return the name of the directory of an access key's databases."""
    return quote(key, safe="").replace(".", "%2E")
