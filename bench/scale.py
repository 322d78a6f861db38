"""Cost does not grow: get, put and query with millions of items against ten thousand; memory and start time then."""

import itertools
import json
import os
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from bench.contender import Contender, fresh_directory, start
from bench.embedded import clock_calls
from bench.ours import find_row, load_file, open_database, require_item
from bench.peers import Unavailable, find_wrk, provide_hashrange
from bench.report import compare_at_most, note, pair, render_table, warn
from bench.rows import ROWS, Row
from bench.settings import Settings
from bench.workload import PARTITIONS, PER_PARTITION, Json, create_table, fill, item_lines
from bench.wrk import first_count, measure

GOAL = 1.5
BLOCK = 200
SMALL = PARTITIONS * PER_PARTITION
CHOSEN = [row for row in ROWS if row.name in {"get", "put", "query"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A directory with a loaded table."""

    path: Path
    items: int

    @property
    def partitions(self) -> int:
        """How many partitions its items are spread over."""
        return self.items // PER_PARTITION


class BareRows:
    """The rows of a store, read by SQLite alone."""

    def __init__(self, path: Path) -> None:
        with closing(open_database(path)) as database:
            self._row = find_row(database)
        self._connection = apsw.Connection(str(next(path.glob("*.db"))))
        self._connection.execute(f"PRAGMA cache_size={self._row.cache_size}")
        self._execute = self._connection.cursor().execute

    def get(self, parameters: tuple[bytes, int]) -> object:
        """Reads a row."""
        return self._execute(self._row.text, parameters).get

    def draw(self, row: Row, partitions: int) -> list[tuple[bytes, int]]:
        """A block of parameters for keys anywhere in the table."""
        return [self._row.bind(request["Key"]) for request in draw_requests(row, partitions)]

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


Argument = TypeVar("Argument")
Medians = dict[str, tuple[list[float], list[float]]]
"""By row: the p50 of every round in microseconds, of the small table and of the large one."""


def run(settings: Settings) -> Json:
    """Loads both tables, measures both in process and over the wire, prints the tables, gives back the numbers."""
    print(f"\n## {settings.items:,} items against {SMALL:,}: p50 of a call in us\n")
    try:
        with loaded(SMALL) as small, loaded(settings.items) as large:
            inside = measure_inside(small, large, settings)
            bare = measure_bare(small, large, settings)
            wire, footprint = measure_wire(small, large, settings)
    except Unavailable as reason:
        warn(f"not measured, {reason}")
        return {}
    header = ["", f"{SMALL:,}", f"{settings.items:,}", "large / small", "goal"]
    lines = [*show(inside, "in process"), *show(wire, "wire, 1 connection"), *show(bare, "the limit", goal=None)]
    print(render_table(header, lines))
    print()
    print(render_table(["", *header[1:3], "aim"], footprint))
    return {"items": settings.items, "in_process_us": inside, "wire_us": wire, "bare_us": bare, "footprint": footprint}


@contextmanager
def loaded(items: int) -> Iterator[Store]:
    """A store with so many items, loaded by the bulk path; removed afterwards."""
    directory = fresh_directory(f"scale-{items}")
    try:
        file = directory / "items.json"
        with file.open("w") as output:
            output.writelines(f'{{"Item":{line}}}\n' for line in item_lines(items))
            output.flush()
            os.fsync(output.fileno())  # the load is not to wait for its input to be written
        data = directory / "data"
        with closing(open_database(data)) as database:
            database.call("CreateTable", create_table())
        began = time.perf_counter()
        load_file(file, data)
        note(f"loaded {items:,} items at {items / (time.perf_counter() - began):,.0f} items/s")
        file.unlink()
        with closing(open_database(data)) as database:
            require_item(database, items // PER_PARTITION - 1, PER_PARTITION - 1)
        yield Store(path=data, items=items)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure_inside(small: Store, large: Store, settings: Settings) -> Medians:
    """Both opened in this process, taking turns of a block."""
    medians: Medians = {row.title: ([], []) for row in CHOSEN}
    with ExitStack() as stack:
        opened = [(stack.enter_context(closing(open_database(store.path))), store) for store in (small, large)]
        for _, row in itertools.product(range(settings.rounds), CHOSEN):
            turns = [
                (bind(database.call, row.operation), partial(draw_requests, row, store.partitions))
                for database, store in opened
            ]
            take_turns(turns, settings.seconds, medians[row.title])
    return medians


def measure_bare(small: Store, large: Store, settings: Settings) -> Medians:
    """The statement of a get on both files, without anything around it."""
    row = next(row for row in CHOSEN if row.name == "get")
    medians: Medians = {"SQLite, the SELECT of a get": ([], [])}
    with ExitStack() as stack:
        asked = [(stack.enter_context(closing(BareRows(store.path))), store) for store in (small, large)]
        turns = [(bare.get, partial(bare.draw, row, store.partitions)) for bare, store in asked]
        for _, kept in itertools.product(range(settings.rounds), medians.values()):
            take_turns(turns, settings.seconds, kept)
    return medians


def take_turns(
    turns: Iterable[tuple[Callable[[Argument], object], Callable[[], list[Argument]]]],
    seconds: int,
    medians: tuple[list[float], ...],
) -> None:
    """Lets each call a block of what it draws, again and again, and adds the p50 of each to its medians."""
    taken: list[list[int]] = [[] for _ in medians]
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        for times, (call, draw) in zip(taken, turns, strict=True):
            times.extend(clock_calls(call, draw()))
    for kept, times in zip(medians, taken, strict=True):
        kept.append(statistics.median(times) / 1000)


def bind(call: Callable[[str, Json], Json], operation: str) -> Callable[[Json], Json]:
    """The call of one operation."""
    return lambda request: call(operation, request)


def draw_requests(row: Row, partitions: int) -> list[Json]:
    """A block of requests for keys anywhere in the table."""
    first = first_count()
    keys = [(random.randrange(partitions), random.randrange(PER_PARTITION)) for _ in range(BLOCK)]
    return [
        json.loads(fill(row.template, partition=partition, sort=sort, count=first + at, partitions=partitions))
        for at, (partition, sort) in enumerate(keys)
    ]


def measure_wire(small: Store, large: Store, settings: Settings) -> tuple[Medians, list[list[str]]]:
    """Both served side by side: p50 over one connection, then start time and memory."""
    wrk = find_wrk()
    contender = next(each for each in provide_hashrange() if each.durability == "disk")
    starts = [f"{measure_start(contender, store, settings.starts):.2f}" for store in (small, large)]
    medians: Medians = {row.title: ([], []) for row in CHOSEN}
    with ExitStack() as stack:
        running = [stack.enter_context(start(contender, data=store.path)) for store in (small, large)]
        for _, row in itertools.product(range(settings.rounds), CHOSEN):
            for one, store, kept in zip(running, (small, large), medians[row.title], strict=True):
                seconds, partitions = settings.seconds, store.partitions
                kept.append(measure(wrk, one, row, connections=1, seconds=seconds, partitions=partitions).p50)
        memory = [f"{one.rss_megabytes():,.0f}" for one in running]
    return medians, [["start to first answer, s", *starts, "< 0.3"], ["RSS after the run, MB", *memory, "< 100"]]


def measure_start(contender: Contender, store: Store, times: int) -> float:
    """Seconds to the first answer on that store, the median of several."""
    seconds = []
    for _ in range(times):
        with start(contender, data=store.path) as running:
            seconds.append(running.start_seconds)
    return statistics.median(seconds)


def show(medians: Medians, where: str, goal: float | None = GOAL) -> list[list[str]]:
    """Table lines: small, large, their ratio and whether it stays within the goal."""
    lines = []
    for title, (small, large) in medians.items():
        ratio = pair(large, small)
        values = [f"{statistics.median(kept):.1f}" for kept in (small, large)]
        lines.append([f"{title}, {where}", *values, str(ratio), compare_at_most(ratio, goal) if goal else ""])
    return lines
