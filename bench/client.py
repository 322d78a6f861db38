"""A plain HTTP client that looks like an SDK: it loads and probes contenders, and gives wrk its headers."""

import http.client
import json
from collections.abc import Iterable
from datetime import UTC, datetime

from bench.workload import FLAT_ITEM, FLAT_TABLE, TABLE, Json, create_table, dump, initial_items

LOAD_BATCH = 25


class Refused(Exception):
    """A contender answered a request with an error."""


def sdk_headers(operation: str, target: str = "DynamoDB_20120810") -> dict[str, str]:
    """What boto3 sends with a request, including a signature of the right shape."""
    now = datetime.now(UTC)
    scope = f"{now:%Y%m%d}/us-east-1/dynamodb/aws4_request"
    signed = "content-type;host;x-amz-date;x-amz-target"
    return {
        "X-Amz-Target": f"{target}.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "Accept-Encoding": "identity",
        "User-Agent": "Boto3/1.44.0 md/Botocore#1.44.0 lang/python#3.11.7 cfg/retry-mode#legacy",
        "X-Amz-Date": f"{now:%Y%m%dT%H%M%SZ}",
        "Authorization": f"AWS4-HMAC-SHA256 Credential=bench/{scope}, SignedHeaders={signed}, Signature={'5e' * 32}",
        "amz-sdk-invocation-id": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "amz-sdk-request": "attempt=1",
    }


class Client:
    """One kept-alive connection to a contender."""

    def __init__(self, port: int, *, timeout: float = 60) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def call(self, operation: str, body: Json | str, *, target: str = "DynamoDB_20120810") -> Json:
        """The answer to one operation; raises Refused when its status is not 200."""
        text = body if isinstance(body, str) else dump(body)
        self._connection.request("POST", "/", text.encode(), sdk_headers(operation, target))
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != http.client.OK:
            raise Refused(f"{operation} answered {response.status}: {answer[:300].decode(errors='replace')}")
        decoded: Json = json.loads(answer)
        return decoded

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


def fill_table(client: Client, *, streams: bool = False) -> None:
    """Creates the table and writes the 10,000 items in batches."""
    client.call("CreateTable", create_table(streams=streams))
    load_items(client, TABLE, initial_items())


def fill_flat_table(client: Client) -> None:
    """Does the same with the table of flat items."""
    client.call("CreateTable", create_table(FLAT_TABLE, index=False))
    load_items(client, FLAT_TABLE, initial_items(FLAT_ITEM))


def load_items(client: Client, table: str, given: Iterable[str]) -> None:
    """Writes items in batches."""
    wait_until_active(client, table)
    items = list(given)
    for at in range(0, len(items), LOAD_BATCH):
        puts = ",".join(f'{{"PutRequest":{{"Item":{item}}}}}' for item in items[at : at + LOAD_BATCH])
        answer = client.call("BatchWriteItem", f'{{"RequestItems":{{"{table}":[{puts}]}}}}')
        if answer.get("UnprocessedItems"):
            raise Refused("BatchWriteItem left items unprocessed while loading")


def wait_until_active(client: Client, name: str = TABLE) -> None:
    """Returns once the table and its indexes can be used."""
    while True:
        table = client.call("DescribeTable", {"TableName": name})["Table"]
        states = [table["TableStatus"], *(index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", []))]
        if all(state == "ACTIVE" for state in states):
            return
