"""States that last, when a delay is configured: what shows meanwhile, and what may not be done."""

from msgspec.structs import replace

from tests.unit.engine.control_plane.test_update_rules import CREATE, STREAM, delete

IN_USE = "ResourceInUseException: Attempt to change a resource which is still in use: "


def let_state_changes_pass(control):
    control.clock.advance(10)


def test_a_table_is_being_created_until_its_time_has_come(slow):
    slow.create(gsi={"idx": "a:S"})
    assert slow.describe()["TableStatus"] == "CREATING"
    assert slow.index("idx")["IndexStatus"] == "CREATING"
    slow.clock.advance(9.999)
    assert slow.describe()["TableStatus"] == "CREATING"
    slow.clock.advance(0.001)
    assert slow.describe()["TableStatus"] == "ACTIVE"
    assert slow.index("idx")["IndexStatus"] == "ACTIVE"


def test_a_table_that_is_being_created_can_be_neither_changed_nor_deleted(slow):
    slow.create()
    text = IN_USE + "Table is being created: tab"
    assert slow.refuse_update(DeletionProtectionEnabled=True) == text
    assert slow.refusal("DeleteTable", TableName="tab") == text
    assert slow.refuse_create() == text


def test_a_table_that_is_being_updated_takes_only_protection(slow):
    slow.create()
    let_state_changes_pass(slow)
    slow.update(**STREAM)
    assert slow.describe()["TableStatus"] == "UPDATING"
    assert slow.refuse_update(**CREATE) == IN_USE + "Table IOPS are currently being updated. Table: tab"
    assert slow.update(DeletionProtectionEnabled=True)["TableStatus"] == "UPDATING"
    slow.update(DeletionProtectionEnabled=False)
    assert slow.refusal("DeleteTable", TableName="tab") == IN_USE + "Table: tab is in the process of being updated."
    let_state_changes_pass(slow)
    slow.call("DeleteTable", TableName="tab")


def test_an_index_in_allocation_can_be_neither_deleted_nor_joined_by_another(slow):
    slow.create(gsi={"old": "b:S"})
    let_state_changes_pass(slow)
    slow.update(**CREATE)
    assert slow.index("new")["Backfilling"] is False
    table = slow.engine.catalog.locate("tab")
    table.definition = replace(table.definition, phase=None)  # as once the table itself is done
    assert slow.refuse_update(**delete("old")).startswith("LimitExceededException: Subscriber limit exceeded: Only 1")
    assert slow.refuse_update(**delete("new")) == (
        IN_USE + "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the "
        "index is active. Table: tab Index: new"
    )
    assert slow.refusal("DeleteTable", TableName="tab") == (
        IN_USE + "Cannot delete table while indexes are being created, updated, or deleted."
    )
    let_state_changes_pass(slow)
    slow.update(**delete("new"))


def test_a_deleted_table_is_seen_until_it_is_gone(slow):
    slow.create()
    let_state_changes_pass(slow)
    slow.call("DeleteTable", TableName="tab")
    assert slow.describe()["TableStatus"] == "DELETING"
    assert slow.call("ListTables")["TableNames"] == ["tab"]
    text = IN_USE + "Table is being deleted: tab"
    assert slow.refusal("DeleteTable", TableName="tab") == text
    assert slow.refuse_update(DeletionProtectionEnabled=True) == text
    assert slow.refuse_create() == "ResourceInUseException: Table already exists: tab"
    let_state_changes_pass(slow)
    assert slow.call("ListTables")["TableNames"] == []
    assert slow.create()["TableStatus"] == "CREATING"


def test_figures_show_their_old_values_until_the_change_is_through(slow):
    paid = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}
    slow.create(**paid)
    let_state_changes_pass(slow)
    slow.update(ProvisionedThroughput={"ReadCapacityUnits": 2, "WriteCapacityUnits": 2})
    assert slow.describe()["ProvisionedThroughput"]["ReadCapacityUnits"] == 1
    let_state_changes_pass(slow)
    assert slow.describe()["ProvisionedThroughput"]["ReadCapacityUnits"] == 2


def test_insights_are_being_enabled_for_a_while(slow):
    slow.create()
    let_state_changes_pass(slow)
    slow.call("UpdateContributorInsights", TableName="tab", ContributorInsightsAction="ENABLE")
    status = slow.call("DescribeContributorInsights", TableName="tab")["ContributorInsightsStatus"]
    assert status == "ENABLING"
    let_state_changes_pass(slow)
    status = slow.call("DescribeContributorInsights", TableName="tab")["ContributorInsightsStatus"]
    assert status == "ENABLED"
