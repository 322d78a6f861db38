"""The server's counters, and the page /metrics in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


class Meter:
    """The requests of one operation: how many by status, and how long they took."""

    __slots__ = ("buckets", "name", "seconds", "statuses")

    def __init__(self, name: str) -> None:
        self.name = name
        self.statuses: dict[int, int] = {}
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def count(self, status: int, seconds: float) -> None:
        """Count one response."""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class Metrics:
    """Every counter of one server; plain attributes, because the hot path adds to them."""

    def __init__(self, operations: Iterable[str]) -> None:
        self.meters = {name: Meter(name) for name in operations}
        self.other = Meter("other")  # what names no operation: health checks, preflights, refusals
        self.open_connections = 0
        self.accepted_connections = 0
        self.refused_connections = 0
        self.timeouts = 0
        self.commits = 0
        self.committed_requests = 0
        self.failed_commits = 0
        self.received_bytes = 0
        self.sent_bytes = 0

    def render(self) -> bytes:
        """Return the page."""
        lines = [*self._render_requests(), *self._render_latencies(), *self._render_totals()]
        return ("\n".join(lines) + "\n").encode()

    def _used(self) -> list[Meter]:
        return [meter for meter in (*self.meters.values(), self.other) if meter.statuses]

    def _render_requests(self) -> Iterator[str]:
        yield from _describe("hashrange_requests_total", "counter", "Requests with a response")
        for meter in self._used():
            for status, count in sorted(meter.statuses.items()):
                yield f'hashrange_requests_total{{operation="{meter.name}",status="{status}"}} {count}'

    def _render_latencies(self) -> Iterator[str]:
        name = "hashrange_request_seconds"
        yield from _describe(name, "histogram", "From a complete request to its response, commit included")
        for meter in self._used():
            label = f'operation="{meter.name}"'
            for bound, count in zip((*BOUNDS, "+Inf"), accumulate(meter.buckets), strict=True):
                yield f'{name}_bucket{{{label},le="{bound}"}} {count}'
            yield f"{name}_sum{{{label}}} {meter.seconds:.6f}"
            yield f"{name}_count{{{label}}} {sum(meter.buckets)}"

    def _render_totals(self) -> Iterator[str]:
        totals = (
            ("open_connections", "gauge", "Connections open now", self.open_connections),
            ("accepted_connections_total", "counter", "Connections accepted", self.accepted_connections),
            ("refused_connections_total", "counter", "Connections over the limit", self.refused_connections),
            ("timeouts_total", "counter", "Connections closed for being too slow", self.timeouts),
            ("commits_total", "counter", "Commits of a group of requests", self.commits),
            ("committed_requests_total", "counter", "Requests of those commits", self.committed_requests),
            ("failed_commits_total", "counter", "Commits that failed", self.failed_commits),
            ("received_bytes_total", "counter", "Bytes received", self.received_bytes),
            ("sent_bytes_total", "counter", "Bytes sent", self.sent_bytes),
        )
        for name, metric_type, text, value in totals:
            yield from _describe(f"hashrange_{name}", metric_type, text)
            yield f"hashrange_{name} {value}"


def _describe(name: str, metric_type: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}."
    yield f"# TYPE {name} {metric_type}"
