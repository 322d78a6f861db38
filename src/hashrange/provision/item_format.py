"""File formats of items: DynamoDB JSON, plain JSON lines, CSV, Parquet.

A format encodes a page of items to bytes that can be appended to a file, and decodes a file line by line.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

import orjson
from msgspec import Struct

from hashrange.core.errors import PlanError
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.engine.import_files import BadLine, read_line
from hashrange.provision.parquet_file import read_parquet

OTHER = "_other"  # the CSV column for attributes without a column, and for values of another type than their column
MAX_CELL = 4_000_000  # characters; the csv module refuses cells of 128 KB otherwise
COLUMN_TYPES = frozenset({"S", "N", "B", "BOOL"})

Located: TypeAlias = tuple[int, "Raw | str"]  # the number of a line, and its item or what is wrong with it


class ItemFormat(Protocol):
    """How items are written to a file, and read from it."""

    name: ClassVar[str]

    def encode(self, items: Iterable[Raw], *, first: bool) -> bytes:
        """Return items as bytes; `first` at the beginning of a file."""
        ...

    def decode(self, lines: Iterable[str]) -> Iterator[Located]:
        """Yield the items of a file."""
        ...


class DynamoJson:
    """One item per line in DynamoDB's JSON, as DynamoDB exports them. Lossless."""

    name: ClassVar[str] = "dynamodb"

    def encode(self, items: Iterable[Raw], *, first: bool) -> bytes:
        """Return items as lines."""
        del first
        return b"".join(orjson.dumps({"Item": item}, option=orjson.OPT_APPEND_NEWLINE) for item in items)

    def decode(self, lines: Iterable[str]) -> Iterator[Located]:
        """Yield the item of each line."""
        return _decode_lines(lines, lambda line: read_line(line.encode()))


class PlainJson:
    """One item per line in plain JSON: sets become lists and binary values base64 strings, numbers keep all digits."""

    name: ClassVar[str] = "json"

    def encode(self, items: Iterable[Raw], *, first: bool) -> bytes:
        """Return items as lines."""
        del first
        plain = ({name: _to_plain(value) for name, value in item.items()} for item in items)
        return b"".join(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE) for item in plain)

    def decode(self, lines: Iterable[str]) -> Iterator[Located]:
        """Yield the item of each line."""
        return _decode_lines(lines, _read_plain)


class Csv(Struct):
    """One item per row. The header has the type of each column, `price:N`, so that nothing is lost."""

    name: ClassVar[str] = "csv"
    columns: list[tuple[str, str]] = []

    def encode(self, items: Iterable[Raw], *, first: bool) -> bytes:
        """Return items as rows, after a header at the beginning of a file."""
        page = list(items)
        if not self.columns:
            self.columns = _find_columns(page)
        text = StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if first:
            writer.writerow([*(f"{name}:{tag}" for name, tag in self.columns), OTHER])
        for item in page:
            writer.writerow(self._row(item))
        return text.getvalue().encode()

    def _row(self, item: Raw) -> list[str]:
        cells, rest = [], dict(item)
        for name, tag in self.columns:
            value = item.get(name, {}).get(tag)
            if value in {None, ""} or "\0" in str(value):  # an empty cell is an absent attribute
                cells.append("")
            else:
                cells.append(str(value).lower() if tag == "BOOL" else value)
                del rest[name]
        return [*cells, orjson.dumps(rest).decode() if rest else ""]

    def decode(self, lines: Iterable[str]) -> Iterator[Located]:
        """Yield the item of each row; a column without a type has strings."""
        csv.field_size_limit(MAX_CELL)
        rows = csv.reader(lines, strict=True)
        columns: list[tuple[str, str]] = []
        while True:
            try:
                row = next(rows)
                if not columns:
                    columns = [_read_column(cell) for cell in row]
                elif row:
                    yield rows.line_num, _read_row(columns, row)
            except StopIteration:
                return
            except (csv.Error, BadLine) as error:
                yield rows.line_num, str(error)
                if not columns:
                    return


class Parquet(DynamoJson):
    """A Parquet file, which `provision.parquet_file` makes of DynamoDB's JSON when an export is complete."""

    name: ClassVar[str] = "parquet"


FORMATS: dict[str, Callable[[], ItemFormat]] = {
    "dynamodb": DynamoJson,
    "json": PlainJson,
    "csv": Csv,
    "parquet": Parquet,
}
SUFFIXES = {".json": "dynamodb", ".jsonl": "dynamodb", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}


def choose_format(path: Path, name: str | None = None) -> ItemFormat:
    """Return the format of a name, else that of the file's suffix."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    chosen = name or SUFFIXES.get(suffix)
    if chosen not in FORMATS:
        known = ", ".join(FORMATS)
        raise PlanError(
            f"In which format is {path.name}? Name it .jsonl, .ndjson, .csv or .parquet, or give one of {known}."
        )
    if chosen == Parquet.name and path.suffix == ".gz":
        raise PlanError(f"{path.name}: Parquet files are compressed already. Name it {path.stem}.")
    return FORMATS[chosen]()


def read_file(path: Path, name: str | None = None) -> Iterator[Located]:
    """Yield the items of a file, gzipped or not; what cannot be read further ends with what is wrong."""
    found, number = choose_format(path, name), 0
    if isinstance(found, Parquet):
        yield from read_parquet(path)
        return
    open_text = gzip.open if path.suffix == ".gz" else open
    try:
        with open_text(path, "rt", encoding="utf-8", newline="") as lines:
            for number, item in found.decode(lines):
                yield number, item
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        yield number + 1, f"cannot be read: {error}"


def _decode_lines(lines: Iterable[str], read: Callable[[str], Raw | None]) -> Iterator[Located]:
    for number, line in enumerate(lines, 1):
        try:
            item = read(line)
        except BadLine as error:
            yield number, str(error)
        else:
            if item is not None:
                yield number, item


class _Digits(str):
    """A number of a JSON text, with all its digits."""

    __slots__ = ()


def _read_plain(line: str) -> Raw | None:
    if not line.strip():
        return None
    try:
        found = json.loads(line, parse_int=_Digits, parse_float=_Digits, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadLine("not an item: expected a JSON object")
    return {name: _from_plain(value) for name, value in found.items()}


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number of DynamoDB")


def _from_plain(value: Any) -> Value:
    if isinstance(value, _Digits):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if value is None:
        return {"NULL": True}
    if isinstance(value, list):
        return {"L": [_from_plain(one) for one in value]}
    return {"M": {name: _from_plain(one) for name, one in value.items()}}


def _to_plain(value: Value) -> Any:
    [(tag, inner)] = value.items()
    if tag == "N":
        return orjson.Fragment(inner)
    if tag == "NS":
        return [orjson.Fragment(one) for one in inner]
    if tag == "L":
        return [_to_plain(one) for one in inner]
    if tag == "M":
        return {name: _to_plain(one) for name, one in inner.items()}
    return None if tag == "NULL" else inner


def _find_columns(page: Sequence[Raw]) -> list[tuple[str, str]]:
    """Return a column for each attribute of a page that has a simple type, with the type that it has first."""
    found: dict[str, str] = {}
    for item in page:
        for name, value in item.items():
            tag = next(iter(value))
            if tag in COLUMN_TYPES and ":" not in name and name != OTHER:
                found.setdefault(name, tag)
    return list(found.items())


def _read_column(cell: str) -> tuple[str, str]:
    name, _, tag = cell.rpartition(":") if ":" in cell else (cell, "", "S")
    if tag not in COLUMN_TYPES:
        raise BadLine(f"the column {cell} has an unknown type: there are {', '.join(sorted(COLUMN_TYPES))}")
    return name, tag


def _read_row(columns: Sequence[tuple[str, str]], row: Sequence[str]) -> Raw:
    if len(row) != len(columns):
        raise BadLine(f"has {len(row)} cells, and the header {len(columns)}")
    item: Raw = {}
    for (name, tag), cell in zip(columns, row, strict=True):
        if name == OTHER and cell:
            item.update(read_line(cell.encode()) or {})
        elif cell and tag == "BOOL":
            item[name] = {"BOOL": _read_boolean(cell)}
        elif cell:
            item[name] = {tag: cell}
    return item


def _read_boolean(cell: str) -> bool:
    if cell.lower() not in {"true", "false"}:
        raise BadLine(f"{cell!r} is neither true nor false")
    return cell.lower() == "true"
