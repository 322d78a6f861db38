"""Key templates filled from the left, as far as a pattern gives the values of their fields."""

from __future__ import annotations

from msgspec import Struct

from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec
from hashrange.schema.declare.key_format import PLAIN, Order
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentSource,
    Constant,
    KeyValue,
    WriteShard,
)


class Filled(Struct, frozen=True):
    """A template filled from the left as far as values are given."""

    key_codec: KeyCodec
    sources: dict[str, ArgumentSource]
    count: int
    used: tuple[str, ...]  # the fields that need no filter
    ranged: Parameter | None  # the parameter of the first field that is not filled

    @property
    def whole(self) -> bool:
        """Whether every field is filled."""
        return self.count == len(self.key_codec.steps)

    @property
    def range_order(self) -> Order:
        """How the key serves the range of the first field that is not filled."""
        assert self.ranged is not None
        form = self.key_codec.steps[self.count].format
        if self.ranged.by_key and not form.shards:
            return Order.EXACT  # the bounds have the form of the key too
        return Order.NONE if self.ranged.operator == "begins_with" and form is not PLAIN else form.order

    @property
    def prefix(self) -> str:
        """The fixed text after the filled part."""
        return self.key_codec.tail if self.whole else self.key_codec.steps[self.count].literal

    @property
    def constant_prefix(self) -> str | None:
        """The filled part, if no argument is part of it: all keys of the model start with it."""
        if not all(isinstance(source, Constant) for source in self.sources.values()):
            return None
        found = self.value_source().value({}) if self.count or self.prefix else None
        return "" if found is None else str(found.get("S", ""))

    def value_source(self) -> KeyValue:
        """Return the filled part of the key, with the fixed text that follows."""
        return KeyValue(self.key_codec, self.sources, self.count, self.prefix)


def fill(key_codec: KeyCodec, signature: Signature, model: ModelClass, *, scatter: bool = False) -> Filled:
    """Fill a template from the left; with `scatter`, a sharded field that is not given has every shard."""
    fixed, given = introspection.fixed_values(model, own=True), signature.parameters
    sources: dict[str, ArgumentSource] = {}
    used: list[str] = []
    for count, step in enumerate(key_codec.steps):
        parameter = given.get(step.name)
        if parameter is not None and parameter.by_key and not step.format.is_derived:
            parameter = None  # it is compared with a form of the field, and this is the field itself
        if step.name in fixed:
            sources[step.name] = Constant(fixed[step.name])
        elif parameter is not None and parameter.operator == "=":
            sources[step.name] = Argument(step.name)
        elif scatter and step.format.shards and parameter is None:
            sources[step.name] = WriteShard(step.name)
        else:
            return Filled(key_codec, sources, count, tuple(used), parameter)
        if not step.format.is_derived or (parameter is not None and parameter.by_key):
            used.append(step.name)  # else the key finds more than was asked for, and a filter drops it
    return Filled(key_codec, sources, len(key_codec.steps), tuple(used), None)
