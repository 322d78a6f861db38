"""Sample items of a declaration, of every class and in every state: for demos, tests and load. The same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from random import Random
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from hashrange.core.errors import HashrangeError, ValueInvalid
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.marker import Counted
from hashrange.schema.declare.model import Item
from hashrange.schema.declare.table import Declared, Table, find_tables
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.loader import load
from hashrange.schema.items.sample_value import ValueSampler

MAX_ATTEMPTS = 50
ABSENT_EVERY = 4  # an optional field is absent in one of so many items

SampleValue = Callable[[int], Any]  # the number of an item to the value of a field


def sample(
    *declared: Declared | Table, seed: int = 0, count: int = 3, values: Mapping[str, SampleValue] | None = None
) -> list[Item]:
    """Return items of every class that is declared, `count` in each state, each with its own key.

    The same seed gives the same items. `values` has functions for fields that need certain values: by name, or by class
    and name (`"Shop.domain"`); each gets the number of the item.
    """
    made: list[Item] = []
    for table in find_tables(declared):
        taken: set[str] = set()
        for model in _classes_of(table):
            for states in product(*introspection.lifecycles(model).values()):
                random = Random(f"{seed} {model.__qualname__} {states}")  # noqa: S311 - samples are no secrets
                sampler = _ItemSampler(model, states, random, values or {})
                made += sampler.make_all(count, taken)
    return made


def _classes_of(table: Table) -> Iterator[type[Item]]:
    """Yield the classes of items without those that only have variants."""
    for item in introspection.items_of(table):
        yield from dict.fromkeys(introspection.with_variants(item))  # type: ignore[misc]  # variants of an item are items


class _OfVariant(Exception):
    """Every item of the class is one of a variant."""


class _ItemSampler:
    """Makes the items of one class in given states."""

    def __init__(
        self, model: type[Item], states: tuple[ModelClass, ...], random: Random, values: Mapping[str, SampleValue]
    ) -> None:
        self.model, self.states, self.random, self.values = model, states, random, values
        self.lifecycles = list(introspection.lifecycles(model))
        self.sampler = ValueSampler(random)

    def make_all(self, count: int, taken: set[str]) -> list[Item]:
        """Return so many items whose keys are not taken yet."""
        made: list[Item] = []
        first, number, reason = len(taken), 0, "their keys are equal"
        while len(made) < count and number < count + MAX_ATTEMPTS:
            try:
                item = self._make(first + number)
                key = self._identify(item)
            except _OfVariant:
                return made  # its variants are sampled themselves
            except (ValidationError, HashrangeError) as error:
                reason, number = " ".join(str(error).split()) or reason, number + 1
                continue
            number += 1
            if key not in taken:
                taken.add(key)
                made.append(item)
        if not made:
            name = self.model.__name__
            raise ValueInvalid(
                f"No sample of {name} can be made: {reason}. Give values={{'{name}.field': lambda n: ...}}."
            )
        return made

    def _identify(self, item: Item) -> str:
        raw = dump(item)
        found = load([introspection.root(type(item))], raw)
        if type(found) is not self.model:
            raise _OfVariant if isinstance(found, self.model) else ValueInvalid("it is read as another class")
        return repr([raw.get(attr) for attr in introspection.table_of(self.model).keys])

    def _make(self, number: int) -> Item:
        values: dict[str, Any] = {}
        for model in (self.model, *self.states):
            for name, info in introspection.pydantic_fields(model).items():
                if name not in self.lifecycles and name not in values:
                    self._fill(values, model, name, info, number)
        given = {name: values[name] for name in introspection.stored_fields(self.model) if name in values}
        for name, state in zip(self.lifecycles, self.states, strict=True):
            fields = introspection.stored_fields(state)
            given[name] = state(**{each: values[each] for each in fields if each in values})
        return self.model(**given)

    def _fill(self, values: dict[str, Any], model: ModelClass, name: str, info: FieldInfo, number: int) -> None:
        """Choose the value of a field; leave out what its class computes, and optional fields now and then."""
        given = self.values.get(f"{self.model.__name__}.{name}") or self.values.get(name)
        if given is not None:
            values[name] = given(number)
            return
        field = introspection.stored_fields(model)[name]
        expires = field.stored == introspection.table_of(self.model).ttl  # far in the future, not `after` a sample time
        if field.marker(Counted) or field.is_fixed or (name in model.__special__ and not expires):
            return
        if field.optional and not info.is_required() and (number + len(name)) % ABSENT_EVERY == 0:
            return
        values[name] = self.sampler.make(name, info.annotation, tuple(info.metadata), number)
