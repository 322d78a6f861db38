"""The fast check: finds out whether a request needs neither conversion nor an error, attribute values aside.

One predicate per shape, compiled at the operation's first request. When it returns False, `type_conversion` and
`constraint` find the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

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


def compile_request(operation: str) -> Check:
    """Return the predicate for an operation's requests."""
    return _compile(find_input(operation))


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
    least, most = shape.least or 0, _or_infinity(shape.most)

    def accept(found: Any) -> bool:
        return type(found) is list and least <= len(found) <= most and all(map(check, found))

    return accept


def _compile_map(shape: MapShape) -> Check:
    least, most = shape.least or 0, _or_infinity(shape.most)
    if isinstance(shape.of, AttributeValueShape):  # the values are checked when the operation walks them
        return lambda found: type(found) is dict and len(found) <= most
    check = _compile(shape.of)
    check_key = _compile(shape.key or StringShape())

    def accept(found: Any) -> bool:
        return (
            type(found) is dict
            and least <= len(found) <= most
            and all(map(check_key, found))
            and all(map(check, found.values()))
        )

    return accept


def _compile_text(shape: StringShape) -> Check:
    least, most = shape.least or 0, _or_infinity(shape.most)
    if shape.enum:
        members = frozenset(shape.enum)
        return lambda found: type(found) is str and found in members
    if shape.pattern is None:
        return lambda found: type(found) is str and least <= len(found) <= most
    matches = compile_pattern(shape.pattern).fullmatch
    longest_arn = _or_infinity(ARN.most) if shape.or_arn else -1
    longest = max(most, longest_arn)

    @lru_cache(maxsize=256)  # names of tables and indexes repeat
    def fits(found: str) -> bool:
        if matches(found) is not None:
            return least <= len(found) <= most
        return len(found) <= longest_arn and found.startswith("arn:")

    return lambda found: type(found) is str and len(found) <= longest and fits(found)


def _compile_number(shape: NumberShape) -> Check:
    types = frozenset({int, float} if shape.java in FRACTIONAL else {int})
    least, most = -math.inf if shape.least is None else shape.least, _or_infinity(shape.most)
    return lambda found: type(found) in types and least <= found <= most


def _or_infinity(most: int | None) -> float:
    return math.inf if most is None else most
