"""Time to live, contributor insights, ListTables, limits and what is said about global tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.engine.control_plane.conftest import Control

NONE_SUCH = "Global table with name: 'tab' does not exist."


def ttl(control, attribute, *, enabled=True):
    return {"TableName": "tab", "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


def test_time_to_live_is_enabled_and_disabled_with_its_attribute(control):
    control.create()
    off = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    assert control.call("DescribeTimeToLive", TableName="tab") == off
    assert control.call("UpdateTimeToLive", **ttl(control, "pk")) == {
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "pk"}
    }
    assert control.call("DescribeTimeToLive", TableName="tab") == {
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "pk"}
    }
    control.call("UpdateTimeToLive", **ttl(control, "pk", enabled=False))
    assert control.call("DescribeTimeToLive", TableName="tab") == off


def test_time_to_live_refuses_what_it_is_already_and_another_attribute(control):
    control.create()
    assert control.refusal("UpdateTimeToLive", **ttl(control, "a", enabled=False)) == (
        "ValidationException: TimeToLive is already disabled"
    )
    control.call("UpdateTimeToLive", **ttl(control, "a"))
    assert (
        control.refusal("UpdateTimeToLive", **ttl(control, "a")) == "ValidationException: TimeToLive is already enabled"
    )
    for enabled in (True, False):
        assert control.refusal("UpdateTimeToLive", **ttl(control, "b", enabled=enabled)) == (
            "ValidationException: TimeToLive is active on a different AttributeName: current AttributeName is a"
        )


def insights(control, action, **members):
    return control.call("UpdateContributorInsights", TableName="tab", ContributorInsightsAction=action, **members)


def test_insights_are_described_from_never_to_enabled_to_disabled(control):
    control.create("pk:S / sk:S")
    never = {"TableName": "tab", "ContributorInsightsStatus": "DISABLED"}
    assert control.call("DescribeContributorInsights", TableName="tab") == never
    assert insights(control, "DISABLE") == never
    mode = {"ContributorInsightsMode": "ACCESSED_AND_THROTTLED_KEYS"}
    assert insights(control, "ENABLE") == {"TableName": "tab", "ContributorInsightsStatus": "ENABLING", **mode}
    described = control.call("DescribeContributorInsights", TableName="tab")
    assert described == {
        "TableName": "tab", "ContributorInsightsStatus": "ENABLED", "LastUpdateDateTime": 1_800_000_000.0, **mode,
        "ContributorInsightsRuleList": [
            f"DynamoDBContributorInsights-{rule}-tab-1800000000000" for rule in ("PKC", "PKT", "SKC", "SKT")
        ],
    }  # fmt: skip
    assert insights(control, "ENABLE")["ContributorInsightsStatus"] == "ENABLED"
    control.clock.advance(60)
    assert insights(control, "DISABLE")["ContributorInsightsStatus"] == "DISABLING"
    assert control.call("DescribeContributorInsights", TableName="tab") == {
        "TableName": "tab", "ContributorInsightsStatus": "DISABLED", "LastUpdateDateTime": 1_800_000_060.0, **mode,
    }  # fmt: skip


def test_a_narrower_mode_keeps_the_rules_that_are_left(control):
    control.create()
    insights(control, "ENABLE")
    control.clock.advance(60)
    response = insights(control, "ENABLE", ContributorInsightsMode="THROTTLED_KEYS")
    assert response["ContributorInsightsStatus"] == "ENABLING"
    rules = control.call("DescribeContributorInsights", TableName="tab")["ContributorInsightsRuleList"]
    assert rules == ["DynamoDBContributorInsights-PKT-tab-1800000000000"]
    assert insights(control, "ENABLE")["ContributorInsightsMode"] == "ACCESSED_AND_THROTTLED_KEYS"


def test_insights_belong_to_a_table_and_to_each_global_index(control):
    control.create("pk:S / sk:S", gsi={"idx": "a:S"}, lsi={"loc": "pk:S / b:S"})
    assert control.call("ListContributorInsights") == {"ContributorInsightsSummaries": []}
    insights(control, "ENABLE")
    insights(control, "ENABLE", IndexName="idx")
    first = control.call("ListContributorInsights", MaxResults=1)
    assert [entry.get("IndexName") for entry in first["ContributorInsightsSummaries"]] == [None]
    second = control.call("ListContributorInsights", MaxResults=1, NextToken=first["NextToken"])
    assert [entry.get("IndexName") for entry in second["ContributorInsightsSummaries"]] == ["idx"]
    assert "NextToken" not in second
    insights(control, "DISABLE")
    left = control.call("ListContributorInsights", TableName="tab")["ContributorInsightsSummaries"]
    assert [entry["IndexName"] for entry in left] == ["idx"]


@pytest.mark.parametrize("name", ["loc", "nope"])
def test_insights_know_no_other_indexes(control, name):
    control.create("pk:S / sk:S", lsi={"loc": "pk:S / b:S"})
    text = f"ResourceNotFoundException: Requested resource not found: Index: {name} not found for table: tab"
    assert control.refusal("DescribeContributorInsights", TableName="tab", IndexName=name) == text
    members = {"TableName": "tab", "IndexName": name, "ContributorInsightsAction": "ENABLE"}
    assert control.refusal("UpdateContributorInsights", **members) == text


def test_insights_of_an_index_end_with_it(control):
    control.create(gsi={"idx": "a:S"})
    insights(control, "ENABLE", IndexName="idx")
    create = {"IndexName": "idx", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
              "Projection": {"ProjectionType": "ALL"}}  # fmt: skip
    control.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "idx"}}])
    defined = [{"AttributeName": "a", "AttributeType": "S"}]
    control.update(AttributeDefinitions=defined, GlobalSecondaryIndexUpdates=[{"Create": create}])
    assert control.call("ListContributorInsights") == {"ContributorInsightsSummaries": []}


@given(st.sets(st.text("aAzZ09_.-", min_size=3, max_size=8), max_size=12), st.integers(1, 5))
def test_pages_of_names_are_complete_and_in_byte_order(names, limit):
    control = Control()
    for name in names:
        control.create(name=name)
    listed, start = [], {}
    while True:
        page = control.call("ListTables", Limit=limit, **start)
        listed += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            break
        assert len(page["TableNames"]) == limit
        start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
    control.engine.close()
    assert listed == sorted(names)


def test_the_name_to_start_after_need_not_exist(control):
    for name in ("aaa", "ccc"):
        control.create(name=name)
    assert control.call("ListTables", ExclusiveStartTableName="bbb") == {"TableNames": ["ccc"]}


def test_quotas_and_the_endpoint_are_told(control):
    assert control.call("DescribeLimits") == {
        "AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000,
    }  # fmt: skip
    endpoints = control.call("DescribeEndpoints")["Endpoints"]
    assert [endpoint["CachePeriodInMinutes"] for endpoint in endpoints] == [1440]


@pytest.mark.parametrize(
    ("operation", "members", "text"),
    [
        ("DescribeGlobalTable", {}, f"GlobalTableNotFoundException: {NONE_SUCH}"),
        ("DescribeGlobalTableSettings", {}, f"GlobalTableNotFoundException: {NONE_SUCH}"),
        ("UpdateGlobalTableSettings", {}, f"GlobalTableNotFoundException: {NONE_SUCH}"),
        (
            "UpdateGlobalTable",
            {"ReplicaUpdates": [{"Delete": {"RegionName": "us-east-1"}}]},
            f"GlobalTableNotFoundException: {NONE_SUCH}",
        ),
        ("UpdateGlobalTable", {"ReplicaUpdates": []}, "ValidationException: One or more parameter values were invalid"),
        (
            "UpdateGlobalTable",
            {"ReplicaUpdates": [{}]},
            "ValidationException: One or more parameter values were invalid",
        ),
    ],
)
def test_there_are_no_global_tables_even_for_a_regional_table(control, operation, members, text):
    control.create()
    assert control.refusal(operation, GlobalTableName="tab", **members) == text


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("CreateGlobalTable", {"ReplicationGroup": [{"RegionName": "us-east-1"}]}),
        ("UpdateGlobalTable", {"ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}]}),
    ],
)
def test_the_old_kind_of_global_tables_is_no_more(control, operation, members):
    assert control.refusal(operation, GlobalTableName="tab", **members) == (
        "ValidationException: One or more parameter values were invalid: DynamoDB global tables version 2017.11.29 is "
        "not supported. We recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 "
        "(Legacy)."
    )


@pytest.mark.parametrize("operation", ["DescribeTableReplicaAutoScaling", "UpdateTableReplicaAutoScaling"])
def test_no_table_has_replicas_to_scale(control, operation):
    control.create()
    assert control.refusal(operation, TableName="tab") == f"ResourceNotFoundException: {NONE_SUCH}"


def test_the_list_of_global_tables_is_empty(control):
    assert control.call("ListGlobalTables") == {"GlobalTables": []}
