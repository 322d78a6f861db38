"""The typed session: put, get and a query of a hundred, against PynamoDB on DynamoDB Local and pydynox over HTTP.

Also what declaring the five schemas costs beyond importing pydantic.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import hashrange
from bench.contender import start
from bench.peers import Unavailable, find_contenders
from bench.report import Ratio, compare_at_least, compare_at_most, render_table, warn
from bench.rows import require
from bench.settings import OURS, Settings
from bench.typed_library import COUNT, Library, Orders, use_hashrange, use_pydynox, use_pynamodb
from bench.workload import Json

CALLS = {"put": 60, "get": 60, "query of 100": 12}
EMBEDDED_GOAL = 15.0
REMOTE_GOAL = 1.0
DECLARING_GOAL_MS = 150.0
SCHEMAS = ("aura.schema", "aura.first", "shuttle.schema", "kelifax.schema", "checks.schema")


def run(settings: Settings) -> Json:
    """Measures, prints the tables, gives back the numbers."""
    results: Json = {"embedded": run_embedded(settings), "http": run_http(settings), "declaring": run_declaring()}
    return results


def run_embedded(settings: Settings) -> Json:
    """Ours in process against PynamoDB on DynamoDB Local."""
    print("\n## Typed items in process, against PynamoDB on DynamoDB Local (us per call)\n")
    with ExitStack() as open_things:
        database = open_things.enter_context(hashrange.open())
        hashrange.create_tables(database, Orders)
        peers, missing = find_contenders(("dynamodb-local",))
        local = next((peer for peer in peers if peer.name == "dynamodb-local" and peer.durability == "memory"), None)
        if local is None:
            warn(f"not measured, {'; '.join(missing)}")
            return {}
        url = f"http://127.0.0.1:{open_things.enter_context(start(local)).port}"
        hashrange.create_tables(hashrange.connect(url), Orders)
        return compete(use_hashrange(database, "hashrange"), [use_pynamodb(url)], settings, EMBEDDED_GOAL)


def run_http(settings: Settings) -> Json:
    """All of them over HTTP to the same server, ours."""
    print("\n## Typed items over HTTP, all to the same `hashrange serve --memory` (us per call)\n")
    with ExitStack() as open_things:
        ours = next(one for one in find_contenders((OURS,))[0] if one.durability == "memory")
        url = f"http://127.0.0.1:{open_things.enter_context(start(ours)).port}"
        remote = hashrange.connect(url)
        open_things.callback(remote.close)
        hashrange.create_tables(remote, Orders)
        others = [use_pynamodb(url)]
        try:
            others.insert(0, use_pydynox(url))
        except Unavailable as reason:
            warn(f"pydynox is left out: {reason}")
        return compete(use_hashrange(remote, "hashrange"), others, settings, REMOTE_GOAL)


def compete(ours: Library, others: list[Library], settings: Settings, goal: float) -> Json:
    """Lets them take turns, and prints how many times faster ours is; the goal is for the first of the others."""
    lines, results = [], Json()
    for library in (ours, *others):
        for number in range(COUNT):
            library.put(number)
    for what, calls in CALLS.items():
        times: dict[str, list[float]] = {library.name: [] for library in (ours, *others)}
        for _ in range(max(settings.rounds, 3) * 3):
            for library in (ours, *others):
                times[library.name].append(measure(library, what, calls))
        shown = [f"{statistics.median(times[library.name]):.0f}" for library in (ours, *others)]
        ratios = [faster(times[ours.name], times[other.name]) for other in others]
        lines.append([what, *shown, *map(str, ratios), compare_at_least(ratios[0], goal)])
        results[what] = times
    header = ["", *(library.name for library in (ours, *others)), *(f"vs {other.name}" for other in others), "goal"]
    print(render_table(header, lines))
    return results


def faster(ours: list[float], theirs: list[float]) -> Ratio:
    """How many times the other takes, round by round."""
    return Ratio(values=tuple(other / one for one, other in zip(ours, theirs, strict=True)))


def measure(library: Library, what: str, calls: int) -> float:
    """The mean time of a call in microseconds."""
    work: Callable[[int], object] = {
        "put": lambda at: library.put(at % COUNT),
        "get": lambda at: library.get(at % COUNT),
        "query of 100": lambda _: library.query(),
    }[what]
    require(library.query() == COUNT, f"{library.name} does not read {COUNT} items")
    work(0)
    started = time.perf_counter()
    for at in range(calls):
        work(at)
    return (time.perf_counter() - started) / calls * 1e6


def run_declaring() -> Json:
    """What importing the five schemas takes beyond importing pydantic, each time in a new process.

    All of it is compiled to bytecode before, as it is where packages are installed, whatever the environment says.
    """
    print("\n## Declaring the five schemas, beyond importing pydantic (ms)\n")
    program = (
        "import time, pydantic, pydantic.fields; from pydantic import BaseModel, TypeAdapter\n"
        "class Warm(BaseModel): a: int\n"
        "import importlib; started = time.perf_counter()\n"
        f"for name in {SCHEMAS!r}: importlib.import_module('hashrange_systems.' + name)\n"
        "print((time.perf_counter() - started) * 1000)"
    )
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        times = [_time_import(program, environment) for _ in range(8)][1:]
    share = Ratio(values=tuple(value / DECLARING_GOAL_MS for value in times))
    line = ["import", f"{statistics.median(times):.0f}", f"{min(times):.0f}", compare_at_most(share, 1.0)]
    print(render_table(["", "median", "least", f"of {DECLARING_GOAL_MS:.0f} ms"], [line]))
    return {"milliseconds": times}


def _time_import(program: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)
