"""Stored items as objects: each becomes one of the most specific class that fits.

A class fits by the form of the item's keys, by the fields that have one value only, and by having what is required.
Whatever else the item holds is not looked at. Most items look as their class says: for them `fastread` writes out a
function, and `Reader` has the last word on all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from hashrange.core.errors import Unreadable
from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.schema import anatomy
from hashrange.schema.anatomy import NOTHING, Attribute, Kind
from hashrange.schema.codec import plain
from hashrange.schema.fastread import UNUSUAL, write_reader
from hashrange.schema.keymaker import KeyMaker
from hashrange.schema.layout import makers, pattern_of
from hashrange.schema.memory import remembered
from hashrange.schema.shape import SEEN, Item, Shape

# How an item is read: as a whole, told by its primary key too; as a state of one that is told already; as a state
# whose key is not there.
WHOLE, STATE, GUESSED = "whole", "state", "guessed"


class Misfit(Struct, frozen=True):
    """A stored item that has the keys of a class, and not what else the class needs."""

    reason: str


def load(kinds: Sequence[Kind], raw: Raw) -> Any:
    """Return a stored item as one of these classes or of their variants; None when it is of another shape."""
    return load_all(kinds, (raw,))[0]


def load_all(kinds: Sequence[Kind], raws: Iterable[Raw]) -> list[Any]:
    """Return stored items as objects of these classes or of their variants; None for each of another shape."""
    readers = [reader for kind in kinds for reader in _readers(kind)]
    if len(readers) == 1 and readers[0].whole is not None:
        return _load_usual(readers[0].whole, readers, raws)
    return [_load_one(readers, raw) for raw in raws]


def _load_usual(whole: Callable[[Raw], Shape | None], readers: list[Reader], raws: Iterable[Raw]) -> list[Any]:
    """Read items of one class without variants, one after the other, as long as nothing about them is unusual."""
    found: list[Any] = []
    for raw in raws:
        try:
            found.append(whole(raw))
        except UNUSUAL:
            found.append(_load_one(readers, raw))
    return found


def _load_one(readers: list[Reader], raw: Raw) -> Shape | None:
    misfit = None
    for reader in readers:
        found = reader.read(raw, WHOLE)
        if found is None:
            continue
        if type(found) is not Misfit:
            return found  # type: ignore[return-value]  # what is no Misfit is a Shape
        misfit = found
    if misfit is not None:
        kind = readers[0].cls
        raise Unreadable(f"{_show_key(kind, raw)} in {anatomy.table_of(kind).physical_name}: {misfit.reason}")
    return None


def _show_key(kind: Kind, raw: Raw) -> str:
    return ", ".join(f"{attr}={plain(raw[attr])!r}" for attr in anatomy.table_of(kind).keys if attr in raw)


@remembered
def _readers(cls: Kind) -> list[Reader]:
    return [make_reader(variant) for variant in reversed(anatomy.family(cls))]


class Reader(Struct, frozen=True):
    """One class, ready to be recognised in stored items."""

    cls: Kind
    unset: Value | None
    identity: tuple[KeyMaker, ...]  # keys whose form tells the item
    states: tuple[KeyMaker, ...]  # keys whose form tells the variant
    spare: tuple[KeyMaker, ...]  # keys that hold fields which may not be stored otherwise
    guards: tuple[tuple[str, re.Pattern[str]], ...]  # plain fields that are keys, and what they look like
    fixed: tuple[tuple[str, Value | None], ...]  # attributes that must be so, None for "not there"
    constants: dict[str, Any]  # the fields that these are
    fields: tuple[tuple[str, str, Any], ...]  # what is stored: the field, the attribute, how it is decoded
    required: frozenset[str]
    sets: tuple[str, ...]
    lifecycles: tuple[tuple[str, tuple[Kind, ...]], ...]
    key_names: tuple[str, ...]
    in_keys: frozenset[str]  # the fields that a key can tell
    strangers: frozenset[str]  # what the keys tell and this class does not have
    whole: Callable[[Raw], Shape | None] | None = None  # the usual case, written out
    state: Callable[[Raw], Shape | None] | None = None  # the same for a state

    def read(self, raw: Raw, as_what: str) -> Shape | Misfit | None:
        """Return the object; None for another shape; Misfit for this shape without what it needs."""
        usual = self.whole if as_what == WHOLE else self.state if as_what == STATE else None
        if usual is not None:
            try:
                return usual(raw)
            except UNUSUAL:
                pass
        return self.read_carefully(raw, as_what)

    def read_carefully(self, raw: Raw, as_what: str) -> Shape | Misfit | None:
        """Read an item step by step: what `read` does, for items of every sort, and with a reason for those refused."""
        values: dict[str, Any] = {}
        if not self._recognise(raw, values, as_what):
            return None
        values.update(self.constants)
        unset = self.unset
        for name, stored, decode in self.fields:
            value = raw.get(stored)
            if value is not None and value != unset:
                decoded = decode(value)
                if decoded is not None:
                    values[name] = decoded
        self._fill_up(raw, values)
        if not self.required <= values.keys():
            missing = self.required - values.keys()
            return Misfit(f"{self.cls.__name__} needs {', '.join(sorted(missing))}")
        for name, kinds in self.lifecycles:
            state = load_state(kinds, raw)
            if state is None:
                return Misfit(f"{self.cls.__name__}.{name} is in none of its states")
            values[name] = state
        return self._build(raw, values)

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
    def _parse(makers: tuple[KeyMaker, ...], raw: Raw, values: dict[str, Any], *, lenient: bool) -> bool:
        for maker in makers:
            value = raw.get(maker.attr)
            if value is None:
                if lenient:
                    continue
                return False
            found = maker.parse(value)
            if found is None:
                return False
            values.update(found)
        return True

    def _fill_up(self, raw: Raw, values: dict[str, Any]) -> None:
        """Take from the keys what is not stored on its own, and leave out what this class does not have."""
        if not self.in_keys <= values.keys():
            for maker in self.spare:
                found = maker.parse(raw[maker.attr]) if maker.attr in raw else None
                for name, value in (found or {}).items():
                    values.setdefault(name, value)
        for name in self.strangers:
            values.pop(name, None)
        for name in self.sets:
            values.setdefault(name, set())

    def _build(self, raw: Raw, values: dict[str, Any]) -> Shape | Misfit:
        try:
            built: Shape = self.cls.__pydantic_validator__.validate_python(values)
        except ValidationError as fault:
            first = fault.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return Misfit(f"{self.cls.__name__}.{place} is {first.get('input')!r}: {first['msg']}")
        built.__dict__[SEEN] = {attr: raw[attr] for attr in self.key_names if attr in raw}
        return built


def load_state(kinds: tuple[Kind, ...], raw: Raw) -> Shape | None:
    """Return the state of a lifecycle; where its key is not there at all, the one that most of the fields speak for."""
    readers = [reader for kind in kinds for reader in _readers(kind)]
    for reader in readers:
        found = reader.read(raw, STATE)
        if isinstance(found, Shape):
            return found
    for reader in sorted(readers, key=lambda reader: len(reader.required))[::-1]:  # of equals, the furthest state
        if all(maker.attr not in raw for maker in reader.states):
            found = reader.read(raw, GUESSED)
            if isinstance(found, Shape):
                return found
    return None


def make_reader(cls: Kind) -> Reader:
    """Work out how a class is recognised and read."""
    table, fields, all_makers = anatomy.table_of(cls), anatomy.attributes(cls), makers(cls)
    told = anatomy.variants(cls)
    stored = {name: found for name, found in fields.items() if not found.key_only and found.fixed is NOTHING}
    inside = frozenset(name for maker in all_makers.values() for name in maker.template.recoverable)
    possible = {name for name, found in fields.items() if found.fixed is not None}
    identity = tuple(all_makers[attr] for attr in table.keys if attr in all_makers and all_makers[attr].alone is None)
    careful = Reader(
        cls=cls,
        unset=None if table.unset is None else {"S": table.unset},
        identity=identity,
        states=tuple(all_makers[attr] for attr in told if attr not in table.keys),
        spare=tuple(maker for attr, maker in all_makers.items() if attr not in told and maker.template.recoverable),
        guards=_guards(cls),
        fixed=tuple((found.stored, _fixed_value(found)) for found in fields.values() if found.fixed is not NOTHING),
        constants={name: found.fixed for name, found in fields.items() if found.is_fixed},
        fields=tuple((name, found.stored, found.codec.decode) for name, found in stored.items()),
        required=frozenset(
            n for n, found in fields.items() if found.required and found.fixed is NOTHING and not _is_set(found)
        ),
        sets=tuple(name for name, found in fields.items() if _is_set(found) and found.required),
        lifecycles=tuple((name, tuple(kinds)) for name, kinds in anatomy.parts(cls).items()),
        key_names=tuple(sorted({*table.key_names, *filter(None, [table.ttl])})),
        in_keys=inside & possible,
        strangers=inside - possible,
    )
    return replace(
        careful,
        whole=write_reader(careful, identity, load_state),
        state=None if issubclass(cls, Item) else write_reader(careful, (), load_state),
    )


def _is_set(attribute: Attribute) -> bool:
    return attribute.codec.tag in {"SS", "NS", "BS"}


def _fixed_value(attribute: Attribute) -> Value | None:
    return None if attribute.fixed is None else attribute.codec.encode(attribute.fixed)


def _guards(cls: Kind) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of plain fields that are primary keys: they tell an item from others in the table."""
    found: list[tuple[str, re.Pattern[str]]] = []
    for attr in anatomy.table_of(cls).keys:
        maker = makers(cls).get(attr)
        pattern = pattern_of(cls, maker.alone.name) if maker is not None and maker.alone is not None else None
        if pattern is not None:
            found.append((attr, re.compile(pattern)))
    return tuple(found)
