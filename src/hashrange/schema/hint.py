"""Takes type hints apart: markers, members of unions, literals. Knows nothing of items or tables."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin

from hashrange.schema.marker import Marker

M = TypeVar("M", bound=Marker)


def unwrap(hint: Any) -> tuple[Any, tuple[Marker, ...]]:
    """Return the type inside `Annotated` and `NewType`, and the markers beside it."""
    markers: list[Marker] = []
    while get_origin(hint) is Annotated or isinstance(hint, NewType):
        markers.extend(found for found in getattr(hint, "__metadata__", ()) if isinstance(found, Marker))
        hint = hint.__supertype__ if isinstance(hint, NewType) else hint.__origin__
    return hint, tuple(markers)


def members(hint: Any) -> list[Any]:
    """Return what a union is made of, aliases and nested unions opened; a list of one for any other type."""
    hint, _ = unwrap(hint)
    if hasattr(hint, "__value__"):  # type X = A | B, Python 3.12
        return members(hint.__value__)
    if get_origin(hint) in {Union, types.UnionType}:
        return [member for argument in get_args(hint) for member in members(argument)]
    return [hint]


def markers_of(hint: Any) -> tuple[Marker, ...]:
    """Return the markers of a hint, and of the members of its union."""
    inner, outer = unwrap(hint)
    if get_origin(inner) in {Union, types.UnionType}:
        return (*outer, *(marker for argument in get_args(inner) for marker in markers_of(argument)))
    return outer


def find(markers: tuple[Marker, ...], kind: type[M]) -> M | None:
    """Return the first marker of a kind."""
    return next((marker for marker in markers if isinstance(marker, kind)), None)


def literals(hint: Any) -> tuple[Any, ...]:
    """Return the values of a Literal, or nothing."""
    hint, _ = unwrap(hint)
    return get_args(hint) if get_origin(hint) is Literal else ()


def is_optional(hint: Any) -> bool:
    """Whether None is among the members."""
    return type(None) in members(hint)


def without_none(hint: Any) -> Any:
    """Return a hint without its None: the one member that is left, or the hint as it is when there are several."""
    inner, _ = unwrap(hint)
    if get_origin(inner) not in {Union, types.UnionType}:
        return inner
    rest = [argument for argument in get_args(inner) if argument is not type(None)]
    return unwrap(rest[0])[0] if len(rest) == 1 else inner
