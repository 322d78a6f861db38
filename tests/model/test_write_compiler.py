"""A bounded model check of the write compiler: no write leaves an index key that differs from the stored item.

Small declarations (two fields of every kind, in key templates of one and of two fields) are combined with every verb,
every choice of parameters (given, left out, None), several starting items (also one written before a field was
declared, also none) and one write of somebody else in between. After each case:

- the index keys are those that `expected_key` makes of the stored attributes;
- the item is what the write makes of the item before it, and what the write returned;
- a write that nobody interfered with has succeeded, and nothing that was deleted is back.
"""

import itertools
from datetime import UTC, datetime

import pytest

from tests.model.declared import KINDS, choose_arguments, choose_parameters, declare, write_signature
from tests.model.stage import NOW, Stage

STARTED = datetime.fromtimestamp(NOW, UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)
SECOND = ("plain", "optional", "defaulted", "touched", "version", "key only")
LAYOUTS = {
    "one field": {"gp": "P", "gs": "{a}"},
    "two fields": {"gp": "P", "gs": "{a}#{b}"},
    "two attributes": {"gp": "{a}", "gs": "X#{b}"},
    "plain attributes": {},
}
STYLES = {
    "by key": ("id: str", "Update[Thing]"),
    "from an item": ("thing: Thing", "Update[Thing]"),
    "upsert": ("id: str", "Upsert[Thing]"),
    "delete by key": ("id: str", "Delete[Thing]"),
    "delete an item": ("thing: Thing", "Delete[Thing]"),
    "put": ("", ""),
}


def declare_item(kinds, templates):
    """Declare an item whose index keys are made of its fields, or are its fields."""

    def render(templates):
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

    return declare(kinds, templates, render)


def choose_starts(kinds):
    """Return the fields of items to start from: all set, and all that have a default left to it."""
    full = {name: kind.values[0] for name, kind in kinds.items() if kind.parameters}
    touched = {name: STARTED for name, kind in kinds.items() if kind.is_touched}
    least = {name: value for name, value in full.items() if not kinds[name].default}
    return [{**touched, **values} for values in ([full] if least == full else [full, least])]


def choose_foreign(kinds):
    """Return what somebody else writes in between: nothing, items with other values, with fewer, a deletion."""
    starts = choose_starts(kinds)
    others = {name: kinds[name].values[1] if kinds[name].parameters else LATER for name in starts[0]}
    puts = [others, *({**starts[0], name: value} for name, value in others.items()), *starts[1:]]
    return [None, *puts, {}]


class ItemStage(Stage):
    """Runs cases on items with two fields."""

    def make(self, start):
        """Create an item to start from; one that is older than a field is stored without its attributes."""
        name = f"k{next(self.numbers)}"
        self.clock.set(NOW)
        if start is not None:
            fields, is_old = start
            self.things.create(self.declared.thing(id=name, **fields)).run()
            if is_old:
                self.forget_new_fields(name)
        return name

    def forget_new_fields(self, name):
        """Store the item as a program did that did not know the fields with defaults, nor keys made of them."""
        new = {field for field, kind in self.declared.kinds.items() if kind.absent is not None}
        keys = {attr for attr, text in self.declared.templates.items() if any(f"{{{field}" in text for field in new)}
        old = {attr: value for attr, value in self.raw(name).items() if attr not in new | keys}
        self.database.call("PutItem", {"TableName": "things", "Item": old})

    def interfere(self, name, seen, values):
        """Do what somebody else does: replace the item, or delete it."""
        self.clock.advance(60)
        if not values:
            self.delete(name)
            return
        versions = {field: getattr(seen, field) for field, kind in self.declared.kinds.items() if kind.is_version}
        copy = seen.model_copy(update={**self.declared.thing(id=name, **values).__dict__, **versions})
        self.things.put(copy).run()

    def run(self, style, db, given, case):
        """Run one case and note what is wrong with its outcome."""
        start, foreign, arguments = case
        self.cases += 1
        name = self.make(start)
        seen = self.read(name)
        if foreign is not None and seen is not None:
            self.interfere(name, seen, foreign)
        self.clock.advance(60)
        before, current = self.raw(name), self.read(name)

        def write():
            if style == "put":
                return self.things.put(seen.model_copy(update=arguments))
            return db.write(seen if "item" in style else name, **arguments)

        is_once = any(hint.startswith("Once") for _, hint in given)
        happened, returned = self.attempt(write, may_conflict=foreign is not None or is_once)
        if happened:
            raw, read = self.raw(name), self.read(name)
            faults = [
                *self.find_revival(style, current, read),
                *self.find_stale_keys(self.declared.templates if raw else {}, before, raw, read),
                *self.find_unindexed(before, raw),
                *self.find_difference(style, current, read, returned, given, arguments),
            ]
            self.complain_about(f"{style} {given} {arguments} on {start} after {foreign}", faults)

    def find_revival(self, style, current, read):
        """Yield a fault if an item exists that somebody else has deleted."""
        is_versioned = any(kind.is_version for kind in self.declared.kinds.values())
        if current is None and read is not None and style != "upsert" and (style != "put" or is_versioned):
            yield "an item that was deleted is back"

    def find_unindexed(self, before, raw):
        """Yield the defaults that a new item has when it is read, and that are index keys, but are not stored."""
        if not self.declared.templates and raw and not before:
            for name, kind in self.declared.kinds.items():
                if kind.absent is not None and name not in raw:
                    yield f"{name} is read as {kind.absent!r} and is in no index"

    def find_difference(self, style, current, read, returned, given, arguments):
        """Yield a fault if the item is not what the write should make of the one before it."""
        if "delete" in style:
            if read is not None or returned != current:
                yield f"deleted {current!r}, returned {returned!r}, and {read!r} is left"
            return
        if read != returned:
            yield f"returned {returned!r}, stored is {read!r}"
        if style != "put":
            for name, wanted in self.expect_fields(current, given, arguments).items():
                if getattr(read, name) != wanted:
                    yield f"{name} should be {wanted!r} in {read!r}"

    def expect_fields(self, current, given, arguments):
        """Return the fields that a write makes of an item; None is an item that did not exist."""
        kinds, hints = self.declared.kinds, dict(given)
        found = {}
        for name, kind in kinds.items():
            old = kind.absent if current is None else getattr(current, name)
            if kind.is_touched:
                found[name] = self.things.session.now()
            elif kind.is_version:
                found[name] = old + 1
            elif name not in arguments:
                found[name] = old
            elif hints[name].startswith("Add"):
                found[name] = old + arguments[name]
            elif not hints[name].startswith("Once") or old is None:
                found[name] = arguments[name]
            else:
                found[name] = old
        return found


def list_items():
    """Return the pairs of kinds in every layout."""
    found = []
    for layout, templates in LAYOUTS.items():
        seconds = ("plain",) if layout == "one field" else SECOND
        for first, second in itertools.product(KINDS, seconds):
            if first == second == "version" or (not templates and {"touched", "version", "key only"} & {first, second}):
                continue  # an item has one version; an index key that is a field is set by whoever sets the field
            if layout == "two fields" and "key only" in {first, second} and {"optional", "once"} & {first, second}:
                continue  # refused: without the other field there is no key, and nothing has the value
            found.append(
                pytest.param({"a": KINDS[first], "b": KINDS[second]}, templates, id=f"{layout}, {first}, {second}")
            )
    return found


def choose_calls(style, kinds):
    """Return the parameters of a style, each with the arguments of its calls."""
    if "delete" in style:
        return [([], [{}])]
    if style == "put":
        changes = [{name: kind.values[1]} for name, kind in kinds.items() if kind.parameters]
        return [([], [{}, *changes])]
    return [(given, choose_arguments(kinds, given)) for given in choose_parameters(kinds)]


@pytest.mark.parametrize(("kinds", "templates"), list_items())
def test_no_write_leaves_a_stale_index_key(kinds, templates):
    declared = declare_item(kinds, templates)
    stage = ItemStage(declared)
    ages = (False,) if any(kind.is_key_only for kind in kinds.values()) else (False, True)
    starts = [(fields, is_old) for fields in choose_starts(kinds) for is_old in ages]
    for style, (head, returned) in STYLES.items():
        for given, calls in choose_calls(style, kinds):
            pattern = declared.add_pattern(write_signature(head, given, returned)) if head else declared.module.Things
            if pattern is None:
                continue
            db = pattern.open(stage.database)
            first = [None] if style == "upsert" else []
            for case in itertools.product([*starts, *first], choose_foreign(kinds), calls):
                stage.run(style, db, given, case)
    stage.finish()
