"""A table's stream as a test reads it: its ARN, its shards, its records; on AWS records take a moment to arrive."""

import time

TIMEOUT = 300.0  # seconds


class Stream:
    """The latest stream of a table."""

    def __init__(self, streams, table):
        self.streams = streams
        self.arn = table.describe_table()["Table"]["LatestStreamArn"]

    def describe(self, **members):
        return self.streams.describe_stream(StreamArn=self.arn, **members)["StreamDescription"]

    def shards(self):
        return [shard["ShardId"] for shard in self.describe()["Shards"]]

    def iterator(self, kind="TRIM_HORIZON", shard=None, **members):
        request = {"StreamArn": self.arn, "ShardId": shard or self.shards()[0], "ShardIteratorType": kind, **members}
        return self.streams.get_shard_iterator(**request)["ShardIterator"]

    def records(self, count):
        """So many records, the oldest first, as soon as they are there."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            found = [record for shard in self.shards() for record in self._read(self.iterator(shard=shard))]
            if len(found) >= count or time.monotonic() > deadline:
                return found
            time.sleep(0.5)

    def _read(self, iterator):
        while iterator:
            page = self.streams.get_records(ShardIterator=iterator)
            if not page["Records"]:
                return
            yield from page["Records"]
            iterator = page.get("NextShardIterator")


def streaming(view="NEW_AND_OLD_IMAGES"):
    """The members of a table that is created with a stream."""
    return {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
