"""Verify a data directory: the checksums of its pages, its B-trees, its items with their index keys, its backups.

It opens the directory as a server does, so the log is checked too, and changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from hashrange.core.errors import CorruptFile
from hashrange.core.values import measure_item
from hashrange.engine import sql
from hashrange.engine.data_directory import MAIN_FILE
from hashrange.engine.definition import load_definition
from hashrange.engine.recovery.backup import BackupDetails, load_details
from hashrange.engine.sqlite_file import translated
from hashrange.engine.store import BACKUPS, UNCHECKED_FORMAT, SqliteError, Store
from hashrange.engine.table import Table

VerifyPhase = Literal["pages", "items", "backups"]
ReportProgress = Callable[[VerifyPhase, int, int], None]
ITEMS_PER_REPORT = 5_000
MAX_FINDINGS = 20  # per table or file


@dataclass(slots=True)
class Verification:
    """What was verified, and what is damaged."""

    pages: int = 0
    has_checksums: bool = True
    tables: int = 0
    items: int = 0
    backups: int = 0
    findings: list[str] = field(default_factory=list)


def verify_directory(directory: Path, report: ReportProgress, *, accept_loss: bool = False) -> Verification:
    """Verify everything in a directory; raise a StorageError when it cannot be opened at all."""
    result = Verification()
    try:
        store = Store(directory, accept_loss=accept_loss)
    except CorruptFile as failure:
        result.findings.append(str(failure))
        return result
    with contextlib.closing(store), translated(directory):
        if store.record_problem is not None:
            result.findings.append(store.record_problem)
        _verify_pages(store, result, report)
        with _noting(result, "The catalog of tables"):
            _verify_tables(store, result, report)
        with _noting(result, "The list of backups"):
            _verify_backups(store, result, report)
    return result


@contextlib.contextmanager
def _noting(result: Verification, what: str) -> Iterator[None]:
    """Note what cannot be read inside the block, and go on after it."""
    try:
        yield
    except (SqliteError, TypeError, ValueError, LookupError) as failure:  # of JSON, and of values of other types
        result.findings.append(f"{what} cannot be read completely: {failure}.")


def _verify_pages(store: Store, result: Verification, report: ReportProgress) -> None:
    version = store.execute(sql.READ_FORMAT).fetchone()
    result.has_checksums = version is not None and version[0] > UNCHECKED_FORMAT

    def count(done: int, total: int) -> None:
        result.pages = total
        report("pages", done, total)

    damaged = store.verify_pages(count)
    if damaged:
        result.findings.append(f"{MAIN_FILE}: {_list(damaged)} of {result.pages} pages do not match their checksums.")


def _list(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:MAX_FINDINGS]))
    return f"{len(numbers)} ({shown}{' ...' if len(numbers) > MAX_FINDINGS else ''})"


def _verify_tables(store: Store, result: Verification, report: ReportProgress) -> None:
    counted = {n: items for n, items, *_ in store.execute(sql.LOAD_COUNTS)}
    total = sum(counted.values())
    for n, name, definition in store.execute(sql.LOAD_TABLES).fetchall():
        if name is None:
            continue
        result.tables += 1
        with _noting(result, f"Table {name}"):
            problems = [text for (text,) in store.execute(sql.check_structure(n)) if text != "ok"]
            result.findings += [f"Table {name}: {text}." for text in problems[:MAX_FINDINGS]]
            found = _verify_items(store, Table(n, load_definition(definition)), result, report, total)
            if found != counted.get(n, found):
                result.findings.append(f"Table {name} has {found} items, and should have {counted[n]}.")


def _verify_items(store: Store, table: Table, result: Verification, report: ReportProgress, total: int) -> int:
    """Compare each item with its key, size and index keys; return how many there are."""
    started, wrong = result.items, 0
    for row in store.execute(sql.whole_rows(table.n, table.sql.columns)):
        problem = _find_problem(table, row)
        if problem:
            wrong += 1
            if wrong <= MAX_FINDINGS:
                result.findings.append(f"Table {table.name}, row {row[0]}: {problem}.")
        result.items += 1
        if result.items % ITEMS_PER_REPORT == 0:
            report("items", result.items, total)
    report("items", result.items, total)
    return result.items - started


def _find_problem(table: Table, row: tuple[Any, ...]) -> str | None:
    _, key, size, body, *columns = row
    try:
        item = orjson.loads(body)
    except orjson.JSONDecodeError:
        return "the item is not JSON"
    if table.key_encoder.encode(item) != key:
        return "the item does not have its key"
    if measure_item(item) != size:
        return f"the item has {measure_item(item)} bytes instead of {size}"
    stored = columns[1:] if table.ttl_attribute else columns
    for index, found in zip(table.indexes, stored, strict=True):
        if not index.backfilling and index.key_encoder.encode(item) != found:
            return f"its key in the index {index.name} is not that of the item"
    return None


def _verify_backups(store: Store, result: Verification, report: ReportProgress) -> None:
    rows = store.execute(sql.LOAD_BACKUPS).fetchall()
    for done, (arn, _name, _created, stored) in enumerate(rows, 1):
        details = load_details(stored)
        result.backups += 1
        if details.location is not None and details.location.file is not None:
            problem = _find_backup_problem(store, details.location.file, details)
            if problem:
                result.findings.append(f"Backup {arn}: {problem}.")
        report("backups", done, len(rows))


def _find_backup_problem(store: Store, file: str, details: BackupDetails) -> str | None:
    if not store.has_copy(file):
        return f"its file {BACKUPS}/{file} is missing"
    try:
        damaged, items = store.verify_copy(file)
    except CorruptFile as failure:
        return str(failure)
    if damaged:
        return f"{_list(damaged)} pages of {BACKUPS}/{file} do not match their checksums"
    return None if items == details.items else f"{BACKUPS}/{file} has {items} items, and should have {details.items}"
