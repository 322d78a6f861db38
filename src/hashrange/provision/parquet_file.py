"""Items as Parquet files: an attribute is a column if all its values have one simple type.

Strings, booleans and bytes have Parquet's types; numbers are int64, else decimals with all their digits, else strings
whose field has the metadata `dynamodb: N`. What fits no column is in the column `_other`, as DynamoDB's JSON. Lossless.

A Parquet file ends with an index of its contents, so that it cannot be written page by page and continued: an export
collects DynamoDB's JSON, and `write_parquet` converts that at the end.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from hashrange.client.optional_import import import_optional
from hashrange.core.errors import PlanError
from hashrange.core.numbers import MAX_DIGITS
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.engine.import_files import BadLine, read_line

OTHER = "_other"
TYPE = b"dynamodb"  # the metadata of a field that has DynamoDB's type
MAX_COLUMNS = 2_000
ROWS = 20_000  # of a row group
INT64 = range(-(2**63), 2**63)


class _Column(Struct):
    """What the values of an attribute have in common."""

    tag: str
    is_uniform: bool = True
    is_int: bool = True
    whole: int = 1  # digits before the point
    scale: int = 0  # digits after it

    def add(self, tag: str, value: Any) -> None:
        """Take a value into account."""
        self.is_uniform = self.is_uniform and tag == self.tag
        if tag != "N" or not self.is_uniform:
            return
        number = Decimal(value)
        exponent = int(number.as_tuple().exponent)
        self.scale = max(self.scale, -exponent)
        self.whole = max(self.whole, len(number.as_tuple().digits) + exponent)
        self.is_int = self.is_int and self.scale == 0 and self.whole <= MAX_DIGITS and int(number) in INT64

    @property
    def is_decimal(self) -> bool:
        """Return whether one type of decimals holds all numbers."""
        return self.whole + self.scale <= MAX_DIGITS


def write_parquet(source: Path, path: Path) -> None:
    """Write the items of a file of DynamoDB's JSON to a Parquet file."""
    arrow, parquet = _import_arrow()
    columns = _find_columns(_read_lines(source))
    schema = arrow.schema([*(_field(arrow, name, found) for name, found in columns.items()), (OTHER, arrow.string())])
    rows = (_to_row(item, columns) for item in _read_lines(source))
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(islice(rows, ROWS)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))


def read_parquet(path: Path) -> Iterator[tuple[int, Raw | str]]:
    """Yield the number of each row, from 1, and its item or what is wrong with it."""
    arrow, parquet = _import_arrow()
    number = 0
    try:
        for number, item in enumerate(_read_rows(parquet, path), 1):
            yield number, item
    except (OSError, arrow.ArrowException) as error:
        yield number + 1, f"cannot be read: {error}"


def _read_rows(parquet: Any, path: Path) -> Iterator[Raw | str]:
    with parquet.ParquetFile(path) as file:
        numeric = {field.name for field in file.schema_arrow if (field.metadata or {}).get(TYPE) == b"N"}
        for batch in file.iter_batches(ROWS):
            yield from (_read_row(row, numeric) for row in batch.to_pylist())


def _import_arrow() -> tuple[Any, Any]:
    return import_optional("pyarrow"), import_optional("pyarrow.parquet")


def _read_lines(path: Path) -> Iterator[Raw]:
    with path.open("rb") as lines:
        yield from (item for line in lines if (item := read_line(line)) is not None)


def _find_columns(items: Iterable[Raw]) -> dict[str, _Column]:
    found: dict[str, _Column] = {}
    for item in items:
        for name, value in item.items():
            [(tag, inner)] = value.items()
            column = found.get(name)
            if column is None:
                column = found[name] = _Column(tag)
            column.add(tag, inner)
    fit = {name: one for name, one in found.items() if one.is_uniform and one.tag in {"S", "N", "B", "BOOL"}}
    fit.pop(OTHER, None)
    return dict(islice(fit.items(), MAX_COLUMNS))


def _field(arrow: Any, name: str, column: _Column) -> Any:
    if column.tag != "N":
        return arrow.field(name, {"S": arrow.string(), "B": arrow.binary(), "BOOL": arrow.bool_()}[column.tag])
    if column.is_int:
        return arrow.field(name, arrow.int64())
    if column.is_decimal:
        return arrow.field(name, arrow.decimal128(MAX_DIGITS, column.scale))
    return arrow.field(name, arrow.string(), metadata={TYPE: b"N"})


def _to_row(item: Raw, columns: dict[str, _Column]) -> dict[str, Any]:
    row = {name: _to_cell(value, columns[name]) for name, value in item.items() if name in columns}
    rest = {name: value for name, value in item.items() if name not in columns}
    return {**row, OTHER: orjson.dumps(rest).decode()} if rest else row


def _to_cell(value: Value, column: _Column) -> Any:
    [(tag, inner)] = value.items()
    if tag == "B":
        return base64.b64decode(inner)
    if tag != "N":
        return inner
    if column.is_int:
        return int(Decimal(inner))
    return Decimal(inner) if column.is_decimal else inner


def _read_row(row: dict[str, Any], numeric: set[str]) -> Raw | str:
    try:
        other = row.pop(OTHER, None)
        item = {
            name: {"N": cell} if name in numeric else _from_cell(cell) for name, cell in row.items() if cell is not None
        }
        return {**item, **(read_line(other.encode()) or {})} if other else item
    except (BadLine, PlanError) as error:
        return str(error)


def _from_cell(cell: Any) -> Value:
    """Return a value of Parquet as one of DynamoDB; also of files that another program wrote."""
    if isinstance(cell, bool):
        return {"BOOL": cell}
    if isinstance(cell, int | float | Decimal):
        return {"N": _format_number(cell)}
    if isinstance(cell, str):
        return {"S": cell}
    if isinstance(cell, bytes):
        return {"B": base64.b64encode(cell).decode()}
    if isinstance(cell, datetime | date):
        return {"S": cell.isoformat()}
    if isinstance(cell, list):
        return {"L": [{"NULL": True} if one is None else _from_cell(one) for one in cell]}
    if isinstance(cell, dict):
        return {"M": {str(name): _from_cell(one) for name, one in cell.items() if one is not None}}
    raise PlanError(f"has a value of the type {type(cell).__name__}, which DynamoDB does not have")


def _format_number(number: float | Decimal) -> str:
    if isinstance(number, int):
        return str(number)
    text = format(number if isinstance(number, Decimal) else Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") or "0" if "." in text else text
