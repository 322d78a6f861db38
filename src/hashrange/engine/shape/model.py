"""The request shapes of every operation, read from `model.json` and built when an operation is first asked for.

Holds what a request may look like; `acceptance`, `conversion` and `constraint` hold it against requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from hashrange.engine.shape import departure


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """An object of known members, in the order in which their faults are reported."""

    name: str
    members: dict[str, Shape]
    required: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of one kind of element."""

    of: Shape
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """An object of any members, whose values are of one kind."""

    of: Shape
    key: Text | None = None
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text; `or_arn` lets an ARN stand where a name is asked for."""

    least: int | None = None
    most: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()
    or_arn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A JSON number, by the Java type that takes it."""

    java: str
    least: int | None = None
    most: int | None = None


class Flag:
    """A boolean."""


class Binary:
    """Bytes, in base64."""


class Value:
    """An attribute value: `{"S": "x"}`; `ATTRIBUTE_VALUE` is what is inside."""


Shape = Structure | Listing | Mapping | Text | Number | Flag | Binary | Value

ATTRIBUTE_VALUE = Structure(
    name="AttributeValue",
    members={
        "S": Text(),
        "N": Text(),
        "B": Binary(),
        "SS": Listing(of=Text()),
        "NS": Listing(of=Text()),
        "BS": Listing(of=Binary()),
        "M": Mapping(of=Value()),
        "L": Listing(of=Value()),
        "NULL": Flag(),
        "BOOL": Flag(),
    },
    required=frozenset(),
)

JAVA_NUMBERS = {"integer": "Integer", "long": "Long", "double": "Double", "timestamp": "Date"}
FRACTIONAL = frozenset({"Double", "Date"})  # the numbers that keep their fraction

_MODEL: dict[str, dict[str, Any]] = orjson.loads((Path(__file__).parents[1] / "model.json").read_bytes())
_SHAPES = _MODEL.pop("shapes")
_INPUTS: dict[str, str] = {operation: shape for section in _MODEL.values() for operation, shape in section.items()}

OPERATION_NAMES = tuple(_INPUTS)


@cache
def find_input(operation: str) -> Structure:
    """Return the shape of an operation's request."""
    return _build_structure(_INPUTS[operation])


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the model as Python's."""
    return re.compile(departure.PATTERNS.get(pattern, pattern))


@cache
def _build_structure(name: str) -> Structure:
    facts = _SHAPES[name]
    members: dict[str, str] = facts.get("members", {})
    order = dict.fromkeys((*departure.MEMBER_ORDERS.get(name, ()), *members))
    required = departure.REQUIRED.get(name, frozenset(facts.get("required", ())))
    built = {member: _build_member(name, member, members[member]) for member in order}
    return Structure(name=name, members=built, required=required)


def _build_member(structure: str, member: str, name: str) -> Shape:
    if (member, name) == (departure.TABLE_MEMBER, departure.TABLE_SHAPE):
        return _build_table_name(least=1 if structure in departure.DATA_STRUCTURES else 3)
    return _build(name, **departure.LIMITS.get((structure, member), {}))


def _build(name: str, **departing: int | None) -> Shape:
    facts = {**_SHAPES[name], **departing}
    kind = facts["type"]
    limits: dict[str, Any] = (
        {} if name in departure.UNLIMITED else {"least": facts.get("min"), "most": facts.get("max")}
    )
    if kind == "structure":
        return _build_structure(name)
    if kind == "list":
        return Listing(of=_build(facts["of"]), **limits)
    if kind == "map":
        return Mapping(of=_build(facts["of"]), key=_build_key(facts["key"]), **limits)
    if kind == "string":
        enum = departure.ENUM_ORDERS.get(name, tuple(facts.get("enum", ())))
        return Text(pattern=facts.get("pattern"), enum=enum, **limits)
    if kind in JAVA_NUMBERS:
        return Number(java=JAVA_NUMBERS[kind], **limits)
    return Flag() if kind == "boolean" else Value()


def _build_key(name: str) -> Text | None:
    """Return what the keys of a map must be; they are only checked where they name tables."""
    return _build_table_name(least=1) if name == departure.TABLE_SHAPE else None


def _build_table_name(least: int) -> Text:
    return Text(least=least, most=departure.LONGEST_TABLE_NAME, pattern=departure.NAME, or_arn=True)
