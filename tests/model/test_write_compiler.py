"""A bounded model check of the write compiler: no write leaves an index key that differs from the stored item.

Small declarations (two fields of every kind, in key templates of one and of two fields, plain or in a lifecycle) are
combined with every verb, every choice of parameters (given, left out, None), several starting items (also one written
before a field was declared, also none) and one write of somebody else in between. After each case:

- the index keys are computed again from the plain attributes of the stored item, by `expected_key`, which shares
  nothing with the compiler;
- what the write returned is what a read gives;
- a write that nobody interfered with has succeeded.
"""

import itertools
import re
import sys
import types
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

import hashrange
from hashrange import Conflict, DeclarationError, ManualClock

NOW = 1_768_478_400
STARTED = datetime.fromtimestamp(NOW, UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)

PRELUDE = """
from datetime import datetime
from typing import Literal, Protocol
from hashrange import (
    Add, Get, Gsi, Item, Once, Patterns, Table, Touched, Update, Upsert, Version, View, initially,
)
"""


@dataclass(frozen=True)
class Kind:
    """A kind of field: how it is declared and taken as a parameter, two values, and how a key shows one."""

    hint: str
    default: str = ""
    parameters: tuple[str, ...] = ()
    values: tuple = ("u", "v")
    format: str = ""
    absent: object = None  # the value of a field whose attribute is not stored

    def declare(self, name):
        return f"    {name}: {self.hint}{' = ' + self.default if self.default else ''}\n"

    def in_key(self, stored):
        """Return how a key shows a stored attribute, or None when it has no value."""
        value = self.absent if stored is None else next(iter(stored.values()))
        return value if value is None else format(int(value), self.format) if self.format else str(value)


KINDS = {
    "plain": Kind("str", parameters=("str", "str = ...")),
    "optional": Kind("str | None", "None", ("str", "str | None = ...", "None")),
    "defaulted": Kind("str", "'d'", ("str", "str = ..."), absent="d"),
    "number": Kind("int", "0", ("int", "Add[int]"), (1, 2), "04d", 0),
    "once": Kind("str | None", "None", ("Once[str]",)),
    "touched": Kind("Touched[datetime]"),
    "version": Kind("Version", "0", format="04d", absent=0),
    "literal": Kind("Literal['u', 'v']", parameters=("Literal['u', 'v'] = ...",)),
}
SECOND = ("plain", "optional", "defaulted", "touched", "version")
LAYOUTS = {
    "one field": {"gp": "P", "gs": "{a}"},
    "two fields": {"gp": "P", "gs": "{a}#{b}"},
    "two attributes": {"gp": "{a}", "gs": "X#{b}"},
    "plain attributes": {},
}
STYLES = {"by key": ("id: str", "Update"), "from an item": ("thing: Thing", "Update"), "upsert": ("id: str", "Upsert")}


@dataclass
class Declared:
    """A declared item with two fields, and the module that it stands in."""

    kinds: dict[str, Kind]
    templates: dict[str, str]
    module: types.ModuleType = field(repr=False)

    def add(self, text):
        """Execute more declarations in the module."""
        exec(text, self.module.__dict__)

    @property
    def thing(self):
        return self.module.Thing


def declare(kinds, templates, body):
    """Declare an item in a module of its own; `body` is given the templates with their formats."""
    module = types.ModuleType(f"tests.model.declared_{id(templates)}_{len(sys.modules)}")
    sys.modules[module.__name__] = module
    formats = {f"{{{name}}}": f"{{{name}:{kind.format}}}" for name, kind in kinds.items() if kind.format}
    formatted = {}
    for attr, text in templates.items():
        formatted[attr] = re.sub(r"\{\w+\}", lambda found: formats.get(found[0], found[0]), text)
    declared = Declared(kinds, formatted, module)
    declared.add(PRELUDE + body(formatted))
    return declared


def declare_item(kinds, templates):
    """Declare an item whose index keys are made of its fields, or are its fields."""

    def body(templates):
        keys = ", ".join(["pk='T#{id}'", *(f"{attr}={text!r}" for attr, text in templates.items())])
        index = "'gp', 'gs'" if templates else "'a', 'b'"
        fields = sorted(kinds.items(), key=lambda pair: bool(pair[1].default))
        return (
            f"table = Table('things', 'pk', indexes=[Gsi('ByKey', {index})])\n"
            f"class Thing(Item, table=table, {keys}):\n    id: str\n"
            + "".join(kind.declare(name) for name, kind in fields)
            + "    z: int = 0\n"
            "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
        )

    return declare(kinds, templates, body)


def expected_key(declared, attr, raw):
    """Return the index key that the plain attributes of a stored item make, or None when one of them has no value."""
    text = declared.templates[attr]
    for name, kind in declared.kinds.items():
        marked = f"{{{name}:{kind.format}}}" if kind.format else f"{{{name}}}"
        if marked in text:
            shown = kind.in_key(raw.get(name))
            if shown is None:
                return None
            text = text.replace(marked, shown)
    return {"S": text}


def choose_parameters(kinds):
    """Return every choice of parameters for the two fields, as (name, hint) pairs; those with a default last."""
    choices = [[None, *kinds[name].parameters] for name in ("a", "b")]
    found = []
    for hints in itertools.product(*choices):
        given = [(name, hint) for name, hint in zip(("a", "b"), hints, strict=True) if hint]
        found.append(sorted(given or [("z", "int")], key=lambda pair: pair[1].endswith("...")))
    return found


def choose_arguments(kinds, given):
    """Return the arguments of calls: each parameter with a new value, left out, or None, as its hint allows."""
    options = []
    for name, hint in given:
        value = None if hint == "None" else 9 if name == "z" else kinds[name].values[1]
        choices = [{name: value}]
        if "| None" in hint:
            choices.append({name: None})
        if hint.endswith("..."):
            choices.append({})
        options.append(choices)
    combined = [
        {**first, **dict(pair for other in rest for pair in other.items())}
        for first, *rest in itertools.product(*options)
    ]
    return [arguments for arguments in combined if arguments]


def choose_starts(kinds):
    """Return the fields of items to start from: all set, and all that have a default left to it."""
    full = {name: kind.values[0] for name, kind in kinds.items() if kind.parameters}
    touched = {name: STARTED for name, kind in kinds.items() if kind.hint.startswith("Touched")}
    least = {name: value for name, value in full.items() if not kinds[name].default}
    return [{**touched, **values} for values in ([full] if least == full else [full, least])]


def choose_foreign(kinds):
    """Return what somebody else writes in between: nothing, items with other values, with fewer, a deletion."""
    starts = choose_starts(kinds)
    others = {name: kinds[name].values[1] if kinds[name].parameters else LATER for name in starts[0]}
    puts = [others, *({**starts[0], name: value} for name, value in others.items()), *starts[1:]]
    return [None, *puts, {}]


class Stage:
    """A database in memory, on which cases run, each on an item of its own."""

    def __init__(self, declared, database, clock):
        self.declared, self.database, self.clock = declared, database, clock
        self.things = declared.module.Things.open(database)
        self.cases, self.complaints, self.numbers = 0, [], itertools.count()

    def key(self, name):
        return {"TableName": "things", "Key": {"pk": {"S": f"T#{name}"}}}

    def raw(self, name):
        return self.database.call("GetItem", self.key(name)).get("Item", {})

    def make(self, start):
        """Create an item to start from; one that is older than a field is stored without its attributes."""
        name = f"k{next(self.numbers)}"
        self.clock.set(NOW)
        if start is None:
            return name
        fields, legacy = start
        self.things.create(self.declared.thing(id=name, **fields)).run()
        if legacy:
            self.forget(name)
        return name

    def forget(self, name):
        """Store the item as a program did that did not know the fields with defaults, nor keys made of them."""
        raw = self.raw(name)
        new = {field for field, kind in self.declared.kinds.items() if kind.absent is not None}
        keys = {attr for attr, text in self.declared.templates.items() if any(f"{{{field}" in text for field in new)}
        old = {attr: value for attr, value in raw.items() if attr not in new | keys}
        self.database.call("PutItem", {"TableName": "things", "Item": old})

    def interfere(self, name, seen, values):
        """Do what somebody else does: replace the item, or delete it."""
        self.clock.advance(60)
        if not values:
            self.database.call("DeleteItem", self.key(name))
            return
        versions = {
            field: getattr(seen, field) for field, kind in self.declared.kinds.items() if kind.hint == "Version"
        }
        self.things.put(self.declared.thing(id=name, **values, **versions)).run()

    def run(self, write, start, foreign, arguments, *, may_conflict=False):
        """Run one case and note what is wrong with its outcome."""
        self.cases += 1
        name = self.make(start)
        seen = self.things.thing(name).run()
        if foreign is not None and seen is not None:
            self.interfere(name, seen, foreign)
        self.clock.advance(60)
        before = self.raw(name)
        try:
            returned = write(seen, name, arguments).run()
        except Conflict as conflict:
            wrong = [] if foreign is not None or may_conflict else [f"a conflict that nobody caused: {conflict}"]
        else:
            wrong = self.compare(name, before, returned)
        where = f"{arguments} on {start} after {foreign}"
        self.complaints += [f"{where}: {fault} in {self.raw(name)}, before {before}" for fault in wrong]

    def compare(self, name, before, returned):
        raw, read = self.raw(name), self.things.thing(name).run()
        for attr, text in self.declared.templates.items():
            wanted = expected_key(self.declared, attr, raw)
            fields = [field for field in self.declared.kinds if f"{{{field}" in text]
            untouched = all(raw.get(field) == before.get(field) for field in [*fields, attr])
            if raw.get(attr) != wanted and not (untouched and before):
                yield f"{attr} is {raw.get(attr)} and should be {wanted}"
        if not self.declared.templates:
            for field_name, kind in self.declared.kinds.items():
                if kind.absent is not None and field_name not in raw and not before:
                    yield f"{field_name} is read as {kind.absent!r} and is in no index"
        shown = getattr(read, "stage", None) if not isinstance(returned, self.declared.thing) else read
        if shown != returned:
            yield f"returned {returned!r}, stored is {read!r}"


def open_stage(declared):
    """Open a database with the table."""
    clock = ManualClock(NOW)
    database = hashrange.open(clock=clock)
    hashrange.create_tables(database, declared.module.Things)
    return Stage(declared, database, clock)


def finish(stage):
    """Close the database, and fail with the first complaints if there are any."""
    stage.database.close()
    del sys.modules[stage.declared.module.__name__]
    assert stage.cases
    assert not stage.complaints, f"{len(stage.complaints)} of {stage.cases} cases:\n" + "\n".join(stage.complaints[:3])


def compile_pattern(declared, number, signature):
    """Compile one pattern; return its class, or None when the declaration is refused."""
    try:
        declared.add(f"class Write{number}(Patterns, Protocol):\n    def write(self, {signature}: ...\n")
    except DeclarationError:
        return None
    return getattr(declared.module, f"Write{number}")


def list_items():
    """Return the pairs of kinds in every layout."""
    found = []
    for layout, templates in LAYOUTS.items():
        seconds = ("plain",) if layout == "one field" else SECOND
        for first, second in itertools.product(KINDS, seconds):
            if first == second == "version" or (not templates and {"touched", "version"} & {first, second}):
                continue  # an item has one version; an index key that is a field is set by whoever sets the field
            found.append(
                pytest.param({"a": KINDS[first], "b": KINDS[second]}, templates, id=f"{layout}, {first}, {second}")
            )
    return found


@pytest.mark.parametrize(("kinds", "templates"), list_items())
def test_no_write_leaves_a_stale_index_key(kinds, templates):
    declared = declare_item(kinds, templates)
    stage = open_stage(declared)
    starts = [(fields, legacy) for fields in choose_starts(kinds) for legacy in (False, True)]
    for number, (style, given) in enumerate(itertools.product(STYLES, choose_parameters(kinds))):
        head, verb = STYLES[style]
        signature = ", ".join([head, *(f"{name}: {hint}" for name, hint in given)]) + f") -> {verb}[Thing]"
        pattern = compile_pattern(declared, number, signature)
        if pattern is None:
            continue
        db = pattern.open(stage.database)

        def write(seen, name, arguments, db=db, style=style):
            return db.write(seen, **arguments) if style == "from an item" else db.write(name, **arguments)

        is_once = any(hint.startswith("Once") for _, hint in given)
        for start, foreign, arguments in itertools.product(
            [*starts, *([None] if style == "upsert" else [])], choose_foreign(kinds), choose_arguments(kinds, given)
        ):
            stage.run(write, start, foreign, arguments, may_conflict=is_once)
    finish(stage)
