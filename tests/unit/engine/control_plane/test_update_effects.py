"""What UpdateTable changes, what it answers meanwhile, and what DescribeTable shows afterwards."""

from tests.unit.engine.control_plane.test_create_rules import attributes, index
from tests.unit.engine.control_plane.test_update_rules import CREATE, PAID, STREAM, UNITS, change, delete

DAY = 24 * 3600


def units(read, write):
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def create_paid_with_index(control):
    control.create(
        **PAID,
        AttributeDefinitions=attributes("pk", "i"),
        GlobalSecondaryIndexes=[index("#i", ProvisionedThroughput=UNITS)],
    )


def test_throughput_is_answered_with_the_old_figures_and_shown_with_the_new(control):
    control.create(**PAID)
    control.clock.advance(60)
    response = control.update(ProvisionedThroughput=units(7, 5))
    assert response["TableStatus"] == "UPDATING"
    assert response["ProvisionedThroughput"] == {
        "LastIncreaseDateTime": 1_800_000_060.0, "NumberOfDecreasesToday": 0, **UNITS,
    }  # fmt: skip
    shown = control.describe()
    assert shown["TableStatus"] == "ACTIVE"
    assert shown["ProvisionedThroughput"] == response["ProvisionedThroughput"] | units(7, 5)


def test_decreases_are_counted_by_the_utc_day(control):
    control.create(**PAID)
    control.update(ProvisionedThroughput=units(4, 4))
    response = control.update(ProvisionedThroughput=units(3, 3))["ProvisionedThroughput"]
    assert (response["NumberOfDecreasesToday"], response["ReadCapacityUnits"]) == (1, 4)
    assert control.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 2
    control.clock.advance(DAY)
    assert control.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    control.update(ProvisionedThroughput=units(2, 3))
    assert control.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1


def test_warm_throughput_follows_the_highest_figures_and_never_falls(control):
    control.create(**PAID)
    control.update(ProvisionedThroughput=units(9, 5))
    control.update(ProvisionedThroughput=units(1, 1))
    assert control.describe()["WarmThroughput"] == {
        "ReadUnitsPerSecond": 9, "WriteUnitsPerSecond": 5, "Status": "ACTIVE",
    }  # fmt: skip


def test_a_switch_to_on_demand_clears_figures_and_keeps_a_summary_for_good(control):
    create_paid_with_index(control)
    response = control.update(BillingMode="PAY_PER_REQUEST")
    assert response["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert response["WarmThroughput"]["ReadUnitsPerSecond"] == 5
    shown = control.describe()
    assert shown["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == 1_800_000_000.0
    assert shown["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert shown["WarmThroughput"]["ReadUnitsPerSecond"] == 12_000
    assert control.index("idx")["ProvisionedThroughput"]["WriteCapacityUnits"] == 0
    control.clock.advance(60)
    updates = change("idx", ProvisionedThroughput=units(2, 2))
    control.update(**PAID, **updates)
    back = control.describe()
    assert back["BillingModeSummary"] == {
        "BillingMode": "PROVISIONED", "LastUpdateToPayPerRequestDateTime": 1_800_000_000.0,
    }  # fmt: skip
    assert control.index("idx")["ProvisionedThroughput"]["ReadCapacityUnits"] == 2
    assert back["WarmThroughput"]["ReadUnitsPerSecond"] == 12_000


def test_a_switch_of_billing_drops_on_demand_caps_everywhere(control):
    control.create(gsi={"idx": "a:S"}, OnDemandThroughput={"MaxReadRequestUnits": 9})
    control.update(**change("idx", OnDemandThroughput={"MaxReadRequestUnits": 7}))
    assert control.index("idx")["OnDemandThroughput"] == {"MaxReadRequestUnits": 7}
    control.update(**PAID, **change("idx", ProvisionedThroughput=UNITS))
    assert "OnDemandThroughput" not in control.describe()
    assert "OnDemandThroughput" not in control.index("idx")


def test_the_billing_mode_it_has_already_changes_nothing(control):
    control.create()
    before = control.describe()
    assert control.update(BillingMode="PAY_PER_REQUEST")["TableStatus"] == "UPDATING"
    assert control.describe() == before


def test_on_demand_caps_merge_and_minus_one_clears(control):
    control.create()
    both = {"MaxReadRequestUnits": 1000, "MaxWriteRequestUnits": 500}
    response = control.update(OnDemandThroughput=both)
    assert (response["TableStatus"], response["OnDemandThroughput"]) == ("ACTIVE", both)
    response = control.update(OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert response["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 500}
    assert control.describe()["OnDemandThroughput"] == {"MaxWriteRequestUnits": 500}
    control.update(OnDemandThroughput={"MaxWriteRequestUnits": -1})
    assert "OnDemandThroughput" not in control.describe()


def test_caps_may_come_with_the_switch_that_allows_them(control):
    control.create(**PAID)
    control.update(BillingMode="PAY_PER_REQUEST", OnDemandThroughput={"MaxReadRequestUnits": 10})
    assert control.describe()["OnDemandThroughput"] == {"MaxReadRequestUnits": 10}


def test_warm_throughput_rises_while_the_table_stays_active(control):
    control.create()
    response = control.update(WarmThroughput={"WriteUnitsPerSecond": 5_000})
    assert response["TableStatus"] == "ACTIVE"
    assert response["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "UPDATING",
    }  # fmt: skip
    assert control.describe()["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 5_000, "Status": "ACTIVE",
    }  # fmt: skip


def test_empty_figures_beside_a_change_are_overlooked(control):
    control.create()
    response = control.update(WarmThroughput={}, DeletionProtectionEnabled=True)
    assert response["DeletionProtectionEnabled"] is True


def test_an_added_index_is_created_and_then_active(control):
    control.create()
    response = control.update(**CREATE)
    assert response["TableStatus"] == "UPDATING"
    added = response["GlobalSecondaryIndexes"][0]
    assert (added["IndexStatus"], added["Backfilling"]) == ("CREATING", False)
    shown = control.index("new")
    assert shown["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in shown
    assert [entry["AttributeName"] for entry in control.describe()["AttributeDefinitions"]] == ["a", "pk"]


def test_definitions_that_the_new_index_does_not_need_are_ignored(control):
    control.create()
    wrong = [{"AttributeName": "pk", "AttributeType": "N"}, *attributes("a", "stale")]
    control.update(**CREATE | {"AttributeDefinitions": wrong})
    assert control.describe()["AttributeDefinitions"] == attributes("a", "pk")
    control.update(DeletionProtectionEnabled=True, AttributeDefinitions=wrong)
    assert control.describe()["AttributeDefinitions"] == attributes("a", "pk")


def test_a_deleted_index_takes_its_definitions_with_it(control):
    control.create("pk:S / sk:S", gsi={"one": "a:S / sk:S", "two": "b:S"})
    response = control.update(**delete("one"))
    assert [i["IndexStatus"] for i in response["GlobalSecondaryIndexes"]] == ["DELETING", "ACTIVE"]
    shown = control.describe()
    assert [i["IndexName"] for i in shown["GlobalSecondaryIndexes"]] == ["two"]
    assert shown["AttributeDefinitions"] == attributes("b", "pk", "sk")


def test_an_index_can_be_made_again_under_its_name_with_another_type(control):
    control.create(gsi={"new": "a:S"})
    control.update(**delete("new"))
    control.update(**CREATE | {"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "N"}]})
    assert {"AttributeName": "a", "AttributeType": "N"} in control.describe()["AttributeDefinitions"]


def test_figures_of_several_indexes_change_in_one_call(control):
    create_paid_with_index(control)
    response = control.update(**change("idx", ProvisionedThroughput=units(6, 6)))
    updated = response["GlobalSecondaryIndexes"][0]
    assert (response["TableStatus"], updated["IndexStatus"]) == ("ACTIVE", "UPDATING")
    assert updated["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert control.index("idx")["ProvisionedThroughput"]["ReadCapacityUnits"] == 6
    assert control.index("idx")["IndexStatus"] == "ACTIVE"


def test_an_index_may_be_added_while_the_billing_mode_changes(control):
    control.create(**PAID)
    control.update(BillingMode="PAY_PER_REQUEST", **CREATE)
    assert control.index("new")["WarmThroughput"]["ReadUnitsPerSecond"] == 12_000


def test_a_stream_is_switched_with_its_specification_shown_at_once(control):
    control.create()
    response = control.update(**STREAM)
    assert response["TableStatus"] == "UPDATING"
    assert response["StreamSpecification"] == STREAM["StreamSpecification"]
    first = response["LatestStreamArn"]
    response = control.update(StreamSpecification={"StreamEnabled": False})
    assert "StreamSpecification" not in response
    assert response["LatestStreamArn"] == first
    again = control.update(**STREAM)["LatestStreamArn"]
    assert again != first
    assert control.describe()["LatestStreamArn"] == again


def test_a_stream_may_come_with_the_switch_to_on_demand(control):
    control.create(**PAID)
    control.update(BillingMode="PAY_PER_REQUEST", **STREAM)
    assert control.describe()["StreamSpecification"] == STREAM["StreamSpecification"]


def test_the_table_class_is_shown_once_it_has_changed(control):
    control.create()
    response = control.update(TableClass="STANDARD_INFREQUENT_ACCESS")
    assert response["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in response
    assert control.describe()["TableClassSummary"] == {
        "TableClass": "STANDARD_INFREQUENT_ACCESS", "LastUpdateDateTime": 1_800_000_000.0,
    }  # fmt: skip
    control.update(TableClass="STANDARD")
    assert control.describe()["TableClassSummary"]["TableClass"] == "STANDARD"


def test_the_default_class_again_leaves_no_summary(control):
    control.create()
    assert control.update(TableClass="STANDARD")["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in control.describe()


def test_encryption_is_switched_on_and_off(control):
    control.create()
    response = control.update(SSESpecification={"Enabled": True})
    assert (response["TableStatus"], response["SSEDescription"]["Status"]) == ("ACTIVE", "UPDATING")
    assert control.describe()["SSEDescription"]["Status"] == "ENABLED"
    control.update(SSESpecification={"Enabled": False})
    assert "SSEDescription" not in control.describe()


def test_a_refused_change_leaves_the_table_as_it_was(control):
    control.create(gsi={"idx": "a:S"})
    before = control.describe()
    ghost = {"GlobalSecondaryIndexUpdates": [
        {"Update": {"IndexName": "idx", "OnDemandThroughput": {"MaxReadRequestUnits": 5}}},
        {"Update": {"IndexName": "ghost", "OnDemandThroughput": {"MaxReadRequestUnits": 5}}},
    ]}  # fmt: skip
    assert control.refuse_update(**ghost).startswith("ResourceNotFoundException")
    assert control.describe() == before


def test_changes_survive_a_restart(tmp_path):
    from hashrange.engine.engine import open_engine
    from hashrange.operations import OPERATIONS
    from tests.conformance.table import define

    engine = open_engine(tmp_path, OPERATIONS)
    engine.call("CreateTable", define(name="tab", Tags=[{"Key": "k", "Value": "v"}]))
    engine.call("UpdateTable", {"TableName": "tab", **CREATE})
    before = engine.call("DescribeTable", {"TableName": "tab"})
    engine.close()
    engine = open_engine(tmp_path, OPERATIONS)
    assert engine.call("DescribeTable", {"TableName": "tab"}) == before
    engine.close()
