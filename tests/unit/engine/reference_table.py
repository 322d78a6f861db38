"""A table as one plain dictionary, from which every index, order, size and count is worked out anew each time."""

from base64 import b64decode
from decimal import Decimal

from tests.conformance.table import keys_of, read_sides
from tests.unit.engine.local import sort_items

ORDERS = {"S": str.encode, "N": Decimal, "B": b64decode}


class ReferenceTable:
    """The items by key, and the indexes in the notation of `define`."""

    def __init__(self, keys, indexes):
        self.key_names = [name for side in read_sides(keys) for name, _ in side]
        self.sides = {None: read_sides(keys)} | {name: read_sides(keys_of(index)) for name, index in indexes.items()}
        self.projections = {name: "ALL" if isinstance(index, str) else index[1] for name, index in indexes.items()}
        self.items = {}

    # -- writes -------------------------------------------------------------------------------------------------------

    def key(self, item):
        """What identifies an item."""
        return tuple(item[name][next(iter(item[name]))] for name in self.key_names)

    def put(self, item):
        self.items[self.key(item)] = dict(item)

    def delete(self, key):
        self.items.pop(self.key(key), None)

    def update(self, key, changed, removed):
        found = self.items.get(self.key(key))
        if found is None and not changed and removed:
            return  # a removal alone makes no item
        found = found or key
        self.items[self.key(key)] = {name: found[name] for name in found if name not in removed} | changed

    # -- what a table or (by name) an index holds ---------------------------------------------------------------------

    def entries(self, index=None):
        """The entries, as an index shows them, in an order that depends on them alone."""
        return sort_items([self.project(item, index) for item in self.members(index)])

    def members(self, index):
        """The items that are in an index: those with all of its key attributes, of the right type."""
        wanted = [attribute for side in self.sides[index] for attribute in side]
        return [item for item in self.items.values() if all(tag in item.get(name, {}) for name, tag in wanted)]

    def project(self, item, index):
        projection = self.projections.get(index, "ALL")
        if projection == "ALL":
            return item
        kept = {*self.key_names, *(name for side in self.sides[index] for name, _ in side)}
        if projection != "KEYS_ONLY":
            kept |= set(projection)
        return {name: value for name, value in item.items() if name in kept}

    def partitions(self, index=None):
        """The partitions that have entries, each as its hash attributes in wire form."""
        hashes = [name for name, _ in self.sides[index][0]]
        found = {repr([item[name] for name in hashes]): item for item in self.members(index)}
        return [{name: item[name] for name in hashes} for item in found.values()]

    def position(self, item, index=None):
        """What entries of a partition are ordered by."""
        ranges = self.sides[index][1] if len(self.sides[index]) > 1 else []
        return tuple(ORDERS[tag](item[name][tag]) for name, tag in ranges)

    def count(self, index=None):
        """How many entries there are, and how large they are."""
        entries = self.entries(index)
        return len(entries), sum(measure_members(entry) for entry in entries)


def measure_members(members):
    return sum(len(name.encode()) + measure(value) for name, value in members.items())


def measure(value):
    """The size of a value by DynamoDB's count."""
    ((tag, content),) = value.items()
    if tag == "L":
        return 3 + sum(1 + measure(element) for element in content)
    if tag == "M":
        return 3 + len(content) + measure_members(content)
    return sum(SIZES[tag[0]](member) for member in content) if tag in {"SS", "NS", "BS"} else SIZES[tag](content)


def measure_number(text):
    whole, _, fraction = f"{abs(Decimal(text)):f}".partition(".")
    whole, fraction = whole.strip("0") if not fraction.strip("0") else whole.lstrip("0"), fraction.rstrip("0")
    if not whole:
        fraction = fraction.lstrip("0")
    pairs = -(-len(whole) // 2) + -(-len(fraction) // 2)
    return 1 + pairs + (Decimal(text) < 0)


SIZES = {
    "S": lambda text: len(text.encode()),
    "N": measure_number,
    "B": lambda text: len(b64decode(text)),
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
}
