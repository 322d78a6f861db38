"""The request shapes of every operation, built from AWS's service model when an operation is first used.

`fast_check`, `type_conversion` and `constraint` apply the shapes to requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from hashrange.core.limits import MAX_NAME_LENGTH, MIN_NAME_LENGTH, NAME_PATTERN
from hashrange.engine.service_model import SERVICE_OPERATIONS, SHAPES
from hashrange.engine.shape import model_overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureShape:
    """An object of known members, in the order in which violations are reported."""

    name: str
    members: dict[str, Shape]
    required: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListShape:
    """A list of elements of one shape."""

    of: Shape
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MapShape:
    """An object with any keys and values of one shape."""

    of: Shape
    key: StringShape | None = None
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StringShape:
    """A string; with `or_arn`, an ARN is valid in place of a name."""

    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] = ()
    or_arn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberShape:
    """A JSON number, by its Java type."""

    java: str
    minimum: int | None = None
    maximum: int | None = None


class BooleanShape:
    """A boolean."""


class BinaryShape:
    """Bytes, in base64."""


class AttributeValueShape:
    """An attribute value: `{"S": "x"}`; `ATTRIBUTE_VALUE` is its structure."""


Shape = (
    StructureShape | ListShape | MapShape | StringShape | NumberShape | BooleanShape | BinaryShape | AttributeValueShape
)

# Deeper values are not converted: the engine refuses them anyway, and the walk must not exhaust the stack.
MAX_REQUEST_DEPTH = 64
ATTRIBUTE_VALUE = StructureShape(
    name="AttributeValue",
    members={
        "S": StringShape(),
        "N": StringShape(),
        "B": BinaryShape(),
        "SS": ListShape(of=StringShape()),
        "NS": ListShape(of=StringShape()),
        "BS": ListShape(of=BinaryShape()),
        "M": MapShape(of=AttributeValueShape()),
        "L": ListShape(of=AttributeValueShape()),
        "NULL": BooleanShape(),
        "BOOL": BooleanShape(),
    },
    required=frozenset(),
)

JAVA_NUMBERS = {"integer": "Integer", "long": "Long", "double": "Double", "timestamp": "Date"}
FRACTIONAL = frozenset({"Double", "Date"})  # Java types that keep fractions

OPERATION_NAMES = tuple(SERVICE_OPERATIONS)


@cache
def find_input(operation: str) -> StructureShape:
    """Return the shape of an operation's request."""
    return _build_structure(SERVICE_OPERATIONS[operation].input)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the model."""
    return re.compile(model_overrides.PATTERNS.get(pattern, pattern))


@cache
def _build_structure(name: str) -> StructureShape:
    facts = SHAPES[name]
    members: dict[str, str] = facts.get("members", {})
    order = dict.fromkeys((*model_overrides.MEMBER_ORDERS.get(name, ()), *members))
    required = model_overrides.REQUIRED.get(name, frozenset(facts.get("required", ())))
    built = {member: _build_member(name, member, members[member]) for member in order}
    return StructureShape(name=name, members=built, required=required)


def _build_member(structure: str, member: str, name: str) -> Shape:
    if (member, name) == (model_overrides.TABLE_MEMBER, model_overrides.TABLE_SHAPE):
        return _build_table_name(minimum=1 if structure in model_overrides.DATA_STRUCTURES else MIN_NAME_LENGTH)
    return _build(name, **model_overrides.LIMITS.get((structure, member), {}))


def _build(name: str, **overrides: int | None) -> Shape:
    facts = {**SHAPES[name], **overrides}
    shape_type = facts["type"]
    limits: dict[str, Any] = (
        {} if name in model_overrides.UNLIMITED else {"minimum": facts.get("min"), "maximum": facts.get("max")}
    )
    if shape_type == "structure":
        return _build_structure(name)
    if shape_type in {"list", "map"} and name not in model_overrides.UNCOUNTED:
        limits["maximum"] = facts.get("max", model_overrides.MAX_ELEMENTS)
    if shape_type == "list":
        of = _build(facts["of"])
        if isinstance(of, StructureShape) and "max" not in facts:
            limits["maximum"] = model_overrides.MAX_STRUCTURES
        return ListShape(of=of, **limits)
    if shape_type == "map":
        return MapShape(of=_build(facts["of"]), key=_build_key(facts["key"]), **limits)
    if shape_type == "string":
        enum = model_overrides.ENUM_ORDERS.get(name, tuple(facts.get("enum", ())))
        return StringShape(pattern=facts.get("pattern"), enum=enum, **limits)
    if shape_type in JAVA_NUMBERS:
        return NumberShape(java=JAVA_NUMBERS[shape_type], **limits)
    return BooleanShape() if shape_type == "boolean" else AttributeValueShape()


def _build_key(name: str) -> StringShape | None:
    """Return the shape of a map's keys; they are only checked where they are table names."""
    return _build_table_name(minimum=1) if name == model_overrides.TABLE_SHAPE else None


def _build_table_name(minimum: int) -> StringShape:
    return StringShape(minimum=minimum, maximum=MAX_NAME_LENGTH, pattern=NAME_PATTERN, or_arn=True)
