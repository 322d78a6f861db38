"""Random values for any hint of a declaration, and random items of any class, from a seed."""

import random
from datetime import UTC, date, datetime, timedelta
from typing import get_args, get_origin

from typing_extensions import is_typeddict

from hashrange.schema.declare import hint, introspection
from hashrange.schema.declare.model import Model
from hashrange.schema.items import loader

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("a", "b", "ab", "a-b", "c.de", "x1")


class RandomItems:
    """A source of values that is the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, wanted):
        """Return a value of a type."""
        if hint.is_optional(wanted) and self.random.random() < 0.3:
            return None
        kind = hint.without_none(wanted)
        if values := hint.literals(kind):
            return self.random.choice([value for value in values if value is not None])
        return self._plain(kind)

    def _plain(self, kind):
        rng, origin = self.random, get_origin(kind) or kind
        if is_typeddict(kind):
            return {name: self.value(of) for name, of in kind.__annotations__.items()}
        made = {
            str: lambda: rng.choice(WORDS),
            int: lambda: rng.randrange(5),
            bool: lambda: rng.random() < 0.5,
            datetime: lambda: START + timedelta(minutes=rng.randrange(4)),
            date: (START + timedelta(days=rng.randrange(3))).date,
            set: lambda: {self.value(next(iter(get_args(kind)), str)) for _ in range(1 + rng.randrange(2))},
            frozenset: lambda: frozenset(self.value(of) for of in get_args(kind)),
            list: lambda: [self.value(next(iter(get_args(kind)), str)) for _ in range(rng.randrange(3))],
            tuple: lambda: tuple(self.value(of) for of in get_args(kind)),
            dict: lambda: {rng.choice(WORDS): self.value(get_args(kind)[1]) for _ in range(rng.randrange(2))},
        }
        return made[origin]() if origin in made else self.value(next(iter(get_args(kind)), str))

    def item(self, cls):
        """Return an item of a class, fields that have a default now and then left to it."""
        values = {}
        for name, info in introspection.pydantic_fields(cls).items():
            if name in introspection.lifecycles(cls) or (not info.is_required() and self.random.random() < 0.5):
                continue
            fixed = introspection.stored_fields(cls)[name].fixed
            values[name] = self.value(info.annotation) if fixed is introspection.NOTHING else fixed
        return cls(**values)

    def arguments(self, plan, stored):
        """Return arguments for a pattern that writes, or None when nothing stored is in a state it starts from."""
        found = {}
        for name, parameter in plan.signature.parameters.items():
            if parameter.models:
                found_in = (read(parameter.models, raw) for raw in stored)
                candidates = [shape for shape in found_in if shape is not None]
                if not candidates:
                    return None
                found[name] = self.random.choice(candidates)
            elif parameter.may_be_left_out and self.random.random() < 0.5:
                continue
            else:
                found[name] = None if parameter.is_none else self.value(parameter.hint)
        for name, cls in plan.signature.field_classes.items():
            given = {each: found.pop(each) for each in cls.model_fields if each in found}
            found[name] = cls.model_construct(**given)
        return found


def read(kinds, raw) -> Model | None:
    """Return a stored item as one of these classes: itself, or the lifecycle it is in."""
    item = loader.load([introspection.root(introspection.item_of(kinds[0]))], raw)
    if item is None:
        return None
    states = [getattr(item, name) for name in introspection.lifecycles(type(item))]
    return next((shape for shape in (item, *states) if isinstance(shape, tuple(kinds))), None)
