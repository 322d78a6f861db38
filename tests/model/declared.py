"""Small declarations for the model check: kinds of fields, classes made of them, and the keys that they should have.

`expected_key` shares nothing with the write compiler: it replaces each field of a template by its value.
"""

import itertools
import re
import sys
import types
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hashrange import DeclarationError

PRELUDE = """
from datetime import datetime
from typing import Annotated, Literal, Protocol
from pydantic import Field
from hashrange import (
    Add, At, Delete, Ensure, Eq, Get, Gsi, Item, Key, Once, Patterns, Query, Table, Touched, Update, Upsert, Version,
    View, initially,
)
"""
NUMBERS = itertools.count()
MONTHS = (datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))


@dataclass(frozen=True)
class Kind:
    """A kind of field: how it is declared and taken as a parameter, two values, and how a key shows one."""

    hint: str
    default: str = ""
    parameters: tuple[str, ...] = ()  # the types of parameters that set it; none for a field that sets itself
    values: tuple = ("u", "v")
    format: str = ""
    absent: object = None  # the value of a field whose attribute is not stored

    @property
    def is_touched(self):
        return self.hint.startswith("Touched")

    @property
    def is_version(self):
        return self.hint == "Version"

    @property
    def is_key_only(self):
        return self.hint.startswith("Key[")

    def declare(self, name):
        """Return the line of a class that declares a field of this kind."""
        return f"    {name}: {self.hint}{' = ' + self.default if self.default else ''}\n"

    def in_key(self, value):
        """Return how a key shows a value, or None when there is none."""
        return value if value is None else SHOWN.get(self.format, str)(value)


SHOWN = {
    "04d": lambda value: f"{int(value):04d}",
    "+04d": lambda value: f"{int(value):04d}" if int(value) >= 0 else f"-{9999 + int(value):04d}",
    "month": lambda value: str(value)[:7],
    "fold": lambda value: str(value).lower(),
}


KINDS = {
    "plain": Kind("str", parameters=("str", "str = ...")),
    "optional": Kind("str | None", "None", ("str", "str | None = ...", "None")),
    "defaulted": Kind("str", "'d'", ("str", "str = ..."), absent="d"),
    "number": Kind("int", "0", ("int", "Add[int]"), (1, 2), "04d", 0),
    "counted": Kind("int", "5", ("int", "Add[int]"), (1, 2), "04d", 5),
    "made": Kind("str", "Field(default_factory=lambda: 'd')", ("str", "str = ..."), absent="d"),
    "once": Kind("str | None", "None", ("Once[str]",)),
    "touched": Kind("Touched[datetime]"),
    "version": Kind("Version", "0", format="04d", absent=0),
    "literal": Kind("Literal['u', 'v']", parameters=("Literal['u', 'v'] = ...",)),
    "signed": Kind("int", "0", ("int", "Add[int]"), (-1, 2), "+04d", 0),
    "month": Kind("datetime | None", "None", ("datetime", "datetime | None = ..."), MONTHS, "month"),
    "folded": Kind("str", parameters=("str", "str = ..."), values=("U", "v"), format="fold"),
    "key only": Kind("Key[str]", parameters=("str", "str = ...")),
}


@dataclass
class Declared:
    """Declared classes whose keys are made of some fields, and the module that they stand in."""

    kinds: dict[str, Kind]
    templates: dict[str, str]
    module: types.ModuleType = field(repr=False)

    @property
    def thing(self):
        """The item."""
        return self.module.Thing

    def add(self, text):
        """Execute more declarations in the module."""
        exec(text, self.module.__dict__)

    def add_pattern(self, signature):
        """Declare one pattern, `write`; return its class, or None when it is refused."""
        try:
            self.add(f"class Writes(Patterns, Protocol):\n    def write(self, {signature}: ...\n")
        except DeclarationError:
            return None
        return self.module.Writes

    def forget(self):
        """Remove the module."""
        del sys.modules[self.module.__name__]


def declare(kinds, templates, render):
    """Declare classes in a module of their own; `render` is given the templates with the formats of their fields."""
    module = types.ModuleType(f"tests.model.declared_{next(NUMBERS)}")
    sys.modules[module.__name__] = module
    formats = {f"{{{name}}}": f"{{{name}:{kind.format}}}" for name, kind in kinds.items() if kind.format}
    formatted = {
        attr: re.sub(r"\{\w+\}", lambda found: formats.get(found[0], found[0]), text)
        for attr, text in templates.items()
    }
    declared = Declared(kinds, formatted, module)
    try:
        declared.add(PRELUDE + render(formatted))
    except DeclarationError:
        declared.forget()
        raise
    return declared


def fields_in(text):
    """Return the fields of a template."""
    return re.findall(r"\{(\w+)", text)


def expected_key(declared, text, raw, read):
    """Return the key that a template makes of a stored item, or None when one of its fields has no value.

    A field that is stored only inside keys is taken from the item as it is read.
    """
    for name in fields_in(text):
        kind = declared.kinds[name]
        stored = next(iter(raw[name].values())) if name in raw else kind.absent
        shown = kind.in_key(getattr(read, name) if kind.is_key_only else stored)
        if shown is None:
            return None
        text = re.sub(rf"\{{{name}(:[\w+]+)?\}}", shown, text)
    return {"S": text}


NESTED = 'Annotated[int, At("box.z")]'  # the parameter z, where it changes a member of a map


def choose_parameters(kinds, spare="int"):
    """Return every choice of parameters for the fields, as (name, type) pairs; those with a default last.

    Where all of them may be left out, `z` is another one, so that a call can leave every key alone.
    """
    choices = [[None, *kind.parameters] for kind in kinds.values()]
    found = []
    for hints in itertools.product(*choices):
        given = [(name, hint) for name, hint in zip(kinds, hints, strict=True) if hint]
        if all(hint.endswith("...") for _, hint in given):
            given.append(("z", spare))
        found.append(sorted(given, key=lambda pair: pair[1].endswith("...")))
    return found


def choose_arguments(kinds, given):
    """Return the arguments of calls: each parameter with a new value, left out, or None, as its type allows."""
    options = []
    for name, hint in given:
        value = None if hint == "None" else 9 if name == "z" else kinds[name].values[1]
        choices = [{name: value}]
        if "| None" in hint:
            choices.append({name: None})
        if hint.endswith("..."):
            choices.append({})
        options.append(choices)
    combined = [dict(pair for part in parts for pair in part.items()) for parts in itertools.product(*options)]
    return [arguments for arguments in combined if arguments or not given]


def write_signature(head, given, returned):
    """Return a signature: its first parameter, those that set fields, and what it returns."""
    return ", ".join([head, *(f"{name}: {hint}" for name, hint in given)]) + f") -> {returned}"
