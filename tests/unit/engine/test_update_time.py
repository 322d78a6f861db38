"""An update that makes an item far too large is refused as soon as that is certain."""

from time import process_time

import pytest

from hashrange.core.errors import ValidationException
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ELEMENTS = 100_000


@pytest.fixture
def engine():
    opened = open_engine(None, OPERATIONS)
    opened.call("CreateTable", TABLE)
    opened.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}, "a": {"L": [{"S": ""}] * ELEMENTS}}})
    yield opened
    opened.close()


def update(engine, expression):
    engine.call("UpdateItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}, "UpdateExpression": expression})


def measure(engine, count):
    """Return the least CPU time in which setting a large value so many times is refused."""
    times = []
    for _ in range(3):
        started = process_time()
        with pytest.raises(ValidationException, match="Item size to update has exceeded"):
            update(engine, "SET " + ", ".join(f"b{at} = a" for at in range(count)))
        times.append(process_time() - started)
    return min(times)


def test_a_large_value_that_is_set_140_times_is_refused_as_soon_as_one_that_is_set_7_times(engine):
    assert measure(engine, 140) < 7 * measure(engine, 7)


def test_an_item_may_pass_the_limit_if_what_it_loses_makes_up_for_it(engine):
    update(engine, "SET b = a, c = a, d = a REMOVE a")
    with pytest.raises(ValidationException, match="Item size to update has exceeded"):
        update(engine, "SET e = b, f = b, g = b REMOVE b")
    update(engine, "SET e = b, f = b REMOVE b, c")


class CountedAppends:
    """Counts the elements that list_append copies."""

    def __init__(self, monkeypatch):
        self.elements = 0
        monkeypatch.setattr("hashrange.expr.functions.make_list", self.make_list)

    def make_list(self, first, second):
        self.elements += len(first) + len(second)
        return [*first, *second]


def test_a_hundred_list_append_are_refused_as_soon_as_the_item_is_too_large(engine, monkeypatch):
    counted = CountedAppends(monkeypatch)
    with pytest.raises(ValidationException, match="Item size to update has exceeded"):
        update(engine, "SET " + ", ".join(f"b{at} = list_append(a, a)" for at in range(100)))
    assert counted.elements <= 2 * 409_600 + 2 * ELEMENTS


def test_several_list_append_may_fill_an_item_whose_other_lists_they_replace(engine):
    update(engine, "SET b = list_append(a, a), c = list_append(a, a) REMOVE a")
    with pytest.raises(ValidationException, match="Item size to update has exceeded"):
        update(engine, "SET d = list_append(b, c)")
