"""PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy: one policy per resource, with a revision."""

import json

import pytest

from tests.conformance.refusal import invalid, refused


@pytest.fixture
def arn(table):
    return table.describe_table()["Table"]["TableArn"]


def make_policy(arn, principal):
    statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "dynamodb:GetItem", "Resource": arn}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def account_of(arn):
    return f"arn:aws:iam::{arn.split(':')[4]}:root"


def test_a_policy_is_stored_returned_and_deleted(client, arn):
    put = client.put_resource_policy(ResourceArn=arn, Policy=make_policy(arn, account_of(arn)))
    got = client.get_resource_policy(ResourceArn=arn)
    assert got["RevisionId"] == put["RevisionId"]
    assert json.loads(got["Policy"])["Statement"][0]["Action"] == "dynamodb:GetItem"
    assert client.delete_resource_policy(ResourceArn=arn)["RevisionId"] == put["RevisionId"]
    with refused("PolicyNotFoundException", containing=arn):
        client.get_resource_policy(ResourceArn=arn)


def test_a_policy_is_replaced_only_from_the_expected_revision(client, arn):
    first = client.put_resource_policy(ResourceArn=arn, Policy=make_policy(arn, account_of(arn)))["RevisionId"]
    with refused("PolicyNotFoundException"):
        client.put_resource_policy(
            ResourceArn=arn, Policy=make_policy(arn, account_of(arn)), ExpectedRevisionId=f"{first}1"
        )
    assert client.get_resource_policy(ResourceArn=arn)["RevisionId"] == first


def test_deleting_a_policy_that_is_not_there_succeeds(client, arn):
    assert "RevisionId" not in client.delete_resource_policy(ResourceArn=arn)


def test_a_policy_for_everybody_is_refused(client, arn):
    with invalid(containing="grants unbounded access"):
        client.put_resource_policy(ResourceArn=arn, Policy=make_policy(arn, "*"))
