"""CSV files for spreadsheets: UTF-8 with a byte order mark, and no cell that a spreadsheet evaluates as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from hashrange_systems.shared.text import clean

MAX_CELL_LENGTH = 500
FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # the start of a formula in spreadsheets


def write_csv(columns: Sequence[str], rows: Iterable[Sequence[str | int]]) -> bytes:
    """Return a CSV file; texts are cut and escaped."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([escape_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def escape_formula(text: str) -> str:
    """Return a cell that spreadsheets do not evaluate as a formula."""
    cell = clean(text, MAX_CELL_LENGTH)
    return f"'{cell}" if cell.startswith(FORMULA) else cell
