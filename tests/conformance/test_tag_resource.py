"""TagResource, UntagResource and ListTagsOfResource: up to 50 tags on a table."""

import pytest

from tests.conformance.refusal import INVALID, invalid, not_found


@pytest.fixture
def arn(table):
    return table.describe_table()["Table"]["TableArn"]


def tags(**given):
    return [{"Key": key, "Value": content} for key, content in given.items()]


def listed(client, arn):
    response = client.list_tags_of_resource(ResourceArn=arn)
    assert "NextToken" not in response
    return {tag["Key"]: tag["Value"] for tag in response["Tags"]}


def test_tags_are_added_replaced_and_removed(client, arn):
    client.tag_resource(ResourceArn=arn, Tags=tags(one="1", two="2"))
    client.tag_resource(ResourceArn=arn, Tags=tags(two="zwei", three=""))
    assert listed(client, arn) == {"one": "1", "two": "zwei", "three": ""}
    client.untag_resource(ResourceArn=arn, TagKeys=["one", "never"])
    assert listed(client, arn) == {"two": "zwei", "three": ""}


def test_tagging_answers_with_an_empty_body(send, arn):
    assert send("TagResource", {"ResourceArn": arn, "Tags": tags(a="b")}) == (200, None)
    assert send("UntagResource", {"ResourceArn": arn, "TagKeys": ["a"]}) == (200, None)


def test_a_new_table_has_no_tags(client, arn):
    assert listed(client, arn) == {}


def test_a_table_has_at_most_50_tags(client, arn):
    client.tag_resource(ResourceArn=arn, Tags=tags(**{f"k{number}": "" for number in range(50)}))
    with invalid("Number of Tags exceed the current limit for the provided ResourceArn"):
        client.tag_resource(ResourceArn=arn, Tags=tags(more="", k1="changed"))
    assert listed(client, arn)["k1"] == ""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([], "Atleast one Tag needs to be provided as Input."),
        (tags(**{"aws:x": ""}), "Tag Key cannot be prefixed with aws:, Key: aws:x"),
        (tags(a="1") + tags(a="2"), "Duplicate Tag Keys provided as input: Duplicate Tag Key found a"),
        (tags(**{"a,b": ""}), "The Tag Key provided is invalid, Key: a,b"),
        ([{"Key": "a"}], "The Tag Value provided is invalid, Value: null"),
    ],
)
def test_a_tag_that_may_not_be_is_explained_and_none_is_set(client, arn, given, text):
    with invalid(text):
        client.tag_resource(ResourceArn=arn, Tags=tags(good="") + given if given else [])
    assert listed(client, arn) == {}


def test_no_keys_to_remove_are_refused(client, arn):
    with invalid("Atleast one Tag Key needs to be provided as Input."):
        client.untag_resource(ResourceArn=arn, TagKeys=[])


def test_a_table_that_is_not_there_has_no_tags(client, arn):
    with not_found(f"Requested resource not found: ResourceArn: {arn}x not found"):
        client.list_tags_of_resource(ResourceArn=f"{arn}x")


def test_an_index_has_no_tags(client, arn):
    wrong = f"{arn}/index/gsi"
    text = f"Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {wrong}"
    with invalid(INVALID + text):
        client.tag_resource(ResourceArn=wrong, Tags=tags(a="b"))


def test_a_bare_name_is_no_arn(client, table):
    with invalid(INVALID + f"ARNs must start with 'arn:': {table.name}"):
        client.list_tags_of_resource(ResourceArn=table.name)
