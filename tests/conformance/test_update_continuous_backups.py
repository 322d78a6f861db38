from tests.conformance.refusal import invalid, refused


def switch(table, **specification):
    response = table.update_continuous_backups(PointInTimeRecoverySpecification=specification)
    return response["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]


def test_recovery_is_on_at_once_for_35_days(table):
    described = switch(table, PointInTimeRecoveryEnabled=True)
    assert (described["PointInTimeRecoveryStatus"], described["RecoveryPeriodInDays"]) == ("ENABLED", 35)
    assert described["EarliestRestorableDateTime"] == described["LatestRestorableDateTime"]


def test_the_period_can_be_changed_and_is_forgotten_when_recovery_is_off(table):
    assert switch(table, PointInTimeRecoveryEnabled=True, RecoveryPeriodInDays=7)["RecoveryPeriodInDays"] == 7
    assert switch(table, PointInTimeRecoveryEnabled=False) == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert switch(table, PointInTimeRecoveryEnabled=True)["RecoveryPeriodInDays"] == 35


def test_a_period_is_one_to_35_days_of_recovery_that_is_on(table):
    with invalid(containing="at 'pointInTimeRecoverySpecification.recoveryPeriodInDays' failed to satisfy constraint"):
        switch(table, PointInTimeRecoveryEnabled=True, RecoveryPeriodInDays=36)
    with invalid("Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."):
        switch(table, PointInTimeRecoveryEnabled=False, RecoveryPeriodInDays=7)


def test_a_table_that_is_not_there_is_not_found(client):
    with refused("TableNotFoundException", "Table not found: unknown-table"):
        client.update_continuous_backups(
            TableName="unknown-table", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
