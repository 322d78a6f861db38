"""A stream is the whole history of its table: replayed, it gives the table; and no record is without a change."""

from hypothesis import given, settings

from tests.unit.engine.history import Oracle, histories
from tests.unit.engine.local import Local, sort_items


def replay(records):
    """The items that the records, one after the other, leave behind; each must fit what was there before it."""
    items = {}
    for record in records:
        change = record["dynamodb"]
        key = (change["Keys"]["pk"]["S"], change["Keys"]["sk"]["N"])
        old, new = items.get(key), change.get("NewImage")
        assert change.get("OldImage") == old
        assert old != new, "a record of a change that changed nothing"
        assert record["eventName"] == ("INSERT" if old is None else "REMOVE" if new is None else "MODIFY")
        if new is None:
            del items[key]
        else:
            items[key] = new
    return list(items.values())


@given(histories)
@settings(max_examples=40, deadline=None)
def test_replayed_records_give_the_table(history):
    local = Local()
    local.create("pk:S / sk:N", view="NEW_AND_OLD_IMAGES")
    oracle = Oracle(local)
    oracle.run(history)
    replayed = replay(local.records())
    assert sort_items(replayed) == local.items() == sort_items(oracle.held.values())
    local.close()
