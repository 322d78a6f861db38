"""UpdateContributorInsights, DescribeContributorInsights and ListContributorInsights."""

from tests.conformance.refusal import refused


def test_insights_are_off_until_they_are_enabled(table):
    assert table.describe_contributor_insights()["ContributorInsightsStatus"] == "DISABLED"


def test_enabling_begins_at_once_and_is_listed(table):
    started = table.update_contributor_insights(ContributorInsightsAction="ENABLE")
    assert (started["TableName"], started["ContributorInsightsStatus"]) == (table.name, "ENABLING")
    described = table.describe_contributor_insights()
    assert described["ContributorInsightsStatus"] in {"ENABLING", "ENABLED"}
    assert any(table.name in rule for rule in described["ContributorInsightsRuleList"])
    (listed,) = table.list_contributor_insights()["ContributorInsightsSummaries"]
    assert listed["TableName"] == table.name


def test_insights_of_an_unknown_table_are_not_found(client):
    with refused("ResourceNotFoundException"):
        client.describe_contributor_insights(TableName="unknown-table")
