"""The formats of log lines: key=value, or one JSON object per line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

OURS = "hashrange"


def configure_logging(level: str, *, as_json: bool = False, packages: Iterable[str] = ()) -> None:
    """Send the log lines of hashrange, and of other packages, to standard error, from that level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else KeyValueFormatter())
    logger = logging.getLogger(OURS)
    logger.handlers = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
    share_logging(packages)


def share_logging(packages: Iterable[str]) -> None:
    """Send the log lines of packages where those of hashrange go, from the same level on."""
    ours = logging.getLogger(OURS)
    for name in set(packages) - {OURS}:
        theirs = logging.getLogger(name)
        theirs.handlers, theirs.propagate = list(ours.handlers), ours.propagate
        theirs.setLevel(ours.level)


class KeyValueFormatter(logging.Formatter):
    """`2026-03-14T15:09:26.535Z info request operation=PutItem status=200`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = "".join(f" {name}={_quote(value)}" for name, value in _read_fields(record).items())
        line = f"{_read_time(record)} {record.levelname.lower()} {record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """`{"time": ..., "level": "info", "event": "request", "operation": "PutItem", "status": 200}`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": _read_time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_read_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def _read_fields(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "fields", {})


def _read_time(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def _quote(value: object) -> str:
    text = str(value)
    plain = text and not any(character in text for character in ' ="\n')
    return text if plain else orjson.dumps(text).decode()
