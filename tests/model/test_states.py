"""A bounded model check of states and variants: every step leaves the index key of the state that it enters.

Two fields of several kinds stand in the keys of the states of a lifecycle, or of the variants of an item that fixed
values tell apart. Every step runs from every state, with and without a write of somebody else in between. What it is
given is a state, one of several, their base class or the whole item. Whole items are put as each variant and as their
base class.
"""

import itertools
from contextlib import suppress
from functools import partial

import pytest

from hashrange import DeclarationError, ValueInvalid
from tests.model.case_runner import NOW, CaseRunner, Situation
from tests.model.declared import KINDS, choose_arguments, choose_parameters, declare, expected_key, write_signature

FIRST = ("plain", "defaulted", "number", "literal")
SECOND = ("plain", "defaulted")
PAIRS = [("plain", "plain"), ("defaulted", "plain"), ("number", "defaulted"), ("literal", "defaulted")]  # of all steps
LIFECYCLE = {"New": "NEW#", "Busy": "BUSY#{a}#{b}", "Done": "DONE#{b}#{a}"}
VARIANTS = {"New": "NEW#{b}", "Busy": "BUSY#{a}#{b}", "Done": "DONE#{a}"}
SUBJECTS = {
    "New": ["New"],
    "Busy": ["Busy"],
    "Done": ["Done"],
    "New | Done": ["New", "Done"],
    "Busy | Done": ["Busy", "Done"],
    "Any": ["New", "Busy", "Done"],  # the base class of the states
}


def render_fields(kinds):
    """Return the lines that declare the fields, required ones first."""
    fields = sorted(kinds.items(), key=lambda pair: bool(pair[1].default))
    return "".join(kind.declare(name) for name, kind in fields)


def declare_lifecycle(kinds, templates=LIFECYCLE):
    """Declare an item with a lifecycle of three states."""

    def render(templates):
        states = "".join(
            f"class {name}(State, gs={text!r}):\n{'    ...' if name == 'New' else render_fields(kinds)}\n"
            for name, text in templates.items()
        )
        return (
            "table = Table('things', 'pk', indexes=[Gsi('ByKey', 'gp', 'gs')])\n"
            f"class State(View['Thing']):\n    id: str\n{states}"
            "class Thing(Item, table=table, pk='T#{id}', gp='P'):\n    id: str\n    z: int = 0\n"
            f"    state: {' | '.join(templates)} = initially(New)\n"
            "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
        )

    return declare(kinds, templates, render)


def declare_variants(kinds, templates=VARIANTS):
    """Declare an item with three variants, each with a fixed value."""

    def render(templates):
        variants = "".join(
            f"class {name}(Thing, gs={text!r}, initial={name == 'New'}):\n    word: Literal[{name!r}] = {name!r}\n"
            for name, text in templates.items()
        )
        return (
            "table = Table('things', 'pk', indexes=[Gsi('ByKey', 'gp', 'gs')])\n"
            "class Thing(Item, table=table, pk='T#{id}', gp='P'):\n    id: str\n"
            f"    word: Literal['New', 'Busy', 'Done']\n{render_fields(kinds)}    z: int = 0\n{variants}"
            "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
        )

    return declare(kinds, templates, render)


class StateCaseRunner(CaseRunner):
    """Runs cases on items that are in one of several states."""

    def __init__(self, declared, *, is_lifecycle):
        super().__init__(declared)
        self.is_lifecycle = is_lifecycle

    def build(self, name, state, at):
        """Return an item in a state, with the first or the second value of each field."""
        values = {field: kind.values[at] for field, kind in self.declared.kinds.items()}
        made = getattr(self.declared.module, state)
        if not self.is_lifecycle:
            return made(id=name, **values)
        return self.declared.thing(id=name, state=made(id=name, **({} if state == "New" else values)))

    def subject(self, item):
        """Return what a step takes: the state, or the item itself."""
        return item.state if self.is_lifecycle and item is not None else item

    def prepare(self, start, foreign):
        """Make a situation: an item in a state, as it was seen, and what somebody else made of it then."""
        name = f"k{next(self.numbers)}"
        self.things.create(self.build(name, start, 0)).imported().run()
        seen = self.subject(self.read(name))
        if foreign is not None:
            self.delete(name)
        if foreign:
            self.things.put(self.build(name, *foreign)).run()
        current = self.subject(self.read(name))
        return Situation(start, foreign, name, seen, self.raw(name), current, NOW)

    def run(self, db, subjects, returned, situation, arguments):
        """Run one case and note what is wrong with its outcome."""
        self.cases += 1
        self.restore(situation)
        start, foreign, name, seen, before, current, _ = situation
        where = f"{subjects} -> {returned} {arguments} on {start} after {foreign}"
        is_wrong = "Update" not in returned and f"[{start}]" not in returned  # the item is not what is deleted
        if start not in subjects:
            with pytest.raises(ValueInvalid):
                db.write(seen, **arguments)
            return
        happened, result = self.attempt(
            lambda: self.write(db, seen, returned, arguments), may_conflict=foreign is not None or is_wrong
        )
        if happened:
            self.changed.add(name)
        if happened and "Update" in returned and type(current) is not type(seen):
            self.complain_about(where, [f"a write of {seen!r} has found {current!r}"])
        if happened:
            self.complain_about(where, self.find_faults(name, before, current, subjects, returned, result, arguments))

    def write(self, db, seen, returned, arguments):
        """Return the write of a case; a condition is run together with another write."""
        write = db.write(seen, **arguments)
        if "Ensure" not in returned:
            return write
        return self.things.transact(write, self.things.create(self.build(f"k{next(self.numbers)}", "New", 0)))

    def find_faults(self, name, before, current, subjects, returned, result, arguments):
        """Yield what is wrong with an item after a write that has happened."""
        raw = self.raw(name)
        read = self.subject(self.load(raw))
        if type(current).__name__ not in subjects:
            yield f"a write that starts from {subjects} has changed {current!r}"
        if "Update" not in returned and f"[{type(current).__name__}]" not in returned:
            yield f"{returned} took {current!r}"
        if "Ensure" in returned:
            return
        if "Delete" in returned:
            if raw:
                yield f"{raw} is left, returned {result!r}"
            return
        if read != result or f"[{type(read).__name__}]" not in returned:
            yield f"returned {result!r}, stored is {read!r}"
        for field, value in arguments.items():
            if type(value) is str and getattr(read, field, value) != value:
                yield f"{field} should be {value!r} in {read!r}"
        text = self.declared.templates[type(read).__name__]
        wanted = expected_key(self.declared, text, raw, read)
        if raw.get("gs") != wanted:
            yield f"gs is {raw.get('gs')} and should be {wanted}, in {raw}, before {before}"


@pytest.mark.parametrize("is_lifecycle", [True, False], ids=["lifecycle", "variants"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_step_leaves_the_key_of_the_state_entered(first, second, is_lifecycle):
    kinds = {"a": KINDS[first], "b": KINDS[second]}
    declared = declare_lifecycle(kinds) if is_lifecycle else declare_variants(kinds)
    runner = StateCaseRunner(declared, is_lifecycle=is_lifecycle)
    others = [None, {}, *((state, 1) for state in LIFECYCLE), ("Busy", 0)]
    situations = [runner.prepare(*pair) for pair in itertools.product(LIFECYCLE, others)]
    steps = [*(("Update", state) for state in LIFECYCLE), ("Delete", "Busy"), ("Ensure", "New")]
    for (head, subjects), (verb, entered) in itertools.product(SUBJECTS.items(), steps):
        for given in choose_parameters(kinds) if verb == "Update" else [[]]:
            returned = f"{verb}[{entered}]"
            base = "State" if is_lifecycle else "Thing"
            pattern = declared.add_pattern(
                write_signature(f"thing: {base if head == 'Any' else head}", given, returned)
            )
            if pattern is None:
                continue
            db = pattern.open(runner.database)
            for situation, arguments in itertools.product(situations, choose_arguments(kinds, given)):
                runner.run(db, subjects, returned, situation, arguments)
    runner.finish()


@pytest.mark.parametrize("is_lifecycle", [True, False], ids=["lifecycle", "variants"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(FIRST, SECOND)))
def test_items_are_created_in_the_initial_state(first, second, is_lifecycle):
    kinds = {"a": KINDS[first], "b": KINDS[second]}
    declared = declare_lifecycle(kinds) if is_lifecycle else declare_variants(kinds)
    runner = StateCaseRunner(declared, is_lifecycle=is_lifecycle)
    for state, at, is_imported in itertools.product(LIFECYCLE, (0, 1), (True, False)):
        runner.cases += 1
        name = f"k{next(runner.numbers)}"
        create = runner.things.create(runner.build(name, state, at))
        with suppress(ValueInvalid):
            (create.imported() if is_imported else create).run()
        allowed = is_imported or state == "New"
        runner.complain_about(f"create {state}", [] if allowed == bool(runner.raw(name)) else [f"allowed: {allowed}"])
    runner.finish()


@pytest.mark.parametrize("verb", ["Delete", "Ensure"])
@pytest.mark.parametrize("is_lifecycle", [True, False], ids=["lifecycle", "variants"])
def test_a_write_that_is_given_an_item_tests_the_state_that_it_names(verb, is_lifecycle):
    kinds = {"a": KINDS["plain"], "b": KINDS["plain"]}
    declared = declare_lifecycle(kinds) if is_lifecycle else declare_variants(kinds)
    runner = StateCaseRunner(declared, is_lifecycle=is_lifecycle)
    for state, start, foreign in itertools.product(LIFECYCLE, LIFECYCLE, [None, *LIFECYCLE]):
        runner.cases += 1
        name = f"k{next(runner.numbers)}"
        db = declared.add_pattern(f"thing: Thing) -> {verb}[{state}]").open(runner.database)
        runner.things.create(runner.build(name, start, 0)).imported().run()
        seen = runner.read(name)
        if foreign is not None:
            runner.things.put(runner.build(name, foreign, 1)).run()
        is_right = (foreign or start) == state
        write = partial(runner.write, db, seen, verb, {})
        happened, _ = runner.attempt(write, may_conflict=not is_right)
        runner.complain_about(f"{start} {foreign}", [f"{verb}[{state}]"] if happened and not is_right else [])
    runner.finish()


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FIRST, SECOND)))
def test_a_whole_item_has_the_key_of_the_variant_that_its_values_make(first, second):
    kinds = {"a": KINDS[first], "b": KINDS[second]}
    declared = declare_variants(kinds)
    runner = StateCaseRunner(declared, is_lifecycle=False)
    for verb, start, word, as_base in itertools.product(("create", "put", "batch"), VARIANTS, VARIANTS, (True, False)):
        runner.cases += 1
        name = f"k{next(runner.numbers)}"
        item = runner.build(name, start, 0)
        if as_base:
            item = declared.thing(**{**dict(item), "word": word})
        elif word != start:
            item = item.model_copy(update={"word": word})
        with suppress(ValueInvalid):
            write = {"create": lambda i: runner.things.create(i).imported(), "put": runner.things.put}.get(verb)
            result = runner.things.batch([item]).run() if write is None else write(item).run()
            raw, read = runner.raw(name), runner.read(name)
            wanted = expected_key(declared, declared.templates[word], raw, read)
            faults = [] if raw.get("gs") == wanted and type(read).__name__ == word else [f"{raw}, not {wanted}"]
            faults += [f"returned {result!r}, stored is {read!r}"] if write is not None and result != read else []
            runner.complain_about(f"{verb} {start} {word} {as_base}", faults)
            continue
        refused = [] if word != start and not as_base else [f"{item!r} was refused"]
        runner.complain_about(
            f"{verb} {start} {word} {as_base}", [*refused, *([f"{runner.raw(name)}"] if runner.raw(name) else [])]
        )
    runner.finish()


TEXTS = ("N#", "N", "N#M", "N#{a}", "N#M#{a}", "NM#{a}", "M#{a}", "N#{a}#{b}", "M#")


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(TEXTS, 2)))
def test_states_are_refused_or_told_apart(first, second):
    kinds = {"a": KINDS["plain"], "b": KINDS["plain"]}
    try:
        declared = declare_variants_by_key(kinds, first, second)
    except DeclarationError:
        prefixes = [text.partition("{")[0] for text in (first, second)]
        assert prefixes[0].startswith(prefixes[1]) or prefixes[1].startswith(prefixes[0])
        return
    runner = StateCaseRunner(declared, is_lifecycle=True)
    for kept, other in (("One", "Two"), ("Two", "One")):
        runner.cases += 1
        runner.things.create(runner.build(kept, kept, 0)).imported().run()
        db = declared.add_pattern(f"id: str) -> Delete[{other}]").open(runner.database)
        happened, _ = runner.attempt(lambda db=db, kept=kept: db.write(kept), may_conflict=True)
        runner.complain_about(f"{first} and {second}", [f"Delete[{other}] deleted {kept}"] if happened else [])
        query = declared.add_pattern(f"p: str) -> Query[{other}]").open(runner.database)
        runner.complain_about(
            f"{first} and {second}",
            [f"a query found {found!r}" for found in query.write("P") if type(found).__name__ == kept],
        )
    runner.finish()


def declare_variants_by_key(kinds, first, second):
    """Declare a lifecycle of two states that are told apart by their keys alone."""

    def render(templates):
        states = "".join(
            f"class {name}(State, gs={text!r}):\n{render_fields(kinds)}\n" for name, text in templates.items()
        )
        return (
            "table = Table('things', 'pk', indexes=[Gsi('ByKey', 'gp', 'gs')])\n"
            f"class State(View['Thing']):\n    id: str\n{states}"
            "class Thing(Item, table=table, pk='T#{id}', gp='{p}'):\n    id: str\n"
            "    p: str = 'P'\n    state: One | Two\n"
            "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
        )

    return declare(kinds, {"One": first, "Two": second}, render)
