"""Items from files: JSON lines of wire items, or of `{"Item": ...}` as DynamoDB exports them, plain or gzipped.

Files are read in chunks of whole lines; `engine.bulk_load` turns the items into rows.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from hashrange.core.errors import HashrangeError
from hashrange.core.values import Item

PATTERNS = ("*.json", "*.jsonl", "*.json.gz", "*.jsonl.gz")
CHUNK_BYTES = 4_000_000  # with 8 MB the allocator returns memory after each chunk: a sixth more time


class BadLine(HashrangeError):
    """A line that holds no item; says which one and why."""


@dataclass(frozen=True, slots=True)
class LineChunk:
    """Some whole lines of a file: their position in it, or, where a file can be read only once, their text."""

    path: Path
    start: int = 0  # in bytes
    size: int = 0
    text: bytes | None = None
    before: int = 0  # how many lines come before such a text
    problem: str = ""  # why there are no more lines

    def read(self) -> bytes:
        """Return the lines, or raise a BadLine if they cannot be read."""
        if self.problem:
            raise BadLine(self.problem)
        if self.text is not None:
            return self.text
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                return file.read(self.size)
        except OSError as error:
            raise BadLine(f"cannot be read: {error}") from None

    def locate(self, number: int) -> str:
        """Return where a line of the chunk is, in words; they are numbered from 1."""
        before = self.before if self.text is not None or self.problem else count_lines(self.path, self.start)
        return f"{self.path}, line {before + number}"


def count_lines(path: Path, end: int) -> int:
    """Return how many lines of a file end before a position."""
    with path.open("rb") as file:
        return sum(file.read(min(CHUNK_BYTES, end - at)).count(b"\n") for at in range(0, end, CHUNK_BYTES))


class ImportFiles:
    """Files that are read one after the other."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = [found for path in paths for found in find_files(path)]
        self.size = sum(path.stat().st_size for path in self.paths)

    def read(self, advance: Callable[[int], None]) -> Iterator[LineChunk]:
        """Yield all chunks, and report how many bytes have been read; an unreadable file ends them with a problem."""
        done = 0
        for path in self.paths:
            for chunk, position in _find_lines(path):
                yield chunk
                if chunk.problem:
                    return
                advance(done + position)
            done += path.stat().st_size
        advance(self.size)


def _find_lines(path: Path) -> Iterator[tuple[LineChunk, int]]:
    """Yield the chunks of a file, and how far it has been read."""
    try:
        with path.open("rb") as raw:
            if path.suffix == ".gz" or not path.is_file():
                yield from _unpack(path, raw)
            else:
                yield from _cut(path, raw)
    except OSError as error:
        yield LineChunk(path, problem=f"cannot be read: {error}"), 0


def _cut(path: Path, raw: BinaryIO) -> Iterator[tuple[LineChunk, int]]:
    """Yield the positions of the lines of a file, without reading most of them."""
    start, size = 0, path.stat().st_size
    while start < size:
        raw.seek(start + CHUNK_BYTES)
        raw.readline()
        end = min(raw.tell(), size)
        yield LineChunk(path, start, end - start), end
        start = end


def _unpack(path: Path, raw: BinaryIO) -> Iterator[tuple[LineChunk, int]]:
    """Yield the lines of a compressed file, or of a pipe, which can be read only once."""
    lines = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
    before = 0
    try:
        while text := lines.read(CHUNK_BYTES) + lines.readline():
            yield LineChunk(path, text=text, before=before), raw.tell() if raw.seekable() else 0
            before += text.count(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        yield LineChunk(path, before=before, problem=f"cannot be read: {error}"), 0


def read_line(line: bytes) -> Item | None:
    """Return the item on a line; None when the line is empty."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if not line or line.isspace():
            return None
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
