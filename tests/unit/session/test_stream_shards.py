"""A consumer follows shards that split, however often its process dies: on a transport whose stream has such shards."""

import contextlib

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import ManualClock
from tests.unit.session.parcels import Parcel, Parcels, checkpoints


class ShardedStream:
    """A transport whose stream has shards that split; all else is the embedded database."""

    def __init__(self, database, shards, clock):
        self.database, self.shards, self.clock = database, shards, clock

    def call(self, operation, request, read=orjson.loads):
        serve = getattr(self, f"_{operation}", None)
        response = serve(request) if serve else self.database.call(operation, request)
        return read(orjson.dumps(response))

    async def call_async(self, operation, request, read=orjson.loads):
        return self.call(operation, request, read)

    def close(self):
        pass

    def _ListStreams(self, request):  # noqa: N802 - DynamoDB's name
        return {"Streams": [{"StreamArn": f"arn:aws:dynamodb:x:1:table/{request['TableName']}/stream/2027"}]}

    def _DescribeStream(self, request):  # noqa: N802 - DynamoDB's name
        start = request.get("ExclusiveStartShardId", "")
        rest = [name for name in sorted(self.shards) if name > start]
        shown = [
            {"ShardId": name, **({"ParentShardId": parent} if (parent := self.shards[name][0]) else {})}
            for name in rest[:2]
        ]
        more = {"LastEvaluatedShardId": shown[-1]["ShardId"]} if len(rest) > 2 else {}
        return {"StreamDescription": {"Shards": shown[::-1], **more}}

    def _GetShardIterator(self, request):  # noqa: N802 - DynamoDB's name
        records, at = self.shards[request["ShardId"]][1], 0
        if request["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER":
            at = 1 + [record["dynamodb"]["SequenceNumber"] for record in records].index(request["SequenceNumber"])
        return {"ShardIterator": f"{request['ShardId']}|{at}"}

    def _GetRecords(self, request):  # noqa: N802 - DynamoDB's name
        name, _, at = request["ShardIterator"].partition("|")
        _, records, is_open = self.shards[name]
        page = records[int(at) : int(at) + min(request["Limit"], 3)]
        end = int(at) + len(page)
        following = {} if end == len(records) and not is_open else {"NextShardIterator": f"{name}|{end}"}
        return {"Records": page, **following}


class Killed(BaseException):
    """Stands for the death of the process."""


@st.composite
def shard_trees(draw):
    """Shards that split twice at most, with the numbered changes of a few items; a child continues its parent's."""
    shards, counts, sequence = {}, {}, 100

    def grow(name, parent, items, depth):
        nonlocal sequence
        records = []
        for item in draw(st.lists(st.sampled_from(items), max_size=8)):
            counts[item] = counts.get(item, 0) + 1
            sequence += 1
            image = {"pk": {"S": f"PARCEL#{item}"}, "sk": {"S": "PARCEL"}, "city": {"S": str(counts[item])}}
            data = {"Keys": {}, "NewImage": image | {"paid": {"BOOL": False}}, "SequenceNumber": str(sequence)}
            records.append({"eventName": "MODIFY", "dynamodb": data})
        splits = depth < 2 and len(items) > 1 and draw(st.booleans())
        shards[name] = (parent, records, not splits)
        if splits:
            at = draw(st.integers(1, len(items) - 1))
            grow(f"{name}0", name, items[:at], depth + 1)
            grow(f"{name}1", name, items[at:], depth + 1)

    grow("shard-", None, ["a", "b", "c", "d"], 0)
    return shards, counts


@settings(max_examples=60, deadline=None)
@given(tree=shard_trees(), deaths=st.lists(st.integers(0, 12), max_size=6))
def test_every_change_is_handled_in_order_per_item_however_often_the_process_dies(tree, deaths):
    shards, counts = tree
    with hashrange.open(clock=ManualClock(1_800_000_000)) as database:
        hashrange.create_tables(database, Parcels, checkpoints)
        transport = ShardedStream(database, shards, database.clock)
        handled: list[tuple[str, int]] = []
        for death in [*deaths, None]:
            consumer = Parcels.open(transport, clock=database.clock).consumer("log", checkpoints)
            left = death

            @consumer.on(Parcel)
            def note(change):
                nonlocal left
                if left == 0:
                    raise Killed
                left = None if left is None else left - 1
                handled.append((change.after.number, int(change.after.city)))

            with contextlib.suppress(Killed):
                consumer.run()
    reached = dict.fromkeys(counts, 0)
    for item, number in handled:
        assert number <= reached[item] + 1  # nothing was left out; what repeats begins after a checkpoint
        reached[item] = max(reached[item], number)
    assert reached == counts
