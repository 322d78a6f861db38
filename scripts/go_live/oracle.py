"""What the new table must contain: the loaded items and every acknowledged write, computed without hashrange."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from scripts.go_live.writer import BEGIN

Stored: TypeAlias = dict[str, dict[str, Any]]
Expected: TypeAlias = dict[tuple[str, str], Stored]
KEYS = ("pk", "sk")


def first_items(count: int) -> Iterator[Stored]:
    """Yield the items that the first version begins with."""
    for number in range(count):
        keys = {"pk": {"S": f"PARCEL#{number:06d}"}, "sk": {"S": "INFO"}}
        yield {**keys, **_fields(f"c{number % 997}", "Rome", 100 + number % 900)}


def expect(count: int, acknowledged: Path) -> tuple[Expected, Counter[str]]:
    """Return what the new table must contain by key, and the number of writes of each version."""
    found: Expected = {(_pk(number), "INFO"): _complete(number, item) for number, item in enumerate(first_items(count))}
    writes: Counter[str] = Counter()
    for line in acknowledged.read_text().splitlines():
        version, kind, number, fields = json.loads(line)
        writes[version] += 1
        key = _pk(number), "INFO"
        if kind == "add":
            found[key] = _complete(number, _fields(**fields))
        elif kind == "move":
            found[key] = _complete(number, {**found[key], "city": {"S": fields["city"]}})
        elif kind == "forget":
            del found[key]
        else:
            at = (BEGIN + timedelta(seconds=fields["at"])).strftime("%Y-%m-%dT%H:%M:%SZ")
            found[_pk(number), f"HANDLED#{at}"] = {"at": {"S": at}, "place": {"S": "depot"}}
    return found, writes


def compare(database: Any, expected: Expected) -> list[str]:
    """Return what differs between the new table and its index, and what they must contain."""
    indexed = {key: item for key, item in expected.items() if key[1] == "INFO"}
    wrong = _compare("table", dict(_scan(database)), expected)
    return wrong + _compare("index", dict(_scan(database, IndexName="ByCustomer")), indexed)


def _compare(where: str, found: Expected, expected: Expected) -> list[str]:
    kinds: dict[str, Iterable[tuple[str, str]]] = {
        "missing": expected.keys() - found.keys(),
        "surplus": found.keys() - expected.keys(),
        "differing": [key for key in expected.keys() & found.keys() if found[key] != expected[key]],
    }
    return [f"{where}: {kind} {pk} {sk}" for kind, keys in kinds.items() for pk, sk in sorted(keys)]


def _scan(database: Any, **options: str) -> Iterator[tuple[tuple[str, str], Stored]]:
    request: dict[str, Any] = {"TableName": "parcels-2", **options}
    while True:
        page = database.call("Scan", request)
        for item in page["Items"]:
            yield (item["pk"]["S"], item["sk"]["S"]), {name: item[name] for name in item if name not in KEYS}
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _pk(number: int) -> str:
    return f"P#{number:010d}"


def _fields(customer: str, city: str, grams: int) -> Stored:
    return {"customer": {"S": customer}, "city": {"S": city}, "grams": {"N": str(grams)}}


def _complete(number: int, item: Stored) -> Stored:
    """Return an item as the third version stores it, without its key."""
    fields = {name: item[name] for name in ("customer", "city", "grams")}
    customer, city = fields["customer"]["S"], fields["city"]["S"]
    keys = {"customer_key": {"S": f"CUSTOMER#{customer}"}, "city_key": {"S": f"{city}#{number:010d}"}}
    return {**fields, **keys, "priority": {"N": "3"}}
