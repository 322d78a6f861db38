"""Key conditions: templates filled from the left as far as values are given, then a prefix or a range."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hashrange.expr.nodes import Between, Comparison, Condition, FunctionCall, path_of
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.key_codec import KeyCodec
from hashrange.schema.declare.key_template import HIGHEST
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.criterion import FINER
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentElement,
    ArgumentSource,
    Constant,
    KeyValue,
    Placeholders,
    ValueSource,
)

RANGES = {"<", "<=", ">", ">=", "BETWEEN", "begins_with"}


class Filled(Struct, frozen=True):
    """A template filled from the left as far as values are given."""

    key_codec: KeyCodec
    sources: dict[str, ArgumentSource]
    count: int
    used: tuple[str, ...]
    ranged: Parameter | None  # the parameter of the first field that is not filled

    @property
    def whole(self) -> bool:
        """Whether every field is filled."""
        return self.count == len(self.key_codec.steps)

    @property
    def prefix(self) -> str:
        """The fixed text after the filled part."""
        return self.key_codec.tail if self.whole else self.key_codec.steps[self.count].literal

    def value_source(self) -> KeyValue:
        """Return the filled part of the key, with the fixed text that follows."""
        return KeyValue(self.key_codec, self.sources, self.count, self.prefix)


def fill(key_codec: KeyCodec, signature: Signature, kind: Kind) -> Filled:
    """Fill a template from the left."""
    fixed, given = introspection.fixed_values(kind, own=True), signature.parameters
    sources: dict[str, ArgumentSource] = {}
    used: list[str] = []
    for count, step in enumerate(key_codec.steps):
        parameter = given.get(step.field)
        if step.field in fixed:
            sources[step.field] = Constant(fixed[step.field])
        elif parameter is not None and parameter.operator == "=":
            sources[step.field] = Argument(step.field)
        else:
            return Filled(key_codec, sources, count, tuple(used), parameter)
        used.append(step.field)
    return Filled(key_codec, sources, len(key_codec.steps), tuple(used), None)


def find_range(
    filled: Filled, ranged: Parameter, placeholders: Placeholders
) -> tuple[Condition, tuple[str, ValueSource] | None]:
    """Return the condition for keys with the filled prefix whose next field lies in a range."""
    attr, operator = filled.key_codec.attr, ranged.operator
    path = path_of(attr)
    bounds = _Bounds(filled, ranged, placeholders)
    if operator == "begins_with":
        return FunctionCall("begins_with", (path, bounds.at(Argument(ranged.name)))), None
    if operator == "BETWEEN":
        return Between(
            path, bounds.at(ArgumentElement(ranged.name, 0), up=True), bounds.past(ArgumentElement(ranged.name, 1))
        ), None
    given = Argument(ranged.name)
    near, far = bounds.at(given, up=operator in FINER), bounds.past(given)
    bound = near if operator in {"<", ">="} else far
    if not filled.count and not filled.prefix:
        return Comparison(operator, path, bound), None
    low, high = (bounds.start, bound) if operator in {"<", "<="} else (bound, bounds.end)
    left_out = placeholders.by_name[bound.name] if operator in {"<", ">"} else None
    return Between(path, low, high), (attr, left_out) if left_out else None


class _Bounds(Struct, frozen=True):
    """The bounds of a range of keys."""

    filled: Filled
    ranged: Parameter
    placeholders: Placeholders

    @property
    def start(self) -> Any:
        return criterion.place(self.filled.value_source(), self.placeholders)

    @property
    def end(self) -> Any:
        filled = self.filled
        return criterion.place(
            KeyValue(filled.key_codec, filled.sources, filled.count, filled.prefix + HIGHEST), self.placeholders
        )

    def at(self, source: ArgumentSource, *, up: bool = False) -> Any:
        """The first key with a value."""
        return self._with(source, "", up=up)

    def past(self, source: ArgumentSource) -> Any:
        """The last key with a value."""
        key_codec, after = self.filled.key_codec, self.filled.count + 1
        last = after == len(key_codec.steps)
        rest = key_codec.tail if last else key_codec.steps[after].literal
        return self._with(source, rest if last else rest + HIGHEST)

    def _with(self, source: ArgumentSource, tail: str, *, up: bool = False) -> Any:
        filled = self.filled
        sources = {**filled.sources, self.ranged.name: source}
        return criterion.place(KeyValue(filled.key_codec, sources, filled.count + 1, tail, up), self.placeholders)
