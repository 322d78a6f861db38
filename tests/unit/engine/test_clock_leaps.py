"""Point-in-time recovery when the clock leaps: order by sequence number, times by the clock, nothing in the future."""

import random

import pytest

from hashrange.core.clock import ManualClock
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from hashrange.server.runner import serve_in_background
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.test_damage import WireCaller

HOUR, DAY = 3600, 86400


@pytest.fixture(params=["memory", "disk"])
def local(request, tmp_path):
    opened = Local(tmp_path / "data" if request.param == "disk" else None)
    yield opened
    opened.close()


def restore(local, seconds, name="back"):
    members = {"RestoreDateTime": seconds} if seconds is not None else {"UseLatestRestorableTime": True}
    local.call("RestoreTableToPointInTime", SourceTableName="tab", TargetTableName=name, **members)
    local.engine.finish_jobs()
    return {found["pk"]["S"] for found in local.items(name)}


def window(local):
    described = local.call("DescribeContinuousBackups", TableName="tab")["ContinuousBackupsDescription"]
    recovery = described["PointInTimeRecoveryDescription"]
    return recovery["EarliestRestorableDateTime"], recovery["LatestRestorableDateTime"]


def pass_time(local, seconds):
    local.clock.advance(seconds)
    local.engine.finish_jobs()  # as the server does every second


def test_after_a_leap_forward_and_back_a_restore_has_everything_until_its_time(local):
    local.create(recovery=True)
    local.put(pk="before")
    pass_time(local, 60)
    pass_time(local, HOUR)
    local.put(pk="ahead")
    pass_time(local, -HOUR)
    pass_time(local, 60)
    local.put(pk="after")
    moment = local.seconds
    pass_time(local, 60)
    local.put(pk="later")
    pass_time(local, 600)
    assert restore(local, moment) == {"before", "ahead", "after"}
    assert restore(local, moment - 100, "early") == {"before"}
    assert restore(local, None, "latest") == {"before", "ahead", "after", "later"}


def test_a_write_during_the_leap_is_part_of_later_times_without_another_write(local):
    local.create(recovery=True)
    pass_time(local, HOUR)
    local.put(pk="ahead")
    pass_time(local, -HOUR + 60)
    moment = local.seconds
    pass_time(local, 600)
    assert restore(local, moment) == {"ahead"}


def test_changes_have_the_time_of_the_clock(local):
    local.create(recovery=True, view="KEYS_ONLY")
    local.clock.advance(HOUR)
    local.put(pk="ahead")
    local.clock.advance(-HOUR)
    local.put(pk="after")
    ahead, after = (record["dynamodb"] for record in local.records())
    assert after["SequenceNumber"] > ahead["SequenceNumber"]
    assert after["ApproximateCreationDateTime"] == local.seconds
    assert ahead["ApproximateCreationDateTime"] == local.seconds + HOUR


def test_a_wrong_clock_in_the_past_keeps_the_order(local, caplog):
    local.create(recovery=True)
    local.put(pk="first")
    pass_time(local, 10)
    local.put(pk="second")
    pass_time(local, -HOUR)
    local.put(pk="in the past")
    past = local.seconds
    pass_time(local, 2 * HOUR)
    local.put(pk="corrected")
    corrected = local.seconds
    pass_time(local, 600)
    assert restore(local, corrected, "now") == {"first", "second", "in the past", "corrected"}
    assert "showed that time more than once" not in caplog.text
    assert restore(local, past, "past") == {"first", "second", "in the past"}
    assert "showed that time more than once" in caplog.text  # for an hour before it was set back, too
    assert "before the sequence number 1" in caplog.text


@pytest.mark.parametrize("leap", [HOUR, DAY, 40 * DAY])
def test_no_restorable_time_is_ahead_of_the_clock(local, leap):
    local.clock.advance(leap)
    local.create(recovery=True)
    local.put(pk="ahead")
    for step in (-leap, 1, 400):
        pass_time(local, step)
        earliest, latest = window(local)
        assert earliest <= latest <= local.seconds
    assert restore(local, None) == {"ahead"}


def test_changes_that_a_leap_removed_are_not_promised(local):
    local.create(recovery=True)
    local.put(pk="a")
    early = local.seconds + 1
    pass_time(local, 60)
    local.delete(pk="a")
    pass_time(local, 40 * DAY)  # removes the log
    pass_time(local, -40 * DAY)
    pass_time(local, 600)
    assert window(local)[0] > early
    refusal = local.refusal(
        "RestoreTableToPointInTime", SourceTableName="tab", TargetTableName="back", RestoreDateTime=early
    )
    assert refusal.startswith("InvalidRestoreTimeException")


def test_a_set_back_while_it_was_closed_is_noticed(tmp_path):
    local = Local(tmp_path / "data")
    local.create(recovery=True)
    local.clock.advance(HOUR)
    local.put(pk="ahead")
    local.clock.advance(-HOUR)
    local.reopen()
    pass_time(local, 60)
    moment = local.seconds
    local.reopen()
    pass_time(local, 600)
    assert window(local)[1] <= local.seconds
    assert restore(local, moment) == {"ahead"}
    local.close()


def test_a_stream_position_at_a_time_follows_the_clock(local):
    local.create(view="KEYS_ONLY")
    local.clock.advance(HOUR)
    local.put(pk="ahead")
    local.clock.advance(-HOUR)
    local.put(pk="after")
    local.clock.advance(10)
    moment = local.seconds
    local.put(pk="at")
    found = local.records(local.iterator("AT_TIMESTAMP", Timestamp=moment))
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in found] == ["at"]


@pytest.mark.parametrize("seed", range(15))
def test_a_restore_is_the_state_when_the_clock_last_showed_its_time(tmp_path, seed):
    chosen, local = random.Random(seed), Local(tmp_path / "data" if seed % 3 == 0 else None)
    local.create(recovery=True)
    state, observed = set(), []
    for _ in range(60):
        action = chosen.random()
        pass_time(local, chosen.choice([1, 5, 300]) if action < 0.8 else chosen.choice([-2, -HOUR, HOUR, -DAY, DAY]))
        if chosen.random() < 0.7:
            key = f"k{chosen.randrange(8)}"
            if key in state:
                local.delete(pk=key)
            else:
                local.put(pk=key)
            state ^= {key}
        observed.append((local.seconds, frozenset(state)))
    local.clock.set(max(seconds for seconds, _ in observed))
    pass_time(local, 600)
    earliest, latest = window(local)
    for number, moment in enumerate(chosen.sample([seconds for seconds, _ in observed], 12)):
        if earliest <= moment <= latest:
            expected = [seen for seconds, seen in observed if seconds <= moment][-1]
            assert restore(local, moment, f"back{number}") == expected
    local.close()


def test_over_the_wire_a_restore_after_a_leap_has_everything(tmp_path):
    clock = ManualClock()
    engine = open_engine(tmp_path / "data", OPERATIONS, clock=clock)
    with serve_in_background(engine) as server:
        call = WireCaller(server.url)
        definition = {
            "TableName": "tab",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        call("CreateTable", definition)
        on = {"PointInTimeRecoveryEnabled": True}
        call("UpdateContinuousBackups", {"TableName": "tab", "PointInTimeRecoverySpecification": on})
        for leap, key in ((HOUR, "ahead"), (-HOUR + 60, "after")):
            clock.advance(leap)
            call("PutItem", {"TableName": "tab", "Item": item(pk=key)})
        moment = clock.millis() // 1000
        clock.advance(600)
        call(
            "RestoreTableToPointInTime",
            {"SourceTableName": "tab", "TargetTableName": "back", "RestoreDateTime": moment},
        )
        engine.finish_jobs()
        found = {each["pk"]["S"] for each in call("Scan", {"TableName": "back"})["Items"]}
        described = call("DescribeContinuousBackups", {"TableName": "tab"})
        call.close()
    engine.close()
    assert found == {"ahead", "after"}
    recovery = described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["LatestRestorableDateTime"] <= clock.millis() / 1000
