"""Prometheus metrics: a response in the text format, and the metrics of the workers, which all systems have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.responses import Response

from hashrange_systems.shared.work.presence import Monitoring


class CollectedMetrics(Collector):
    """Metrics that were computed for one response."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        return self._metrics


def make_metrics_response(metrics: Iterable[Metric]) -> Response:
    """Return the metrics in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(CollectedMetrics(metrics))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def describe_workers(system: str, monitoring: Monitoring) -> Iterator[Metric]:
    """Yield the metrics of a system's workers: how many there are, when one was last seen, and how late they are."""
    labels = {"system": system}
    yield make_gauge("hashrange_workers", "Workers that are present.", len(monitoring.workers), labels)
    if monitoring.since is not None:
        seen = monitoring.since / 1000
        yield make_gauge("hashrange_worker_seen_timestamp_seconds", "When a worker was last seen.", seen, labels)
    late = monitoring.late_ms / 1000
    yield make_gauge("hashrange_worker_late_seconds", "By how much the background work is overdue.", late, labels)


def make_gauge(name: str, text: str, value: float, labels: dict[str, str] | None = None) -> GaugeMetricFamily:
    """Return a gauge with one value."""
    chosen = labels or {}
    gauge = GaugeMetricFamily(name, text, labels=list(chosen))
    gauge.add_metric(list(chosen.values()), value)
    return gauge
