"""Recognises and reads stored items of one class, step by step. `loader` creates readers and chooses among them.

An item matches a class by the form of its keys, the fields with a fixed value, and the required fields. Other
attributes are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from pydantic import ValidationError

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec
from hashrange.schema.declare.marker import LOADING
from hashrange.schema.declare.model import LOADED_KEYS, RECOVERED, Model
from hashrange.schema.items.unknown_state import explain_unknown_keys

LoadState: TypeAlias = Callable[[Raw], Model | None]
UNUSUAL = (KeyError, TypeError, ValueError, ArithmeticError)  # pydantic's ValidationError is a ValueError

# How an item is read: as a whole, recognised by its primary key too; as a state of an item that is recognised already;
# as a state whose key is absent.
WHOLE, STATE, GUESSED = "whole", "state", "guessed"


class Mismatch(Struct, frozen=True):
    """A stored item that has the keys of a class, but not the other attributes that the class requires."""

    reason: str


class Reader(Struct, frozen=True):
    """Recognises and reads items of one class."""

    cls: ModelClass
    unset: Value | None
    identity: tuple[KeyCodec, ...]  # keys that must match the item
    states: tuple[KeyCodec, ...]  # keys that must match the variant or state
    spare: tuple[KeyCodec, ...]  # other keys, from which fields can be parsed
    guards: tuple[tuple[str, re.Pattern[str]], ...]  # plain fields that are keys, and their patterns
    fixed: tuple[tuple[str, Value | None], ...]  # attributes with a fixed value; None if absent
    constants: dict[str, Any]  # the fixed values by field
    fields: tuple[tuple[str, str, Any], ...]  # field, attribute, decode
    required: frozenset[str]
    sets: tuple[str, ...]
    lifecycles: tuple[tuple[str, LoadState], ...]  # the fields that hold a state, and how each is loaded
    key_names: tuple[str, ...]
    in_keys: frozenset[str]  # the fields that can be parsed from keys
    foreign_fields: frozenset[str]  # fields of keys that this class does not have
    whole: Callable[[Raw], Model | None] | None = None  # compiled, for the usual form
    state: Callable[[Raw], Model | None] | None = None  # compiled, for a state

    def read(self, raw: Raw, as_what: str) -> Model | Mismatch | None:
        """Return the object; None for another model; a Mismatch for this model without what it requires."""
        usual = self.whole if as_what == WHOLE else self.state if as_what == STATE else None
        if usual is not None:
            try:
                return usual(raw)
            except UNUSUAL:
                pass
        return self.read_uncompiled(raw, as_what)

    def is_of_item(self, raw: Raw) -> bool:
        """Return whether an item has the primary key and the fixed fields of this class, whatever its state."""
        return self._recognise(raw, {}, WHOLE)

    def read_uncompiled(self, raw: Raw, as_what: str) -> Model | Mismatch | None:
        """Read an item of any form step by step, and give the reason if it cannot be read."""
        values: dict[str, Any] = {}
        if not self._recognise(raw, values, as_what):
            return None
        values.update(self.constants)
        unset = self.unset
        present = set[str]()
        for name, stored, decode in self.fields:
            value = raw.get(stored)
            if value is not None and value != unset:
                try:
                    decoded = decode(value)
                except (ValueError, ArithmeticError) as error:
                    return Mismatch(f"{self.cls.__name__}.{name} cannot be read: {error}")
                if decoded is not None:
                    values[name] = decoded
                    present.add(name)
        self._complete(raw, values)
        recovered = self._find_recovered(raw, present)
        if not self.required <= values.keys():
            missing = self.required - values.keys()
            return Mismatch(f"{self.cls.__name__} needs {', '.join(sorted(missing))}")
        for name, load_state in self.lifecycles:
            state = load_state(raw)
            if state is None:
                why = explain_unknown_keys(self.cls, raw)
                return Mismatch(f"{self.cls.__name__}.{name} is in none of its states{why}")
            values[name] = state
        return self._build(raw, values, recovered)

    def _find_recovered(self, raw: Raw, present: set[str]) -> dict[str, str]:
        """Return the fields without an attribute of their own that an index key has, with that key."""
        missing = {name for name, _, _ in self.fields if name not in present}
        return {
            name: key_codec.attr
            for key_codec in (*self.states, *self.spare)
            if key_codec.attr in raw and key_codec.alone is None and key_codec not in self.identity
            for name in missing.intersection(key_codec.template.recoverable)
        }

    def _recognise(self, raw: Raw, values: dict[str, Any], as_what: str) -> bool:
        for stored, expected in self.fixed:
            value = raw.get(stored)
            if expected is None:
                if value is not None and value != self.unset and "NULL" not in value:
                    return False
            elif value != expected:
                return False
        for attr, pattern in self.guards:
            if not pattern.search(str(plain(raw.get(attr, {"S": ""})))):
                return False
        if as_what == WHOLE and not self._parse(self.identity, raw, values, lenient=True):
            return False
        return not self.states or self._parse(self.states, raw, values, lenient=as_what == GUESSED)

    @staticmethod
    def _parse(key_codecs: tuple[KeyCodec, ...], raw: Raw, values: dict[str, Any], *, lenient: bool) -> bool:
        for key_codec in key_codecs:
            value = raw.get(key_codec.attr)
            if value is None:
                if lenient:
                    continue
                return False
            found = key_codec.parse(value)
            if found is None:
                return False
            values.update(found)
        return True

    def _complete(self, raw: Raw, values: dict[str, Any]) -> None:
        """Add the fields that are stored in keys only, and drop those that this class does not have."""
        if not self.in_keys <= values.keys():
            for key_codec in self.spare:
                found = key_codec.parse(raw[key_codec.attr]) if key_codec.attr in raw else None
                for name, value in (found or {}).items():
                    values.setdefault(name, value)
        if not self.required <= values.keys():
            for key_codec in self.identity:
                for name, value in key_codec.parse_fitted(raw.get(key_codec.attr, {})).items():
                    values.setdefault(name, value)
        for name in self.foreign_fields:
            values.pop(name, None)
        for name in self.sets:
            values.setdefault(name, set())

    def _build(self, raw: Raw, values: dict[str, Any], recovered: dict[str, str]) -> Model | Mismatch:
        try:
            built: Model = self.cls.__pydantic_validator__.validate_python(values, context=LOADING)
        except ValidationError as error:
            first = error.errors()[0]
            location = ".".join(map(str, first["loc"]))
            return Mismatch(f"{self.cls.__name__}.{location} is {first.get('input')!r}: {first['msg']}")
        built.__dict__[LOADED_KEYS] = {attr: raw[attr] for attr in self.key_names if attr in raw}
        if recovered:
            built.__dict__[RECOVERED] = recovered
        return built
