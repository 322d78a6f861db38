"""Finds the markers inside the type of a field: on elements of a list, in a nested model, in an alias.

Codecs read the markers beside a field's own type. Values inside it are stored by their Python type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import is_typeddict

from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import marker as markers
from hashrange.schema.declare.marker import Marker
from hashrange.schema.declare.model import Model

Found = tuple[str, Marker]
NO_CLASSES: frozenset[Any] = frozenset()
ALIASES: dict[Marker, str] = {
    alias.__metadata__[0]: name for name, alias in vars(markers).items() if type(alias) is hints.ANNOTATED
}


def markers_inside(hint: Any) -> Iterator[Found]:
    """Yield each marker that has no effect where it stands, with its place, given the type of a field."""
    inner, _ = hints.unwrap(hint)
    if hints.is_union(inner):
        for argument in get_args(inner):
            yield from markers_inside(argument)
    elif not (isinstance(inner, type) and issubclass(inner, Model)):  # a state: its fields are fields of the item
        yield from _enter(inner, NO_CLASSES)


def name_of(marker: Marker) -> str:
    """Return the name under which a declaration uses a marker."""
    return ALIASES.get(marker) or type(marker).__name__


def _enter(inner: Any, seen: frozenset[Any]) -> Iterator[Found]:
    """Yield the markers of what a type contains; `seen` are the classes that contain it."""
    if hasattr(inner, "__value__"):  # type X = ..., Python 3.12
        yield from _search(inner.__value__, f"in {inner}", seen)
    origin = get_origin(inner)
    for argument in get_args(inner):
        yield from _search(argument, f"in {getattr(origin, '__name__', origin)}[...]", seen)
    for cls in {inner, origin} - seen:
        for name, hint, beside in _fields_of(cls):
            yield from _search(hint, f"in {cls.__name__}.{name}", seen | {cls}, beside)


def _search(hint: Any, where: str, seen: frozenset[Any], beside: tuple[Any, ...] = ()) -> Iterator[Found]:
    """Yield the markers beside a type and inside it."""
    inner, found = hints.unwrap(hint)
    for marker in (*beside, *found):
        if isinstance(marker, Marker) and not marker.works_inside:
            yield where, marker
    if hints.is_union(inner):
        for argument in get_args(inner):
            yield from _search(argument, where, seen)
    else:
        yield from _enter(inner, seen)


def _fields_of(cls: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the fields of a class that pydantic reads, each with its type and what stands beside that."""
    if not isinstance(cls, type) or cls is BaseModel:
        return
    if issubclass(cls, BaseModel):
        for name, info in cls.__pydantic_fields__.items():
            yield name, info.annotation, tuple(info.metadata)
    elif is_typeddict(cls) or is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        for name, hint in get_type_hints(cls, include_extras=True).items():
            yield name, hint, ()
