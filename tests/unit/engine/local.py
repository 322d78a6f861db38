"""A database with a clock that stands still: calls by name, and short ways to write, read and follow changes."""

from typing import Any

import orjson
import pytest

from hashrange.core.clock import ManualClock
from hashrange.core.errors import ServiceError
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from tests.conformance.table import define
from tests.conformance.wire import item


class Local:
    """An engine and its clock; the table is `tab` unless told otherwise."""

    reference: Any  # a ReferenceTable, set by tests that compare with it

    def __init__(self, directory=None, faults=None):
        self.directory = directory
        self.faults = faults
        self.clock = ManualClock()
        self.engine = open_engine(directory, OPERATIONS, clock=self.clock, faults=faults)

    def close(self):
        self.engine.close()

    def reopen(self):
        self.engine.close()
        self.engine = open_engine(self.directory, OPERATIONS, clock=self.clock, faults=self.faults)

    def call(self, operation, **members):
        response = self.engine.call(operation, members)
        return orjson.loads(response) if response else None

    def refusal(self, operation, **members):
        """What a call is refused with, as `Name: text`."""
        with pytest.raises(ServiceError) as caught:
            self.engine.call(operation, members)
        return f"{caught.value.name}: {caught.value.message}"

    @property
    def seconds(self):
        return self.clock.millis() // 1000

    # -- tables and items ---------------------------------------------------------------------------------------------

    def create(self, keys="pk:S", *, view=None, recovery=False, **options):
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}} if view else {}
        definition = define(keys, **{"name": "tab", **stream, **options})
        self.call("CreateTable", **definition)
        if recovery:
            self.switch_recovery(on=True, name=definition["TableName"])

    def switch_recovery(self, *, on, name="tab", **members):
        specification = {"PointInTimeRecoveryEnabled": on, **members}
        return self.call("UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=specification)

    def put(self, name="tab", /, **attributes):
        self.call("PutItem", TableName=name, Item=item(**attributes))

    def put_many(self, count, name="tab", **attributes):
        """Put so many items, with the keys k0, k1 ..."""
        for start in range(0, count, 25):
            chosen = range(start, min(start + 25, count))
            puts = [{"PutRequest": {"Item": item(pk=f"k{number}", n=number, **attributes)}} for number in chosen]
            self.call("BatchWriteItem", RequestItems={name: puts})

    def delete(self, name="tab", /, **key):
        self.call("DeleteItem", TableName=name, Key=item(**key))

    def set(self, key, **attributes):
        """Update attributes by SET."""
        names = {f"#{name}": name for name in attributes}
        values = {f":{name}": value for name, value in item(**attributes).items()}
        text = "SET " + ", ".join(f"#{name} = :{name}" for name in attributes)
        self.call(
            "UpdateItem",
            TableName="tab",
            Key=item(**key),
            UpdateExpression=text,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )

    def items(self, name="tab", index=None):
        """All items of a table or index, in an order that depends on them alone."""
        request = {"TableName": name} | ({"IndexName": index} if index else {})
        found = []
        while True:
            page = self.call("Scan", **request)
            found += page["Items"]
            if "LastEvaluatedKey" not in page:
                return sort_items(found)
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def describe(self, name="tab"):
        return self.call("DescribeTable", TableName=name)["Table"]

    # -- streams ------------------------------------------------------------------------------------------------------

    @property
    def stream_arn(self):
        return self.describe()["LatestStreamArn"]

    def shard(self, arn):
        (shard,) = self.call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]
        return shard

    def iterator(self, kind="TRIM_HORIZON", arn=None, **members):
        arn = arn or self.stream_arn
        request = {"StreamArn": arn, "ShardId": self.shard(arn)["ShardId"], "ShardIteratorType": kind, **members}
        return self.call("GetShardIterator", **request)["ShardIterator"]

    def records(self, iterator=None, **members):
        """The records of one page."""
        return self.call("GetRecords", ShardIterator=iterator or self.iterator(), **members)["Records"]


def sort_items(items):
    return sorted(items, key=lambda found: orjson.dumps(found, option=orjson.OPT_SORT_KEYS))
