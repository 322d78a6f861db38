"""How each operation words its member constraints, and which it reports together."""

import pytest

from hashrange.core.errors import ValidationException
from hashrange.engine import shape
from tests.unit.engine.shape.conversion import convert

NAME = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
NULL = "failed to satisfy constraint: Member must not be null"
CAPACITY = (
    "Value 'BAD' at 'returnConsumedCapacity' failed to satisfy constraint: "
    "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
)
VALUES = (
    "Failed to satisfy constraint: "
    "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
OLDER_VALUES = (
    "Value 'BAD' at 'returnValues' failed to satisfy constraint: "
    "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
)
METRICS = "ReturnItemCollectionMetrics can only be SIZE or NONE"
BAD = {"ReturnConsumedCapacity": "BAD", "ReturnItemCollectionMetrics": "BAD", "ReturnValues": "BAD"}
SUBJECTS = {"PutItem": {"Item": {}}, "DeleteItem": {"Key": {}}, "UpdateItem": {"Key": {}}}
WRITES = list(SUBJECTS)


def refusal_of(operation, request):
    with pytest.raises(ValidationException) as caught:
        convert(operation, request)
    assert not shape.accept(operation, request)
    return caught.value.message


def one(text):
    return f"1 validation error detected: {text}"


class TestSingleItemWrites:
    @pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
    def test_bad_enums_are_listed_in_the_words_of_the_current_layer(self, operation):
        request = {"TableName": "orders", **SUBJECTS[operation], **BAD}
        assert refusal_of(operation, request) == f"3 validation errors detected: {CAPACITY}; {VALUES}; {METRICS}"

    def test_updateitem_stops_at_its_return_values(self):
        assert refusal_of("UpdateItem", {"TableName": "orders", "Key": {}, **BAD}) == one(VALUES)

    def test_updateitem_tells_one_of_the_other_enums(self):
        request = {"TableName": "orders", "Key": {}, **BAD, "ReturnValues": "NONE"}
        assert refusal_of("UpdateItem", request) == one(CAPACITY)

    @pytest.mark.parametrize("operation", WRITES)
    @pytest.mark.parametrize(
        ("name", "rule"),
        [
            ("bad table!@#", NAME),
            ("a" * 256, "Member must have length less than or equal to 255"),
            ("", "Member must have length greater than or equal to 1"),
        ],
    )
    def test_a_bad_table_name_is_told_alone(self, operation, name, rule):
        shown = "Value at 'TableName'" if (operation, name) == ("PutItem", "") else f"Value '{name}' at 'tableName'"
        assert refusal_of(operation, {"TableName": name, **SUBJECTS[operation], **BAD}) == one(
            f"{shown} failed to satisfy constraint: {rule}"
        )

    @pytest.mark.parametrize("operation", WRITES)
    def test_a_missing_table_name_is_null(self, operation):
        assert refusal_of(operation, SUBJECTS[operation]) == one(f"Value null at 'tableName' {NULL}")

    def test_a_missing_item_takes_the_enums_back_to_the_older_layer(self):
        assert refusal_of("PutItem", {"TableName": "orders", **BAD}) == (
            f"4 validation errors detected: {CAPACITY}; Value null at 'item' {NULL}; {OLDER_VALUES}; "
            "Value 'BAD' at 'returnItemCollectionMetrics' failed to satisfy constraint: "
            "Member must satisfy enum value set: [SIZE, NONE]"
        )

    def test_updateitem_without_key_lists_everything_in_the_older_form(self):
        request = {"TableName": "", "ReturnConsumedCapacity": "BAD", "ReturnValues": "BAD"}
        assert refusal_of("UpdateItem", request) == (
            f"4 validation errors detected: {CAPACITY}; Value '' at 'tableName' failed to satisfy constraint: "
            f"Member must have length greater than or equal to 1; {OLDER_VALUES}; Value null at 'key' {NULL}"
        )

    def test_a_bad_conditional_operator_is_told_in_the_words_of_the_current_layer(self):
        request = {"TableName": "orders", "Item": {}, "ConditionalOperator": "XOR"}
        assert refusal_of("PutItem", request) == one(
            "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
        )

    def test_members_within_keep_the_older_form(self):
        request = {"TableName": "orders", "Key": {}, "AttributeUpdates": {"a": {"Action": "SET"}}}
        assert refusal_of("UpdateItem", request) == one(
            "Value 'SET' at 'attributeUpdates.a.member.action' failed to satisfy constraint: "
            "Member must satisfy enum value set: [ADD, PUT, DELETE]"
        )


class TestReads:
    def test_getitem_tells_the_key_before_the_table_name(self):
        assert refusal_of("GetItem", {"ReturnConsumedCapacity": "BAD"}) == (
            f"3 validation errors detected: Value null at 'key' {NULL}; Value null at 'tableName' {NULL}; {CAPACITY}"
        )

    def test_query_tells_its_limit_without_the_value(self):
        assert refusal_of("Query", {"TableName": "orders", "Limit": 0}) == one(
            "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
        )

    def test_scan_tells_its_limit_with_the_value(self):
        assert refusal_of("Scan", {"TableName": "orders", "Limit": 0}) == one(
            "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
        )

    def test_query_lists_a_bad_select_with_the_rest(self):
        select = (
            "Value 'BAD' at 'select' failed to satisfy constraint: Member must satisfy enum value set: "
            "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
        )
        assert refusal_of("Query", {"TableName": "orders", "Select": "BAD"}) == one(select)
        assert refusal_of("Query", {"TableName": "orders", "Select": "BAD", "ReturnConsumedCapacity": "BAD"}) == (
            f"2 validation errors detected: {select}; {CAPACITY}"
        )

    def test_a_conditional_operator_of_a_read_keeps_the_older_form(self):
        assert refusal_of("Query", {"TableName": "orders", "ConditionalOperator": "XOR"}) == one(
            "Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: "
            "Member must satisfy enum value set: [OR, AND]"
        )


class TestBatches:
    def test_batchgetitem_wants_a_table(self):
        assert refusal_of("BatchGetItem", {"RequestItems": {}}) == one(
            "Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"
        )
        assert refusal_of("BatchGetItem", {}) == one(f"Value null at 'requestItems' {NULL}")

    @pytest.mark.parametrize(("count", "rule"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")])
    def test_batchgetitem_tells_the_number_of_keys_by_the_names_of_the_model(self, count, rule):
        request = {"RequestItems": {"Orders": {"Keys": [{"pk": {"S": "a"}}] * count}}}
        assert refusal_of("BatchGetItem", request) == one(
            f"Value at 'RequestItems.Orders.member.Keys' failed to satisfy constraint: Member must have length {rule}"
        )

    def test_batchgetitem_lists_a_bad_table_name_with_a_bad_enum(self):
        request = {"RequestItems": {"a;": {"Keys": [{"pk": {"S": "x"}}]}}, "ReturnConsumedCapacity": "BAD"}
        assert refusal_of("BatchGetItem", request) == (
            f"2 validation errors detected: {CAPACITY}; "
            """Value '{"a;":{"Keys":[{"pk":{"S":"x"}}]}}' at 'requestItems' failed to satisfy constraint: """
            "Map keys must satisfy constraint: [Member must have length less than or equal to 255, "
            f"Member must have length greater than or equal to 1, {NAME}]"
        )

    def test_batchwriteitem_wants_a_table(self):
        assert refusal_of("BatchWriteItem", {"RequestItems": {}}) == (
            "The requestItems parameter is required for BatchWriteItem"
        )
        assert refusal_of("BatchWriteItem", {}) == one(f"Value null at 'requestItems' {NULL}")

    @pytest.mark.parametrize("count", [0, 26])
    def test_batchwriteitem_tells_the_number_of_requests_of_the_whole_map(self, count):
        message = refusal_of("BatchWriteItem", {"RequestItems": {"t": [{"DeleteRequest": {"Key": {}}}] * count}})
        entry = "WriteRequest(deleteRequest=DeleteRequest(key={}), putRequest=null)"
        assert message == one(
            f"Value '{{t=[{', '.join([entry] * count)}]}}' at 'requestItems' failed to satisfy constraint: "
            "Map value must satisfy constraint: [Member must have length less than or equal to 25, "
            "Member must have length greater than or equal to 1]"
        )

    def test_batchwriteitem_tells_a_bad_enum_alone(self):
        request = {"RequestItems": {"a;": [{}]}, "ReturnConsumedCapacity": "BAD"}
        assert refusal_of("BatchWriteItem", request) == one(CAPACITY)


class TestTransactions:
    @pytest.mark.parametrize("operation", ["TransactGetItems", "TransactWriteItems"])
    def test_a_transaction_has_one_to_a_hundred_actions(self, operation):
        assert refusal_of(operation, {"TransactItems": []}) == one(
            "Value '[]' at 'transactItems' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        )
        message = refusal_of(operation, {"TransactItems": [{}] * 101})
        assert message.startswith("1 validation error detected: Value '[Transact")
        assert message.endswith(
            "]' at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100"
        )

    def test_token_and_enums_come_before_the_actions(self):
        request = {"TransactItems": [], "ClientRequestToken": "x" * 37, "ReturnConsumedCapacity": "BAD"}
        assert refusal_of("TransactWriteItems", request) == (
            f"2 validation errors detected: Value '{'x' * 37}' at 'clientRequestToken' failed to satisfy constraint: "
            f"Member must have length less than or equal to 36; {CAPACITY}"
        )

    def test_what_an_action_lacks_is_told_by_its_place(self):
        request = {"TransactItems": [{"Put": {"TableName": "t", "Item": {}}}, {"Update": {"TableName": "", "Key": {}}}]}
        assert refusal_of("TransactWriteItems", request) == (
            f"2 validation errors detected: Value null at 'transactItems.2.member.update.updateExpression' {NULL}; "
            "Value '' at 'transactItems.2.member.update.tableName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1"
        )
        assert refusal_of("TransactGetItems", {"TransactItems": [{}]}) == one(
            f"Value null at 'transactItems.1.member.get' {NULL}"
        )


class TestCreateTable:
    def test_a_missing_table_name_has_a_sentence_of_its_own(self):
        assert refusal_of("CreateTable", {"KeySchema": []}) == (
            "The parameter 'TableName' is required but was not present in the request"
        )

    @pytest.mark.parametrize("name", ["a", "ab"])
    def test_a_short_table_name_is_told_before_all_else(self, name):
        assert refusal_of("CreateTable", {"TableName": name, "BillingMode": "BAD"}) == one(
            f"Value '{name}' at 'tableName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 3"
        )

    def test_a_table_name_that_is_none_is_told_before_all_else(self):
        assert refusal_of("CreateTable", {"TableName": "abc!"}) == one(
            f"Value 'abc!' at 'tableName' failed to satisfy constraint: {NAME}"
        )

    def test_keys_and_definitions_are_wanted(self):
        assert refusal_of("CreateTable", {"TableName": "abc"}) == (
            "2 validation errors detected: "
            f"Value null at 'attributeDefinitions' {NULL}; Value null at 'keySchema' {NULL}"
        )

    def test_global_indexes_are_told_before_local_ones(self):
        request = {
            "TableName": "abc",
            "AttributeDefinitions": [],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "LocalSecondaryIndexes": [{"IndexName": "lsi", "Projection": {}}],
            "GlobalSecondaryIndexes": [{"IndexName": "gsi", "Projection": {}}],
        }
        assert refusal_of("CreateTable", request) == (
            f"2 validation errors detected: Value null at 'globalSecondaryIndexes.1.member.keySchema' {NULL}; "
            f"Value null at 'localSecondaryIndexes.1.member.keySchema' {NULL}"
        )

    def test_only_global_indexes_have_more_than_two_keys(self):
        keys = [{"AttributeName": name, "KeyType": "HASH"} for name in "abc"]
        index = {"IndexName": "idx", "KeySchema": keys, "Projection": {}}
        table = {"TableName": "abc", "AttributeDefinitions": [], "KeySchema": keys[:1]}
        assert shape.accept("CreateTable", {**table, "GlobalSecondaryIndexes": [index]})
        assert "'localSecondaryIndexes.1.member.keySchema'" in refusal_of(
            "CreateTable", {**table, "LocalSecondaryIndexes": [index]}
        )

    def test_no_units_are_told_as_a_value(self):
        request = {
            "TableName": "abc",
            "AttributeDefinitions": [],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 0},
        }
        assert refusal_of("CreateTable", request) == (
            f"2 validation errors detected: Value null at 'provisionedThroughput.writeCapacityUnits' {NULL}; "
            "Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1"
        )


@pytest.mark.parametrize(
    ("operation", "request_", "shown"),
    [
        ("CreateGlobalTable", {"GlobalTableName": "ab", "ReplicationGroup": []}, "TableName"),
        ("DescribeGlobalTable", {"GlobalTableName": ""}, "TableName"),
        ("UpdateGlobalTable", {"GlobalTableName": "a" * 256, "ReplicaUpdates": []}, "TableName"),
        ("RestoreTableFromBackup", {"TargetTableName": "ab", "BackupArn": "a" * 40}, "TableName"),
        ("DescribeContributorInsights", {"TableName": "orders", "IndexName": "ab"}, "IndexName"),
    ],
)
def test_some_operations_still_tell_a_names_length_in_a_sentence(operation, request_, shown):
    assert refusal_of(operation, request_) == (
        f"{shown} must be at least 3 characters long and at most 255 characters long"
    )


def test_those_operations_tell_other_faults_in_the_general_form():
    assert refusal_of("DescribeGlobalTable", {"GlobalTableName": "abc!"}) == one(
        f"Value 'abc!' at 'globalTableName' failed to satisfy constraint: {NAME}"
    )
