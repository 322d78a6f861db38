"""Analyses type hints: markers, members of unions, literals. Independent of items and tables."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args

from hashrange.schema.declare.marker import Marker

M = TypeVar("M", bound=Marker)

# A hint is recognised by its class: attribute access is forwarded to the type inside it, which is slow.
ANNOTATED: type[Any] = type(Annotated[int, ""])
WRAPPED = frozenset({ANNOTATED, NewType})
UNIONS = frozenset({types.UnionType, type(Union[int, "str"])})  # the two ways to write one
LITERAL = type(Literal[1])


def unwrap(hint: Any) -> tuple[Any, tuple[Marker, ...]]:
    """Return the type inside `Annotated` and `NewType`, and the markers beside it."""
    if type(hint) not in WRAPPED:
        return hint, ()
    markers: list[Marker] = []
    while type(hint) in WRAPPED:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        else:
            markers.extend(found for found in hint.__metadata__ if isinstance(found, Marker))
            hint = hint.__origin__
    return hint, tuple(markers)


def constraints_of(hint: Any) -> tuple[Any, ...]:
    """Return the metadata of `Annotated` that are no markers: the constraints that pydantic checks."""
    facts = hint.__metadata__ if type(hint) is ANNOTATED else ()
    return tuple(fact for fact in facts if not isinstance(fact, Marker))


def constrain(hint: Any, constraints: tuple[Any, ...]) -> Any:
    """Return a type annotated with constraints, if there are any."""
    return Annotated[(hint, *constraints)] if constraints else hint


def members(hint: Any) -> list[Any]:
    """Return the members of a union, with aliases and nested unions resolved; a list of one for any other type."""
    hint, _ = unwrap(hint)
    if isinstance(hint, type):
        return [hint]
    if is_union(hint):
        return [member for argument in get_args(hint) for member in members(argument)]
    if hasattr(hint, "__value__"):  # type X = A | B, Python 3.12
        return members(hint.__value__)
    return [hint]


def is_union(hint: Any) -> bool:
    """Return whether a hint is a union, however it is written."""
    return type(hint) in UNIONS


def markers_of(hint: Any) -> tuple[Marker, ...]:
    """Return the markers of a hint, and of the members of its union."""
    inner, outer = unwrap(hint)
    if is_union(inner):
        return (*outer, *(marker for argument in get_args(inner) for marker in markers_of(argument)))
    return outer


def find(markers: tuple[Marker, ...], marker_type: type[M]) -> M | None:
    """Return the first marker of a type."""
    for marker in markers:
        if isinstance(marker, marker_type):
            return marker
    return None


def literals(hint: Any) -> tuple[Any, ...]:
    """Return the values of a Literal, or nothing."""
    hint, _ = unwrap(hint)
    return get_args(hint) if type(hint) is LITERAL else ()


def is_optional(hint: Any) -> bool:
    """Return whether None is among the members."""
    return type(None) in members(hint)


def drop_none(hint: Any) -> Any:
    """Return an optional hint without None, markers included; a union of several other members stays as it is."""
    if not is_union(hint):
        return hint
    rest = [argument for argument in get_args(hint) if argument is not type(None)]
    return rest[0] if len(rest) == 1 else hint


def without_none(hint: Any) -> Any:
    """Return the bare type of a hint: without markers, and without its None; `str` for an open list of texts."""
    bare = unwrap(drop_none(unwrap(hint)[0]))[0]
    return str if _is_open_list(bare) else bare


def _is_open_list(hint: Any) -> bool:
    """Return whether a hint is `Literal["a", "b"] | str`: known texts, and any other."""
    if not is_union(hint):
        return False
    rest = [member for member in members(hint) if member is not type(None)]
    return str in rest and all(
        member is str or all(type(value) is str for value in literals(member) or (None,)) for member in rest
    )
