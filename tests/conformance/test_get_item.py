"""GetItem: one item by its whole key, or the parts of it that were asked for."""

import pytest

from tests.conformance.refusal import INVALID, invalid, not_found
from tests.conformance.table import new_name
from tests.conformance.wire import item

MISMATCH = "The provided key element does not match the schema"


def project(table, expression, **names):
    options = {"ExpressionAttributeNames": {f"#{name}": meant for name, meant in names.items()}} if names else {}
    return table.get_item(Key=item(pk="a"), ProjectionExpression=expression, **options).get("Item")


def test_a_missing_item_is_an_answer_without_an_item(send, table):
    assert send("GetItem", {"TableName": table.name, "Key": item(pk="a")}) == (200, {})


def test_an_item_is_found_by_its_whole_key(sorted_table):
    sorted_table.put(pk="a", sk=1, v="one")
    sorted_table.put(pk="a", sk=2, v="two")
    assert sorted_table.get(pk="a", sk=2) == item(pk="a", sk=2, v="two")
    assert sorted_table.get(pk="a", sk=3) is None


def test_a_number_key_is_found_in_any_spelling(make_table):
    table = make_table("pk:N")
    table.put(pk=1000)
    assert table.get_item(Key={"pk": {"N": "1.0e3"}})["Item"] == {"pk": {"N": "1000"}}


def test_consistent_and_eventual_reads_both_find_the_item(table):
    table.put(pk="a")
    for consistent in (True, False):
        assert table.get_item(Key=item(pk="a"), ConsistentRead=consistent)["Item"] == item(pk="a")


@pytest.mark.parametrize(
    "key", [{}, item(pk="a"), item(pk="a", sk="1"), item(pk="a", sk=1, more=1), item(pk="a", other=1), item(pk=1, sk=1)]
)
def test_the_key_must_be_exactly_the_tables_key(sorted_table, key):
    with invalid(MISMATCH):
        sorted_table.get_item(Key=key)


def test_a_key_value_may_not_be_empty(table):
    text = (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        "string value. Key: pk"
    )
    with invalid(text):
        table.get_item(Key=item(pk=""))


def test_a_key_value_may_not_be_too_long(make_table):
    table = make_table("pk:S / sk:B")
    with invalid(INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"):
        table.get_item(Key=item(pk="x" * 2049, sk=b"y"))
    with invalid(INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"):
        table.get_item(Key=item(pk="x", sk=b"y" * 1025))


def test_a_malformed_number_in_the_key_is_reported_without_the_envelope(make_table):
    table = make_table("pk:N")
    with invalid("The parameter cannot be converted to a numeric value: abc"):
        table.get_item(Key={"pk": {"N": "abc"}})


def test_an_unknown_table_is_not_found(client):
    with not_found():
        client.get_item(TableName=new_name(), Key=item(pk="a"))


def test_a_request_that_makes_no_sense_is_refused_before_the_table_is_looked_up(client):
    with invalid('Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"'):
        client.get_item(TableName=new_name(), Key=item(pk="a"), ProjectionExpression="!!")


# -- projections ----------------------------------------------------------

NESTED = {
    "pk": "a",
    "m": {"x": 1, "y": {"z": 2, "w": 3}},
    "l": [10, 11, {"k": 1, "j": 2, "i": 3}, 13],
    "a.b": "dotted",
    "s": "text",
}


@pytest.mark.parametrize(
    ("expression", "names", "found"),
    [
        ("s", {}, {"s": "text"}),
        ("m.x", {}, {"m": {"x": 1}}),
        ("m.y.z, m.x", {}, {"m": {"x": 1, "y": {"z": 2}}}),
        ("l[3], l[0]", {}, {"l": [10, 13]}),
        ("l[2].k, l[2].j", {}, {"l": [{"k": 1, "j": 2}]}),
        ("#d", {"d": "a.b"}, {"a.b": "dotted"}),
        ("#m.#x", {"m": "m", "x": "x"}, {"m": {"x": 1}}),
        ("absent", {}, {}),
        ("m.absent, l[99], s.x", {}, {}),
        ("m[0], l.x, s[0]", {}, {}),
        ("s, absent", {}, {"s": "text"}),
    ],
)
def test_a_projection_rebuilds_what_encloses_the_chosen_parts(table, expression, names, found):
    table.put(**NESTED)
    assert project(table, expression, **names) == item(**found)


def test_a_projection_of_a_missing_item_is_no_item(table):
    assert project(table, "s") is None


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "The expression can not be empty;"),
        (
            "a, a.b",
            (
                "Two document paths overlap with each other; must remove or rewrite one of these paths; "
                "path one: [a], path two: [a, b]"
            ),
        ),
        (
            "a, a",
            (
                "Two document paths overlap with each other; must remove or rewrite one of these paths; "
                "path one: [a], path two: [a]"
            ),
        ),
        (
            "a.b, a[1]",
            (
                "Two document paths conflict with each other; must remove or rewrite one of these paths; "
                "path one: [a, b], path two: [a, [1]]"
            ),
        ),
        ("name", "Attribute name is a reserved keyword; reserved keyword: name"),
        ("a.Size", "Attribute name is a reserved keyword; reserved keyword: Size"),
        ("#x", "An expression attribute name used in the document path is not defined; attribute name: #x"),
        ("a b", 'Syntax error; token: "b", near: "a b"'),
        ("a,", 'Syntax error; token: "<EOF>", near: ","'),
        ("a[:i]", 'Syntax error; token: ":i", near: "[:i]"'),
    ],
)
def test_a_projection_that_makes_no_sense_is_explained(table, expression, problem):
    with invalid("Invalid ProjectionExpression: " + problem):
        project(table, expression)


def test_a_path_has_at_most_32_elements(table):
    assert project(table, ".".join(["a"] * 32)) is None
    with invalid("Invalid ProjectionExpression: The document path has too many nesting levels; nesting levels: 33"):
        project(table, ".".join(["a"] * 33))


def test_an_expression_has_at_most_4096_bytes(table):
    assert project(table, "a" * 4096) is None
    with invalid(containing="Invalid ProjectionExpression: Expression size has exceeded the maximum allowed size;"):
        project(table, "a" * 4097)


def test_unused_names_are_refused(table):
    with invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"):
        project(table, "a", x="b")


def test_names_need_an_expression_that_uses_them(table):
    with invalid("ExpressionAttributeNames can only be specified when using expressions"):
        table.get_item(Key=item(pk="a"), ExpressionAttributeNames={"#x": "a"})


def test_attributes_to_get_picks_whole_attributes_by_their_literal_name(table):
    table.put(**NESTED)
    response = table.get_item(Key=item(pk="a"), AttributesToGet=["a.b", "s", "absent"])
    assert response["Item"] == item(**{"a.b": "dotted", "s": "text"})


def test_attributes_to_get_may_not_repeat_a_name(table):
    with invalid(INVALID + "Duplicate value in attribute name: a"):
        table.get_item(Key=item(pk="a"), AttributesToGet=["a", "a"])


def test_old_and_new_ways_to_choose_attributes_do_not_mix(table):
    text = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )
    with invalid(text):
        table.get_item(Key=item(pk="a"), AttributesToGet=["a"], ProjectionExpression="a")


# -- capacity ----------------------------------------------------------


@pytest.mark.parametrize(
    ("filling", "consistent", "units"), [(10, True, 1.0), (10, False, 0.5), (4096, True, 2.0), (4096, False, 1.0)]
)
def test_a_read_costs_a_unit_per_4_kb_and_half_when_eventual(table, filling, consistent, units):
    table.put(pk="a", fill="x" * filling)
    response = table.get_item(Key=item(pk="a"), ConsistentRead=consistent, ReturnConsumedCapacity="TOTAL")
    assert response["ConsumedCapacity"] == {"TableName": table.name, "CapacityUnits": units}


def test_a_missing_item_costs_the_least_there_is(table):
    response = table.get_item(Key=item(pk="a"), ReturnConsumedCapacity="INDEXES")
    assert response["ConsumedCapacity"] == {
        "TableName": table.name,
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.5},
    }


def test_capacity_is_not_reported_unless_asked_for(table):
    for options in ({}, {"ReturnConsumedCapacity": "NONE"}):
        assert "ConsumedCapacity" not in table.get_item(Key=item(pk="a"), **options)


@pytest.mark.parametrize(("path", "named"), [("pk.b", "Key: pk"), ("pk[0]", "Key: pk"), ("a.b", "IndexKey: a")])
def test_a_key_attribute_is_no_document(client, make_table, path, named):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    text = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    with invalid(text + named):
        table.get_item(Key=item(pk="p"), ProjectionExpression=path)


def test_attributes_to_get_have_names(client, table):
    key = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}
    with invalid("Empty attribute name"):
        table.get_item(Key=item(pk="a"), AttributesToGet=["pk", ""])
    with invalid("Empty attribute name"):
        table.scan(AttributesToGet=[""])
    with invalid("Empty attribute name"):
        table.query(KeyConditions={"pk": key}, AttributesToGet=[""])
    with invalid("Empty attribute name"):
        client.batch_get_item(RequestItems={table.name: {"Keys": [item(pk="a")], "AttributesToGet": [""]}})
    with invalid(containing="Member must have length less than or equal to 65535"):
        table.get_item(Key=item(pk="a"), AttributesToGet=["x" * 65536])
