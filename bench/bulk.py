"""The bulk load: items per second of `hashrange load` against a bare SQLite insert of the same rows in the same run.

`hashrange data import` of the same items is measured too, in three formats, and what parsing their lines alone takes.
"""

import itertools
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import orjson

from bench.bare import ROWS_PER_COMMIT, Bare, BulkRow, to_row
from bench.contender import fresh_directory
from bench.ours import export_file, import_file, load_file, open_database, require_item
from bench.peers import Unavailable, find_dynoxide, run_quietly
from bench.report import note, pair, render_table, warn
from bench.settings import OURS, Settings
from bench.workload import PER_PARTITION, Json, create_table, item_lines

Load = Callable[[Path], None]
"""Loads everything into an empty directory."""


def run(settings: Settings) -> Json:
    """Loads the same items in turns, prints items per second and ratios, gives back the rates."""
    print(f"\n## Bulk load of {settings.bulk_items:,} items, one index: items/s\n")
    directory = fresh_directory("bulk-source")
    try:
        file = write_export(directory, settings.bulk_items)
        rates, efforts = measure_rates(find_loads(file, settings), settings)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    ours = rates.get(OURS)
    lines = [
        [
            name,
            f"{statistics.median(values):,.0f}",
            str(pair(ours, values)) if ours else "-",
            f"{statistics.median(efforts[name]):,.0f}",
        ]
        for name, values in rates.items()
    ]
    print(render_table(["", "items/s", "ours / this", "items per CPU second"], lines))
    return {"items": settings.bulk_items, "items_per_second": rates, "items_per_cpu_second": efforts}


def write_export(directory: Path, items: int) -> Path:
    """A file as DynamoDB exports it, one item a line, where the peers look for it too."""
    file = directory / "bench" / "data" / "items.json"
    file.parent.mkdir(parents=True)
    with file.open("w") as output:
        output.writelines(f'{{"Item":{line}}}\n' for line in item_lines(items))
    return file


def find_loads(file: Path, settings: Settings) -> dict[str, Load]:
    """Ours, the limit, and the peer that has a bulk load."""
    rows = [to_row(line) for line in item_lines(settings.bulk_items)]
    loads: dict[str, Load] = {
        OURS: partial(load_ours, file),
        "bare SQLite": partial(load_bare, rows),
        "orjson, parsing alone": partial(parse_lines, file),
    }
    for each in (file, *write_other_formats(file)):
        loads[f"data import {each.suffix}"] = partial(import_ours, each)
    if not settings.peers or "dynoxide" in settings.peers:
        try:
            loads["dynoxide import"] = partial(load_dynoxide, find_dynoxide(), file)
        except Unavailable as reason:
            warn(f"not measured, dynoxide: {reason}")
    return loads


def write_other_formats(file: Path) -> list[Path]:
    """The same items as plain JSON and as CSV."""
    data = fresh_directory("bulk")
    try:
        load_ours(file, data)
        others = [file.with_suffix(suffix) for suffix in (".ndjson", ".csv")]
        for other in others:
            export_file(data, other)
    finally:
        shutil.rmtree(data, ignore_errors=True)
    return others


def measure_rates(loads: dict[str, Load], settings: Settings) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Items per second and per CPU second of each in every round; whoever fails is left out."""
    rates: dict[str, list[float]] = {name: [] for name in loads}
    efforts: dict[str, list[float]] = {name: [] for name in loads}
    for _, name in itertools.product(range(settings.rounds), loads):
        if name not in rates:
            continue
        data = fresh_directory("bulk")
        try:
            began, worked = time.perf_counter(), cpu_seconds()
            loads[name](data)
            rates[name].append(settings.bulk_items / (time.perf_counter() - began))
            efforts[name].append(settings.bulk_items / (cpu_seconds() - worked))
            if name == OURS or name.startswith("data import"):
                check_load(data, settings.bulk_items)
            note(f"{name}: {rates[name][-1]:,.0f} items/s")
        except Unavailable as reason:
            warn(f"not measured, {name}: {reason}")
            del rates[name]
        finally:
            shutil.rmtree(data, ignore_errors=True)
    return rates, efforts


def cpu_seconds() -> float:
    """Processor time of this process and of those that it has waited for: hardly changed by what else runs."""
    return sum(os.times()[:4])


def load_ours(file: Path, data: Path) -> None:
    """Creates the table and runs our loader, its start included."""
    with closing(open_database(data)) as database:
        database.call("CreateTable", create_table())
    load_file(file, data)


def import_ours(file: Path, data: Path) -> None:
    """Creates the table and imports a file, the start of the command included."""
    with closing(open_database(data)) as database:
        database.call("CreateTable", create_table())
    import_file(file, data)


def check_load(data: Path, items: int) -> None:
    """Raises when the last item of the file is not in the table."""
    with closing(open_database(data)) as database:
        require_item(database, items // PER_PARTITION - 1, PER_PARTITION - 1)


def parse_lines(file: Path, _data: Path) -> None:
    """Parses every line and keeps nothing: what no import of this file in Python can do without."""
    with file.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def load_bare(rows: list[BulkRow], data: Path) -> None:
    """Inserts rows that are already encoded, in large transactions."""
    bare = Bare(data, index=True)
    for at in range(0, len(rows), ROWS_PER_COMMIT):
        bare.insert(rows[at : at + ROWS_PER_COMMIT])
    bare.close()


def load_dynoxide(program: Path, file: Path, data: Path) -> None:
    """Runs the importer of dynoxide on the same file."""
    schema = data / "schema.json"
    schema.write_text(json.dumps({"Table": create_table()}))
    source = file.parents[2]
    run_quietly(
        str(program), "import", "--source", str(source), "--schema", str(schema), "--output", f"{data}/bench.db"
    )
