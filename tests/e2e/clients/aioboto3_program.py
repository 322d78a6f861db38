"""An asynchronous application, run by test_aioboto3 with nothing but an endpoint in its environment."""

import asyncio
import secrets
import sys

import aioboto3
from boto3.dynamodb.conditions import Key


async def main():
    async with aioboto3.Session().resource("dynamodb") as resource:
        table = await resource.create_table(
            TableName=f"aioboto3-{secrets.token_hex(4)}",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        await table.wait_until_exists()
        async with table.batch_writer() as batch:
            for number in range(40):
                await batch.put_item(Item={"pk": "a", "sk": number})
        await asyncio.gather(*(add_one(table) for _ in range(20)))
        found = (await table.get_item(Key={"pk": "counter", "sk": 0}))["Item"]
        assert found["n"] == 20, found
        page = await table.query(KeyConditionExpression=Key("pk").eq("a") & Key("sk").gte(30), ScanIndexForward=False)
        assert [int(item["sk"]) for item in page["Items"]] == list(range(39, 29, -1)), page
        await expect_refusal(table)
        await table.delete()


async def add_one(table):
    await table.update_item(
        Key={"pk": "counter", "sk": 0}, UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": 1}
    )


async def expect_refusal(table):
    exceptions = table.meta.client.exceptions
    try:
        await table.put_item(Item={"pk": "a", "sk": 1}, ConditionExpression="attribute_not_exists(pk)")
    except exceptions.ConditionalCheckFailedException:
        return
    raise AssertionError("the condition did not hold and yet the item was written")


asyncio.run(main())
sys.stdout.write("done\n")
