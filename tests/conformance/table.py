"""Tables for the conformance tests: a one-line notation for their keys, and calls that fill in their name.

`pk:S / sk:N` is a partition key and a sort key; `a:S,b:N / c:S` has several attributes on each side.
"""

import secrets
from functools import partial

from botocore.exceptions import ClientError

from tests.conformance.wire import item

TIMES = {"WaiterConfig": {"Delay": 1, "MaxAttempts": 120}}


class Table:
    """A table on the target; any operation of boto3 may be called on it without naming it."""

    def __init__(self, client, definition):
        self.client = client
        self.definition = definition
        self.name = definition["TableName"]

    def __getattr__(self, operation):
        return partial(getattr(self.client, operation), TableName=self.name)

    def create(self):
        self.client.create_table(**self.definition)
        self.client.get_waiter("table_exists").wait(TableName=self.name, **TIMES)

    def drop(self):
        try:
            self.client.delete_table(TableName=self.name)
        except ClientError as refusal:
            if refusal.response["Error"]["Code"] != "ResourceNotFoundException":
                raise

    def put(self, /, **attributes):
        """Write one item given as plain Python values."""
        return self.client.put_item(TableName=self.name, Item=item(**attributes))

    def get(self, /, **key):
        """Read one item by its key, consistently; None when there is none."""
        response = self.client.get_item(TableName=self.name, Key=item(**key), ConsistentRead=True)
        return response.get("Item")

    def put_all(self, items):
        """Write plain items, 25 at a time."""
        requests = [{"PutRequest": {"Item": item(**attributes)}} for attributes in items]
        for start in range(0, len(requests), 25):
            self.client.batch_write_item(RequestItems={self.name: requests[start : start + 25]})


def new_name(prefix="t"):
    return f"{prefix}-{secrets.token_hex(6)}"


def define(keys="pk:S", *, name=None, gsi=None, lsi=None, **members):
    """The CreateTable request; indexes are `{"gsi": "a:S / b:N"}` or `{"gsi": ("a:S", projection)}`."""
    types = read_types(keys)
    definition = {"TableName": name or new_name(), "KeySchema": read_schema(keys), "BillingMode": "PAY_PER_REQUEST"}
    for member, indexes in (("GlobalSecondaryIndexes", gsi), ("LocalSecondaryIndexes", lsi)):
        if indexes:
            definition[member] = [define_index(name, index) for name, index in indexes.items()]
            for index in indexes.values():
                types |= read_types(keys_of(index))
    definition["AttributeDefinitions"] = [{"AttributeName": a, "AttributeType": t} for a, t in types.items()]
    definition |= members
    if definition.get("BillingMode") is None:
        del definition["BillingMode"]
    return definition


def define_index(name, index):
    projection = "ALL" if isinstance(index, str) else index[1]
    if isinstance(projection, str):
        described = {"ProjectionType": projection}
    else:
        described = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
    return {"IndexName": name, "KeySchema": read_schema(keys_of(index)), "Projection": described}


def keys_of(index):
    return index if isinstance(index, str) else index[0]


def read_schema(keys):
    sides = zip(("HASH", "RANGE"), read_sides(keys), strict=False)
    return [{"AttributeName": name, "KeyType": kind} for kind, side in sides for name, _ in side]


def read_types(keys):
    return {name: kind for side in read_sides(keys) for name, kind in side}


def read_sides(keys):
    return [[tuple(part.strip().split(":")) for part in side.split(",")] for side in keys.split("/")]
