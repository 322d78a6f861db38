"""Markers beside a type in a declaration: how a field is stored, how a parameter compares or changes.

A marker is a frozen value inside `Annotated`, so that type checkers see the plain type. `codec` reads those about
storage, `signature` those about parameters.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Struct
from pydantic import GetCoreSchemaHandler, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic_core.core_schema import (
    CoreSchema,
    no_info_after_validator_function,
    with_info_wrap_validator_function,
)

T = TypeVar("T")


class Marker:
    """The base class of all markers."""

    __slots__ = ()

    @property
    def validates(self) -> bool:
        """Whether pydantic checks or converts values by this marker; others say how a value is stored or used."""
        return hasattr(self, "__get_pydantic_core_schema__")

    @property
    def works_inside(self) -> bool:
        """Whether it also has its effect inside the value of a field: on the elements of a list, in a nested model."""
        return False


class Stored(Marker, Struct, frozen=True):
    """The attribute's name, where the table's naming rule does not give it."""

    name: str


class KeyOnly(Marker, Struct, frozen=True):
    """Stored inside a key only, not as an attribute of its own."""


def _capitalise(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


class Prefixed(Marker, Struct, frozen=True):
    """Stored with a constant prefix, which callers do not see; `upper` converts the value to capitals."""

    prefix: str
    upper: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Convert a value to capitals where it is given, so that an item is equal to what is read of it."""
        return no_info_after_validator_function(_capitalise, handler(source)) if self.upper else handler(source)


@dataclass(frozen=True, slots=True, init=False)
class Formerly(Marker):
    """Read also with one of these prefixes, as an older system stored it; written without.

    A text that starts with one of `nothing` is read as None.
    """

    prefixes: tuple[str, ...]
    nothing: tuple[str, ...]

    def __init__(self, *prefixes: str, nothing: tuple[str, ...] = ()) -> None:
        object.__setattr__(self, "prefixes", prefixes)
        object.__setattr__(self, "nothing", nothing)


class Epoch(Marker, Struct, frozen=True):
    """A time stored as a Number since 1970; the TTL of a table is always in seconds."""

    per_second: int
    ttl: bool = False
    was_millis: bool = False  # of a table whose TTL another program wrote in milliseconds


class Iso(Marker, Struct, frozen=True):
    """A time stored as text with so many digits after the second."""

    digits: int


class Joined(Marker, Struct, frozen=True):
    """A list stored as one string."""

    by: str
    json: bool = False


class Encrypted(Marker, Struct, frozen=True):
    """Stored encrypted under the session's keys, bound to its item."""


class Counted(Marker, Struct, frozen=True):
    """The version of an item: every write checks it and counts it up."""


class Touch(Marker, Struct, frozen=True):
    """The time of the last write, set by every update from the session's clock."""


LOADING = "loading"  # the context in which pydantic validates stored items


class Extensible(Marker, Struct, frozen=True):
    """A list of texts to which other programs may add: others are read, and not written."""

    @property
    def works_inside(self) -> bool:
        """Whether it also has its effect inside the value of a field: pydantic checks it there, too."""
        return True

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept the texts of the list, and any other while an item is loaded."""

        def check(value: Any, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
            return value if info.context == LOADING and isinstance(value, str) else inner(value)

        return with_info_wrap_validator_function(check, handler(source))


class Compare(Marker, Struct, frozen=True):
    """A parameter that is compared with its field."""

    operator: str


class KeyForm(Marker, Struct, frozen=True):
    """A parameter that is compared in the form that a key has: the month of a time, a folded name."""


class ChangeMarker(Marker, Struct, frozen=True):
    """A parameter that changes its field other than by setting it."""

    action: str


class At(Marker, Struct, frozen=True):
    """A parameter that changes what is inside a field: `Annotated[str, At("address.city")]`."""

    path: str


OpenList: TypeAlias = Annotated[T, Extensible()]
Key: TypeAlias = Annotated[T, KeyOnly()]
Secret: TypeAlias = Annotated[T, Encrypted()]
Touched: TypeAlias = Annotated[T, Touch()]
Version: TypeAlias = Annotated[int, Counted()]
Millis: TypeAlias = Annotated[datetime, Epoch(1000)]
Seconds: TypeAlias = Annotated[datetime, Epoch(1)]
Ttl: TypeAlias = Annotated[datetime, Epoch(1, ttl=True)]
IsoMillis: TypeAlias = Annotated[datetime, Iso(3)]
IsoMicros: TypeAlias = Annotated[datetime, Iso(6)]
Commas: TypeAlias = Annotated[list[T], Joined(",")]
Pipes: TypeAlias = Annotated[list[T], Joined("|")]
JsonPipes: TypeAlias = Annotated[list[T], Joined("|", json=True)]

Eq: TypeAlias = Annotated[T, Compare("=")]
Ne: TypeAlias = Annotated[T, Compare("<>")]
Lt: TypeAlias = Annotated[T, Compare("<")]
Le: TypeAlias = Annotated[T, Compare("<=")]
Gt: TypeAlias = Annotated[T, Compare(">")]
Ge: TypeAlias = Annotated[T, Compare(">=")]
Between: TypeAlias = Annotated[tuple[T, T], Compare("BETWEEN")]
In: TypeAlias = Annotated[list[T] | tuple[T, ...] | AbstractSet[T], Compare("IN")]
Contains: TypeAlias = Annotated[T, Compare("contains")]
BeginsWith: TypeAlias = Annotated[T, Compare("begins_with")]

ByKey: TypeAlias = Annotated[T, KeyForm()]

Add: TypeAlias = Annotated[T, ChangeMarker("ADD")]
Discard: TypeAlias = Annotated[AbstractSet[T], ChangeMarker("DELETE")]
Append: TypeAlias = Annotated[list[T], ChangeMarker("APPEND")]
Once: TypeAlias = Annotated[T, ChangeMarker("ONCE")]
