"""Items from files: JSON lines of wire items, or of `{"Item": ...}` as DynamoDB exports them, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from hashrange.core.errors import HashrangeError
from hashrange.core.values import Item

PATTERNS = ("*.json", "*.jsonl", "*.json.gz", "*.jsonl.gz")
LINES_PER_REPORT = 1000


class BadLine(HashrangeError):
    """A line that holds no item; says which one and why."""


class Lines:
    """The items of some files, one after the other; knows which line it is at."""

    def __init__(self, paths: list[Path], advance: Callable[[int], None]) -> None:
        self._paths = [found for path in paths for found in find_files(path)]
        self._advance = advance  # told how many bytes have been read
        self._path: Path | None = None
        self._number = 0
        self.size = sum(path.stat().st_size for path in self._paths)

    @property
    def where(self) -> str:
        """Return the line that was read last, in words."""
        return f"{self._path}, line {self._number}"

    def __iter__(self) -> Iterator[Item]:
        done = 0
        for path in self._paths:
            self._path, self._number = path, 0
            try:
                with path.open("rb") as raw:
                    yield from self._read_file(raw, done)
                    done += raw.tell()
            except (OSError, EOFError, zlib.error) as error:
                raise BadLine(f"cannot be read: {error}") from error
        self._advance(self.size)

    def _read_file(self, raw: BinaryIO, done: int) -> Iterator[Item]:
        lines = gzip.GzipFile(fileobj=raw) if str(self._path).endswith(".gz") else raw
        for self._number, line in enumerate(lines, 1):
            if self._number % LINES_PER_REPORT == 0:
                self._advance(done + raw.tell())
            if not line.isspace():
                yield self._read(line)

    def _read(self, line: bytes) -> Item:
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BadLine(f"not JSON: {error}") from None
        if not isinstance(found, dict):
            raise BadLine('not an item: expected {"attribute": {"S": "value"}, ...}')
        return _unwrap(found) if len(found) == 1 and "Item" in found else found


def find_files(path: Path) -> list[Path]:
    """Return the files to read: the file itself, or those in a directory (of an export: in its `data`)."""
    if not path.is_dir():
        return [path]
    root = path / "data" if (path / "data").is_dir() else path
    files = [found for pattern in PATTERNS for found in root.glob(pattern) if not found.name.startswith("manifest")]
    if not files:
        raise BadLine(f"{root} has no files to load: none is named {' or '.join(PATTERNS)}")
    return sorted(files)


def _unwrap(found: dict[str, Any]) -> Item:
    inner = found["Item"]  # the wrapped item, or an attribute of that name, which would have one type
    if isinstance(inner, dict) and (len(inner) > 1 or all(type(value) is dict for value in inner.values())):
        return inner
    return found
