"""Key templates filled from the left, as far as parameters and fixed fields go, and the ranges where they stop."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hashrange.expr.nodes import Between, Comparison, Condition, FunctionCall, path_of
from hashrange.schema import anatomy, criterion
from hashrange.schema.anatomy import Kind
from hashrange.schema.criterion import FINER
from hashrange.schema.keymaker import KeyMaker
from hashrange.schema.signature import Parameter, Signature
from hashrange.schema.slot import Constant, EndOf, Given, KeySlot, Slot, Slots, Source
from hashrange.schema.template import HIGHEST

RANGES = {"<", "<=", ">", ">=", "BETWEEN", "begins_with"}


class Filled(Struct, frozen=True):
    """A template filled from the left, as far as the parameters go."""

    maker: KeyMaker
    sources: dict[str, Source]
    count: int
    used: tuple[str, ...]
    ranged: Parameter | None  # the parameter that gives a range where it stopped

    @property
    def whole(self) -> bool:
        """Whether nothing is left open."""
        return self.count == len(self.maker.steps)

    @property
    def prefix(self) -> str:
        """The fixed text after what is filled."""
        return self.maker.tail if self.whole else self.maker.steps[self.count].literal

    def slot(self) -> KeySlot:
        """Return the key as far as it is filled, with the fixed text that follows."""
        return KeySlot(self.maker, self.sources, self.count, self.prefix)


def fill(maker: KeyMaker, signature: Signature, kind: Kind) -> Filled:
    """Fill a template from the left."""
    fixed, given = anatomy.fixed_values(kind, own=True), signature.parameters
    sources: dict[str, Source] = {}
    used: list[str] = []
    for count, step in enumerate(maker.steps):
        parameter = given.get(step.field)
        if step.field in fixed:
            sources[step.field] = Constant(fixed[step.field])
        elif parameter is not None and parameter.operator == "=":
            sources[step.field] = Given(step.field)
        else:
            return Filled(maker, sources, count, tuple(used), parameter)
        used.append(step.field)
    return Filled(maker, sources, len(maker.steps), tuple(used), None)


def find_range(filled: Filled, ranged: Parameter, slots: Slots) -> tuple[Condition, tuple[str, Slot] | None]:
    """Return the condition that keys up to a prefix are equal, and their next field lies in a range."""
    attr, operator = filled.maker.attr, ranged.operator
    path = path_of(attr)
    bounds = _Bounds(filled, ranged, slots)
    if operator == "begins_with":
        return FunctionCall("begins_with", (path, bounds.at(Given(ranged.name)))), None
    if operator == "BETWEEN":
        return Between(path, bounds.at(EndOf(ranged.name, 0), up=True), bounds.past(EndOf(ranged.name, 1))), None
    given = Given(ranged.name)
    near, far = bounds.at(given, up=operator in FINER), bounds.past(given)
    bound = near if operator in {"<", ">="} else far
    if not filled.count and not filled.prefix:
        return Comparison(operator, path, bound), None
    low, high = (bounds.start, bound) if operator in {"<", "<="} else (bound, bounds.end)
    left_out = slots.by_name[bound.name] if operator in {"<", ">"} else None
    return Between(path, low, high), (attr, left_out) if left_out else None


class _Bounds(Struct, frozen=True):
    """The texts between which the keys of a range lie."""

    filled: Filled
    ranged: Parameter
    slots: Slots

    @property
    def start(self) -> Any:
        return criterion.place(self.filled.slot(), self.slots)

    @property
    def end(self) -> Any:
        filled = self.filled
        return criterion.place(KeySlot(filled.maker, filled.sources, filled.count, filled.prefix + HIGHEST), self.slots)

    def at(self, source: Source, *, up: bool = False) -> Any:
        """The first key with a value."""
        return self._with(source, "", up=up)

    def past(self, source: Source) -> Any:
        """The last key with a value."""
        maker, after = self.filled.maker, self.filled.count + 1
        last = after == len(maker.steps)
        rest = maker.tail if last else maker.steps[after].literal
        return self._with(source, rest if last else rest + HIGHEST)

    def _with(self, source: Source, tail: str, *, up: bool = False) -> Any:
        filled = self.filled
        sources = {**filled.sources, self.ranged.name: source}
        return criterion.place(KeySlot(filled.maker, sources, filled.count + 1, tail, up), self.slots)
