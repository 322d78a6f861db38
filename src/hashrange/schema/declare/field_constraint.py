"""The constraints that a field declares with pydantic: bounds of numbers, lengths of texts and lists, and the like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic.fields import FieldInfo

from hashrange.schema.declare import hint as hints

BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}  # the constraints of pydantic, as operators
LENGTHS = {"min_length": ">=", "max_length": "<="}
OF_AMOUNTS = ("multiple_of", "decimal_places")  # hold for a sum if they hold for what is added

Bound = tuple[str, Any]  # an operator, and what a value is compared with


def constraints_in(hint: Any, metadata: Iterable[Any] = ()) -> list[Any]:
    """Return the constraints of a value: those beside its type, and those of the members of its union."""
    found = list(_flatten(metadata))
    while type(hint) is hints.ANNOTATED:
        found += _flatten(hint.__metadata__)
        hint = hint.__origin__
    if hints.is_union(hint):
        found += [fact for argument in get_args(hint) for fact in constraints_in(argument)]
    return found


def _flatten(metadata: Iterable[Any]) -> Iterator[Any]:
    for fact in metadata:
        yield from _flatten(fact.metadata) if isinstance(fact, FieldInfo) else (fact,)


def number_bounds(constraints: Iterable[Any]) -> list[Bound]:
    """Return the bounds of a number."""
    return _pairs(constraints, BOUNDS)


def length_bounds(constraints: Iterable[Any]) -> list[Bound]:
    """Return the bounds of a length."""
    return _pairs(constraints, LENGTHS)


def limits_digits(constraints: Iterable[Any]) -> bool:
    """Return whether a number may have so many digits only."""
    return any(getattr(fact, "max_digits", None) is not None for fact in constraints)


def amount_constraints(constraints: Iterable[Any]) -> tuple[Any, ...]:
    """Return the constraints of a number that what is added to it must meet too."""
    return tuple(fact for fact in constraints if any(getattr(fact, word, None) is not None for word in OF_AMOUNTS))


def _pairs(constraints: Iterable[Any], words: dict[str, str]) -> list[Bound]:
    return [
        (sign, bound)
        for fact in constraints
        for word, sign in words.items()
        if (bound := getattr(fact, word, None)) is not None
    ]
