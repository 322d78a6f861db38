"""Random key conditions, start keys, limits and filters, against a list that is filtered and sorted in Python."""

from base64 import b64encode
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.paging import read_all, read_pages
from tests.conformance.wire import item
from tests.unit.engine.local import Local, sort_items
from tests.unit.engine.reference_table import ORDERS

OPERATORS = {
    "=": lambda value, low, _: value == low,
    "<": lambda value, low, _: value < low,
    "<=": lambda value, low, _: value <= low,
    ">": lambda value, low, _: value > low,
    ">=": lambda value, low, _: value >= low,
    "BETWEEN": lambda value, low, high: low <= value <= high,
    "begins_with": lambda value, low, _: value.startswith(low),
}
texts = st.text(st.sampled_from("\x00aé\U0001f600\uffff"), min_size=1, max_size=3)
numbers = st.sampled_from(["-1" + "0" * 30, "-20.5", "-20", "-0.001", "0", "0.001", "0.01", "3", "30", "1" + "0" * 100])
binaries = st.binary(min_size=1, max_size=2).map(lambda raw: b64encode(raw).decode())
contents = {"S": texts, "N": numbers, "B": binaries}
directions = st.booleans()
limits = st.none() | st.integers(1, 4)


@pytest.fixture(scope="module")
def opened():
    """One database for all examples: each makes the table anew."""
    local = Local()
    yield local
    local.close()


def fill(local, items):
    for start in range(0, len(items), 25):
        puts = [{"PutRequest": {"Item": found}} for found in items[start : start + 25]]
        local.call("BatchWriteItem", RequestItems={"tab": puts})


@st.composite
def conditions(draw, tags):
    """Equality on some range attributes from the left, then any operator on the next."""
    used = draw(st.integers(0, len(tags)))
    clauses = []
    for position, tag in enumerate(tags[:used]):
        operators = (
            ["="] if position < used - 1 else [name for name in OPERATORS if tag != "N" or name != "begins_with"]
        )
        low, high = sorted((draw(contents[tag]), draw(contents[tag])), key=ORDERS[tag])
        clauses.append((draw(st.sampled_from(operators)), {tag: low}, {tag: high}))
    return clauses


def holds(item, clauses):
    for position, (operator, low, high) in enumerate(clauses):
        ((tag, content),) = item[f"r{position}"].items()
        order = ORDERS[tag]
        if not OPERATORS[operator](order(content), order(low[tag]), order(high[tag])):
            return False
    return True


def word(position, operator):
    name, low, high = f"r{position}", f":a{position}", f":b{position}"
    if operator == "begins_with":
        return f"begins_with({name}, {low})"
    return f"{name} BETWEEN {low} AND {high}" if operator == "BETWEEN" else f"{name} {operator} {low}"


def query(clauses, **members):
    values = {":h": {"S": "here"}}
    for position, (operator, low, high) in enumerate(clauses):
        values[f":a{position}"] = low
        if operator == "BETWEEN":
            values[f":b{position}"] = high
    text = " AND ".join(["h = :h", *(word(position, clause[0]) for position, clause in enumerate(clauses))])
    given = {name: member for name, member in members.items() if member is not None}
    return {"TableName": "tab", "KeyConditionExpression": text, "ExpressionAttributeValues": values, **given}


def order_of(item, tags):
    return tuple(ORDERS[tag](item[f"r{position}"][tag]) for position, tag in enumerate(tags))


@settings(max_examples=120, deadline=None)
@given(st.data(), st.sampled_from("SNB"), directions, limits)
def test_a_key_condition_selects_what_it_says_in_order(opened, data, tag, forward, limit):
    stored = data.draw(st.lists(contents[tag], unique_by=ORDERS[tag], max_size=8))
    clauses = data.draw(conditions([tag]))
    items = [{"h": {"S": "here"}, "r0": {tag: content}} for content in stored]
    opened.create(f"h:S / r0:{tag}")
    try:
        fill(opened, items + [{"h": {"S": "elsewhere"}, "r0": {tag: content}} for content in stored])
        found = read_all(partial(opened.call, "Query"), **query(clauses, ScanIndexForward=forward, Limit=limit))
    finally:
        opened.call("DeleteTable", TableName="tab")
    chosen = [each for each in items if holds(each, clauses)]
    assert found == sorted(chosen, key=lambda each: order_of(each, tag), reverse=not forward)


@settings(max_examples=120, deadline=None)
@given(st.data(), st.lists(st.sampled_from("SNB"), min_size=1, max_size=3), directions, limits)
def test_a_condition_on_several_range_attributes_selects_what_it_says_in_order(opened, data, tags, forward, limit):
    rows = data.draw(st.lists(st.tuples(*(contents[tag] for tag in tags)), max_size=8))
    clauses = data.draw(conditions(tags))
    items = [
        {"pk": {"N": str(number)}, "h": {"S": "here"}}
        | {f"r{position}": {tag: row[position]} for position, tag in enumerate(tags)}
        for number, row in enumerate(rows)
    ]
    opened.create("pk:N", gsi={"many": "h:S / " + ",".join(f"r{at}:{tag}" for at, tag in enumerate(tags))})
    try:
        fill(opened, items)
        request = query(clauses, IndexName="many", ScanIndexForward=forward, Limit=limit)
        found = read_all(partial(opened.call, "Query"), **request)
    finally:
        opened.call("DeleteTable", TableName="tab")
    assert sort_items(found) == sort_items([each for each in items if holds(each, clauses)])
    positions = [order_of(each, tags) for each in found]
    assert positions == sorted(positions, reverse=not forward)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from("SNB"), directions)
def test_a_start_key_need_not_be_an_item(opened, data, tag, forward):
    order = ORDERS[tag]
    stored = data.draw(st.lists(contents[tag], unique_by=order, max_size=8))
    start = data.draw(contents[tag])
    opened.create(f"h:S / r0:{tag}")
    try:
        fill(opened, [{"h": {"S": "here"}, "r0": {tag: content}} for content in stored])
        key = {"h": {"S": "here"}, "r0": {tag: start}}
        found = opened.call("Query", **query([], ScanIndexForward=forward, ExclusiveStartKey=key))["Items"]
    finally:
        opened.call("DeleteTable", TableName="tab")
    after = [each for each in stored if (order(each) > order(start) if forward else order(each) < order(start))]
    assert [each["r0"][tag] for each in found] == sorted(after, key=order, reverse=not forward)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(-3, 3), st.integers(1, 5), directions)
def test_a_filter_tells_how_many_it_looked_at_and_how_many_passed(opened, values, bound, limit, forward):
    opened.create("h:S / r0:N", gsi={"narrow": ("h:S / r0:N", ["v"])})
    try:
        fill(opened, [item(h="here", r0=at, v=value, w="unseen") for at, value in enumerate(values)])
        for index in (None, "narrow"):
            request = query([], IndexName=index, ScanIndexForward=forward, Limit=limit, FilterExpression="v >= :v")
            request["ExpressionAttributeValues"][":v"] = {"N": str(bound)}
            pages = read_pages(partial(opened.call, "Query"), **request)
            assert_filtered(pages, values, bound, limit, forward=forward, shows_all=index is None)
            counts = read_pages(partial(opened.call, "Query"), **request, Select="COUNT")
            assert counts == [{name: page[name] for name in page if name != "Items"} for page in pages]
    finally:
        opened.call("DeleteTable", TableName="tab")


def assert_filtered(pages, values, bound, limit, *, forward, shows_all):
    passed = [at for at, value in enumerate(values) if value >= bound]
    found = [each for page in pages for each in page["Items"]]
    assert [int(each["r0"]["N"]) for each in found] == (passed if forward else passed[::-1])
    assert all(("w" in each) == shows_all for each in found)
    assert [page["Count"] for page in pages] == [len(page["Items"]) for page in pages]
    assert [page["ScannedCount"] for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert sum(page["ScannedCount"] for page in pages) == len(values)
