"""The table and its items, the same for every contender; the requests that are measured are in rows.

A request is a JSON text with placeholders such as `<<p>>`; load.lua fills them while measuring, `fill` before.
All placeholders have a fixed width, so that the length of a request never changes: `p` a partition (`<<p+8>>`: eight
further), `s` a sort key drawn anew, `d` the last digit of that sort key, `c` the category of the partition, `n` a
counter that never repeats, so that every write changes what is stored.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

TABLE = "bench"
FLAT_TABLE = "customers"
INDEX = "byCategory"
PARTITIONS = 100
PER_PARTITION = 100
CATEGORIES = 50
FIRST_COUNT = 1_000_000_000  # ten digits, the first never a zero: a number attribute made of it is already canonical

DESCRIPTION = (
    "Restored by hand: the top was waxed, two drawers were relined and one lock was replaced with a copy of its time. "
    "Small marks of use, none of them deep."
)

PLACEHOLDER = re.compile(r"<<([a-z])(?:\+(\d+))?>>")
QUICK = {"p": "%(p)06d", "s": "%(s)04d", "d": "%(d)d", "c": "%(c)02d", "n": "%(n)d"}


def dump(value: object) -> str:
    """Compact JSON, as SDKs send it."""
    return json.dumps(value, separators=(",", ":"))


def fill(template: str, *, partition: int, sort: int, count: int, partitions: int = PARTITIONS) -> str:
    """The template with every placeholder replaced; every sort key is the given one."""

    def replace(placeholder: re.Match[str]) -> str:
        shifted = (partition + int(placeholder[2] or 0)) % partitions
        values = {
            "p": f"{shifted:06d}",
            "s": f"{sort:04d}",
            "d": str(sort % 10),
            "c": f"{shifted % CATEGORIES:02d}",
            "n": str(count),
        }
        return values[placeholder[1]]

    return PLACEHOLDER.sub(replace, template)


def item_template(shift: int = 0) -> Json:
    """A product of a shop: 13 attributes of mixed types, 450 bytes as DynamoDB counts them, 670 as JSON."""
    return {
        "pk": {"S": f"SHOP#<<p+{shift}>>"},
        "sk": {"S": "PRODUCT#<<s>>"},
        "category": {"S": f"CATEGORY#<<c+{shift}>>"},
        "updatedAt": {"S": "2026-03-14T15:09:26.<<n>>Z"},
        "title": {"S": "Walnut writing desk with brass handles, about 1890"},
        "description": {"S": DESCRIPTION},
        "price": {"N": "1249.5"},
        "stock": {"N": "1<<d>>"},
        "revision": {"N": "<<n>>"},
        "onSale": {"BOOL": True},
        "tags": {"SS": ["antique", "desk", "walnut"]},
        "images": {"L": [{"S": "images/desk/front.jpg"}, {"S": "images/desk/drawer.jpg"}]},
        "size": {"M": {"width": {"N": "120"}, "height": {"N": "76"}, "depth": {"N": "62.5"}}},
    }


def flat_item_template() -> Json:
    """A customer of a shop: 8 strings and numbers, 450 bytes as DynamoDB counts them, 520 as JSON."""
    return {
        "pk": {"S": "SHOP#<<p>>"},
        "sk": {"S": "PRODUCT#<<s>>"},
        "updatedAt": {"S": "2026-03-14T15:09:26.<<n>>Z"},
        "name": {"S": "Augusta Ada Lovelace"},
        "address": {"S": "12 St James's Square, London SW1Y 4JH, United Kingdom"},
        "notes": {"S": DESCRIPTION},
        "orders": {"N": "1<<d>>"},
        "revision": {"N": "<<n>>"},
    }


ITEM = dump(item_template())
FLAT_ITEM = dump(flat_item_template())
KEY = {"pk": {"S": "SHOP#<<p>>"}, "sk": {"S": "PRODUCT#<<s>>"}}


def create_table(name: str = TABLE, *, streams: bool = False, index: bool = True) -> Json:
    """The CreateTable request: partition and sort key, one global index that projects everything."""
    keyed = ["pk", "sk", "category", "updatedAt"] if index else ["pk", "sk"]
    throughput = {"ReadCapacityUnits": 10_000, "WriteCapacityUnits": 10_000}  # DynamoDB Local allows 80,000 in all
    request: Json = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in keyed],
        "ProvisionedThroughput": throughput,
    }
    if index:
        request["GlobalSecondaryIndexes"] = [
            {
                "IndexName": INDEX,
                "KeySchema": [
                    {"AttributeName": "category", "KeyType": "HASH"},
                    {"AttributeName": "updatedAt", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": throughput,
            }
        ]
    if streams:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    return request


def initial_items(item: str = ITEM) -> Iterator[str]:
    """The JSON of the 10,000 items that every contender holds in a table before it is measured."""
    for number in range(PARTITIONS * PER_PARTITION):
        yield fill(item, partition=number % PARTITIONS, sort=number // PARTITIONS, count=FIRST_COUNT + number)


def item_lines(count: int) -> Iterator[str]:
    """The JSON of any number of items, a partition after the other as a DynamoDB export has them; fast."""
    quick = PLACEHOLDER.sub(lambda placeholder: QUICK[placeholder[1]], ITEM.replace("%", "%%"))
    for number in range(count):
        partition, sort = divmod(number, PER_PARTITION)
        values = {"p": partition, "s": sort, "d": sort % 10, "c": partition % CATEGORIES, "n": FIRST_COUNT + number}
        yield quick % values


def same_item(one: Json, other: Json) -> bool:
    """Return whether two items are equal; sets have no order."""
    return {**one, "tags": sorted(one["tags"]["SS"])} == {**other, "tags": sorted(other["tags"]["SS"])}
