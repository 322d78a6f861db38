"""Latency on disk under sustained writes with streams on: p50, p99, p99.9 and max, paced and at full speed."""

import statistics
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from bench.client import Refused, fill_table
from bench.contender import Contender, DidNotStart, Running, start
from bench.nothing import NAME, make_nothing
from bench.pace import pace
from bench.peers import find_contenders, find_wrk
from bench.report import note, pair, render_table, warn
from bench.rows import ROWS
from bench.settings import OURS, Settings
from bench.workload import TABLE, Json
from bench.wrk import NotClean, measure

KEPT = 0.9  # of the rate asked for
LONGER = 5  # tails need more samples than medians
PUT, GET = (next(row for row in ROWS if row.name == name) for name in ("put", "get"))
MIX = [PUT, PUT, PUT, PUT, GET]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """A distribution of latencies in microseconds, and the rate at which it was seen."""

    rate: float
    p50: float
    p99: float
    p999: float
    max: float


Tails = dict[str, list[Tail]]


def run(settings: Settings) -> Json:
    """Measures every contender that has streams on disk, prints the tables, gives back every round."""
    print("\n## Latency on disk under sustained writes, streams on (NEW_AND_OLD_IMAGES)")
    wrk = find_wrk()
    contenders, missing = find_contenders(settings.peers)
    for sentence in missing:
        warn(f"not measured, {sentence}")
    measured: dict[str, Tails] = {"full": {}, "put": {}, "get": {}}
    with ExitStack() as stack:
        running = [one for each in contenders if each.durability == "disk" and (one := join(stack, each))]
        running.append(stack.enter_context(start(make_nothing())))
        for _ in range(settings.rounds):
            for one in running:
                take_round(wrk, one, settings, measured)
    for row in (PUT, GET):
        expected = settings.rate * MIX.count(row) / len(MIX)
        print_tails(f"{row.title} at {expected:,.0f}/s, counted from when a request was due", measured[row.name])
        print_ratio(measured[row.name], expected)
    print_tails("PutItem at full speed, 16 connections", measured["full"])
    return {
        kind: {name: [asdict(tail) for tail in tails] for name, tails in by.items()} for kind, by in measured.items()
    }


def join(stack: ExitStack, contender: Contender) -> Running | None:
    """The contender started, with a table that has a stream; None with a warning when it cannot."""
    try:
        running = stack.enter_context(start(contender))
        client = running.connect()
        fill_table(client, streams=True)
        if "LatestStreamArn" not in client.call("DescribeTable", {"TableName": TABLE})["Table"]:
            raise Refused("it has no streams")
        return running
    except (DidNotStart, Refused, OSError) as reason:
        warn(f"{contender.label} does not take part: {reason}")
        return None


def take_round(wrk: str, running: Running, settings: Settings, measured: dict[str, Tails]) -> None:
    """One round of both kinds for one contender."""
    seconds = settings.seconds * LONGER
    try:
        paced = pace(running.port, MIX, rate=settings.rate, seconds=seconds)
        for name, latencies in paced.latencies.items():
            measured[name].setdefault(running.name, []).append(summarize(latencies, len(latencies) / paced.seconds))
        full = measure(wrk, running, PUT, connections=16, seconds=seconds)
        tail = Tail(rate=full.rate, p50=full.p50, p99=full.p99, p999=full.p999, max=full.max)
        measured["full"].setdefault(running.name, []).append(tail)
        note(f"{running.name}: a round done")
    except NotClean as reason:
        warn(f"{running.contender.label}: a round is missing: {reason}")


def summarize(latencies: list[float], rate: float) -> Tail:
    """The distribution of some latencies."""
    ordered = sorted(latencies)
    p50, p99, p999 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.99, 0.999))
    return Tail(rate=rate, p50=p50, p99=p99, p999=p999, max=ordered[-1])


def print_tails(title: str, tails: Tails) -> None:
    """One line per contender, in ms, medians of the rounds."""
    print(f"\n### {title}: ms\n")
    lines = []
    for name, rounds in tails.items():
        middle = {field: statistics.median(getattr(tail, field) for tail in rounds) for field in Tail.__slots__}
        shown = [f"{middle[field] / 1000:.2f}" for field in ("p50", "p99", "p999", "max")]
        lines.append([name, f"{middle['rate']:,.0f}", *shown, f"{middle['p99'] / middle['p50']:.1f}x"])
    print(render_table(["", "requests/s", "p50", "p99", "p99.9", "max", "p99 / p50"], lines))


def print_ratio(tails: Tails, expected: float) -> None:
    """Our p99 against the lowest of the peers that kept the pace, round by round."""
    kept = {
        name: [tail.p99 for tail in rounds]
        for name, rounds in tails.items()
        if min(tail.rate for tail in rounds) > expected * KEPT
    }
    for name in sorted(tails.keys() - kept.keys()):
        print(f"\n{name} cannot keep this pace: its latency grows with the length of the run")
    kept.pop(NAME, None)
    ours = kept.pop(OURS, [])
    whole = {name: values for name, values in kept.items() if len(values) == len(ours)}
    if whole:
        best = min(whole, key=lambda name: statistics.median(whole[name]))
        print(f"\np99, ours / {best}: {pair(ours, whole[best])} (lower is better)")
