"""Takes type hints apart: markers, members of unions, literals. Knows nothing of items or tables."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from hashrange.schema.marker import Marker

M = TypeVar("M", bound=Marker)


def unwrap(hint: Any) -> tuple[Any, tuple[Marker, ...]]:
    """Return the type inside `Annotated` and `NewType`, and the markers beside it."""
    if not hasattr(hint, "__metadata__") and type(hint) is not NewType:
        return hint, ()
    markers: list[Marker] = []
    while get_origin(hint) is Annotated or isinstance(hint, NewType):
        markers.extend(found for found in getattr(hint, "__metadata__", ()) if isinstance(found, Marker))
        hint = hint.__supertype__ if isinstance(hint, NewType) else hint.__origin__
    return hint, tuple(markers)


def constraints_of(hint: Any) -> tuple[Any, ...]:
    """Return what stands beside a type in `Annotated` and is no marker: what pydantic is to check."""
    return tuple(fact for fact in getattr(hint, "__metadata__", ()) if not isinstance(fact, Marker))


def constrain(hint: Any, constraints: tuple[Any, ...]) -> Any:
    """Return a type with constraints beside it, if there are any."""
    return Annotated[(hint, *constraints)] if constraints else hint


def members(hint: Any) -> list[Any]:
    """Return what a union is made of, aliases and nested unions opened; a list of one for any other type."""
    hint, _ = unwrap(hint)
    if isinstance(hint, type):
        return [hint]
    if hasattr(hint, "__value__"):  # type X = A | B, Python 3.12
        return members(hint.__value__)
    if is_union(hint):
        return [member for argument in get_args(hint) for member in members(argument)]
    return [hint]


def is_union(hint: Any) -> bool:
    """Whether a hint is a union, however it is written."""
    return type(hint) is types.UnionType or getattr(hint, "__origin__", None) is Union


def markers_of(hint: Any) -> tuple[Marker, ...]:
    """Return the markers of a hint, and of the members of its union."""
    inner, outer = unwrap(hint)
    if is_union(inner):
        return (*outer, *(marker for argument in get_args(inner) for marker in markers_of(argument)))
    return outer


def find(markers: tuple[Marker, ...], kind: type[M]) -> M | None:
    """Return the first marker of a kind."""
    for marker in markers:
        if isinstance(marker, kind):
            return marker
    return None


def literals(hint: Any) -> tuple[Any, ...]:
    """Return the values of a Literal, or nothing."""
    hint, _ = unwrap(hint)
    return get_args(hint) if getattr(hint, "__origin__", None) is Literal else ()


def is_optional(hint: Any) -> bool:
    """Whether None is among the members."""
    return type(None) in members(hint)


def drop_none(hint: Any) -> Any:
    """Return a hint without its None, markers and all, when one other member is left; else the hint as it is."""
    if not is_union(hint):
        return hint
    rest = [argument for argument in get_args(hint) if argument is not type(None)]
    return rest[0] if len(rest) == 1 else hint


def without_none(hint: Any) -> Any:
    """Return the bare type of a hint: without markers, and without its None."""
    return unwrap(drop_none(unwrap(hint)[0]))[0]
