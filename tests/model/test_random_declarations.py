"""Random declarations with random writes: every index key is the one that `expected_key` makes of the stored item.

An item has fields of random kinds, keys of random templates, two variants that may declare the same keys anew, perhaps
a lifecycle, and a view. The writes are whole items, copies, and random patterns through the item, a variant or the
view, given items that are as stored or were read a few writes before.
"""

import random
from functools import partial

import pytest

from hashrange import Conflict, DeclarationError, ValueInvalid, load_item
from tests.model.case_runner import CaseRunner
from tests.model.declared import (
    KINDS,
    Kind,
    choose_arguments,
    choose_parameters,
    declare,
    expected_key,
    write_signature,
)

FIELDS = ("a", "b", "c")
KEYS = ("g1", "g2", "g3")
VARIANTS = ("New", "Old")
TARGETS = ("Thing", "Thing", "Part", *VARIANTS)
PATTERNS = 10
WORD = {"word": Kind("Literal['New', 'Old']", values=("Old", "New"))}
WRITES = 30


def choose_template(rng, prefix):
    """Return a template of up to three fields."""
    return prefix + "#".join(f"{{{name}}}" for name in rng.sample(FIELDS, rng.randint(0, 3)))


def declare_random(rng):
    """Declare an item, its variants and a view; draw again what is refused."""
    while True:
        kinds = {name: KINDS[rng.choice(list(KINDS))] for name in FIELDS}
        templates = {f"Thing.{attr}": choose_template(rng, "T#") for attr in KEYS[:2]}
        for variant in VARIANTS:
            templates |= {
                f"{variant}.{attr}": choose_template(rng, f"{variant}#") for attr in KEYS if rng.random() < 0.4
            }
        shown = rng.sample(FIELDS, rng.randint(0, 3))
        try:
            return declare(kinds, templates, partial(render, kinds=kinds, shown=shown, has_states=rng.random() < 0.5))
        except DeclarationError:
            continue


def render(templates, kinds, shown, *, has_states):
    """Return the declarations."""

    def keys_of(name):
        return {attr: templates[f"{name}.{attr}"] for attr in KEYS if f"{name}.{attr}" in templates}

    fields = sorted(kinds.items(), key=lambda pair: bool(pair[1].default))
    lines = [kind.declare(name) for name, kind in fields]
    seen = [kind.declare(name) for name, kind in fields if name in shown]
    variants = "".join(
        f"class {name}(Thing, keys={keys_of(name)!r}):\n    word: Literal[{name!r}] = {name!r}\n" for name in VARIANTS
    )
    state = "    state: Free | Held = initially(Free)\n" if has_states else ""
    return (
        "table = Table('things', 'pk', indexes=[Gsi('One', 'g1'), Gsi('Two', 'g2'), Gsi('Three', 'g3'), "
        "Gsi('Four', 'g4')])\nclass State(View['Thing']):\n    id: str\n"
        "class Free(State, g4='FREE#'): ...\nclass Held(State, g4='HELD#'): ...\n"
        f"class Thing(Item, table=table, keys={ {'pk': 'T#{id}', **keys_of('Thing')}!r}):\n    id: str\n"
        f"    word: Literal['New', 'Old']\n{''.join(lines)}    z: int = 0\n{state}{variants}"
        f"class Part(View[Thing]):\n    id: str\n{''.join(seen)}"
        "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
    )


class RandomCaseRunner(CaseRunner):
    """Runs random writes on three items."""

    def __init__(self, declared, rng):
        super().__init__(declared)
        self.rng, self.copies = rng, []
        self.patterns = [found for found in (self.choose_pattern() for _ in range(PATTERNS)) if found is not None]

    def choose_pattern(self):
        """Return a random pattern, what it takes and what it sets; None if it is refused."""
        rng = self.rng
        target = rng.choice(TARGETS)
        takes = rng.choice(["id", "id", "Thing", "Part", *VARIANTS])
        given = rng.choice(choose_parameters(self.declared.kinds))
        if rng.random() < 0.2:
            given = [("word", "Literal['New', 'Old']"), *given]
        verb = rng.choice(["Update", "Update", "Upsert"]) if takes == "id" else "Update"
        head = "id: str" if takes == "id" else f"thing: {takes}"
        pattern = self.declared.add_pattern(write_signature(head, given, f"{verb}[{target}]"))
        return None if pattern is None else (pattern.open(self.database), takes, given, target)

    def choose_item(self, name):
        """Return a new item, of a variant or with its values."""
        values = {"id": name, "word": self.rng.choice(VARIANTS)}
        for field, kind in self.declared.kinds.items():
            if kind.is_touched:
                values[field] = self.things.session.now()
            elif kind.parameters and not (kind.default and self.rng.random() < 0.4):
                values[field] = self.rng.choice(kind.values)
        return self.declared.thing(**values)

    def choose_write(self, name):
        """Return a random write of an item, and the name of the class that it returns."""
        rng = self.rng
        if not self.patterns or rng.random() < 0.25:
            return self.things.put(self.choose_item(name)).imported(), "Thing"
        if self.copies and rng.random() < 0.2:
            return self.things.put(rng.choice(self.copies).model_copy(update={"z": 7})), "Thing"
        db, takes, given, target = rng.choice(self.patterns)
        arguments = rng.choice(choose_arguments(WORD | self.declared.kinds, given))
        if takes == "id":
            return db.write(name, **arguments), target
        seen = rng.choice(self.copies or [self.choose_item(name)])
        return db.write(self.as_part(seen) if takes == "Part" else seen, **arguments), target

    def as_part(self, item):
        """Return the view of an item, as an index would give it."""
        raw = self.raw(item.id)
        return self.load_as("Part", raw) if raw else item

    def load_as(self, name, raw):
        """Return the attributes of an item as an object of a class."""
        return load_item([getattr(self.declared.module, name)], raw)

    def run_one(self):
        """Run one write, and note which keys it left stale, and whether it returned what is stored."""
        self.clock.advance(self.rng.choice([0, 60]))
        name = self.rng.choice("xyz")
        if (current := self.read(name)) is not None:
            self.copies = [*self.copies[-5:], current]
        try:
            write, returned_class = self.choose_write(name)
            written = write.run()
        except (Conflict, ValueInvalid):
            return
        self.cases += 1
        raw = self.raw(written.id)
        read = self.load(raw)
        stored = self.load_as(returned_class, raw)
        faults = [] if written == stored else [f"returned {written!r}, stored is {stored!r}"]
        for attr in KEYS:
            wanted = expected_key(self.declared, text, raw, read) if (text := self.template_of(attr, raw)) else None
            if raw.get(attr) != wanted:
                faults.append(f"{attr} is {raw.get(attr)} and should be {wanted}, in {raw}, before {current!r}")
        self.complain_about(f"{write.label} {getattr(write, 'arguments', '')}", faults)

    def template_of(self, attr, raw):
        """Return the template of a key, as the variant of an item declares it; None if there is none."""
        templates = self.declared.templates
        return templates.get(f"{raw['word']['S']}.{attr}", templates.get(f"Thing.{attr}"))


@pytest.mark.parametrize("seed", range(60))
def test_no_random_write_of_a_random_declaration_leaves_a_stale_index_key(seed):
    rng = random.Random(seed)
    runner = RandomCaseRunner(declare_random(rng), rng)
    for _ in range(WRITES):
        runner.run_one()
    runner.finish()
