"""Query on indexes: sparse, projected, with equal keys that page without loss, and keys of several attributes."""

import pytest

from tests.conformance.paging import read_all, read_pages
from tests.conformance.refusal import INVALID, invalid
from tests.conformance.wire import item


def query(table, index, expression, /, **options):
    values = {name: options.pop(name) for name in list(options) if name.islower()}
    given = item(**{f":{name}": content for name, content in values.items()})
    return table.query(IndexName=index, KeyConditionExpression=expression, ExpressionAttributeValues=given, **options)


def test_an_item_is_in_an_index_only_with_all_of_its_keys(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S / b:N"})
    table.put(pk="1", a="x", b=1)
    table.put(pk="2", a="x")
    table.put(pk="3", b=1)
    assert query(table, "gsi", "a = :a", a="x")["Items"] == [item(pk="1", a="x", b=1)]


def test_an_update_moves_an_item_within_and_out_of_an_index(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    table.put(pk="1", a="x")
    values = {"ExpressionAttributeValues": item(**{":v": "y"})}
    table.update_item(Key=item(pk="1"), UpdateExpression="SET a = :v", **values)
    assert query(table, "gsi", "a = :a", a="x")["Items"] == []
    assert query(table, "gsi", "a = :a", a="y")["Items"] == [item(pk="1", a="y")]
    table.update_item(Key=item(pk="1"), UpdateExpression="REMOVE a")
    assert query(table, "gsi", "a = :a", a="y")["Items"] == []


@pytest.mark.parametrize(
    ("projection", "seen"),
    [("ALL", {"pk", "sk", "a", "one", "two"}), ("KEYS_ONLY", {"pk", "sk", "a"}), (["one"], {"pk", "sk", "a", "one"})],
)
def test_an_index_shows_what_it_projects(make_table, projection, seen):
    table = make_table("pk:S / sk:S", gsi={"gsi": ("a:S", projection)}, lsi={"lsi": ("pk:S / a:S", projection)})
    table.put(pk="p", sk="s", a="x", one=1, two=2)
    assert set(query(table, "gsi", "a = :a", a="x")["Items"][0]) == seen
    assert set(query(table, "lsi", "pk = :p", p="p")["Items"][0]) == seen


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("index", ["hash", "both", "local"])
def test_equal_index_keys_page_without_loss_or_repetition(make_table, index, limit, forward):
    table = make_table(
        "pk:S / sk:N",
        gsi={"hash": "a:S", "both": "a:S / b:N"},
        lsi={"local": "pk:S / b:N"},
    )
    partitions = ["p"] if index == "local" else ["p", "q", "r"]
    written = [{"pk": pk, "sk": sk, "a": "same", "b": sk // 4} for pk in partitions for sk in range(8)]
    table.put_all(written)
    expression, values = ("pk = :v", {"v": "p"}) if index == "local" else ("a = :v", {"v": "same"})
    pages = read_pages(
        table.query,
        IndexName=index,
        KeyConditionExpression=expression,
        ExpressionAttributeValues=item(**{f":{name}": content for name, content in values.items()}),
        Limit=limit,
        ScanIndexForward=forward,
    )
    found = [one for page in pages for one in page["Items"]]
    keys = [(one["pk"]["S"], int(one["sk"]["N"])) for one in found]
    assert sorted(keys) == sorted((one["pk"], one["sk"]) for one in written)
    if index != "hash":
        order = [int(one["b"]["N"]) for one in found]
        assert order == sorted(order, reverse=not forward)
    index_keys = {"hash": {"a"}, "both": {"a", "b"}, "local": {"b"}}[index]
    assert set(pages[0]["LastEvaluatedKey"]) == {"pk", "sk"} | index_keys


def test_backwards_is_forwards_reversed_also_among_equals(make_table):
    table = make_table("pk:S / sk:N", gsi={"gsi": "a:S"})
    table.put_all({"pk": pk, "sk": sk, "a": "same"} for pk in "pqr" for sk in range(5))
    forwards = query(table, "gsi", "a = :a", a="same")["Items"]
    assert query(table, "gsi", "a = :a", a="same", ScanIndexForward=False)["Items"] == forwards[::-1]


def test_a_local_index_fetches_what_it_does_not_project(make_table):
    table = make_table("pk:S / sk:S", lsi={"lsi": ("pk:S / a:S", "KEYS_ONLY")})
    table.put(pk="p", sk="s", a="x", far=1)
    response = query(table, "lsi", "pk = :p", p="p", ProjectionExpression="far")
    assert response["Items"] == [item(far=1)]
    response = query(table, "lsi", "pk = :p", p="p", Select="ALL_ATTRIBUTES", ConsistentRead=True)
    assert response["Items"] == [item(pk="p", sk="s", a="x", far=1)]


def test_a_global_index_cannot_give_what_it_does_not_project(make_table):
    table = make_table("pk:S", gsi={"gsi": ("a:S", "KEYS_ONLY")})
    with invalid(containing="far"):
        query(table, "gsi", "a = :a", a="x", ProjectionExpression="far")
    text = (
        "Select type ALL_ATTRIBUTES is not supported for global secondary index gsi "
        "because its projection type is not ALL"
    )
    with invalid(INVALID + text):
        query(table, "gsi", "a = :a", a="x", Select="ALL_ATTRIBUTES")


@pytest.mark.parametrize("index", ["gsi", "lsi"])
@pytest.mark.parametrize("more", [{}, {"ProjectionExpression": "a"}, {"Select": "ALL_PROJECTED_ATTRIBUTES"}])
def test_a_query_filters_only_by_what_the_index_projects(make_table, index, more):
    table = make_table("pk:S / sk:S", gsi={"gsi": ("a:S", ["near"])}, lsi={"lsi": ("pk:S / a:S", ["near"])})
    table.put(pk="p", sk="s", a="x", near=1, far=2)
    key = ("a = :k", "x") if index == "gsi" else ("pk = :k", "p")
    with invalid(f"{INVALID}Secondary index {index} does not project one or more filter attributes: [far]"):
        query(table, index, key[0], k=key[1], v=2, FilterExpression="far = :v", **more)
    assert query(table, index, key[0], k=key[1], v=1, FilterExpression="near = :v", **more)["Count"] == 1
    assert query(table, index, key[0], k=key[1], v=2, FilterExpression="near = :v", **more)["Count"] == 0


def test_a_global_index_cannot_be_read_consistently(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    with invalid("Consistent reads are not supported on global secondary indexes"):
        query(table, "gsi", "a = :a", a="x", ConsistentRead=True)


def test_an_unknown_index_is_named(table):
    with invalid("The table does not have the specified index: nowhere"):
        query(table, "nowhere", "a = :a", a="x")


def test_an_index_read_is_charged_to_the_index_by_its_own_entries(make_table):
    table = make_table("pk:S", gsi={"gsi": ("a:S", "KEYS_ONLY")})
    table.put_all({"pk": f"{number}", "a": "x", "fill": "x" * 3000} for number in range(8))
    response = query(table, "gsi", "a = :a", a="x", ReturnConsumedCapacity="INDEXES")
    assert response["ConsumedCapacity"] == {
        "TableName": table.name,
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"gsi": {"CapacityUnits": 0.5}},
    }


# -- keys of several attributes ----------------------------------------------------------


@pytest.fixture
def compound(make_table):
    """An index whose partition is (tenant, region) and whose order is (year, month, name)."""
    table = make_table("pk:S", gsi={"gsi": "tenant:S,region:S / year:N,month:N,name:S"})
    places = [(tenant, region) for tenant in ("t", "tt") for region in ("x", "tx")]
    moments = [(year, month, name) for year in (9, 10) for month in (2, 11) for name in ("a", "b")]
    table.put_all(
        {
            "pk": f"{place}{moment}",
            "tenant": place[0],
            "region": place[1],
            "year": moment[0],
            "month": moment[1],
            "name": moment[2],
        }
        for place in places
        for moment in moments
    )
    table.put(pk="sparse", tenant="t", region="x", year=9, month=2)
    return table


def moments_of(response):
    return [(int(one["year"]["N"]), int(one["month"]["N"]), one["name"]["S"]) for one in response]


NAMES = {"#t": "tenant", "#r": "region", "#y": "year", "#m": "month", "#n": "name"}
EVERYTHING = [(year, month, name) for year in (9, 10) for month in (2, 11) for name in ("a", "b")]


def ask(table, expression, **values):
    names = {short: name for short, name in NAMES.items() if short in expression}
    given = item(**{f":{name}": content for name, content in {"t": "t", "r": "x", **values}.items()})
    return {"KeyConditionExpression": expression, "ExpressionAttributeNames": names, "ExpressionAttributeValues": given}


PARTITION = "#t = :t AND #r = :r"


@pytest.mark.parametrize(
    ("more", "values", "found"),
    [
        ("", {}, EVERYTHING),
        (" AND #y = :y", {"y": 10}, EVERYTHING[4:]),
        (" AND #y > :y", {"y": 9}, EVERYTHING[4:]),
        (" AND #y = :y AND #m >= :m", {"y": 9, "m": 3}, EVERYTHING[2:4]),
        (" AND #m BETWEEN :m AND :n AND #y = :y", {"y": 9, "m": 1, "n": 2}, EVERYTHING[:2]),
        (" AND #y = :y AND #m = :m AND begins_with(#n, :n)", {"y": 10, "m": 11, "n": "b"}, EVERYTHING[7:]),
        (" AND #n = :n AND #m = :m AND #y = :y", {"y": 10, "m": 2, "n": "a"}, EVERYTHING[4:5]),
    ],
)
def test_a_compound_key_is_compared_attribute_by_attribute(compound, more, values, found):
    request = ask(compound, PARTITION + more, **values)
    assert moments_of(compound.query(IndexName="gsi", **request)["Items"]) == found
    assert (
        moments_of(read_all(compound.query, IndexName="gsi", ScanIndexForward=False, Limit=1, **request)) == found[::-1]
    )


def test_parts_of_a_compound_partition_are_never_run_together(compound):
    assert len(compound.query(IndexName="gsi", **ask(compound, PARTITION, t="tt", r="x"))["Items"]) == 8
    assert compound.query(IndexName="gsi", **ask(compound, PARTITION, t="tt", r="x"))["Items"][0]["region"] == {
        "S": "x"
    }


def test_the_last_key_of_a_compound_index_names_all_of_it(compound):
    page = compound.query(IndexName="gsi", Limit=1, **ask(compound, PARTITION))
    assert set(page["LastEvaluatedKey"]) == {"pk", "tenant", "region", "year", "month", "name"}


def test_every_partition_attribute_needs_equality(compound):
    request = ask(compound, "#t = :t", t="t")
    del request["ExpressionAttributeValues"][":r"]
    with invalid() as caught:
        compound.query(IndexName="gsi", **request)
    text = caught.value.response["Error"]["Message"]
    assert "HASH" in text
    assert "equality" in text


def test_sort_attributes_are_used_from_left_to_right(compound):
    with invalid(
        "RANGE key attributes year must have equality conditions specified in the query "
        "because a condition is present on key attribute month"
    ):
        compound.query(IndexName="gsi", **ask(compound, PARTITION + " AND #y > :y AND #m = :m", y=1, m=1))
    with invalid():
        compound.query(IndexName="gsi", **ask(compound, PARTITION + " AND #m = :m", m=1))


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ({"pk": "p", "sk": "s"}, "The provided starting key is invalid"),
        ({"pk": "p", "sk": "s", "b": "x"}, "The provided starting key is invalid"),
        ({"pk": "p", "sk": "s", "a": 1}, "The provided key element does not match the schema"),
        (
            {"pk": 1, "sk": "s", "a": "x"},
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            {"pk": "p", "y": "s", "a": "x"},
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
    ],
)
def test_a_start_key_is_checked_as_index_key_then_as_table_key(make_table, start, text):
    table = make_table("pk:S / sk:S", gsi={"gsi": "a:S"})
    with invalid(text):
        query(table, "gsi", "a = :a", a="x", ExclusiveStartKey=item(**start))
    with invalid(text):
        table.scan(IndexName="gsi", ExclusiveStartKey=item(**start))
