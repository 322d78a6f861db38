"""DescribeLimits: the quotas of the account and of a table."""


def test_a_table_may_have_at_most_what_the_account_has(client):
    limits = client.describe_limits()
    for unit in ("Read", "Write"):
        assert 0 < limits[f"TableMax{unit}CapacityUnits"] <= limits[f"AccountMax{unit}CapacityUnits"]
