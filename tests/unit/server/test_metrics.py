"""The page for Prometheus."""

from pathlib import Path

from hashrange.server.metrics import Metrics

DOCS = Path(__file__).parents[3] / "docs" / "howto" / "serve.md"


def render(metrics):
    return metrics.render().decode().splitlines()


def test_requests_are_counted_by_operation_and_status():
    metrics = Metrics(["GetItem", "PutItem"])
    for status in (200, 200, 400):
        metrics.meters["GetItem"].count(status, 0.0)
    lines = render(metrics)
    assert 'hashrange_requests_total{operation="GetItem",status="200"} 2' in lines
    assert 'hashrange_requests_total{operation="GetItem",status="400"} 1' in lines
    assert not [line for line in lines if "PutItem" in line]


def test_latencies_are_a_cumulative_histogram():
    metrics = Metrics(["GetItem"])
    for seconds in (0.0001, 0.0004, 9.0):
        metrics.meters["GetItem"].count(200, seconds)
    lines = render(metrics)
    assert 'hashrange_request_seconds_bucket{operation="GetItem",le="0.0001"} 1' in lines
    assert 'hashrange_request_seconds_bucket{operation="GetItem",le="0.00025"} 1' in lines
    assert 'hashrange_request_seconds_bucket{operation="GetItem",le="0.0005"} 2' in lines
    assert 'hashrange_request_seconds_bucket{operation="GetItem",le="+Inf"} 3' in lines
    assert 'hashrange_request_seconds_sum{operation="GetItem"} 9.000500' in lines
    assert 'hashrange_request_seconds_count{operation="GetItem"} 3' in lines


def test_every_metric_is_described():
    lines = render(Metrics([]))
    described = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    named = {line.split()[0] for line in lines if not line.startswith("#")}
    assert named <= described
    assert "hashrange_open_connections" in named


def test_every_metric_is_documented():
    described = {line.split()[2] for line in render(Metrics([])) if line.startswith("# TYPE")}
    explained = DOCS.read_text("utf-8")
    assert [name for name in sorted(described) if f"`{name}`" not in explained and f"`{name}{{" not in explained] == []
