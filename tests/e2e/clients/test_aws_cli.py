"""The AWS CLI, as typed at a shell."""

import json
import secrets

import pytest

from tests.conftest import ROOT, require

CLI = ROOT / ".venv-clients" / "bin" / "aws"
PYTHON = CLI.with_name("python")  # the first line of the script works in no folder with a space in its name


@pytest.fixture
def aws(run):
    require(CLI.exists(), "the AWS CLI")

    def call(service, *arguments):
        printed = run(str(PYTHON), str(CLI), service, *arguments, "--output", "json")
        return json.loads(printed) if printed.strip() else None

    return call


def test_a_table_lives_its_life_at_the_shell(aws):
    name = f"cli-{secrets.token_hex(4)}"
    made = aws(
        "dynamodb",
        "create-table",
        *("--table-name", name),
        *("--attribute-definitions", "AttributeName=pk,AttributeType=S", "AttributeName=sk,AttributeType=N"),
        *("--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE"),
        *("--billing-mode", "PAY_PER_REQUEST"),
        *("--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE"),
    )
    aws("dynamodb", "wait", "table-exists", "--table-name", name)
    item = '{"pk": {"S": "a"}, "sk": {"N": "1"}, "raw": {"B": "hello"}}'  # version 1 encodes binary itself
    aws("dynamodb", "put-item", "--table-name", name, "--item", item)
    found = aws(
        "dynamodb",
        "query",
        *("--table-name", name),
        *("--key-condition-expression", "pk = :p"),
        *("--expression-attribute-values", '{":p": {"S": "a"}}'),
    )
    assert found["Items"] == [{"pk": {"S": "a"}, "sk": {"N": "1"}, "raw": {"B": "aGVsbG8="}}]
    assert found["Count"] == 1
    arn = made["TableDescription"]["LatestStreamArn"]
    described = aws("dynamodbstreams", "describe-stream", "--stream-arn", arn)["StreamDescription"]
    shard = described["Shards"][0]["ShardId"]
    iterator = aws(
        "dynamodbstreams",
        "get-shard-iterator",
        *("--stream-arn", arn, "--shard-id", shard, "--shard-iterator-type", "TRIM_HORIZON"),
    )["ShardIterator"]
    records = aws("dynamodbstreams", "get-records", "--shard-iterator", iterator)["Records"]
    assert [record["eventName"] for record in records] == ["INSERT"]
    assert aws("dynamodb", "delete-table", "--table-name", name)["TableDescription"]["TableStatus"] == "DELETING"
    aws("dynamodb", "wait", "table-not-exists", "--table-name", name)
