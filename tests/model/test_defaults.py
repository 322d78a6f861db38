"""A bounded model check of defaults: what a write returns is stored, and its index key is the one of the stored item.

An item has a time, a field that is a day after it by default, and a text; its index key is made of some of them. It is
stored as a whole, or as a program stored it that did not know one of the fields, or kept it in the key alone. Every
write runs on every such item, with and without a write of somebody else in between.
"""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from tests.model.case_runner import CaseRunner
from tests.model.declared import Kind, declare, write_signature

TIMES = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
DAY = timedelta(days=1)
KINDS = {
    "at": Kind("datetime", values=TIMES),
    "end": Kind("datetime", "after('at', days=1)", values=tuple(time + 2 * DAY for time in TIMES)),
    "a": Kind("str"),
    "n": Kind("int", "3"),
    "made": Kind("str", "Field(default_factory=lambda data: data['a'] + '!')"),
}
TEMPLATES = (
    "{end:date}",
    "{end:date}#{n:03d}",
    "{end}#{a}",
    "{at}#{end:date}",
    "{a}#{n:03d}",
    "{a}#{at}",
    "{made}#{n:03d}",
    "{made:fold}",
)
HEADS = {"from an item": ("thing: Thing", "Update"), "by key": ("id: str", "Update"), "upsert": ("id: str", "Upsert")}
CHOICES = {
    "from an item": [["at"], ["a"], ["n"], ["at", "n"], ["at?", "a"], ["end"]],
    "by key": [["at"], ["a"], ["n"], ["at", "a"], ["at", "end", "a"]],
    "upsert": [["at", "a"], ["at", "a", "n?"], ["at", "a", "end"], ["at", "a", "end", "made", "n"]],
}
# What an item is stored without: attributes, and the keys that are made of them or are their only place.
OLDER = {"whole": (), "no end": ("end",), "no text": ("a",), "no number": ("n",), "no made": ("made",)}

OTHER_TIME = {
    "UpdateExpression": "SET #at = :at",
    "ExpressionAttributeNames": {"#at": "at"},
    "ExpressionAttributeValues": {":at": {"S": "2026-06-01T00:00:00Z"}},
}


def declare_thing(template):
    """Declare an item with defaults that follow other fields, and one index key."""

    def render(templates):
        fields = "".join(kind.declare(name) for name, kind in KINDS.items())
        return (
            "from hashrange import after\n"
            "table = Table('things', 'pk', indexes=[Gsi('ByKey', 'gp', 'gs')])\n"
            f"class Thing(Item, table=table, pk='T#{{id}}', gp='P', gs={templates['gs']!r}):\n    id: str\n{fields}"
            "class Things(Patterns, Protocol):\n    def thing(self, id: str) -> Get[Thing]: ...\n"
        )

    return declare(KINDS, {"gs": template}, render)


class DefaultCaseRunner(CaseRunner):
    """Runs cases on items of which some fields are not stored."""

    def make(self, missing, *, keeps_key):
        """Store an item without some attributes; return its name, or None if such an item cannot be read."""
        name = f"k{next(self.numbers)}"
        values = {field: kind.values[0] for field, kind in KINDS.items() if field in {"at", "a"}}
        self.things.create(self.declared.thing(id=name, **values)).run()
        dropped = {*missing, *([] if keeps_key else ["gs"])}
        item = {attr: value for attr, value in self.raw(name).items() if attr not in dropped}
        self.database.call("PutItem", {"TableName": "things", "Item": item})
        is_recoverable = "a" not in missing or (keeps_key and "{a}" in self.declared.templates["gs"])
        return name if is_recoverable else None

    def wanted_key(self, raw, read):
        """Return the key of an item as it is read."""
        text = self.declared.templates["gs"]
        for field in KINDS:
            value = getattr(read, field)
            shown = value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else str(value)
            text = text.replace(f"{{{field}}}", shown).replace(f"{{{field}:date}}", shown[:10])
            text = text.replace(f"{{{field}:fold}}", shown.lower()).replace(f"{{{field}:03d}}", shown.zfill(3))
        return {"S": text} if "gs" in raw else None

    def run(self, style, db, arguments, case):
        """Run one case and note what is wrong with its outcome."""
        (missing, keeps_key), foreign = case
        name = self.make(missing, keeps_key=keeps_key)
        if name is None:
            return
        self.cases += 1
        seen = self.read(name)
        if foreign == OTHER_TIME:  # by a program that knows neither the default nor the key
            if keeps_key:
                return
            self.database.call("UpdateItem", {**self.key(name), **OTHER_TIME})
        elif foreign:
            kept = {"at": seen.at, "a": seen.a, "n": seen.n, "end": seen.end, "made": seen.made, **foreign}
            self.things.put(self.declared.thing(id=name, **kept)).run()
        before = self.raw(name)
        happened, returned = self.attempt(
            lambda: db.write(seen if style == "from an item" else name, **arguments),
            may_conflict=bool(foreign) or (style == "by key" and keeps_key and bool(missing)),
        )
        if not happened:
            return
        raw, read = self.raw(name), self.read(name)
        where = f"{style} {arguments} on {missing} {keeps_key} after {foreign}"
        faults = [] if read == returned else [f"returned {returned!r}, stored is {read!r}"]
        faults += [
            f"{field} should be {value!r}" for field, value in arguments.items() if getattr(read, field) != value
        ]
        if raw.get("gs") != self.wanted_key(raw, read):
            faults.append(
                f"gs is {raw.get('gs')} and should be {self.wanted_key(raw, read)}, in {raw}, before {before}"
            )
        if style == "upsert":
            faults += [f"{field} is returned and not stored" for field in KINDS if field not in raw]
        self.complain_about(where, faults)


def choose_calls(style):
    """Return the parameters of a style, each with the arguments of its calls."""
    for names in CHOICES[style]:
        bare = [name.removesuffix("?") for name in names]
        given = [(name, KINDS[name].hint) for name in bare if name in names]
        given += [(name, f"{KINDS[name].hint} = ...") for name in bare if name not in names]
        values = {name: 9 if name == "n" else KINDS[name].values[1] for name in bare}
        least = {name: value for name, value in values.items() if name in names}
        yield given, [values, *([least] if least != values else [])]


def create(runner, db, arguments):
    """Let an upsert create an item, and note what it does not store."""
    runner.cases += 1
    made = db.write(f"new{next(runner.numbers)}", **arguments).run()
    stored, read = runner.raw(made.id), runner.read(made.id)
    faults = [] if made == read and {*KINDS} <= {*stored} else [f"returned {made!r}, stored is {stored}"]
    runner.complain_about(f"created {arguments}", faults)


@pytest.mark.parametrize("template", TEMPLATES)
def test_defaults_are_stored_and_no_key_goes_stale(template):
    runner = DefaultCaseRunner(declare_thing(template))
    changes = [None, {"at": TIMES[1]}, {"a": "v"}, {"n": 7}, {"end": TIMES[1]}, {"made": "w"}, OTHER_TIME]
    cases = list(itertools.product(itertools.product(OLDER.values(), (True, False)), changes))
    for style, (given, calls) in [(each, choice) for each in HEADS for choice in choose_calls(each)]:
        head, verb = HEADS[style]
        pattern = runner.declared.add_pattern(write_signature(head, given, f"{verb}[Thing]"))
        if pattern is None:
            continue
        db = pattern.open(runner.database)
        for arguments, case in itertools.product(calls, [*cases, None]):
            if case is not None:
                runner.run(style, db, arguments, case)
            elif style == "upsert":
                create(runner, db, arguments)
    runner.finish()
