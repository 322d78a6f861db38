"""Cases of the read path that random reads rarely produce: pages of a megabyte, odd names, ends and starts."""

from functools import partial

import pytest

from tests.conformance.paging import read_pages
from tests.conformance.wire import item

MEGABYTE = 1_048_576


@pytest.fixture
def large(local):
    """A table with thirty items of 100 KB in one partition, and an index of a few bytes of each."""
    local.create("pk:S / sk:N", gsi={"all": "g:S / sk:N", "keys": ("g:S / sk:N", "KEYS_ONLY")})
    for number in range(30):
        local.put(pk="p", sk=number, g="g", fill="x" * 100_000)
    return local


def query(index=None, **members):
    name = "g" if index else "pk"
    return {
        "TableName": "tab",
        "KeyConditionExpression": f"{name} = :h",
        "ExpressionAttributeValues": {":h": {"S": "g" if index else "p"}},
        **({"IndexName": index} if index else {}),
        **members,
    }


@pytest.mark.parametrize("index", [None, "all"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("shaped", [{}, {"ProjectionExpression": "sk"}, {"FilterExpression": "attribute_exists(fill)"}])
def test_a_page_ends_with_the_item_that_makes_it_a_megabyte(large, index, forward, shaped):
    pages = read_pages(partial(large.call, "Query"), **query(index, ScanIndexForward=forward, **shaped))
    assert [page["Count"] for page in pages] == [11, 11, 8]
    order = [int(found["sk"]["N"]) for page in pages for found in page["Items"]]
    assert order == (list(range(30)) if forward else list(range(29, -1, -1)))
    assert [int(page["LastEvaluatedKey"]["sk"]["N"]) for page in pages[:-1]] == [order[10], order[21]]


def test_what_a_filter_drops_counts_for_the_page_all_the_same(large):
    pages = read_pages(partial(large.call, "Scan"), TableName="tab", FilterExpression="attribute_exists(nothing)")
    assert [(page["Count"], page["ScannedCount"]) for page in pages] == [(0, 11), (0, 11), (0, 8)]


def test_an_index_of_keys_alone_counts_what_it_holds(large):
    (page,) = read_pages(partial(large.call, "Query"), **query("keys"))
    assert page["Count"] == 30


def test_a_limit_reached_with_the_last_item_is_not_the_end_yet(large):
    pages = read_pages(partial(large.call, "Query"), **query("keys", Limit=15))
    assert [page["Count"] for page in pages] == [15, 15, 0]


@pytest.mark.parametrize("limit", [31, 101, 2**31, 2**63, 2**64])
def test_a_limit_beyond_the_items_is_none(large, limit):
    (page,) = read_pages(partial(large.call, "Query"), **query("keys", Limit=limit))
    assert page["Count"] == 30


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\x00", "é", "a.b[0]", "f0", " ", "x" * 10_000])
def test_a_filter_may_name_an_attribute_of_any_name(local, name):
    local.create()
    local.call("PutItem", TableName="tab", Item={"pk": {"S": "yes"}, name: {"N": "5"}})
    local.call("PutItem", TableName="tab", Item={"pk": {"S": "no"}, name: {"N": "6"}})
    local.put(pk="without")
    request = {
        "TableName": "tab",
        "FilterExpression": "#n = :v",
        "ExpressionAttributeNames": {"#n": name},
        "ExpressionAttributeValues": {":v": {"N": "5"}},
    }
    assert local.call("Scan", **request)["Items"] == [{"pk": {"S": "yes"}, name: {"N": "5"}}]
    assert local.call("Scan", **request, ProjectionExpression="pk")["Items"] == [item(pk="yes")]


def test_a_table_can_be_scanned_from_any_key(local):
    local.create()
    local.put_many(20)
    order = [found["pk"] for found in local.call("Scan", TableName="tab")["Items"]]
    for at, key in enumerate(order):
        rest = local.call("Scan", TableName="tab", ExclusiveStartKey={"pk": key})["Items"]
        assert [found["pk"] for found in rest] == order[at + 1 :]


def test_an_item_deleted_between_two_pages_does_not_lose_the_place(local):
    local.create("pk:S / sk:N", gsi={"same": "g:S"})
    for number in range(6):
        local.put(pk="p", sk=number, g="g")
    for index in (None, "same"):
        first = local.call("Query", **query(index, Limit=2))
        whole = local.call("Query", **query(index))["Items"]
        key = {name: first["LastEvaluatedKey"][name] for name in ("pk", "sk")}
        local.call("DeleteItem", TableName="tab", Key=key)
        rest = local.call("Query", **query(index, ExclusiveStartKey=first["LastEvaluatedKey"]))["Items"]
        assert rest == whole[2:]
        local.call("PutItem", TableName="tab", Item=whole[1])
