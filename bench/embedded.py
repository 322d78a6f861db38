"""In process: GetItem and PutItem against the bare SQLite statements for the same bytes, in memory and on disk."""

import itertools
import json
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from bench.bare import Bare, encode_key
from bench.contender import fresh_directory
from bench.ours import Database, open_database, require_item
from bench.peers import Unavailable
from bench.report import compare_at_most, pair, render_table, warn
from bench.rows import require
from bench.settings import Settings
from bench.workload import (
    FIRST_COUNT,
    ITEM,
    PARTITIONS,
    PER_PARTITION,
    TABLE,
    Json,
    create_table,
    fill,
    initial_items,
    same_item,
)

GOALS = {"memory": 5.0, "disk": 3.0}
BLOCK = 500  # calls in a row before the other one gets its turn

Argument = TypeVar("Argument")
Medians = tuple[list[float], list[float]]
"""The p50 of every round in microseconds: ours, and the bare statement's."""

counter = itertools.count(FIRST_COUNT * 2)  # every put stores something new


def run(settings: Settings) -> Json:
    """Measures both operations in every durability class asked for, prints the table, gives back the numbers."""
    print("\n## In process: p50 of a call in us, against the bare SQLite statement for the same bytes\n")
    results: Json = {}
    lines = []
    for durability in settings.durability:
        try:
            measured = run_class(durability, settings)
        except Unavailable as reason:
            warn(f"not measured, {reason}")
            return results
        for title, (ours, bare) in measured.items():
            ratio = pair(ours, bare)
            shown = [f"{statistics.median(values):.1f}" for values in (ours, bare)]
            lines.append([f"{title}, {durability}", *shown, str(ratio), compare_at_most(ratio, GOALS[durability])])
            results[f"{title}, {durability}"] = {"ours_us": ours, "bare_us": bare}
    print(render_table(["", "hashrange", "bare SQLite", "ours / bare", "goal"], lines))
    return results


def run_class(durability: str, settings: Settings) -> dict[str, Medians]:
    """Opens both, fills both with the same items, and lets them compete."""
    directory = fresh_directory("embedded") if durability == "disk" else None
    database = open_database(directory)
    bare = Bare(directory)
    try:
        fill_both(database, bare)
        return {
            "PutItem": compete(database_put(database), lambda row: bare.put(*row), prepare_puts, settings),
            "GetItem": compete(database_get(database), bare.get, prepare_gets, settings),
        }
    finally:
        bare.close()
        database.close()
        if directory:
            shutil.rmtree(directory, ignore_errors=True)


def fill_both(database: Database, bare: Bare) -> None:
    """Gives both the same 10,000 items."""
    database.call("CreateTable", create_table(index=False))
    put = database_put(database)
    for text in initial_items():
        item = json.loads(text)
        put({"TableName": TABLE, "Item": item})
        bare.put(encode_key(item["pk"]["S"], item["sk"]["S"]), text.encode())
    require(same_item(require_item(database, PARTITIONS - 1, PER_PARTITION - 1), item), "GetItem gave another item")


def database_put(database: Database) -> Callable[[Json], object]:
    """PutItem on our side."""
    return lambda request: database.call("PutItem", request)


def database_get(database: Database) -> Callable[[Json], object]:
    """GetItem on our side."""
    return lambda request: database.call("GetItem", request)


def prepare_puts() -> tuple[list[Json], list[tuple[bytes, bytes]]]:
    """The next block of changed items: as requests, and as rows."""
    requests, rows = [], []
    for _ in range(BLOCK):
        partition, sort = random.randrange(PARTITIONS), random.randrange(PER_PARTITION)
        text = fill(ITEM, partition=partition, sort=sort, count=next(counter))
        item = json.loads(text)
        requests.append({"TableName": TABLE, "Item": item})
        rows.append((encode_key(item["pk"]["S"], item["sk"]["S"]), text.encode()))
    return requests, rows


def prepare_gets() -> tuple[list[Json], list[bytes]]:
    """The next block of keys: as requests, and as they are on disk."""
    requests, keys = [], []
    for _ in range(BLOCK):
        partition, sort = f"SHOP#{random.randrange(PARTITIONS):06d}", f"PRODUCT#{random.randrange(PER_PARTITION):04d}"
        requests.append({"TableName": TABLE, "Key": {"pk": {"S": partition}, "sk": {"S": sort}}})
        keys.append(encode_key(partition, sort))
    return requests, keys


def compete(
    ours: Callable[[Json], object],
    bare: Callable[[Argument], object],
    prepare: Callable[[], tuple[list[Json], list[Argument]]],
    settings: Settings,
) -> Medians:
    """Lets both do the same work in turns of a block, for some seconds a round."""
    medians: Medians = ([], [])
    for _ in range(settings.rounds):
        our_times: list[int] = []
        bare_times: list[int] = []
        deadline = time.perf_counter() + settings.seconds
        while time.perf_counter() < deadline:
            requests, rows = prepare()
            our_times += clock_calls(ours, requests)
            bare_times += clock_calls(bare, rows)
        medians[0].append(statistics.median(our_times) / 1000)
        medians[1].append(statistics.median(bare_times) / 1000)
    return medians


def clock_calls(function: Callable[[Argument], object], arguments: Iterable[Argument]) -> list[int]:
    """Nanoseconds of each call."""
    now = time.perf_counter_ns
    times = []
    for argument in arguments:
        began = now()
        function(argument)
        times.append(now() - began)
    return times
