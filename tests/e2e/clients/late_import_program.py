"""Imports aiobotocore and moto only while a patch is active; run by test_patched."""

import asyncio
import sys

from hashrange import patch_boto3


async def count_tables():
    from aiobotocore.session import get_session

    async with get_session().create_client("dynamodb", region_name="us-east-1") as client:
        return len((await client.list_tables())["TableNames"])


with patch_boto3():
    import boto3

    made_without_moto = boto3.client("dynamodb", region_name="us-east-1")
    assert not {"aiobotocore", "moto"} & {name.partition(".")[0] for name in sys.modules}
    assert asyncio.run(count_tables()) == 0

    from moto import mock_aws
    from moto.dynamodb.models import DynamoDBBackend

    with mock_aws():
        DynamoDBBackend.list_tables = None  # a call would fail
        assert boto3.client("dynamodb", region_name="us-east-1").list_tables()["TableNames"] == []
        assert made_without_moto.list_tables()["TableNames"] == []
sys.stdout.write("done\n")
