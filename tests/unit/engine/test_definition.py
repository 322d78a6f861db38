"""Table definitions: what is stored in a data directory is read and written again as it is."""

import orjson
import pytest

from hashrange.core.errors import CorruptFile
from hashrange.engine.definition import Definition, RestoreState, dump_definition, load_definition
from hashrange.engine.recovery.backup import CopyLocation, dump_details, load_details
from tests.unit.engine.local import Local

KEYS = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
INDEX_KEYS = [{"AttributeName": "n", "KeyType": "HASH"}]
FULL = {  # as format 2 has stored it since 0.1
    "TableName": "tab",
    "TableId": "5ee0c1f5-0000-4000-8000-000000000000",
    "AttributeDefinitions": [
        {"AttributeName": "n", "AttributeType": "N"},
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "KeySchema": KEYS,
    "BillingMode": "PROVISIONED",
    "DeletionProtectionEnabled": True,
    "created": 1_700_000_000_000,
    "ProvisionedThroughput": {
        "ReadCapacityUnits": 5,
        "WriteCapacityUnits": 4,
        "increased": 1_700_000_000_001,
        "decreased": 1_700_000_000_002,
        "decreases": 2,
    },
    "OnDemandThroughput": None,
    "WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000},
    "on_demand_since": 1_700_000_000_003,
    "TableClass": "STANDARD_INFREQUENT_ACCESS",
    "class_changed": 1_700_000_000_004,
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [KEYS[0], {"AttributeName": "n", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
            "slot": 0,
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": INDEX_KEYS,
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]},
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            "OnDemandThroughput": {"MaxReadRequestUnits": 7},
            "WarmThroughput": {"ReadUnitsPerSecond": 1, "WriteUnitsPerSecond": 1},
            "slot": 1,
            "backfill": True,
            "phase": {"status": "CREATING", "until": 1_700_000_000_005, "shown": {"Backfilling": False}},
        }
    ],
    "arn": "arn:aws:dynamodb:eu-west-2:123456789012:table/tab",
    "SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "arn:aws:kms:eu-west-2:1:key/k"},
    "tags": {"team": "a"},
    "policy": {"": {"document": "{}", "revision": "1"}, "2023-11-14T22:13:20.000": {"document": None, "revision": "2"}},
    "phase": {"status": "UPDATING", "until": 1_700_000_000_006, "shown": {"WarmThroughput": None}},
    "slots": 6,
    "clearing": [3],
    "ttl": {"attribute": "expires"},
    "streams": [
        {"label": "2023-11-14T22:13:20.000", "view": "KEYS_ONLY", "start": 1, "end": 9, "created": 1, "closed": 2},
        {"label": "2023-11-14T22:13:20.001", "view": "NEW_IMAGE", "start": 10, "end": None, "created": 2},
    ],
    "pitr": {"days": 35, "since": 1_700_000_000_007},
    "insights": {"": {"mode": "THROTTLED_KEYS", "enabled": True, "since": 1, "updated": 2, "until": 3}},
    "restoring": {"source": "5ee0c1f5-0000-4000-8000-000000000001", "moment": 1_700_000_000_008},
}
MINIMAL = {  # a new on-demand table
    "TableName": "tab",
    "TableId": "5ee0c1f5-0000-4000-8000-000000000000",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": KEYS[:1],
    "BillingMode": "PAY_PER_REQUEST",
    "DeletionProtectionEnabled": False,
    "created": 1_700_000_000_000,
    "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
    "OnDemandThroughput": None,
    "WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000},
    "on_demand_since": 1_700_000_000_000,
    "arn": "arn:aws:dynamodb:eu-west-2:123456789012:table/tab",
    "SSESpecification": None,
    "tags": {},
    "slots": 4,
}


def round_trip(stored: dict[str, object]) -> dict[str, object]:
    again: dict[str, object] = orjson.loads(dump_definition(load_definition(orjson.dumps(stored))))
    return again


@pytest.mark.parametrize("stored", [FULL, MINIMAL], ids=["every member", "a new table"])
def test_a_stored_definition_is_written_as_it_was_read(stored):
    assert round_trip(stored) == stored


@pytest.mark.parametrize(
    ("member", "value"),
    [("ttl", None), ("pitr", None), ("clearing", []), ("insights", {}), ("GlobalSecondaryIndexes", [])],
)
def test_what_was_turned_off_may_be_stored_as_empty(member, value):
    definition = load_definition(orjson.dumps({**MINIMAL, member: value}))
    assert load_definition(dump_definition(definition)) == definition


def test_a_change_log_outlives_point_in_time_recovery():
    never, disabled = (load_definition(orjson.dumps(stored)) for stored in (MINIMAL, {**MINIMAL, "pitr": None}))
    assert (never.recovery, never.has_log) == (None, False)
    assert (disabled.recovery, disabled.has_log) == (None, True)
    assert round_trip({**MINIMAL, "pitr": None})["pitr"] is None


def test_a_table_that_is_hidden_is_being_loaded_or_restored():
    loading, restoring = (load_definition(orjson.dumps(stored)) for stored in ({**MINIMAL, "restoring": True}, FULL))
    assert loading.restoring is True
    assert restoring.restoring == RestoreState(source=str(FULL["restoring"]["source"]), moment=1_700_000_000_008)


def test_a_stored_backup_is_written_as_it_was_read():
    stored = {
        "type": "USER",
        "status": "AVAILABLE",
        "definition": FULL,
        "items": 1,
        "bytes": 2,
        "place": {"file": "01700000000000-00000000.db"},
        "expires": None,
    }
    details = load_details(orjson.dumps(stored))
    assert details.location == CopyLocation(file="01700000000000-00000000.db")
    assert orjson.loads(dump_details(details)) == stored


def test_a_directory_with_stored_definitions_opens_and_describes_them(tmp_path):
    local = Local(tmp_path)
    local.create("pk:S / sk:S")
    stored = {key: value for key, value in FULL.items() if key not in ("restoring", "slots")}
    stored["slots"] = local.engine.catalog.find("tab").definition.columns
    local.engine.store.execute("UPDATE catalog SET definition = ?", (orjson.dumps(stored),))
    local.engine.store.execute("CREATE TABLE c1 (seq INTEGER PRIMARY KEY, at, k, old, new, actor)")
    local.engine.close()
    again = Local(tmp_path)
    described = again.call("DescribeTable", TableName="tab")["Table"]
    assert described["GlobalSecondaryIndexes"][0]["Projection"] == FULL["GlobalSecondaryIndexes"][0]["Projection"]
    assert described["SSEDescription"]["KMSMasterKeyArn"] == "arn:aws:kms:eu-west-2:1:key/k"
    assert isinstance(again.engine.catalog.find("tab").definition, Definition)
    again.engine.close()


def test_a_damaged_definition_is_a_corrupt_file(tmp_path):
    local = Local(tmp_path)
    local.create()
    local.engine.store.execute("UPDATE catalog SET definition = ?", (b'{"TableName": 5}',))
    local.engine.close()
    with pytest.raises(CorruptFile, match="A definition in"):
        Local(tmp_path)
