"""Query: one partition, in the order of the sort key, a page at a time."""

import pytest

from tests.conformance.paging import read_all, read_pages
from tests.conformance.refusal import ENVELOPE, INVALID, invalid, not_found
from tests.conformance.table import new_name
from tests.conformance.wire import item

PREFIX = "Invalid KeyConditionExpression: "
SCALARS = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "


def condition(expression, /, names=None, **values):
    given = {"KeyConditionExpression": expression}
    if values:
        given["ExpressionAttributeValues"] = item(**{f":{name}": content for name, content in values.items()})
    if names:
        given["ExpressionAttributeNames"] = names
    return given


def partition(name="p"):
    return condition("pk = :p", p=name)


def numbers(response):
    return [int(found["sk"]["N"]) for found in response["Items"]]


@pytest.fixture
def ten(sorted_table):
    """Ten items, sk 0 to 9, in partition p, and one in another."""
    sorted_table.put_all({"pk": "p", "sk": number, "even": number % 2 == 0} for number in range(10))
    sorted_table.put(pk="other", sk=1)
    return sorted_table


# -- key conditions ----------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "values", "found"),
    [
        ("pk = :p", {}, range(10)),
        ("pk = :p AND sk = :a", {"a": 3}, [3]),
        ("pk = :p AND sk < :a", {"a": 3}, [0, 1, 2]),
        ("pk = :p AND sk <= :a", {"a": 3}, [0, 1, 2, 3]),
        ("pk = :p AND sk > :a", {"a": 7}, [8, 9]),
        ("pk = :p AND sk >= :a", {"a": 7}, [7, 8, 9]),
        ("pk = :p AND sk BETWEEN :a AND :b", {"a": 3, "b": 5}, [3, 4, 5]),
        ("sk > :a AND pk = :p", {"a": 7}, [8, 9]),
        ("pk = :p AND :a <= sk", {"a": 7}, [7, 8, 9]),
        (":p = pk", {}, range(10)),
        ("(pk = :p) AND (sk > :a)", {"a": 7}, [8, 9]),
        ("(pk = :p AND sk > :a)", {"a": 7}, [8, 9]),
        ("pk = :p AND sk = :a", {"a": 99}, []),
    ],
)
def test_a_key_condition_selects_a_range_of_one_partition(ten, expression, values, found):
    assert numbers(ten.query(**condition(expression, p="p", **values))) == list(found)
    backwards = ten.query(**condition(expression, p="p", **values), ScanIndexForward=False)
    assert numbers(backwards) == list(found)[::-1]


@pytest.mark.parametrize("kind", ["S", "B"])
def test_begins_with_selects_by_prefix_whatever_the_characters(make_table, kind):
    table = make_table(f"pk:S / sk:{kind}")
    texts = ["a", "a%", "a%b", "a_", "ab", "a\uffff", "a\U0010ffff", "b"]
    keys = texts if kind == "S" else [text.encode() for text in texts] + [b"a\xff\xff"]
    table.put_all({"pk": "p", "sk": key} for key in keys)
    for prefix in (keys[0], keys[1], keys[5]):
        response = table.query(**condition("pk = :p AND begins_with(sk, :s)", p="p", s=prefix))
        assert [found["sk"][kind] for found in response["Items"]] == sorted(k for k in keys if k.startswith(prefix))


def test_strings_sort_by_their_utf8_bytes(make_table):
    table = make_table("pk:S / sk:S")
    texts = ["A", "Z", "a", "é", "\uffee", "\U0001f600", "a\0", "ab"]
    table.put_all({"pk": "p", "sk": text} for text in texts)
    response = table.query(**partition())
    assert [found["sk"]["S"] for found in response["Items"]] == sorted(texts, key=str.encode)


def test_binaries_sort_as_unsigned_bytes(make_table):
    table = make_table("pk:S / sk:B")
    keys = [b"\x00", b"\x00\x00", b"\x7f", b"\x80", b"\xff", b"\xff\x00"]
    table.put_all({"pk": "p", "sk": key} for key in keys[::-1])
    assert [found["sk"]["B"] for found in table.query(**partition())["Items"]] == keys


def test_numbers_sort_by_value_across_sign_and_magnitude(sorted_table):
    ordered = ["-1E125", "-10", "-9.5", "-1", "-1E-130", "0", "1E-130", "0.5", "1", "1.00001", "9", "10", "9E125"]
    sorted_table.put_all({"pk": "p", "sk": {"N": number}} for number in ordered[::-1])
    found = sorted_table.query(**partition())["Items"]
    assert [float(one["sk"]["N"]) for one in found] == [float(number) for number in ordered]


def test_the_legacy_key_conditions_select_alike(ten):
    conditions = {
        "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "p"}]},
        "sk": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "2"}, {"N": "4"}]},
    }
    assert numbers(ten.query(KeyConditions=conditions)) == [2, 3, 4]


@pytest.mark.parametrize(
    ("expression", "values", "text"),
    [
        ("pk = :p OR sk = :a", {"a": 1}, PREFIX + "Invalid operator used in KeyConditionExpression: OR"),
        ("NOT pk = :p", {}, PREFIX + "Invalid operator used in KeyConditionExpression: NOT"),
        ("pk = :p AND sk <> :a", {"a": 1}, PREFIX + "Invalid operator used in KeyConditionExpression: <>"),
        ("pk = :p AND sk IN (:a)", {"a": 1}, PREFIX + "Invalid operator used in KeyConditionExpression: IN"),
        (
            "pk = :p AND attribute_exists(sk)",
            {},
            PREFIX + "Invalid operator used in KeyConditionExpression: attribute_exists",
        ),
        (
            "pk = :p AND sk > :a AND sk < :a",
            {"a": 1},
            PREFIX + "KeyConditionExpressions must only contain one condition per key",
        ),
        (
            "pk = :p AND sk.x = :a",
            {"a": 1},
            PREFIX + "KeyConditionExpressions cannot have conditions on nested attributes",
        ),
        ("((pk = :p))", {}, PREFIX + "The expression has redundant parentheses;"),
        ("pk > :p", {}, "Query key condition not supported"),
        ("sk = :p", {}, "Query condition missed key schema element: pk"),
        ("pk = :p AND spare = :a", {"a": 1}, "Query condition missed key schema element: sk"),
        (
            "pk = :p AND sk = :a",
            {"a": "text"},
            INVALID + "Condition parameter type does not match schema type",
        ),
        (
            "pk = :p AND begins_with(sk, :a)",
            {"a": 1},
            PREFIX
            + "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        (
            "pk = :p AND sk = :q",
            {},
            PREFIX + "An expression attribute value used in expression is not defined; attribute value: :q",
        ),
        (
            "pk = :p AND sk BETWEEN :a AND :b",
            {"a": 2, "b": 1},
            PREFIX + "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
    ],
)
def test_a_key_condition_that_cannot_be_a_range_is_explained(sorted_table, expression, values, text):
    with invalid(text):
        sorted_table.query(**condition(expression, p="p", **values))


def test_a_query_needs_a_key_condition(table):
    with invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."):
        table.query()


def test_an_empty_key_value_is_refused(table):
    with invalid(containing="The AttributeValue for a key attribute cannot contain an empty string value."):
        table.query(**partition(""))


def test_an_unknown_table_is_not_found(client):
    with not_found():
        client.query(TableName=new_name(), **partition())


# -- pages ----------------------------------------------------------


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 3, 5, 9, 11])
def test_pages_put_together_are_the_whole(ten, limit, forward):
    pages = read_pages(ten.query, **partition(), Limit=limit, ScanIndexForward=forward)
    found = [number for page in pages for number in numbers(page)]
    assert found == (list(range(10)) if forward else list(range(10))[::-1])
    assert all(page["Count"] == page["ScannedCount"] <= limit for page in pages)


def test_a_limit_that_fits_exactly_promises_another_page_which_is_empty(ten):
    first = ten.query(**partition(), Limit=10)
    assert first["LastEvaluatedKey"] == item(pk="p", sk=9)
    second = ten.query(**partition(), Limit=10, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert (second["Items"], second["Count"]) == ([], 0)
    assert "LastEvaluatedKey" not in second


def test_a_page_ends_at_one_megabyte_both_ways(sorted_table):
    for number in range(12):
        sorted_table.put(pk="p", sk=number, fill="x" * 100_000)
    for forward in (True, False):
        pages = read_pages(sorted_table.query, **partition(), ScanIndexForward=forward)
        assert [page["Count"] for page in pages] in ([11, 1], [10, 2])
        assert sorted(number for page in pages for number in numbers(page)) == list(range(12))


def test_a_start_key_is_a_position_and_need_not_exist(ten):
    response = ten.query(**partition(), ExclusiveStartKey=item(pk="p", sk={"N": "4.5"}))
    assert numbers(response) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("expression", "start", "text"),
    [
        ("pk = :p", item(pk="p"), "The provided starting key is invalid"),
        ("pk = :p", item(pk="p", sk="1"), "The provided key element does not match the schema"),
        ("pk = :p", item(pk=1, sk=1), "The provided key element does not match the schema"),
        ("pk = :p", item(pk="p", x=1), "The provided starting key is invalid"),
        ("pk = :p", item(pk="p", sk=1, more=1), "The provided starting key is invalid"),
        (
            "pk = :p",
            item(pk="q", sk=1),
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            "pk = :p AND sk > :a",
            item(pk="p", sk=1),
            "The provided starting key does not match the range key predicate",
        ),
    ],
)
def test_a_start_key_must_belong_to_the_query(sorted_table, expression, start, text):
    values = {"a": 5} if ":a" in expression else {}
    with invalid(text):
        sorted_table.query(**condition(expression, p="p", **values), ExclusiveStartKey=start)


def test_a_page_of_a_partition_without_sort_key_is_the_last(client, table):
    table.put(pk="p", n=1)
    request = {"TableName": table.name, **partition(), "PaginationConfig": {"PageSize": 1}}
    pages = list(client.get_paginator("query").paginate(**request))
    assert [page["Items"] for page in pages] == [[item(pk="p", n=1)]]
    assert "LastEvaluatedKey" not in table.query(**partition(), Limit=1)
    start = "The provided exclusive start key is invalid: ExclusiveStartKey: {pk=AttributeValue: {S:p}}"
    with invalid(start):
        table.query(**partition(), ExclusiveStartKey=item(pk="p"))
    for key in (item(b="p"), item(pk="p", b="p")):
        with invalid("The provided starting key is invalid"):
            table.query(**partition(), ExclusiveStartKey=key)


def test_a_limit_is_at_least_one(send, table):
    _, response = send("Query", {"TableName": table.name, **partition(), "Limit": 0})
    assert response["message"] == (
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )


# -- filters ----------------------------------------------------------


def test_a_filter_hides_items_after_they_were_counted(ten):
    request = condition("pk = :p", p="p", yes=True) | {"FilterExpression": "even = :yes", "Limit": 4}
    pages = read_pages(ten.query, **request)
    assert [(page["Count"], page["ScannedCount"]) for page in pages] == [(2, 4), (2, 4), (1, 2)]
    assert [number for page in pages for number in numbers(page)] == [0, 2, 4, 6, 8]


def test_a_page_may_be_empty_and_yet_go_on(ten):
    request = condition("pk = :p", p="p", no="nothing") | {"FilterExpression": "even = :no", "Limit": 4}
    first = ten.query(**request)
    assert (first["Items"], first["Count"], first["ScannedCount"]) == ([], 0, 4)
    assert first["LastEvaluatedKey"] == item(pk="p", sk=3)


def test_a_filter_may_not_name_the_key_of_what_is_queried(make_table):
    table = make_table("pk:S / sk:N", gsi={"gsi": "a:S"})
    text = "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"
    with invalid(text):
        table.query(**condition("pk = :p", p="p", s=1), FilterExpression="sk > :s")
    table.query(**condition("a = :p", p="p", s=1), IndexName="gsi", FilterExpression="sk > :s")
    with invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: a"):
        table.query(**condition("a = :p", p="p"), IndexName="gsi", FilterExpression="attribute_exists(a)")


def test_the_legacy_query_filter_filters_alike(ten):
    given = {"even": {"ComparisonOperator": "EQ", "AttributeValueList": [{"BOOL": True}]}}
    key = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "p"}]}}
    response = ten.query(KeyConditions=key, QueryFilter=given)
    assert (numbers(response), response["ScannedCount"]) == ([0, 2, 4, 6, 8], 10)


# -- select ----------------------------------------------------------


def test_count_answers_numbers_only(ten):
    response = ten.query(**partition(), Select="COUNT")
    assert (response["Count"], response["ScannedCount"]) == (10, 10)
    assert "Items" not in response


def test_a_projection_leaves_out_even_the_key(ten):
    response = ten.query(**condition("pk = :p AND sk = :a", p="p", a=3), ProjectionExpression="even")
    assert response["Items"] == [item(even=False)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"Select": "ALL_PROJECTED_ATTRIBUTES"},
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
        ),
        (
            {"Select": "SPECIFIC_ATTRIBUTES"},
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
        ),
        (
            {"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a"},
            "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES",
        ),
        (
            {"Select": "COUNT", "ProjectionExpression": "a"},
            "Cannot specify the ProjectionExpression when choosing to get only the Count",
        ),
    ],
)
def test_select_must_agree_with_the_projection(table, options, text):
    with invalid(ENVELOPE + text):
        table.query(**partition(), **options)
    with invalid(text):
        table.scan(**options)


# -- capacity ----------------------------------------------------------


def test_a_query_costs_the_sum_of_what_it_evaluated_rounded_up_once(sorted_table):
    sorted_table.put_all({"pk": "p", "sk": number, "fill": "x" * 1000} for number in range(8))
    request = condition("pk = :p", p="p", no=1) | {"FilterExpression": "fill = :no", "ReturnConsumedCapacity": "TOTAL"}
    for consistent, units in ((True, 2.0), (False, 1.0)):
        response = sorted_table.query(**request, ConsistentRead=consistent)
        assert response["ConsumedCapacity"] == {"TableName": sorted_table.name, "CapacityUnits": units}


def test_an_empty_query_costs_the_least_there_is(sorted_table):
    response = sorted_table.query(**partition(), ReturnConsumedCapacity="TOTAL")
    assert response["ConsumedCapacity"]["CapacityUnits"] == 0.5


def test_a_query_of_a_partition_that_was_read_page_by_page_sees_later_writes(ten):
    first = ten.query(**partition(), Limit=5)
    ten.delete_item(Key=item(pk="p", sk=4))
    ten.put(pk="p", sk=10)
    rest = read_all(ten.query, **partition() | {"ExclusiveStartKey": first["LastEvaluatedKey"]})
    assert [int(found["sk"]["N"]) for found in rest] == [5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("path", ["{}.b.c", "{}[0]"])
def test_a_key_attribute_is_no_document(make_table, path):
    table = make_table("pk:S / sk:S", gsi={"gsi": "a:S"})
    with invalid(SCALARS + "Key: sk"):
        table.query(**partition(), ProjectionExpression=path.format("sk"))
    with invalid(SCALARS + "IndexKey: a"):
        table.query(**partition(), ProjectionExpression=path.format("a"))
    with invalid(SCALARS + "IndexKey: a"):
        table.query(**partition(), FilterExpression=f"attribute_exists({path.format('a')})")
    with invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"):
        table.query(**partition(), FilterExpression=f"attribute_exists({path.format('sk')})")
