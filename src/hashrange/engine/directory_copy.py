"""Copies a data directory while it is in use."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from hashrange.core.errors import CorruptFile, StorageError
from hashrange.engine import sql
from hashrange.engine.data_directory import MAIN_FILE, find_databases, translate_os
from hashrange.engine.log_end import describe_lost_database, write_empty_record
from hashrange.engine.sqlite_file import CHECKSUM_BYTES, PARTIAL, has_checksums, open_file, translated
from hashrange.engine.store import BACKUPS, FORMAT


def copy_directory(source: Path, target: Path) -> None:
    """Copy all databases of a data directory, with checksums; another process may be using it."""
    databases = find_databases(source)
    if target.exists() and any(target.iterdir()):
        raise StorageError(f"{target} is not empty; choose a directory that does not exist yet.")
    for database in databases:
        if (lost := describe_lost_database(database)) is not None:
            raise CorruptFile(lost)
        _copy_database(database, target / database.relative_to(source))


def _copy_database(source: Path, target: Path) -> None:
    """Copy one database as of one moment."""
    try:
        shutil.copytree(source / BACKUPS, target / BACKUPS, ignore=shutil.ignore_patterns(f"*{PARTIAL}"))
    except FileNotFoundError:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise translate_os(failure, target) from failure
    with translated(source), contextlib.closing(open_file(source / MAIN_FILE)) as connection:
        if has_checksums():
            connection.reserve_bytes("main", CHECKSUM_BYTES)
        connection.execute(sql.COPY_DATABASE, (str(target / MAIN_FILE),))
    if has_checksums():
        with translated(target), contextlib.closing(open_file(target / MAIN_FILE)) as connection:
            connection.execute(sql.set_format(FORMAT))
    try:
        write_empty_record(target)
    except OSError as failure:
        raise translate_os(failure, target) from failure
