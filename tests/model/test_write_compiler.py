"""A bounded model check of the write compiler: no write leaves an index key that differs from the stored item.

Small declarations (two fields of every kind, in key templates of one and of two fields) are combined with every verb,
every choice of parameters (given, left out, None), several starting items (also one written before a field was
declared, also none) and one write of somebody else in between. After each case:

- the index keys are those that `expected_key` makes of the stored attributes;
- the item is what the write makes of the item before it, and what the write returned;
- a write that nobody interfered with has succeeded, nothing that was deleted is back, and a conditional put has
  replaced only what met its condition.
"""

import itertools
from datetime import UTC, datetime

import pytest

from tests.model.case_runner import NOW, CaseRunner, Situation
from tests.model.declared import KINDS, NESTED, choose_arguments, choose_parameters, declare, fields_in, write_signature

STARTED = datetime.fromtimestamp(NOW, UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)
SECOND = ("plain", "optional", "defaulted", "touched", "version", "key only")
ALIKE = {"counted", "made", "literal", "signed", "month", "folded"}  # differ from other kinds in their values alone
LAYOUTS = {
    "one field": {"gp": "P", "gs": "{a}"},
    "two fields": {"gp": "P", "gs": "{a}#{b}"},
    "two attributes": {"gp": "{a}", "gs": "X#{b}"},
    "plain attributes": {},
    "several attributes": {"gp": "P#{a}", "gs": "{b}"},
}
SECONDS = {  # where not all of them are combined
    "one field": ("plain",),
    "two attributes": ("optional", "touched"),
    "several attributes": ("optional",),
}
STYLES = {
    "by key": ("id: str", "Update[Thing]"),
    "from an item": ("thing: Thing", "Update[Thing]"),
    "upsert": ("id: str", "Upsert[Thing]"),
    "delete by key": ("id: str", "Delete[Thing]"),
    "delete an item": ("thing: Thing", "Delete[Thing]"),
    "put": ("", ""),
    "put if unchanged": ("", ""),
}


def declare_item(kinds, templates):
    """Declare an item whose index keys are made of its fields, or are its fields."""

    def render(templates):
        keys = ", ".join(["pk='T#{id}'", *(f"{attr}={text!r}" for attr, text in templates.items())])
        index = "'gp', 'gs'" if templates else "'a', 'b'"
        if templates.get("gp", "").startswith("P#"):
            index = "['gp', 'id'], ['gs', 'z']"
        fields = sorted(kinds.items(), key=lambda pair: bool(pair[1].default))
        return (
            f"table = Table('things', 'pk', indexes=[Gsi('ByKey', {index})])\n"
            f"class Thing(Item, table=table, {keys}):\n    id: str\n"
            + "".join(kind.declare(name) for name, kind in fields)
            + "    z: int = 0\n    box: dict[str, int] = {}\n"
            "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
            "    def is_untouched(self, id: str, z: Eq[int]) -> Ensure[Thing]: ...\n"
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


class ItemCaseRunner(CaseRunner):
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
        copy = seen.model_copy(update={**self.declared.thing(id=name, z=1, **values).__dict__, **versions})
        self.things.put(copy).run()

    def prepare(self, start, foreign):
        """Make a situation: an item to start from, as it was seen, and what somebody else made of it then."""
        name = self.make(start)
        seen = self.read(name)
        if foreign is not None and seen is not None:
            self.interfere(name, seen, foreign)
        self.clock.advance(60)
        return Situation(start, foreign, name, seen, self.raw(name), self.read(name), self.clock.millis() / 1000)

    def run(self, style, db, given, situation, arguments):
        """Run one case and note what is wrong with its outcome."""
        self.cases += 1
        self.restore(situation)
        start, foreign, name, seen, before, current, _ = situation

        def write():
            if "put" in style:
                put = self.things.put(seen.model_copy(update=arguments))
                return put if style == "put" else put.when(self.things.is_untouched(name, seen.z))
            return db.write(seen if "item" in style else name, **arguments)

        is_once = any(hint.startswith("Once") for _, hint in given)
        may_conflict = is_once or (foreign is not None and self.may_conflict(style, seen, current, arguments))
        happened, returned = self.attempt(write, may_conflict=may_conflict)
        if happened:
            self.changed.add(name)
            raw = self.raw(name)
            read = self.load(raw)
            faults = [
                *self.find_revival(style, current, read),
                *self.find_stale_keys(self.declared.templates if raw else {}, before, raw, read),
                *self.find_unindexed(before, raw),
                *self.find_difference(style, current, read, returned, given, arguments),
            ]
            self.complain_about(f"{style} {given} {arguments} on {start} after {foreign}", faults)

    def may_conflict(self, style, seen, current, arguments):
        """Return whether a write of somebody else is a reason to refuse this one.

        The item is gone, or has a version, or a value has changed that a key which this call writes is made of.
        """
        kinds, templates = self.declared.kinds, self.declared.templates
        if seen is None or current is None or any(kind.is_version for kind in kinds.values()):
            return True
        if style != "from an item":
            return style == "put if unchanged"
        changed = {*arguments, *(name for name, kind in kinds.items() if kind.is_touched)}
        pinned = set(arguments) & kinds.keys() if not templates else set()
        for names in (set(fields_in(text)) for text in templates.values()):
            in_key_alone = any(kinds[name].is_key_only for name in names)
            if names & changed:
                pinned |= names if in_key_alone else names - changed
        return any(getattr(seen, name) != getattr(current, name) for name in pinned)

    def find_revival(self, style, current, read):
        """Yield a complaint if an item exists that somebody else has deleted."""
        is_versioned = any(kind.is_version for kind in self.declared.kinds.values())
        if current is None and read is not None and style != "upsert" and (style != "put" or is_versioned):
            yield "an item that was deleted is back"
        if style == "put if unchanged" and current.z:
            yield "an item that somebody else has changed is replaced"

    def find_unindexed(self, before, raw):
        """Yield the defaults that a new item has when it is read, and that are index keys, but are not stored."""
        if not self.declared.templates and raw and not before:
            for name, kind in self.declared.kinds.items():
                if kind.absent is not None and name not in raw:
                    yield f"{name} is read as {kind.absent!r} and is in no index"

    def find_difference(self, style, current, read, returned, given, arguments):
        """Yield a complaint if the item is not what the write should make of the one before it."""
        if "delete" in style:
            if read is not None or returned != current:
                yield f"deleted {current!r}, returned {returned!r}, and {read!r} is left"
            return
        if read != returned:
            yield f"returned {returned!r}, stored is {read!r}"
        if "put" not in style:
            if changes_member(given) and "z" in arguments and read.box != {"z": arguments["z"]}:
                yield f"box should have z={arguments['z']!r} in {read!r}"
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


def changes_member(given):
    """Return whether a parameter changes a member of a map."""
    return any(hint == NESTED for _, hint in given)


def list_items():
    """Return the pairs of kinds in every layout."""
    found = []
    for layout, templates in LAYOUTS.items():
        seconds = SECONDS.get(layout, SECOND)
        for first, second in itertools.product(KINDS, seconds):
            if first in ALIKE and layout not in {"one field", "two fields"}:
                continue
            if first in ALIKE and second != "plain":
                continue
            if first == second == "version" or (not templates and {"touched", "version", "key only"} & {first, second}):
                continue  # an item has one version; an index key that is a field is set by whoever sets the field
            if (
                layout == "two fields"
                and "key only" in {first, second}
                and {"optional", "once", "month"} & {first, second}
            ):
                continue  # refused: without the other field there is no key, and nothing has the value
            found.append(
                pytest.param({"a": KINDS[first], "b": KINDS[second]}, templates, id=f"{layout}, {first}, {second}")
            )
    return found


def choose_calls(style, kinds):
    """Return the parameters of a style, each with the arguments of its calls."""
    if "delete" in style:
        return [([], [{}])]
    if "put" in style:
        changes = [{name: kind.values[1]} for name, kind in kinds.items() if kind.parameters]
        return [([], [{}, *changes] if style == "put" else [{}])]
    spare = "int" if style == "upsert" else NESTED  # an upsert changes nothing inside a field
    return [(given, choose_arguments(kinds, given)) for given in choose_parameters(kinds, spare)]


@pytest.mark.parametrize(("kinds", "templates"), list_items())
def test_no_write_leaves_a_stale_index_key(kinds, templates):
    declared = declare_item(kinds, templates)
    runner = ItemCaseRunner(declared)
    ages = (False,) if any(kind.is_key_only for kind in kinds.values()) else (False, True)
    starts = [(fields, is_old) for fields in choose_starts(kinds) for is_old in ages]
    foreign = choose_foreign(kinds)
    situations = [runner.prepare(*pair) for pair in itertools.product(starts, foreign)]
    missing = runner.prepare(None, None)
    for style, (head, returned) in STYLES.items():
        for given, calls in choose_calls(style, kinds):
            pattern = declared.add_pattern(write_signature(head, given, returned)) if head else declared.module.Things
            if pattern is None:
                continue
            db = pattern.open(runner.database)
            met = [*situations, missing] if style == "upsert" else situations
            for situation, arguments in itertools.product(met, calls):
                runner.run(style, db, given, situation, arguments)
    runner.finish()
