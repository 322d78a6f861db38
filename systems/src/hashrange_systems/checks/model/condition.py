"""Conditions on a response, one a line: `json data.status == ok`, `header content-type contains json`.

    [warn] SUBJECT NAME [OPERATOR VALUE]

SUBJECT is an entry of SUBJECTS; without an operator the value must exist. A condition that fails is an outage, after
`warn` a warning. JSON names are keys and list positions separated by dots: `items.0.price`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import orjson

from hashrange_systems.checks.model.fetch_result import Cause, PageResponse
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.shared.text import shorten

MAX_CONDITIONS = 20
MAX_LENGTH = 300
MAX_DEPTH = 20
SHOWN = 60
NOT_PARSED = {  # valid JSON that the parser refuses, by its message
    "number is infinity when parsed as double": "it has a number that is too large to read",
    "depth limit exceeded": "it is nested more deeply than is read",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a response has no such value; `unknown` if that cannot be decided."""

    reason: str
    unknown: bool = False


Value = Any  # of JSON
Find = Callable[[str, PageResponse], "Value | Missing"]


def find_json(name: str, response: PageResponse) -> Value | Missing:
    """Return a value of a JSON body; `$` is the whole."""
    if response.cut:
        return Missing("the page is too long to parse", unknown=True)
    try:
        found: Value = orjson.loads(response.body)
    except orjson.JSONDecodeError as error:
        if error.msg in NOT_PARSED:
            return Missing(f"the body may be JSON, but {NOT_PARSED[error.msg]}", unknown=True)
        return Missing("the body is not JSON")
    for step in name.removeprefix("$").strip(".").split(".") if name.strip("$.") else ():
        if isinstance(found, Mapping) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isascii() and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return Missing(f"there is no {name}")
    return found


def find_header(name: str, response: PageResponse) -> Value | Missing:
    """Return the value of a header."""
    found = next((value for key, value in response.headers.items() if key.lower() == name.lower()), None)
    return Missing(f"there is no header {name}") if found is None else found


SUBJECTS: Mapping[str, Find] = {"json": find_json, "header": find_header}


def equals(found: Value, value: str) -> bool:
    """Return whether a value is the given one: numbers by value, everything else as text."""
    left, right = to_number(found), to_number(value)
    if left is not None and right is not None:
        return left == right
    return write_value(found) == value


def contains(found: Value, value: str) -> bool:
    """Return whether a text contains the value, or a list has it as an element."""
    if isinstance(found, list):
        return any(equals(each, value) for each in found)
    return value in write_value(found)


def to_number(value: Value) -> Decimal | None:
    """Return a number, also from text; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value)[:40])
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def write_value(value: Value) -> str:
    """Return a JSON value as text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def compare_order(wanted: Callable[[Decimal, Decimal], bool]) -> Callable[[Value, str], bool]:
    """Return a comparison of numbers; a value that is no number does not satisfy it."""

    def compare(found: Value, value: str) -> bool:
        left, right = to_number(found), to_number(value)
        return left is not None and right is not None and wanted(left, right)

    return compare


OPERATORS: Mapping[str, Callable[[Value, str], bool]] = {
    "==": equals,
    "!=": lambda found, value: not equals(found, value),
    "<=": compare_order(lambda left, right: left <= right),
    ">=": compare_order(lambda left, right: left >= right),
    "<": compare_order(lambda left, right: left < right),
    ">": compare_order(lambda left, right: left > right),
    "contains": contains,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A parsed condition."""

    text: str
    subject: str
    name: str
    operator: str = ""
    value: str = ""
    warns: bool = False


class NotCondition(ValueError):
    """The line is not a condition."""


@lru_cache(maxsize=256)
def parse_conditions(lines: tuple[str, ...]) -> tuple[Condition, ...]:
    """Parse conditions; raise NotCondition for the first that is none."""
    if len(lines) > MAX_CONDITIONS:
        raise NotCondition(f"must be at most {MAX_CONDITIONS}")
    return tuple(map(parse_condition, lines))


def parse_condition(line: str) -> Condition:
    """Parse one condition."""
    if len(line) > MAX_LENGTH:
        raise NotCondition(f"must be at most {MAX_LENGTH} characters each")
    words = line.split(maxsplit=1)
    warns = bool(words) and words[0] == "warn"
    subject, name, operator, value, *_ = [
        *(words[1] if warns and len(words) > 1 else line).split(maxsplit=3),
        *[""] * 4,
    ]
    if subject not in SUBJECTS or not name:
        raise NotCondition(f"must begin with {' or '.join(SUBJECTS)} and a name; {line[:SHOWN]!r} does not")
    if name.count(".") > MAX_DEPTH:
        raise NotCondition(f"must have names of at most {MAX_DEPTH} steps")
    if operator and (operator not in OPERATORS or not value):
        raise NotCondition(f"must compare with {', '.join(OPERATORS)} and a value; {line[:SHOWN]!r} does not")
    return Condition(text=line, subject=subject, name=name, operator=operator, value=unquote(value), warns=warns)


def unquote(value: str) -> str:
    """Return a value without its quotes."""
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def evaluate_conditions(lines: Sequence[str], response: PageResponse, outcome: Outcome) -> Outcome:
    """Return the outcome after all conditions: an outage outweighs what is undecided, which outweighs a warning."""
    for condition in sorted(parse_conditions(tuple(lines)), key=lambda each: each.warns):
        failed = explain_condition(condition, response)
        if failed is None:
            continue
        status = Status.UNKNOWN if failed.unknown else Status.DEGRADED if condition.warns else Status.DOWN
        return replace(outcome, status=status, cause=Cause.CONDITION, message=f"{condition.text}: {failed.reason}")
    return outcome


def explain_condition(condition: Condition, response: PageResponse) -> Missing | None:
    """Return why a condition does not hold; None if it holds."""
    found = SUBJECTS[condition.subject](condition.name, response)
    if isinstance(found, Missing):
        return found
    if not condition.operator or OPERATORS[condition.operator](found, condition.value):
        return None
    return Missing(f"it is {shorten(write_value(found), SHOWN)}")
