"""Random declarations, data and reads, compared with a selection and sort of all items in Python.

Fields of text contain characters below and above the delimiter, and texts that start with each other. Each read is run
whole, by `first()`, with a limit and page by page, ascending and descending.
"""

import random
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

import pytest

import hashrange
from hashrange import DeclarationError, Gsi, Table
from hashrange.schema.declare.table_check import check_table
from hashrange.schema.items.dumper import dump

REFUSED = {"HR230", "HR232", "HR234"}  # no such index, no common index, a filter on a key
WORDS = ("Item", "Key", "Latest", "Patterns", "Query", "via")
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = ("a", "a!", "a b", "a~", "a$b", "ab", "b", "!", "é", "a-", "-a")
VALUES = {
    "s": lambda rng: rng.choice(TEXTS),
    "t": lambda rng: rng.choice(TEXTS),
    "n": lambda rng: rng.randrange(12),
    "at": lambda rng: START + timedelta(seconds=rng.randrange(4)),
    "d": lambda rng: date(2026, 1, 1) + timedelta(days=rng.randrange(4)),
}
TYPES = {"s": "str", "t": "str", "n": "int", "at": "datetime", "d": "date"}
PIECES = {"s": "{s}", "t": "{t}", "n": "{n:04d}", "at": "{at}", "d": "{d}"}
COMPARISONS = {
    "": lambda value, given: value == given,
    "Lt": lambda value, given: value < given,
    "Le": lambda value, given: value <= given,
    "Gt": lambda value, given: value > given,
    "Ge": lambda value, given: value >= given,
    "Ne": lambda value, given: value != given,
    "Between": lambda value, given: given[0] <= value <= given[1],
    "BeginsWith": lambda value, given: value.startswith(given),
}


class Case:
    """One random declaration, as source text, with the reads to compare."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.fields = {}  # by model
        self.reads = {}  # name: models, {field: comparison}
        self.models = list(self._models())
        self.patterns_text = dict(self._patterns())
        self.names = {"datetime": datetime, "date": date, "Protocol": Protocol}
        self.names |= {name: getattr(hashrange, name) for name in (*WORDS, *COMPARISONS) if name}
        self.names["table"] = Table("cases", "pk", "sk", indexes=[Gsi("ByG", "g_pk", "g_sk"), Gsi("ByS", "owner", "s")])

    def _template(self, mark):
        rng = self.rng
        chosen = rng.sample(list(PIECES), rng.choice([1, 1, 2, 2, 3]))
        text = "#".join(PIECES[name] for name in chosen)
        form = rng.choice(["{mark}#{text}", "{mark}#{text}", "{text}#{mark}", "{mark}#{text}#x", "{mark}"])
        return form.format(mark=mark, text=text), chosen if form != "{mark}" else []

    def _models(self):
        for at, mark in enumerate(self.rng.sample(["A", "AB", "B", "M", "Z"], self.rng.choice([2, 3, 4]))):
            name = f"Model{at}"
            sk, in_sk = self._template(mark)
            g_sk, in_g = self._template(mark)
            partition = self.rng.choice(["G", "G", mark])
            fields = dict.fromkeys([*in_sk, *in_g, *self.rng.sample(["s", "n"], 1)])
            self.fields[name] = list(fields)
            yield f'class {name}(Item, table=table, pk="P#{{p}}", sk="{sk}", g_pk="{partition}#{{p}}", g_sk="{g_sk}"):'
            yield "    p: Key[str]"
            yield "    owner: str"
            hidden = [field for field in in_sk if self.rng.random() < 0.3]
            yield from (
                f"    {field}: {f'Key[{TYPES[field]}]' if field in hidden else TYPES[field]}" for field in fields
            )

    def _patterns(self):
        rng = self.rng
        for at in range(6):
            models = rng.sample(list(self.fields), rng.randint(1, len(self.fields)))
            known = list(dict.fromkeys(field for model in models for field in self.fields[model]))
            asked = {
                field: self._comparison(field) for field in rng.sample(known, min(len(known), rng.choice([0, 1, 1, 2])))
            }
            self.reads[f"Reads{at}"] = models, asked
            hints = [f"{field}: {_hint(field, how)}" for field, how in asked.items()]
            index = rng.choice(["", "", "ByG", "ByG", "ByS"])
            parameters = ", ".join(["self", "owner: str" if index == "ByS" else "p: str", *hints])
            methods = [
                f"    @via({index!r})\n    def {name}({parameters}) -> {verb}[{' | '.join(models)}]: ..."
                for name, verb in (("up", "Query"), ("down", "Latest"))
            ]
            yield f"Reads{at}", "\n".join([f"class Reads{at}(Patterns, Protocol):", *methods])

    def _comparison(self, field):
        return self.rng.choice([how for how in COMPARISONS if how != "BeginsWith" or TYPES[field] == "str"])

    def declare(self):
        """Declare the models; raise DeclarationError if their keys are not apart."""
        exec(compile("\n".join(self.models), "<models>", "exec"), self.names)
        check_table(self.names["table"])

    def patterns(self):
        """Yield the name and the class of each read that is accepted."""
        for name, text in self.patterns_text.items():
            try:
                exec(compile(text, "<patterns>", "exec"), self.names)
            except DeclarationError as error:
                assert error.code in REFUSED, f"{text}\n{error}"  # noqa: PT017 - refusals are among the outcomes
            else:
                yield name, self.names[name]

    def items(self):
        """Return random items, each key once."""
        found = {}
        for _ in range(30):
            name = self.rng.choice(list(self.fields))
            values = {field: VALUES[field](self.rng) for field in self.fields[name]}
            item = self.names[name](p=self.rng.choice("xxxy"), owner=self.rng.choice("uuuv"), **values)
            raw = dump(item)
            found[raw["pk"]["S"], raw["sk"]["S"]] = item
        return list(found.values())

    def arguments(self, name):
        """Return random arguments of a read."""
        given = {}
        for field, how in self.reads[name][1].items():
            values = sorted(VALUES[field](self.rng) for _ in range(2))
            given[field] = tuple(values) if how == "Between" else values[0]
        return given

    def expected(self, name, items, partition, arguments):
        """Return the items that a read should find."""
        models, asked = self.reads[name]
        return [
            item
            for item in items
            if type(item).__name__ in models
            and all(getattr(item, field) == value for field, value in partition.items())
            and all(
                COMPARISONS[how](getattr(item, field), arguments[field])
                for field, how in asked.items()
                if field in self.fields[type(item).__name__]
            )
        ]


def _hint(field, how):
    return f"{how}[{TYPES[field]}]" if how else TYPES[field]


def _in_index(path, item):
    raw = dump(item)
    return all(attr in raw for attr in path.keys)


def _position(path, item):
    return dump(item)[path.sk]["S"].encode()


def _pages(query, size):
    found, cursor = [], None
    while True:
        page = query.page(size, after=cursor).run()
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found
        assert len(page.items) == size


def check_case(case, database, sizes):
    """Compare every read of a case with its oracle; return how many were compared."""
    items = case.items()
    compared = 0
    for name, patterns in case.patterns():
        if not compared:
            hashrange.create_tables(database, patterns)
            patterns.open(database).batch(items).run()
        compared += 1
        db, path = patterns.open(database), patterns.plan("up").path
        partition = {"owner": "u"} if path.name == "ByS" else {"p": "x"}
        for _ in range(2):
            arguments = case.arguments(name)
            expected = [item for item in case.expected(name, items, partition, arguments) if _in_index(path, item)]
            expected.sort(key=lambda item: _position(path, item))
            for query, order in (
                (db.up(**partition, **arguments), expected),
                (db.down(**partition, **arguments), expected[::-1]),
            ):
                text = "\n".join([*case.models, case.patterns_text[name], str(arguments), query.explain()])
                check_read(query, order, path, sizes, text)
    return compared


def check_read(query, expected, path, sizes, message):
    """Compare the ways to run a query with the items in order; items with the same sort key may come in any order."""
    positions = [_position(path, item) for item in expected]
    found = query.run()
    assert [_position(path, item) for item in found] == positions, message
    assert sorted(map(repr, found)) == sorted(map(repr, expected)), message
    assert list(query) == found, message
    assert query.first().run() == (found[0] if found else None), message
    for size in sizes:
        assert query.limit(size).run() == found[:size], message
        assert _pages(query, size) == found, message


@pytest.mark.parametrize("block", range(10))
def test_reads_are_what_a_selection_and_sort_of_all_items_is(block):
    compared = 0
    for seed in range(block * 15, block * 15 + 15):
        case = Case(seed)
        try:
            case.declare()
        except DeclarationError as error:
            assert error.code == "HR141", f"{case.models}\n{error}"  # noqa: PT017 - keys that are not apart
            continue
        with hashrange.open() as database:
            compared += check_case(case, database, (1, 4))
    assert compared > 10
