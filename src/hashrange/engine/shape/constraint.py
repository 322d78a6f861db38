"""Member constraints: which members of a converted request break a rule of the model, in the order of report.

Attribute values are not looked into; what may stand in them is the business of `core.values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from hashrange.core.wire import Wire
from hashrange.engine.shape.java_text import lower_first
from hashrange.engine.shape.model import (
    ListShape,
    MapShape,
    NumberShape,
    Shape,
    StringShape,
    StructureShape,
    compile_pattern,
)

NOT_NULL = "Member must not be null"
ARN = StringShape(most=1024)


class ConstraintKind(Enum):
    """What sort of rule was broken."""

    NULL = "null"
    RANGE = "range"
    PATTERN = "pattern"
    ENUM = "enum"
    ENTRIES = "entries"


class Constraint(NamedTuple):
    """A rule, by its sort and in the service's words."""

    kind: ConstraintKind
    text: str


class MemberPath(NamedTuple):
    """Where a member stands, as the older layer spells it and as the model does."""

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
    """A rule broken by what was found at a path."""

    path: MemberPath
    rule: Constraint
    shape: Shape
    found: Any


def find_violations(
    shape: StructureShape, request: Wire, members: Iterable[str], path: MemberPath = ROOT
) -> Iterator[ConstraintViolation]:
    """Yield what is wrong with some members of a structure, a member's own faults before those inside it."""
    for name in members:
        member, found = shape.members[name], request.get(name)
        if found is not None:
            yield from _find_inside(member, found, path.member(name))
        elif name in shape.required:
            yield ConstraintViolation(path.member(name), Constraint(ConstraintKind.NULL, NOT_NULL), member, None)


def _find_inside(shape: Shape, found: Any, path: MemberPath) -> Iterator[ConstraintViolation]:
    for rule in broken_rules(shape, found):
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
    """Yield the faults inside the elements of a list or map; their own limits were told of the whole."""
    for key, element in elements:
        place = path.entry(key)
        if element is None:
            yield ConstraintViolation(place, Constraint(ConstraintKind.NULL, NOT_NULL), of, None)
        elif isinstance(of, StructureShape):
            yield from find_violations(of, element, of.members, place)
        elif isinstance(of, ListShape):
            yield from _find_in_elements(of.of, enumerate(element, start=1), place)


def broken_rules(shape: Shape, found: Any) -> Iterator[Constraint]:
    """Yield the rules that a value breaks by itself, elements of a list or map included."""
    if isinstance(shape, StringShape):
        yield from _broken_by_text(shape, found)
    elif isinstance(shape, NumberShape):
        yield from _broken_range(shape, found)
    elif isinstance(shape, ListShape):
        yield from _broken_range(shape, len(found))
        if any(element is not None and _is_broken(shape.of, element) for element in found):
            yield Constraint(ConstraintKind.ENTRIES, f"Member must satisfy constraint: {_list_rules(shape.of)}")
    elif isinstance(shape, MapShape):
        yield from _broken_range(shape, len(found))
        if shape.key and any(_is_broken(shape.key, key) for key in found):
            yield Constraint(ConstraintKind.ENTRIES, f"Map keys must satisfy constraint: {_list_rules(shape.key)}")
        if any(_is_broken(shape.of, element) for element in found.values()):
            yield Constraint(ConstraintKind.ENTRIES, f"Map value must satisfy constraint: {_list_rules(shape.of)}")


def _is_broken(shape: Shape, found: Any) -> bool:
    return next(broken_rules(shape, found), None) is not None


def _broken_by_text(shape: StringShape, found: str) -> Iterator[Constraint]:
    if shape.or_arn and found.startswith("arn:"):
        shape = ARN
    yield from _broken_range(shape, len(found))
    nameless = shape.or_arn and shape.least == 1 and not found  # is told of its length alone
    if shape.pattern and not nameless and not compile_pattern(shape.pattern).fullmatch(found):
        yield Constraint(ConstraintKind.PATTERN, _word_pattern(shape.pattern))
    if shape.enum and found not in shape.enum:
        yield Constraint(ConstraintKind.ENUM, _word_enum(shape.enum))


def _broken_range(shape: StringShape | NumberShape | ListShape | MapShape, size: float) -> Iterator[Constraint]:
    if shape.least is not None and size < shape.least:
        yield Constraint(ConstraintKind.RANGE, _word_least(shape))
    if shape.most is not None and size > shape.most:
        yield Constraint(ConstraintKind.RANGE, _word_most(shape))


def _list_rules(shape: Shape) -> str:
    """Return all the rules for an element, of which one is broken."""
    assert isinstance(shape, StringShape | NumberShape | ListShape | MapShape)
    most = [] if shape.most is None else [_word_most(shape)]
    least = [] if shape.least is None else [_word_least(shape)]
    pattern = [_word_pattern(shape.pattern)] if isinstance(shape, StringShape) and shape.pattern else []
    enum = [_word_enum(shape.enum)] if isinstance(shape, StringShape) and shape.enum else []
    return f"[{', '.join(most + least + pattern + enum)}]"


def _word_least(shape: StringShape | NumberShape | ListShape | MapShape) -> str:
    return f"Member must have {_measure(shape)} greater than or equal to {shape.least}"


def _word_most(shape: StringShape | NumberShape | ListShape | MapShape) -> str:
    return f"Member must have {_measure(shape)} less than or equal to {shape.most}"


def _measure(shape: Shape) -> str:
    return "value" if isinstance(shape, NumberShape) else "length"


def _word_pattern(pattern: str) -> str:
    return f"Member must satisfy regular expression pattern: {pattern}"


def _word_enum(enum: tuple[str, ...]) -> str:
    return f"Member must satisfy enum value set: [{', '.join(enum)}]"
