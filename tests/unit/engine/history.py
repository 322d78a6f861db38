"""Random histories of a table: what is written, how time goes on, and what the table must hold at every moment."""

from hypothesis import strategies as st

from hashrange.core.values import measure_item
from tests.conformance.wire import item
from tests.unit.engine.local import sort_items

INDEXES = {
    "gsi": {"all": "g:S / n:N", "keys": ("n:N", "KEYS_ONLY")},
    "lsi": {"local": ("pk:S / n:N", ["x"])},
}
KEYS = {"all": ("g", "n"), "keys": ("n",), "local": ("pk", "n")}
PROJECTED = {"all": None, "keys": {"pk", "sk", "n"}, "local": {"pk", "sk", "n", "x"}}

partitions = st.sampled_from(["a", "b"])
sorts = st.integers(0, 2)
attributes = st.fixed_dictionaries(
    {},
    optional={
        "g": st.sampled_from(["one", "two"]),
        "n": st.integers(0, 3),
        "x": st.one_of(st.text(max_size=3), st.integers(-2, 2), st.sets(st.sampled_from("pqr"), min_size=1)),
        "y": st.just([1, {"deep": "er"}]),
    },
)
puts = st.tuples(st.just("put"), partitions, sorts, attributes)
deletes = st.tuples(st.just("delete"), partitions, sorts)
removals = st.tuples(st.just("remove"), partitions, sorts, st.sampled_from("gnx"))
batches = st.tuples(st.just("batch"), st.lists(st.tuples(partitions, sorts, attributes), min_size=1, max_size=3))
waits = st.tuples(st.just("wait"), st.sampled_from([0.001, 0.4, 1, 7, 60, 299, 300, 3000]))
histories = st.lists(st.one_of(puts, deletes, removals, batches, waits), max_size=25)


class Oracle:
    """A plain dictionary that sees the same writes, and remembers what it held after each."""

    def __init__(self, local):
        self.local = local
        self.held = {}
        self.past = [(local.clock.millis(), {})]

    def run(self, history):
        for step, *arguments in history:
            getattr(self, step)(*arguments)
            self.past.append((self.local.clock.millis(), dict(self.held)))

    def wait(self, seconds):
        self.local.clock.advance(seconds)

    def put(self, pk, sk, attributes):
        self.held[pk, sk] = item(pk=pk, sk=sk, **attributes)
        self.local.put(pk=pk, sk=sk, **attributes)

    def delete(self, pk, sk):
        self.held.pop((pk, sk), None)
        self.local.delete(pk=pk, sk=sk)

    def remove(self, pk, sk, name):
        if (pk, sk) in self.held:
            self.held[pk, sk] = {key: value for key, value in self.held[pk, sk].items() if key != name}
        self.local.call("UpdateItem", TableName="tab", Key=item(pk=pk, sk=sk), UpdateExpression=f"REMOVE {name}")

    def batch(self, written):
        chosen = {(pk, sk): item(pk=pk, sk=sk, **attributes) for pk, sk, attributes in written}
        self.held |= chosen
        self.local.call(
            "BatchWriteItem", RequestItems={"tab": [{"PutRequest": {"Item": put}} for put in chosen.values()]}
        )

    def at(self, millis):
        """What the table held after all writes of that millisecond."""
        return list([held for moment, held in self.past if moment <= millis][-1].values())


def index_entries(items, index):
    """What an index must hold of those items."""
    entries = [found for found in items if all(key in found for key in KEYS[index])]
    names = PROJECTED[index]
    return sort_items(
        [{key: value for key, value in found.items() if names is None or key in names} for found in entries]
    )


def assert_holds(local, name, items):
    """The table, its indexes and all its counters agree with those items."""
    assert local.items(name) == sort_items(items)
    description = local.describe(name)
    counted = (description["ItemCount"], description["TableSizeBytes"])
    assert counted == (len(items), sum(map(measure_item, items)))
    for index in description["LocalSecondaryIndexes"] + description["GlobalSecondaryIndexes"]:
        entries = index_entries(items, index["IndexName"])
        assert local.items(name, index["IndexName"]) == entries
        assert (index["ItemCount"], index["IndexSizeBytes"]) == (len(entries), sum(map(measure_item, entries)))
