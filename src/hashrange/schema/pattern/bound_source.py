"""Sources of values that a condition compares with an attribute that may be absent: bounds of sums, and defaults."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any

from msgspec import Struct

from hashrange.core.values import Value
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.field_kind import Codec
from hashrange.schema.pattern.value_source import Arguments, ArgumentSource, ValueSource


class BoundMinusArgument(Struct, frozen=True):
    """The value that a number must be compared with, so that the number plus an argument is within a bound.

    Of a list it is the length that is compared, and the length of the argument that is added.
    """

    name: str
    bound: Any
    operator: str
    codec: Codec
    start: ArgumentSource | None = None  # the default that an absent number is counted from; 0 if none
    is_length: bool = False

    def value(self, arguments: Arguments) -> Value | None:
        """Return the bound minus the argument."""
        amount = self._amount(arguments)
        return None if amount is None else self.codec.encode(_subtract(self.bound, amount))

    def _amount(self, arguments: Arguments) -> Any:
        given = arguments.get(self.name)
        return len(given) if self.is_length and given is not None else given

    def holds_if_absent(self, arguments: Arguments) -> bool:
        """Return whether the bound holds for an item without the number, which is counted from its default."""
        amount = self._amount(arguments)
        start = None if self.start is None else self.start.get(arguments)
        if self.is_length:
            start = len(start or ())
        elif start is None:
            start = type(self.bound)()  # zero
        return amount is not None and COMPARISONS[self.operator](start, _subtract(self.bound, amount))

    @property
    def limit(self) -> str:
        """The bound itself."""
        return f"{f'size({self.name})' if self.is_length else self.name} {self.operator} {self.bound}"

    @property
    def text(self) -> str:
        """The bound minus the argument."""
        return f"{self.bound} - {f'size({{{self.name}}})' if self.is_length else f'{{{self.name}}}'}"


class ComparedWithDefault(Struct, frozen=True):
    """A value that is compared with a field, and the default with which the field is read where it is absent."""

    compared: ValueSource
    default: Value

    def value(self, arguments: Arguments) -> Value | None:
        """Return the value."""
        return self.compared.value(arguments)

    def holds_if_absent(self, arguments: Arguments) -> bool:
        """Return whether the value is the default."""
        given = self.value(arguments)
        return given is not None and plain(given) == plain(self.default)

    @property
    def text(self) -> str:
        """The text of the value."""
        return self.compared.text


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}


def _subtract(bound: Any, amount: Any) -> Any:
    """Return the exact difference; floats are subtracted as the decimal numbers that they are stored as."""
    if isinstance(bound, float | Decimal) or isinstance(amount, float | Decimal):
        return Decimal(str(bound)) - Decimal(str(amount))
    return bound - amount
