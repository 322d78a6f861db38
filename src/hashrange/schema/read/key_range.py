"""Ranges of a field inside a sort key: the key condition that finds them, and an exact check where it finds more.

Keys have the order of a field that ends them, or that has a fixed width. In `S#{name}#{at}` they have not: 'ann!' sorts
after 'ann', but the key 'S#ann!#' before 'S#ann#', because '!' is lower than '#'. There the condition finds a range
that contains every wanted key, and `RangeCheck` drops the others.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.expr.nodes import Between, Comparison, Condition, FunctionCall, path_of
from hashrange.schema.declare.key_codec import KeyCodec, Step
from hashrange.schema.declare.key_format import ABOVE, BELOW
from hashrange.schema.declare.key_template import HIGHEST
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import FINER
from hashrange.schema.pattern.signature import Parameter
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentElement,
    Arguments,
    ArgumentSource,
    KeyValue,
    Placeholders,
    ValueSource,
)
from hashrange.schema.read.key_condition import Filled

CHECKS: dict[str, Callable[..., bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "BETWEEN": lambda text, low, high: low <= text <= high,
    "begins_with": str.startswith,
}
RANGES = frozenset(CHECKS)
PAST = {"<": -1, ">": 1}  # comparisons that exclude their bound


class FieldText(Struct, frozen=True):
    """A bound of a field, as text inside a key."""

    step: Step
    source: ArgumentSource
    up: bool = False  # round it up to the precision that is stored
    past: int = 0  # 1 or -1: the end of the texts after or before it, where all texts have one width

    def get(self, arguments: Arguments) -> str:
        """Return the text in a call."""
        text = self.step.bound(self.source.get(arguments), up=self.up)
        if not self.past or text in {BELOW, ABOVE}:  # no value has these
            return text
        return text[:-1] + chr(ord(text[-1]) + self.past)


class KeyBound(Struct, frozen=True):
    """A bound of a range of keys: the part before a field, the bound of the field, a text after it."""

    start: KeyValue
    field: FieldText
    tail: str = ""
    rest: str = ""  # what follows the field in keys whose order is not that of the field

    def value(self, arguments: Arguments) -> Value | None:
        """Return the key in a call; the highest one with this value or a lower one, where `rest` is given."""
        before = self.start.value(arguments)
        if before is None:
            return None
        start, text = before["S"], self.field.get(arguments)
        if not self.rest:
            return {"S": start + text + self.tail}
        lower = [text[:at] for at in range(1, len(text)) if text[at] <= self.rest[0]]  # lower texts with higher keys
        return {"S": max(f"{start}{one}{self.rest}{self.tail}" for one in (*lower, text))}

    @property
    def text(self) -> str:
        """The template with its sources."""
        start, step = self.start, self.field.step
        sources = {**start.sources, step.name: self.field.source}
        text = KeyValue(start.key_codec, sources, start.count + 1, self.rest + self.tail).text
        return {0: "", -1: "before ", 1: "after "}[self.field.past] + text


class RangeCheck(Struct, frozen=True):
    """Checks the range of a field inside a key."""

    key_codec: KeyCodec
    step: Step
    operator: str
    bounds: tuple[FieldText, ...]
    of_state: bool = False  # the key tells a state: one of no declared form is passed on, and found to be Unreadable

    def bind(self, arguments: Arguments) -> Callable[[Raw], bool]:
        """Return the check with the values of a call, as a predicate over items."""
        attr, template, name = self.key_codec.attr, self.key_codec.template, self.step.name
        holds, bounds = CHECKS[self.operator], [bound.get(arguments) for bound in self.bounds]

        def check(raw: Raw) -> bool:
            found = template.parse(raw[attr]["S"])
            return self.of_state if found is None else holds(found[name], *bounds)

        return check

    @property
    def text(self) -> str:
        """The check as `explain()` shows it."""
        ends = " AND ".join(bound.source.text for bound in self.bounds)
        name = f"{self.step.name} in {self.key_codec.attr}"
        return f"begins_with({name}, {ends})" if self.operator == "begins_with" else f"{name} {self.operator} {ends}"


def find_range(filled: Filled, ranged: Parameter, placeholders: Placeholders) -> tuple[Condition, RangeCheck | None]:
    """Return the condition for keys with the filled prefix whose next field is in a range, and its check."""
    key_codec, operator = filled.key_codec, ranged.operator
    step = key_codec.steps[filled.count]
    is_last = filled.count == len(key_codec.steps) - 1 and not key_codec.tail
    is_fixed = step.fixed_form is not None
    is_ordered = is_last or is_fixed
    fields = _bounds_of(step, ranged)
    if is_last and is_fixed and operator in PAST:  # BETWEEN includes its bounds
        fields = (replace(fields[0], past=PAST[operator]),)
    condition = _condition(
        filled, operator, _Ends(filled.value_source(), fields, operator, is_last, is_ordered), placeholders
    )
    is_exact = is_fixed or (is_last and operator not in PAST)
    return condition, None if is_exact else RangeCheck(key_codec, step, operator, fields)


def find_coarse_range(filled: Filled, ranged: Parameter, placeholders: Placeholders) -> Condition:
    """Return the condition for keys that may be in a range, where a key may be that of several values."""
    inclusive = replace(ranged, compare={"<": "<=", ">": ">="}.get(ranged.operator, ranged.operator))
    return find_range(filled, inclusive, placeholders)[0]


def _bounds_of(step: Step, ranged: Parameter) -> tuple[FieldText, ...]:
    if ranged.operator != "BETWEEN":
        return (FieldText(step, Argument(ranged.name), up=ranged.operator in FINER and not ranged.by_key),)
    low, high = (ArgumentElement(ranged.name, at) for at in (0, 1))
    return FieldText(step, low, up=not ranged.by_key), FieldText(step, high)


class _Ends(Struct, frozen=True):
    """The ends of a range of keys."""

    start: KeyValue
    fields: tuple[FieldText, ...]
    operator: str
    is_last: bool
    is_ordered: bool

    @property
    def low(self) -> ValueSource:
        past = self.operator == ">" and self.is_ordered and not self.is_last
        return KeyBound(self.start, self.fields[0], HIGHEST if past else "")

    @property
    def high(self) -> ValueSource:
        if not self.is_ordered:
            return KeyBound(self.start, self.fields[-1], HIGHEST, rest=self.fields[-1].step.delimiter)
        past = self.operator != "<" and not self.is_last
        return KeyBound(self.start, self.fields[-1], HIGHEST if past else "")

    @property
    def end(self) -> ValueSource:
        start = self.start
        return KeyValue(start.key_codec, start.sources, start.count, start.tail + HIGHEST)


def _condition(filled: Filled, operator: str, ends: _Ends, placeholders: Placeholders) -> Condition:
    """Return the key condition; without a prefix, a range has one end."""
    path, has_prefix = path_of(filled.key_codec.attr), bool(filled.count or filled.prefix)

    def operand(end: ValueSource) -> Any:
        return criterion.operand(end, placeholders)

    if operator == "begins_with":
        return FunctionCall("begins_with", (path, operand(ends.low)))
    if operator == "BETWEEN":
        return Between(path, operand(ends.low), operand(ends.high))
    if operator in {"<", "<="}:
        return (
            Between(path, operand(ends.start), operand(ends.high))
            if has_prefix
            else Comparison("<=", path, operand(ends.high))
        )
    return (
        Between(path, operand(ends.low), operand(ends.end)) if has_prefix else Comparison(">=", path, operand(ends.low))
    )
