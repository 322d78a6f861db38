"""The literal queries of a seed, sent as any client sends them: each must find exactly the seed's items.

A system adds items, attributes and indexes to the tables of its seed. A program of the original knows none of them: it
takes the first item that its query finds, and the attributes that the seed names, in the types that it gives them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

Plain = Mapping[str, Any]
Kind = type | tuple[type, ...]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@dataclass(frozen=True, kw_only=True)
class SeedItem:
    """A kind of item as the seed describes it: which keys it has, and the types of its attributes."""

    table: str
    keys: Sequence[str]
    is_key: Callable[[Plain], bool]
    attributes: Mapping[str, Kind]
    optional: Mapping[str, Kind] = field(default_factory=dict)
    times: Sequence[str] = ()  # of ISO 8601, where they have a value

    def check(self, item: Plain, projected: frozenset[str] | None) -> None:
        """Fail unless an item has the seed's attributes, or those of them that the index holds."""
        for name, kind in {**self.attributes, **self.optional}.items():
            if projected is not None and name not in projected:
                assert name not in item or name in self.keys, f"{name} is not in the seed's projection: {item}"
            elif name in item:
                assert isinstance(item[name], kind), f"{name} is no {kind}: {item}"
                assert name not in self.times or not item[name] or TIME.fullmatch(item[name]), item
            else:
                assert name in self.optional, f"{name} is missing: {item}"


@dataclass(frozen=True, kw_only=True)
class SeedQuery:
    """A query of the seed, in its words, with values taken from the items that it has.

    `values` are the expression values, or the key of a GetItem, that belong to an item: each distinct one is tried.
    """

    text: str
    item: SeedItem
    values: Callable[[Plain], Plain]
    wants: Callable[[Plain, Plain], bool]  # whether an item is to be found with these values
    operation: str = "Query"
    request: Plain = field(default_factory=dict)
    projected: frozenset[str] | None = None  # the attributes that the index holds beside keys; None for all
    ordered_by: str | None = None

    def __str__(self) -> str:
        """Return the name of a test's parameter."""
        return self.text

    def run(self, database: Any) -> int:
        """Send it with each of its values; return how many items were found by all of them together."""
        items = [item for item in scan(database, self.item.table) if self.item.is_key(item)]
        assert items, f"{self.item.table} has no items of the seed"
        return sum(self._run(database, items, values) for values in find_distinct(map(self.values, items)))

    def _run(self, database: Any, items: Sequence[Plain], values: Plain) -> int:
        found = self.send(database, values)
        wanted = [item for item in items if self.wants(item, values)]
        assert self.list_keys(found) == self.list_keys(wanted), f"{self.text} with {dict(values)}"
        for item in found:
            self.item.check(item, self.projected)
        if self.ordered_by is not None:
            order = [item[self.ordered_by] for item in found]
            assert order == sorted(order, reverse=self.request.get("ScanIndexForward") is False)
        return len(found)

    def list_keys(self, items: Sequence[Plain]) -> list[list[Any]]:
        """Return the keys of items, sorted."""
        return sorted([item.get(name) for name in self.item.keys] for item in items)

    def send(self, database: Any, values: Plain) -> list[Plain]:
        """Return what it finds, all pages together."""
        request = {"TableName": self.item.table, **self.request}
        if self.operation == "GetItem":
            response = database.call("GetItem", request | {"Key": to_wire(values)})
            return [to_plain(response["Item"])] if "Item" in response else []
        given = {"ExpressionAttributeValues": to_wire(values)} if values else {}
        return read_all(database, self.operation, request | given)


def read_all(database: Any, operation: str, request: Plain) -> list[Plain]:
    """Return the items of all pages of a request."""
    found, start = list[Plain](), dict[str, Any]()
    while True:
        page = database.call(operation, {**request, **start})
        found += map(to_plain, page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def scan(database: Any, table: str) -> list[Plain]:
    """Return all items of a table."""
    return read_all(database, "Scan", {"TableName": table, "ConsistentRead": True})


def find_distinct(values: Any) -> list[Plain]:
    """Return mappings, each once."""
    return list({str(sorted(each.items())): each for each in values}.values())


def to_wire(item: Plain) -> dict[str, Any]:
    """Return values as a request has them."""
    return {name: TypeSerializer().serialize(value) for name, value in item.items()}


def to_plain(raw: Plain) -> Plain:
    """Return values as boto3 gives them to a program: numbers are Decimals."""
    return {name: TypeDeserializer().deserialize(value) for name, value in raw.items()}
