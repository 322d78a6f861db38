"""Pages with costly filters and projections end early, with a key to continue at; ordinary pages stay whole."""

import pytest

from hashrange.engine import read
from hashrange.expr.condition import bind_condition
from hashrange.expr.parser import parse_condition
from tests.conformance.wire import item
from tests.unit.engine.local import Local

ITEMS = 400
MANY = " OR ".join(f"n = :v{number}" for number in range(100))
VALUES = item(**{f":v{number}": number * 100 for number in range(100)})
FILTER = {"FilterExpression": MANY, "ExpressionAttributeValues": VALUES}
NAMES = ",".join(f"a{number}" for number in range(400))


@pytest.fixture(scope="module")
def local():
    opened = Local()
    opened.create("pk:S / n:N", gsi={"byn": "all:S / n:N"})
    for start in range(0, ITEMS, 25):
        puts = [{"PutRequest": {"Item": item(pk="a", n=n, all="x", m=n % 7)}} for n in range(start, start + 25)]
        opened.call("BatchWriteItem", RequestItems={"tab": puts})
    yield opened
    opened.close()


@pytest.fixture
def little_work(monkeypatch):
    """A hundredth of the work of a page, so that few items are enough."""
    monkeypatch.setattr(read.RowSource.__init__, "__defaults__", shrink(read.RowSource.__init__.__defaults__))
    monkeypatch.setattr("hashrange.partiql.select.MAX_WORK", read.MAX_WORK // 100)


def shrink(defaults):
    return tuple(value // 100 if value == read.MAX_WORK else value for value in defaults)


def read_all(local, operation, **request):
    """Return the numbers of all items, and how many were looked at by each page."""
    numbers, pages, start = [], [], {}
    while True:
        page = local.call(operation, TableName="tab", **request, **start)
        numbers += [int(found["n"]["N"]) for found in page.get("Items", [])]
        pages.append(page["ScannedCount"])
        if "LastEvaluatedKey" not in page:
            return numbers, pages
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


KEYS = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": item(**{":pk": "a"})}
BY_ALL = {"IndexName": "byn", "KeyConditionExpression": "#all = :all", "ExpressionAttributeNames": {"#all": "all"}}
COSTLY = MANY.replace("n = ", "m = ")
SPLIT = {
    "Scan": ("Scan", FILTER, [0, 100, 200, 300]),
    "Scan of an index": ("Scan", {**FILTER, "IndexName": "byn"}, [0, 100, 200, 300]),
    "Query backwards": (
        "Query",
        {
            **KEYS,
            "FilterExpression": COSTLY,
            "ExpressionAttributeValues": {**VALUES, **item(**{":pk": "a"})},
            "ScanIndexForward": False,
        },
        [n for n in reversed(range(ITEMS)) if n % 7 == 0],
    ),
    "Query of an index": (
        "Query",
        {**BY_ALL, "FilterExpression": COSTLY, "ExpressionAttributeValues": {**VALUES, **item(**{":all": "x"})}},
        [n for n in range(ITEMS) if n % 7 == 0],
    ),
    "a projection": ("Scan", {"ProjectionExpression": f"n,{NAMES}"}, list(range(ITEMS))),
    "a legacy filter": (
        "Scan",
        {
            "ScanFilter": {
                f"a{number}": {"ComparisonOperator": "NE", "AttributeValueList": [{"S": "x"}]} for number in range(100)
            }
        },
        list(range(ITEMS)),
    ),
}


@pytest.mark.parametrize(("operation", "request_", "expected"), SPLIT.values(), ids=SPLIT)
def test_a_costly_page_ends_early_and_its_key_continues_it(local, little_work, operation, request_, expected):
    numbers, pages = read_all(local, operation, **request_)
    assert numbers == expected
    assert pages == [50] * 8 + [0]


def test_a_costly_statement_ends_early_and_its_token_continues_it(local, little_work):
    clauses = " OR ".join(f"m = {number}" for number in range(0, 700, 7))
    for where in (clauses, f"pk IN ['a', 'b', 'c'] AND ({clauses})"):
        numbers, pages, token = [], 0, {}
        while True:
            page = local.call("ExecuteStatement", Statement=f"SELECT * FROM tab WHERE {where}", **token)
            numbers += [int(found["n"]["N"]) for found in page["Items"]]
            pages += 1
            if "NextToken" not in page:
                break
            token = {"NextToken": page["NextToken"]}
        assert numbers == [n for n in range(ITEMS) if n % 7 == 0]
        assert pages > 7


PLAIN = {
    "a comparison": {"FilterExpression": "m = :v", "ExpressionAttributeValues": item(**{":v": 1})},
    "four conditions": {
        "FilterExpression": "m = :v OR attribute_not_exists(x) AND n BETWEEN :v AND :v OR NOT contains(m, :v)",
        "ExpressionAttributeValues": item(**{":v": 1}),
    },
    "a hundred values": {
        "FilterExpression": f"m IN ({','.join(VALUES)})",
        "ExpressionAttributeValues": VALUES,
    },
    "a projection": {"ProjectionExpression": "n, m, a, b, c, d, e, f, g"},
}


@pytest.fixture(scope="module")
def megabyte():
    """A table with a little more than a megabyte of small items."""
    opened = Local()
    opened.create()
    for start in range(0, 13_000, 25):
        puts = [{"PutRequest": {"Item": item(pk=f"{n:x}", m=1, text="x" * 70)}} for n in range(start, start + 25)]
        opened.call("BatchWriteItem", RequestItems={"tab": puts})
    yield opened
    opened.close()


@pytest.mark.parametrize("request_", PLAIN.values(), ids=PLAIN)
def test_an_ordinary_filter_leaves_a_page_of_a_megabyte_whole(megabyte, request_):
    page = megabyte.call("Scan", TableName="tab", **request_)
    assert page["ScannedCount"] == megabyte.call("Scan", TableName="tab")["ScannedCount"]


def test_the_smallest_items_are_read_whole_with_five_comparisons(local):
    test = bind_condition(parse_condition("a = b AND c = d AND e = f AND g = h AND i = j"))
    source = read.RowSource(local.engine.catalog.find("tab"), test=test)
    assert source.find_end() == (100_000, read.PAGE_BYTES)  # a megabyte has at most 100,000 items


@pytest.mark.parametrize("clause", ["contains(l, :v)", "l = m", "NOT l <> m"])
def test_what_searches_large_items_ends_a_page_after_fewer_bytes(clause):
    local = Local()
    local.create()
    for number in range(10):
        local.put(pk=f"k{number}", l=[""] * 50_000)
    few, many = ({"FilterExpression": " OR ".join([clause] * count)} for count in (10, 100))
    values = {"ExpressionAttributeValues": {":v": {"N": "1"}}} if ":v" in clause else {}
    assert read_all_pages(local, few | values) == [10]
    assert read_all_pages(local, many | values) == [4, 4, 2]
    local.close()


def read_all_pages(local, request):
    """Return how many items each page of a Scan looked at."""
    pages, start = [], {}
    while True:
        page = local.call("Scan", TableName="tab", Select="COUNT", **request, **start)
        pages.append(page["ScannedCount"])
        if "LastEvaluatedKey" not in page:
            return pages
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
