"""Tracing: a hook that reports every call as an OpenTelemetry span; needs opentelemetry-api."""

from __future__ import annotations

import time
from typing import Any

from hashrange.session.session import Event, Hook


def trace_calls(tracer: Any = None) -> Hook:
    """Return a hook that creates a span for each call: `Shops.open(database, hooks=[trace_calls()])`."""
    spans = tracer or _find_tracer()

    def report(event: Event) -> None:
        ended = time.time_ns()
        span = spans.start_span(
            f"{event.operation} {event.table}".strip(),
            start_time=ended - int(event.seconds * 1_000_000_000),
            attributes={
                "db.system.name": "aws.dynamodb",
                "db.operation.name": event.operation,
                "db.collection.name": event.table,
                "hashrange.pattern": event.pattern,
            },
        )
        if event.error is not None:
            span.set_attribute("error.type", type(event.error).__name__)
        span.end(end_time=ended)

    return report


def _find_tracer() -> Any:
    try:
        from opentelemetry import trace
    except ModuleNotFoundError as missing:
        raise ImportError("opentelemetry is not installed: pip install opentelemetry-api") from missing
    return trace.get_tracer("hashrange")
