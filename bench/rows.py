"""The rows of the table: which request is repeated, and the test that one answer passes before any is measured."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from bench.workload import (
    FIRST_COUNT,
    FLAT_TABLE,
    INDEX,
    ITEM,
    KEY,
    TABLE,
    Json,
    dump,
    fill,
    flat_item_template,
    item_template,
    same_item,
)

BATCH = 25
HARMLESS = {"ConsumedCapacity"}  # moto returns it unasked
PROBE = {"partition": 7, "sort": 42, "count": FIRST_COUNT + 123_456_789}
PROBE_ITEM: Json = json.loads(fill(ITEM, **PROBE))


class WrongResponse(Exception):
    """A contender answered a probe with something else than DynamoDB would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: a request to repeat and the test that one answer must pass before anything is measured."""

    name: str
    title: str
    operation: str
    template: str
    check: Callable[[Json, Json], None]
    """Raises WrongResponse; gets the answer, and the item as it is stored after the request."""


def require(condition: bool, why: str) -> None:
    """Raises WrongResponse unless the condition holds."""
    if not condition:
        raise WrongResponse(why)


def check_put(response: Json, stored: Json) -> None:
    """A put answers nothing and the item is there."""
    require(response.keys() <= HARMLESS, f"PutItem answered {dump(response)[:200]}")
    require(same_item(stored, PROBE_ITEM), "PutItem did not store what it was sent")


def check_get(response: Json, stored: Json) -> None:
    """A get answers the whole item."""
    require(
        response.keys() == {"Item"} and same_item(response["Item"], stored), f"GetItem answered {dump(response)[:200]}"
    )
    require(stored.keys() == PROBE_ITEM.keys(), "GetItem lost attributes")


def check_get_flat(response: Json, stored: Json) -> None:
    """A get answers the whole flat item; `stored` is the other one."""
    item = response.get("Item", {})
    require(item.keys() == flat_item_template().keys(), f"GetItem answered {dump(response)[:200]}")
    require(item["pk"] == stored["pk"] and item["sk"] == stored["sk"], "GetItem found another item")


def check_update(response: Json, stored: Json) -> None:
    """An update set and added what the request says."""
    require(response.keys() <= HARMLESS, f"UpdateItem answered {dump(response)[:200]}")
    require(stored["revision"] == PROBE_ITEM["revision"], "UpdateItem did not SET")
    require(int(stored.get("views", {"N": "0"})["N"]) >= 1, "UpdateItem did not ADD")


def check_query(response: Json, stored: Json) -> None:
    """The first 20 of a partition, in order, with the key to go on from."""
    found = [item["sk"]["S"] for item in response["Items"]]
    require(response["Count"] == 20 and response["ScannedCount"] == 20, f"Query counted {response['Count']}")
    require(found == [f"PRODUCT#{number:04d}" for number in range(20)], f"Query found {found}")
    require("LastEvaluatedKey" in response, "Query returned no LastEvaluatedKey")
    require(response["Items"][0].keys() >= stored.keys() - {"views"}, "Query lost attributes")


def check_query_index(response: Json, stored: Json) -> None:
    """Twenty were looked at, newest first, and the filter left those with enough stock."""
    stocks = [int(item["stock"]["N"]) for item in response["Items"]]
    times = [item["updatedAt"]["S"] for item in response["Items"]]
    require(response["ScannedCount"] == 20, f"Query of the index scanned {response['ScannedCount']}")
    require(0 < len(stocks) < 20 and min(stocks) >= 15, f"the filter left {stocks}")
    require(times == sorted(times, reverse=True), "Query of the index came in the wrong order")
    require(all(item["category"] == stored["category"] for item in response["Items"]), "another category came back")


def check_batch(response: Json, stored: Json) -> None:
    """Nothing was left unprocessed and the first item is there."""
    require(response.get("UnprocessedItems") == {}, f"BatchWriteItem answered {dump(response)[:200]}")
    require(same_item(stored, PROBE_ITEM), "BatchWriteItem did not store what it was sent")


ROWS: tuple[Row, ...] = (
    Row(
        name="put",
        title="PutItem",
        operation="PutItem",
        template=dump({"TableName": TABLE, "Item": item_template()}),
        check=check_put,
    ),
    Row(
        name="get",
        title="GetItem",
        operation="GetItem",
        template=dump({"TableName": TABLE, "Key": KEY}),
        check=check_get,
    ),
    Row(
        name="get-flat",
        title="GetItem of a flat item",
        operation="GetItem",
        template=dump({"TableName": FLAT_TABLE, "Key": KEY}),
        check=check_get_flat,
    ),
    Row(
        name="update",
        title="UpdateItem (condition, SET, ADD)",
        operation="UpdateItem",
        template=dump(
            {
                "TableName": TABLE,
                "Key": KEY,
                "ConditionExpression": "attribute_exists(pk) AND #stock > :none",
                "UpdateExpression": "SET #revision = :revision ADD #views :one",
                "ExpressionAttributeNames": {"#stock": "stock", "#revision": "revision", "#views": "views"},
                "ExpressionAttributeValues": {":none": {"N": "0"}, ":revision": {"N": "<<n>>"}, ":one": {"N": "1"}},
            }
        ),
        check=check_update,
    ),
    Row(
        name="query",
        title="Query, 20 of a partition",
        operation="Query",
        template=dump(
            {
                "TableName": TABLE,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": "SHOP#<<p>>"}},
                "Limit": 20,
            }
        ),
        check=check_query,
    ),
    Row(
        name="query-gsi",
        title="Query GSI + filter, Limit 20",
        operation="Query",
        template=dump(
            {
                "TableName": TABLE,
                "IndexName": INDEX,
                "KeyConditionExpression": "#category = :category",
                "FilterExpression": "#stock >= :enough",
                "ExpressionAttributeNames": {"#category": "category", "#stock": "stock"},
                "ExpressionAttributeValues": {":category": {"S": "CATEGORY#<<c>>"}, ":enough": {"N": "15"}},
                "ScanIndexForward": False,
                "Limit": 20,
            }
        ),
        check=check_query_index,
    ),
    Row(
        name="batch",
        title="BatchWriteItem of 25",
        operation="BatchWriteItem",
        template=dump(
            {
                "RequestItems": {
                    # Four partitions apart: 25 different keys whatever the sort keys drawn.
                    TABLE: [{"PutRequest": {"Item": item_template(4 * number)}} for number in range(BATCH)]
                }
            }
        ),
        check=check_batch,
    ),
)
ROW_NAMES = tuple(row.name for row in ROWS)
