"""Member constraints: finds the members of a converted request that break the model, in the order of reporting.

Attribute values are not checked here but in `core.values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from hashrange.core.wire import Wire
from hashrange.engine.shape.java_text import lower_first
from hashrange.engine.shape.request_shape import (
    AttributeValueShape,
    ListShape,
    MapShape,
    NumberShape,
    Shape,
    StringShape,
    StructureShape,
    compile_pattern,
)

NOT_NULL = "Member must not be null"
ARN = StringShape(maximum=1024)


class ConstraintType(Enum):
    """The type of a constraint."""

    NULL = "null"
    RANGE = "range"
    PATTERN = "pattern"
    ENUM = "enum"
    ENTRIES = "entries"


class Constraint(NamedTuple):
    """A constraint: its type, and the service's text."""

    type: ConstraintType
    text: str


class MemberPath(NamedTuple):
    """The path of a member, in the older layer's spelling and in the model's."""

    lower: str = ""
    upper: str = ""

    def member(self, name: str) -> MemberPath:
        """Return the path of a member."""
        dot = "." if self.lower else ""
        return MemberPath(f"{self.lower}{dot}{lower_first(name)}", f"{self.upper}{dot}{name}")

    def entry(self, key: str | int) -> MemberPath:
        """Return the path of an element of a list, counted from 1, or of a map."""
        return MemberPath(f"{self.lower}.{key}.member", f"{self.upper}.{key}.member")


ROOT = MemberPath()


@dataclass(frozen=True, slots=True)
class ConstraintViolation:
    """A constraint that the value at a path breaks."""

    path: MemberPath
    rule: Constraint
    shape: Shape
    found: Any


def find_violations(
    shape: StructureShape, request: Wire, members: Iterable[str], path: MemberPath = ROOT
) -> Iterator[ConstraintViolation]:
    """Yield the violations of some members of a structure, a member's own before those inside it."""
    for name in members:
        member, found = shape.members[name], request.get(name)
        if found is not None:
            yield from _find_inside(member, found, path.member(name))
        elif name in shape.required:
            yield ConstraintViolation(path.member(name), Constraint(ConstraintType.NULL, NOT_NULL), member, None)


def _find_inside(shape: Shape, found: Any, path: MemberPath) -> Iterator[ConstraintViolation]:
    for rule in broken_constraints(shape, found):
        yield ConstraintViolation(path, rule, shape, found)
    if isinstance(shape, StructureShape):
        yield from find_violations(shape, found, shape.members, path)
    elif isinstance(shape, ListShape):
        yield from _find_in_elements(shape.of, enumerate(found, start=1), path)
    elif isinstance(shape, MapShape):
        yield from _find_in_elements(shape.of, found.items(), path)


def _find_in_elements(
    of: Shape, elements: Iterable[tuple[str | int, Any]], path: MemberPath
) -> Iterator[ConstraintViolation]:
    """Yield the violations inside the elements of a list or map; their own limits were reported for the whole."""
    if isinstance(of, AttributeValueShape):
        return
    for key, element in elements:
        element_path = path.entry(key)
        if element is None:
            yield ConstraintViolation(element_path, Constraint(ConstraintType.NULL, NOT_NULL), of, None)
        elif isinstance(of, StructureShape):
            yield from find_violations(of, element, of.members, element_path)
        elif isinstance(of, ListShape):
            yield from _find_in_elements(of.of, enumerate(element, start=1), element_path)


def broken_constraints(shape: Shape, found: Any) -> Iterator[Constraint]:
    """Yield the constraints that a value breaks, elements of a list or map included."""
    if isinstance(shape, StringShape):
        yield from _broken_by_string(shape, found)
    elif isinstance(shape, NumberShape):
        yield from _broken_range(shape, found)
    elif isinstance(shape, ListShape):
        yield from _broken_range(shape, len(found))
        if isinstance(shape.of, AttributeValueShape):
            return
        if any(element is not None and _is_broken(shape.of, element) for element in found):
            yield Constraint(ConstraintType.ENTRIES, f"Member must satisfy constraint: {_text_of_all(shape.of)}")
    elif isinstance(shape, MapShape):
        yield from _broken_range(shape, len(found))
        if shape.key and any(_is_broken(shape.key, key) for key in found):
            yield Constraint(ConstraintType.ENTRIES, f"Map keys must satisfy constraint: {_text_of_all(shape.key)}")
        if isinstance(shape.of, AttributeValueShape):
            return
        if any(_is_broken(shape.of, element) for element in found.values()):
            yield Constraint(ConstraintType.ENTRIES, f"Map value must satisfy constraint: {_text_of_all(shape.of)}")


def _is_broken(shape: Shape, found: Any) -> bool:
    return next(broken_constraints(shape, found), None) is not None


def _broken_by_string(shape: StringShape, found: str) -> Iterator[Constraint]:
    if shape.or_arn and found.startswith("arn:"):
        shape = ARN
    yield from _broken_range(shape, len(found))
    is_empty_name = shape.or_arn and shape.minimum == 1 and not found  # only its length is reported
    if shape.pattern and not is_empty_name and not compile_pattern(shape.pattern).fullmatch(found):
        yield Constraint(ConstraintType.PATTERN, _pattern_text(shape.pattern))
    if shape.enum and found not in shape.enum:
        yield Constraint(ConstraintType.ENUM, _enum_text(shape.enum))


def _broken_range(shape: StringShape | NumberShape | ListShape | MapShape, size: float) -> Iterator[Constraint]:
    if shape.minimum is not None and size < shape.minimum:
        yield Constraint(ConstraintType.RANGE, _minimum_text(shape))
    if shape.maximum is not None and size > shape.maximum:
        yield Constraint(ConstraintType.RANGE, _maximum_text(shape))


def _text_of_all(shape: Shape) -> str:
    """Return the text of all constraints of an element, of which one is broken."""
    assert isinstance(shape, StringShape | NumberShape | ListShape | MapShape)
    maximum = [] if shape.maximum is None else [_maximum_text(shape)]
    minimum = [] if shape.minimum is None else [_minimum_text(shape)]
    pattern = [_pattern_text(shape.pattern)] if isinstance(shape, StringShape) and shape.pattern else []
    enum = [_enum_text(shape.enum)] if isinstance(shape, StringShape) and shape.enum else []
    return f"[{', '.join(maximum + minimum + pattern + enum)}]"


def _minimum_text(shape: StringShape | NumberShape | ListShape | MapShape) -> str:
    return f"Member must have {_measure(shape)} greater than or equal to {shape.minimum}"


def _maximum_text(shape: StringShape | NumberShape | ListShape | MapShape) -> str:
    return f"Member must have {_measure(shape)} less than or equal to {shape.maximum}"


def _measure(shape: Shape) -> str:
    return "value" if isinstance(shape, NumberShape) else "length"


def _pattern_text(pattern: str) -> str:
    return f"Member must satisfy regular expression pattern: {pattern}"


def _enum_text(enum: tuple[str, ...]) -> str:
    return f"Member must satisfy enum value set: [{', '.join(enum)}]"
