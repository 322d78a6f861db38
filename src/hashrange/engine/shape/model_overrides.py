"""Differences of the live service from its published model: limits, orders and required members as seen on AWS.

Data only; `request_shape` applies it when it builds a shape. `constraint_message` has the texts.
"""

from __future__ import annotations

# A member of this name and shape takes a table's name or its ARN; the model knows the two only as one loose text.
TABLE_MEMBER = "TableName"
TABLE_SHAPE = "TableArn"

# Structures in which a table's name need only be one character long; elsewhere it is three.
DATA_STRUCTURES = frozenset({
    "ConditionCheck", "Delete", "DeleteItemInput", "Get", "GetItemInput", "Put", "PutItemInput", "QueryInput",
    "ScanInput", "SearchVectorsInput", "Update", "UpdateItemInput",
})  # fmt: skip

# The values in brackets keep this order in every refusal.
ENUM_ORDERS: dict[str, tuple[str, ...]] = {
    "ComparisonOperator": (
        "IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE",
        "CONTAINS",
    ),
    "ConditionalOperator": ("OR", "AND"),
    "ProjectionType": ("ALL", "INCLUDE", "KEYS_ONLY"),
    "ReturnValue": ("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"),
    "ScalarAttributeType": ("B", "N", "S"),
    "Select": ("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
    "StreamViewType": ("OLD_IMAGE", "KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE"),
}  # fmt: skip

# The order in which members are reported; those not named here follow as modelled.
MEMBER_ORDERS: dict[str, tuple[str, ...]] = {
    "BatchGetItemInput": ("ReturnConsumedCapacity", "RequestItems"),
    "BatchWriteItemInput": ("ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "RequestItems"),
    "CreateGlobalSecondaryIndexAction": ("Projection", "IndexName", "ProvisionedThroughput", "KeySchema"),
    "CreateTableInput": (
        "AttributeDefinitions", "TableName", "BillingMode", "ProvisionedThroughput", "KeySchema",
        "GlobalSecondaryIndexes", "LocalSecondaryIndexes",
    ),
    "DeleteItemInput": (
        "ReturnConsumedCapacity", "TableName", "ReturnValues", "ReturnItemCollectionMetrics", "Key",
        "ConditionalOperator", "Expected",
    ),
    "GetItemInput": ("Key", "TableName", "ReturnConsumedCapacity", "AttributesToGet"),
    "ListTablesInput": ("Limit", "ExclusiveStartTableName"),
    "ProvisionedThroughput": ("WriteCapacityUnits", "ReadCapacityUnits"),
    "PutItemInput": (
        "ReturnConsumedCapacity", "TableName", "Item", "ConditionalOperator", "Expected", "ReturnValues",
        "ReturnItemCollectionMetrics",
    ),
    "QueryInput": (
        "Select", "IndexName", "ReturnConsumedCapacity", "QueryFilter", "TableName", "ConditionalOperator",
        "AttributesToGet", "Limit", "KeyConditions",
    ),
    "ScanInput": (
        "Select", "IndexName", "TotalSegments", "ReturnConsumedCapacity", "TableName", "ConditionalOperator",
        "ScanFilter", "Segment", "Limit", "AttributesToGet",
    ),
    "TransactWriteItemsInput": (
        "ClientRequestToken", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "TransactItems",
    ),
    "UpdateItemInput": (
        "ReturnConsumedCapacity", "TableName", "ReturnItemCollectionMetrics", "ReturnValues", "Key",
        "ConditionalOperator", "Expected", "AttributeUpdates",
    ),
    "UpdateTableInput": ("TableName", "ProvisionedThroughput", "BillingMode", "GlobalSecondaryIndexUpdates"),
    "WriteRequest": ("DeleteRequest", "PutRequest"),
}  # fmt: skip

# Base tables and local indexes keep two key elements; streams limit pages; for the rest the engine has texts.
LIMITS: dict[tuple[str, str], dict[str, int | None]] = {
    ("CreateTableInput", "KeySchema"): {"max": 2},
    ("LocalSecondaryIndex", "KeySchema"): {"max": 2},
    ("TableCreationParameters", "KeySchema"): {"max": 2},
    ("DescribeStreamInput", "Limit"): {"max": 100},
    ("GetRecordsInput", "Limit"): {"max": 1000},
    ("ListStreamsInput", "Limit"): {"max": 100},
    ("CreateVectorIndexAction", "Dimensions"): {"min": None},
    ("SearchVectorsInput", "TopK"): {"min": None},
    ("VectorIndex", "Dimensions"): {"min": None},
    ("Tag", "Key"): {"min": None, "max": None},
    ("Tag", "Value"): {"min": None, "max": None},
}

# Shapes for whose limits the engine has its own texts.
UNLIMITED = frozenset({"TagKeyString"})

# Our own limit for lists and maps that the model does not limit (names and values of an expression, AttributesToGet,
# conditions, tags ...), so that no request keeps the others waiting. The size of an item limits its attributes.
MAX_ELEMENTS = 2_500
MAX_STRUCTURES = 500  # in a list: tags, indexes, definitions
UNCOUNTED = frozenset({"PutItemInputAttributeMap"})

REQUIRED: dict[str, frozenset[str]] = {
    "CreateTableInput": frozenset({"TableName", "AttributeDefinitions", "KeySchema"}),
    "ShardFilter": frozenset({"Type", "ShardId"}),
    "Tag": frozenset(),
}

# Java's regular expressions that Python writes differently.
PATTERNS = {
    r"\p{Print}+": "[ -~]+",
    r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*": (
        "[ -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]*"
    ),
}
