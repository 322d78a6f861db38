"""The tables of the wire benchmark."""

import statistics
from collections.abc import Sequence

from bench.report import Ratio, compare_at_least, pair, render_table
from bench.rows import Row
from bench.settings import OURS
from bench.wrk import Sample

GOALS = {16: 3.0, 1: 2.0}

Cell = tuple[int, str, str]  # connections, row, contender
Samples = dict[Cell, list[Sample]]


def print_rates(durability: str, connections: int, rows: Sequence[Row], names: Sequence[str], samples: Samples) -> None:
    """Requests per second of every contender, and ours against the fastest peer."""
    print(f"\n### {durability}, {connections} connection{'s' * (connections > 1)}: requests/s, median of the rounds\n")
    lines = []
    for row in rows:
        rates = [median(samples.get((connections, row.name, name)), "rate") for name in names]
        ratio, fastest = compare(connections, row.name, names, samples)
        goal = compare_at_least(ratio, GOALS[connections]) if ratio and connections in GOALS else ""
        lines.append([row.title, *(show(rate) for rate in rates), str(ratio or "-"), fastest, goal])
    print(render_table(["", *names, "ours / fastest peer", "fastest peer", "goal"], lines))


def compare(connections: int, row: str, names: Sequence[str], samples: Samples) -> tuple[Ratio | None, str]:
    """Our rate divided by the fastest peer's, round by round, and that peer's name."""
    rates = {
        name: [sample.rate for sample in samples[connections, row, name]]
        for name in names
        if (connections, row, name) in samples
    }
    ours = rates.pop(OURS, None)
    if not rates:
        return None, "-"
    fastest = max(rates, key=lambda name: statistics.median(rates[name]))
    return (pair(ours, rates[fastest]) if ours else None), fastest


def print_latencies(connections: Sequence[int], rows: Sequence[Row], names: Sequence[str], samples: Samples) -> None:
    """p50 and p99 of every contender, and its processor time per request."""
    print("\n### Latency p50 / p99 in ms, and processor time of the contender per request in us\n")
    lines = []
    for row in rows:
        for count in connections:
            cells = [samples.get((count, row.name, name)) for name in names]
            lines.append([f"{row.title}, {count}", *(show_latency(cell) for cell in cells)])
    print(render_table(["", *names], lines))


def show_latency(cell: list[Sample] | None) -> str:
    """One cell of the latency table."""
    if not cell:
        return "-"
    p50, p99, cpu = (median(cell, name) or 0.0 for name in ("p50", "p99", "cpu"))
    return f"{p50 / 1000:.2f} / {p99 / 1000:.2f}, {cpu:.0f} us"


def print_footprint(names: Sequence[str], starts: dict[str, float], memory: dict[str, float]) -> None:
    """Start time and memory of every contender."""
    print()
    lines = [
        ["start to first answer, s", *(f"{starts[name]:.2f}" if name in starts else "-" for name in names)],
        ["RSS after the run, MB", *(f"{memory[name]:,.0f}" for name in names)],
    ]
    print(render_table(["", *names], lines))


def median(cell: list[Sample] | None, field: str) -> float | None:
    """The median over the rounds of one measure, None where nothing was measured."""
    return statistics.median(getattr(sample, field) for sample in cell) if cell else None


def show(rate: float | None) -> str:
    """A rate for a table."""
    return "-" if rate is None else f"{rate:,.0f}"
