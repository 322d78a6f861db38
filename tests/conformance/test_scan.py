"""Scan: everything there is, in any order, in pages and in segments that share the table among readers."""

import pytest

from tests.conformance.paging import read_all, read_pages
from tests.conformance.refusal import invalid, not_found
from tests.conformance.table import new_name
from tests.conformance.wire import item


def names(items):
    return sorted(found["pk"]["S"] for found in items)


@pytest.fixture
def hundred(table):
    table.put_all({"pk": f"{number:03}", "n": number} for number in range(100))
    return table


EVERYONE = [f"{number:03}" for number in range(100)]


def test_an_empty_table_scans_to_nothing(table):
    response = table.scan()
    assert (response["Items"], response["Count"], response["ScannedCount"]) == ([], 0, 0)
    assert "LastEvaluatedKey" not in response


@pytest.mark.parametrize("limit", [1, 7, 50, 99, 101])
def test_pages_put_together_are_the_whole(hundred, limit):
    pages = read_pages(hundred.scan, Limit=limit)
    assert names(found for page in pages for found in page["Items"]) == EVERYONE
    assert all(page["Count"] <= limit for page in pages)


def test_a_limit_that_fits_exactly_promises_another_page_which_is_empty(hundred):
    pages = read_pages(hundred.scan, Limit=100)
    assert [page["Count"] for page in pages] == [100, 0]


def test_a_page_ends_at_one_megabyte(table):
    for number in range(12):
        table.put(pk=f"{number}", fill="x" * 100_000)
    pages = read_pages(table.scan)
    assert [page["Count"] for page in pages] in ([11, 1], [10, 2])


def test_a_scan_goes_on_from_where_it_stood_though_that_item_is_gone(hundred):
    first = hundred.scan(Limit=40)
    for found in first["Items"]:
        hundred.delete_item(Key={"pk": found["pk"]})
    rest = hundred.scan(ExclusiveStartKey=first["LastEvaluatedKey"])["Items"]
    assert names(first["Items"] + rest) == EVERYONE


def test_a_filter_hides_items_after_they_were_counted(hundred):
    request = {"FilterExpression": "n < :n", "ExpressionAttributeValues": item(**{":n": 10}), "Limit": 30}
    pages = read_pages(hundred.scan, **request)
    assert sum(page["Count"] for page in pages) == 10
    assert sum(page["ScannedCount"] for page in pages) == 100
    assert names(found for page in pages for found in page["Items"]) == EVERYONE[:10]


def test_a_filter_may_name_the_key(hundred):
    response = hundred.scan(FilterExpression="pk = :k", ExpressionAttributeValues=item(**{":k": "042"}))
    assert (names(response["Items"]), response["ScannedCount"]) == (["042"], 100)


def test_the_legacy_scan_filter_filters_alike(hundred):
    given = {"n": {"ComparisonOperator": "GE", "AttributeValueList": [{"N": "95"}]}}
    assert names(hundred.scan(ScanFilter=given)["Items"]) == EVERYONE[95:]


def test_count_answers_numbers_only(hundred):
    response = hundred.scan(Select="COUNT")
    assert (response["Count"], "Items" in response) == (100, False)


def test_a_projection_leaves_out_the_rest(table):
    table.put(pk="a", n=1, m={"x": 1, "y": 2})
    assert table.scan(ProjectionExpression="m.x")["Items"] == [item(m={"x": 1})]


def test_an_index_can_be_scanned_and_holds_only_its_own(make_table):
    table = make_table("pk:S", gsi={"gsi": ("a:S", "KEYS_ONLY")})
    table.put_all({"pk": f"{number}", "n": 1, **({"a": "same"} if number % 2 else {})} for number in range(20))
    pages = read_pages(table.scan, IndexName="gsi", Limit=3)
    found = [one for page in pages for one in page["Items"]]
    assert names(found) == sorted(f"{number}" for number in range(20) if number % 2)
    assert all(set(one) == {"pk", "a"} for one in found)
    assert set(pages[0]["LastEvaluatedKey"]) == {"pk", "a"}


# -- segments ----------------------------------------------------------


@pytest.mark.parametrize("total", [1, 2, 3, 4, 7, 1000])
def test_segments_share_the_table_without_overlap(hundred, total):
    shares = [names(read_all(hundred.scan, Segment=number, TotalSegments=total)) for number in range(min(total, 50))]
    together = [name for share in shares for name in share]
    assert len(together) == len(set(together))
    if total <= 50:
        assert sorted(together) == EVERYONE
        assert total == 1 or all(len(share) < 100 for share in shares)


def test_a_segment_loses_nothing_when_items_are_deleted_between_pages(hundred):
    for segment in range(3):
        expected = names(read_all(hundred.scan, Segment=segment, TotalSegments=3))
        seen, start = [], {}
        while True:
            page = hundred.scan(Segment=segment, TotalSegments=3, Limit=5, **start)
            seen += page["Items"]
            for found in page["Items"]:
                hundred.delete_item(Key={"pk": found["pk"]})
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        assert names(seen) == expected
    assert hundred.scan()["Items"] == []


def test_items_of_one_partition_are_in_one_segment(sorted_table):
    sorted_table.put_all({"pk": pk, "sk": sk} for pk in "abcdef" for sk in range(5))
    for segment in range(4):
        share = read_all(sorted_table.scan, Segment=segment, TotalSegments=4)
        for pk in "abcdef":
            assert sum(found["pk"]["S"] == pk for found in share) in {0, 5}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"Segment": 0},
            (
                "The TotalSegments parameter is required but was not present in the request "
                "when Segment parameter is present"
            ),
        ),
        (
            {"TotalSegments": 4},
            (
                "The Segment parameter is required but was not present in the request "
                "when parameter TotalSegments is present"
            ),
        ),
        (
            {"Segment": 4, "TotalSegments": 4},
            (
                "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
                "Segment: 4 is not less than TotalSegments: 4"
            ),
        ),
    ],
)
def test_segment_and_total_segments_must_make_sense_together(table, options, text):
    with invalid(text):
        table.scan(**options)


def test_a_start_key_must_come_from_the_same_segment(hundred):
    ends = {}
    for segment in range(2):
        page = hundred.scan(Segment=segment, TotalSegments=2, Limit=5)
        ends[segment] = page["LastEvaluatedKey"]
    text = (
        "The provided starting key is invalid: Invalid ExclusiveStartKey. "
        "Please use ExclusiveStartKey with correct Segment. TotalSegments: 2 Segment: 0"
    )
    with invalid(text):
        hundred.scan(Segment=0, TotalSegments=2, ExclusiveStartKey=ends[1])


# -- refusals ----------------------------------------------------------


@pytest.mark.parametrize("start", [{}, item(pk=1), item(other="a"), item(pk="a", more="b")])
def test_a_start_key_must_be_a_key_of_the_table(table, start):
    with invalid(containing="The provided starting key is invalid" if start else None):
        table.scan(ExclusiveStartKey=start)


def test_a_limit_is_at_least_one(send, table):
    _, response = send("Scan", {"TableName": table.name, "Limit": 0})
    assert response["message"] == (
        "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )


def test_a_filter_that_makes_no_sense_is_refused_before_anything_is_read(client):
    with invalid('Invalid FilterExpression: Syntax error; token: "<EOF>", near: "="'):
        client.scan(TableName=new_name(), FilterExpression="a =")


def test_an_unknown_table_is_not_found(client):
    with not_found():
        client.scan(TableName=new_name())


def test_an_unknown_index_is_named(table):
    with invalid("The table does not have the specified index: nowhere"):
        table.scan(IndexName="nowhere")


def test_values_are_worded_by_the_older_layer(table):
    text = (
        "ExpressionAttributeValues contains invalid value: "
        "The parameter cannot be converted to a numeric value: abc for key :v"
    )
    with invalid(text):
        table.scan(FilterExpression="a = :v", ExpressionAttributeValues={":v": {"N": "abc"}})


def test_a_scan_costs_the_sum_of_what_it_evaluated_rounded_up_once(table):
    table.put_all({"pk": f"{number}", "fill": "x" * 1000} for number in range(8))
    for consistent, units in ((True, 2.0), (False, 1.0)):
        response = table.scan(ConsistentRead=consistent, ReturnConsumedCapacity="INDEXES")
        assert response["ConsumedCapacity"] == {
            "TableName": table.name,
            "CapacityUnits": units,
            "Table": {"CapacityUnits": units},
        }


@pytest.mark.parametrize("path", ["{}.b.c", "{}[0]"])
def test_a_key_attribute_is_no_document(make_table, path):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    text = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    for name, named in (("pk", "Key: pk"), ("a", "IndexKey: a")):
        with invalid(text + named):
            table.scan(ProjectionExpression=path.format(name))
        with invalid(text + named):
            table.scan(FilterExpression=f"attribute_exists({path.format(name)})")


def test_a_filter_sees_only_what_an_index_projects(make_table):
    indexes = {"gsi": {"gsi": ("a:S", "KEYS_ONLY")}, "lsi": {"lsi": ("pk:S / a:S", "KEYS_ONLY")}}
    table = make_table("pk:S / sk:S", **indexes)
    table.put(pk="p", sk="s", a="x", far=1)
    for index in ("gsi", "lsi"):
        for more in ({}, {"ProjectionExpression": "a"}):
            request = {"IndexName": index, **more}
            assert table.scan(FilterExpression="attribute_exists(far)", **request)["Items"] == []
            assert table.scan(FilterExpression="attribute_not_exists(far)", **request)["Count"] == 1
