"""Separate databases for each access key and region, chosen by the credential that a request is signed with.

On disk, the database of a key and region is the directory DIR/databases/KEY/REGION, made at its first request.
When too many are open, one that can be opened again without loss is closed: an empty one, or one on disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from hashrange.core.errors import InvalidSignatureException, LimitExceededException
from hashrange.engine.data_directory import DATABASES
from hashrange.engine.engine import Engine
from hashrange.server.authentication import is_complete, is_signed, parse_signature
from hashrange.server.http_request import HttpRequest

REGION = re.compile(r"[a-z0-9_-]{1,64}")
MAX_KEY = 128  # characters of an access key, as on AWS
MAX_DIRECTORY_NAME = 255  # bytes
MAX_DATABASES = 100
MAX_REMEMBERED = 1024  # beginnings of Authorization headers
TOO_MANY = (
    "This server has {} databases with tables, one for each access key and region that was used. To have one for all "
    "of them, start it with --shared"
)
KEY_TOO_LONG = (
    f"The access key in Credential is too long: at most {MAX_KEY} letters and digits; "
    "any other character counts as three or more"
)

OpenEngine = Callable[[str, str], Engine]  # takes an access key and a region


class SeparateDatabases:
    """The engines of one server."""

    def __init__(self, open_engine: OpenEngine, key: str, region: str) -> None:
        self._open = open_engine
        self._default = key, region  # of requests without a credential
        self._engines: dict[tuple[str, str], Engine] = {}
        self._found: dict[bytes, Engine] = {}
        self.endpoint: str | None = None
        self.main = self._find(key, region)

    @property
    def engines(self) -> list[Engine]:
        """The engines that are open."""
        return list(self._engines.values())

    def find(self, request: HttpRequest) -> Engine:
        """Return the engine of a request's access key and region; open it if necessary."""
        head = request.head
        engine = self._found.get(head.authorization)
        if engine is not None:
            return engine
        engine = self._find(*self._read_credential(request))
        if is_complete(head.authorization):
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
            engine = self._engines[key, region] = self._open(key, region)
            engine.endpoint = self.endpoint
        return engine

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
