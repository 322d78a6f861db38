"""Faults as text, one to a line or separated by semicolons: `throttle PutItem table=orders times=3`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hashrange.faults.injected_fault import ANY

EXAMPLE = "throttle PutItem table=orders times=3"


@dataclass(frozen=True, slots=True)
class FaultStatement:
    """A statement: one fault, taken apart."""

    text: str
    verb: str
    operation: str
    options: dict[str, Any]


def parse_statements(text: str) -> Iterator[FaultStatement]:
    """Yield the statements of a text; raise ValueError for an invalid one."""
    for line in text.splitlines():
        for statement in line.partition("#")[0].split(";"):
            if statement.strip():
                yield _read_statement(statement.strip())


def _read_statement(text: str) -> FaultStatement:
    verb, *words = text.split()
    operation = words.pop(0) if words and "=" not in words[0] else ANY
    return FaultStatement(text, verb, operation, dict(_read_option(word, text) for word in words))


def _read_option(word: str, text: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals or name not in OPTIONS:
        raise ValueError(f"{text!r}: {word!r} is none of {', '.join(f'{known}=...' for known in OPTIONS)}")
    try:
        return name, OPTIONS[name](value)
    except ValueError:
        raise ValueError(f"{text!r}: {value!r} cannot be the value of {name}") from None


def _read_flag(value: str) -> bool:
    return bool(("no", "yes").index(value))


OPTIONS: dict[str, Callable[[str], Any]] = {
    "table": str,
    "times": int,
    "every": int,
    "chance": float,
    "error": str,
    "after": _read_flag,
    "at": int,
    "last": int,
    "seconds": float,
}
