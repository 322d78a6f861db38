"""Over the wire: the rows against every peer of the same durability class, started and measured side by side."""

import statistics
import time
from contextlib import ExitStack
from dataclasses import asdict
from itertools import product

from bench.client import Client, Refused, fill_flat_table, fill_table
from bench.contender import Contender, DidNotStart, Running, start
from bench.peers import find_contenders, find_wrk
from bench.report import note, warn
from bench.rows import PROBE, ROWS, Row, WrongResponse
from bench.settings import Settings
from bench.wire_report import Cell, Samples, print_footprint, print_latencies, print_rates
from bench.workload import KEY, TABLE, Json, dump, fill
from bench.wrk import NotClean, Sample, measure

PAUSE = 0.2  # lets a contender finish what the last row left behind before the next one is measured


def run(settings: Settings) -> Json:
    """Measures every durability class asked for and prints its tables; gives back everything as JSON."""
    wrk = find_wrk()
    contenders, missing = find_contenders(settings.peers)
    for sentence in missing:
        print(f"not measured, {sentence}")
    rows = [row for row in ROWS if not settings.rows or row.name in settings.rows]
    results: Json = {}
    for durability in settings.durability:
        chosen = [contender for contender in contenders if contender.durability == durability]
        results[durability] = run_class(wrk, durability, chosen, rows, settings)
    return results


def run_class(wrk: str, durability: str, contenders: list[Contender], rows: list[Row], settings: Settings) -> Json:
    """Starts all contenders of a class, loads and probes them, measures them in turn, and prints the tables."""
    print(f"\n## Wire, {durability}\n")
    starts = measure_starts(contenders, settings.starts)
    with ExitStack() as stack:
        running = [one for contender in contenders if (one := join(stack, contender)) is not None]
        probed = {row.name: [one for one in running if passes(one, row)] for row in rows}
        samples = take_samples(wrk, rows, probed, settings)
        memory = {one.name: one.rss_megabytes() for one in running}
        names = [one.name for one in running]
    for connections in settings.connections:
        print_rates(durability, connections, rows, names, samples)
    print_latencies(settings.connections, rows, names, samples)
    print_footprint(names, starts, memory)
    return {
        "versions": {contender.name: contender.version for contender in contenders},
        "samples": [
            {"connections": connections, "row": row, "contender": name, "rounds": [asdict(sample) for sample in taken]}
            for (connections, row, name), taken in samples.items()
        ],
        "start_seconds": starts,
        "rss_megabytes": memory,
    }


def measure_starts(contenders: list[Contender], times: int) -> dict[str, float]:
    """Seconds from starting the process to its first successful answer, on an empty store; the median of several."""
    seconds: dict[str, list[float]] = {}
    for contender in contenders * times:
        try:
            with start(contender) as running:
                seconds.setdefault(contender.name, []).append(running.start_seconds)
        except DidNotStart as reason:
            note(str(reason))
    return {name: statistics.median(values) for name, values in seconds.items()}


def join(stack: ExitStack, contender: Contender) -> Running | None:
    """The contender started and loaded, or None with a warning."""
    try:
        running = stack.enter_context(start(contender))
        began = time.perf_counter()
        fill_table(running.connect())
        fill_flat_table(running.connect())
        note(f"{contender.label} loaded in {time.perf_counter() - began:.1f} s")
        return running
    except (DidNotStart, Refused, OSError) as reason:
        warn(f"{contender.label} does not take part: {reason}")
        return None


def passes(running: Running, row: Row) -> bool:
    """Return whether the contender answers the row's request as DynamoDB would; warns when it does not."""
    client = running.connect()
    try:
        response = client.call(row.operation, fill(row.template, **PROBE))
        row.check(response, read_probe(client))
        return True
    except (Refused, WrongResponse, KeyError, OSError) as reason:
        warn(f"{running.contender.label} is not measured on {row.name}: {reason!r}")
        return False
    finally:
        client.close()


def read_probe(client: Client) -> Json:
    """The probed item as it is stored now."""
    request = {"TableName": TABLE, "Key": KEY, "ConsistentRead": True}
    stored: Json = client.call("GetItem", fill(dump(request), **PROBE))["Item"]
    return stored


def take_samples(wrk: str, rows: list[Row], probed: dict[str, list[Running]], settings: Settings) -> Samples:
    """Every cell once per round; contenders take turns on a row, and each round begins with another one."""
    samples: dict[Cell, list[Sample | None]] = {}
    for row in rows:  # thrown away: compilers and caches warm up
        for running in probed[row.name]:
            try_to_measure(wrk, running, row, connections=16, seconds=1)
    for turn, connections, row in product(range(settings.rounds), settings.connections, rows):
        for running in rotate(probed[row.name], turn):
            time.sleep(PAUSE)
            sample = try_to_measure(wrk, running, row, connections=connections, seconds=settings.seconds)
            samples.setdefault((connections, row.name, running.name), []).append(sample)
        note(f"{row.name} over {connections} done, round {turn + 1} of {settings.rounds}")
    return keep_clean(samples)


def keep_clean(samples: dict[Cell, list[Sample | None]]) -> Samples:
    """The cells that were measured without error in every round."""
    return {
        cell: clean
        for cell, taken in samples.items()
        if len(clean := [sample for sample in taken if sample is not None]) == len(taken)
    }


def try_to_measure(wrk: str, running: Running, row: Row, *, connections: int, seconds: int) -> Sample | None:
    """The sample, or None with a warning when some answers failed."""
    try:
        return measure(wrk, running, row, connections=connections, seconds=seconds)
    except NotClean as reason:
        warn(str(reason))
        return None


def rotate(running: list[Running], turn: int) -> list[Running]:
    """The same contenders, beginning with another one each turn."""
    first = turn % len(running) if running else 0
    return running[first:] + running[:first]
