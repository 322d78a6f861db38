"""The fast check: finds out whether a request needs neither conversion nor an error, attribute values aside.

One predicate per shape, compiled at the operation's first request. When it returns False, `type_conversion` and
`constraint` find the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hashrange.core.wire import Wire
from hashrange.engine.shape.constraint import ARN
from hashrange.engine.shape.request_shape import (
    FRACTIONAL,
    AttributeValueShape,
    BooleanShape,
    ListShape,
    MapShape,
    NumberShape,
    Shape,
    StringShape,
    StructureShape,
    compile_pattern,
    find_input,
)

Check = Callable[[Any], bool]


class _Checks(dict[str, Check]):
    """The predicate of each operation, compiled at its first request."""

    def __missing__(self, operation: str) -> Check:
        self[operation] = check = _compile(find_input(operation))
        return check


_CHECKS = _Checks()


def accept(operation: str, request: Wire) -> bool:
    """Return whether a request needs no conversion and breaks no constraint; attribute values are not checked."""
    return _CHECKS[operation](request)


def _compile(shape: Shape) -> Check:
    if isinstance(shape, StructureShape):
        return _compile_structure(shape)
    if isinstance(shape, ListShape):
        return _compile_list(shape)
    if isinstance(shape, MapShape):
        return _compile_map(shape)
    if isinstance(shape, StringShape):
        return _compile_text(shape)
    if isinstance(shape, NumberShape):
        return _compile_number(shape)
    wanted = bool if isinstance(shape, BooleanShape) else dict
    return lambda found: type(found) is wanted


def _compile_structure(shape: StructureShape) -> Check:
    checks = {name: _compile(member) for name, member in shape.members.items()}
    required = tuple(shape.required)

    def accept(found: Any) -> bool:
        if type(found) is not dict:
            return False
        for name, content in found.items():
            check = checks.get(name)
            if check is None or not check(content):
                return False
        for name in required:  # noqa: SIM110 - all() over a generator takes three times as long
            if name not in found:
                return False
        return True

    return accept


def _compile_list(shape: ListShape) -> Check:
    check = _compile(shape.of)
    minimum, maximum = shape.minimum or 0, _or_infinity(shape.maximum)

    def accept(found: Any) -> bool:
        return type(found) is list and minimum <= len(found) <= maximum and all(map(check, found))

    return accept


def _compile_map(shape: MapShape) -> Check:
    minimum, maximum = shape.minimum or 0, _or_infinity(shape.maximum)
    if isinstance(shape.of, AttributeValueShape):  # the values are checked when the operation walks them
        return lambda found: type(found) is dict and len(found) <= maximum
    check = _compile(shape.of)
    check_key = _compile(shape.key or StringShape())

    def accept(found: Any) -> bool:
        return (
            type(found) is dict
            and minimum <= len(found) <= maximum
            and all(map(check_key, found))
            and all(map(check, found.values()))
        )

    return accept


def _compile_text(shape: StringShape) -> Check:
    minimum, maximum = shape.minimum or 0, _or_infinity(shape.maximum)
    if shape.enum:
        members = frozenset(shape.enum)
        return lambda found: type(found) is str and found in members
    if shape.pattern is None:
        return lambda found: type(found) is str and minimum <= len(found) <= maximum
    matches = compile_pattern(shape.pattern).fullmatch
    max_arn_length = _or_infinity(ARN.maximum) if shape.or_arn else -1
    max_length = max(maximum, max_arn_length)

    @lru_cache(maxsize=256)  # names of tables and indexes repeat
    def fits(found: str) -> bool:
        if matches(found) is not None:
            return minimum <= len(found) <= maximum
        return len(found) <= max_arn_length and found.startswith("arn:")

    return lambda found: type(found) is str and len(found) <= max_length and fits(found)


def _compile_number(shape: NumberShape) -> Check:
    types = frozenset({int, float} if shape.java in FRACTIONAL else {int})
    minimum, maximum = -math.inf if shape.minimum is None else shape.minimum, _or_infinity(shape.maximum)
    return lambda found: type(found) in types and minimum <= found <= maximum


def _or_infinity(maximum: int | None) -> float:
    return math.inf if maximum is None else maximum
