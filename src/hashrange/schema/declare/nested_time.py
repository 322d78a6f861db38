"""Reads times inside lists, maps, sets and nested models, so that one that is unchanged is written as it was read.

`field_kind.encode` writes them: a time of a whole second like a field, any other with six digits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from hashrange.core.values import Value
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.field_kind import encode, keep_original, members_of

Reading: TypeAlias = Callable[[Value], Any]

TIME = TypeAdapter(datetime)  # parses what pydantic parses in a nested model


def make_time_reading(hint: Any) -> Reading | None:
    """Return how a value that contains times is read, for pydantic to validate; None for a type without times."""
    return None if hints.without_none(hint) is datetime else _reading_of(hint, {})


def _reading_of(hint: Any, known: dict[Any, Reading]) -> Reading | None:
    """Return the reading of a type; `known` has those of the models that contain it, of which it may be one."""
    bare = hints.without_none(hint)
    if bare is datetime:
        return _read_time
    if not isinstance(get_origin(bare) or bare, type):
        return None
    if bare in known:
        return known[bare]
    if issubclass(get_origin(bare) or bare, set | frozenset):
        return _read_set if get_args(bare)[:1] == (datetime,) else None
    parts: dict[Any, Reading] = {}
    known = {**known, bare: lambda value: _read_parts(parts, value)}
    for name, inner in (_elements_of(bare) or members_of(bare) or {}).items():
        reading = _reading_of(inner, known)
        if reading is not None:
            parts[name] = reading
    return known[bare] if parts else None


def _elements_of(hint: Any) -> dict[Any, Any] | None:
    """Return the types of a tuple's elements by position; None for any other type."""
    if get_origin(hint) is not tuple or ... in get_args(hint):
        return None
    return dict(enumerate(get_args(hint)))


def _read_time(value: Value) -> Any:
    """Read a time; one of another form than is written remembers its form, and one without a zone is in UTC."""
    found = plain(value)
    try:
        moment = TIME.validate_python(found)
    except ValidationError:
        return found  # pydantic gives the reason
    if moment.tzinfo is None:
        return keep_original(moment.replace(tzinfo=UTC), value, None)
    return found if _is_canonical(moment, value) else keep_original(moment, value, None)


def _is_canonical(moment: datetime, value: Value) -> bool:
    try:
        return encode(moment) == value
    except OverflowError:  # the first or last hours of the calendar, with an offset
        return False


def _read_set(value: Value) -> Any:
    tag, content = next(iter(value.items()))
    return {_read_time({tag[0]: text}) for text in content} if tag in {"SS", "NS"} else plain(value)


def _read_parts(parts: dict[Any, Reading], value: Value) -> Any:
    """Read a list or a map, each part as its type says."""
    if "L" in value:
        return [parts.get(at, parts.get(int, plain))(part) for at, part in enumerate(value["L"])]
    if "M" in value:
        return {name: parts.get(name, parts.get(str, plain))(part) for name, part in value["M"].items()}
    return plain(value)
