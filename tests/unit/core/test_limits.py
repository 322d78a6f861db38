"""The limits that clients check before they send something are those of AWS's service model."""

import pytest

from hashrange.core import limits
from hashrange.engine.service_model import SHAPES
from hashrange.schema.declare.table import LEGAL_NAME

OF_SHAPES = {
    "WriteRequests": limits.MAX_BATCH_WRITES,
    "KeyList": limits.MAX_BATCH_KEYS,
    "TransactWriteItemList": limits.MAX_TRANSACTION_ENTRIES,
    "TransactGetItemList": limits.MAX_TRANSACTION_ENTRIES,
    "ClientRequestToken": limits.MAX_TOKEN_LENGTH,
    "ScanTotalSegments": limits.MAX_SEGMENTS,
    "TableName": limits.MAX_NAME_LENGTH,
    "IndexName": limits.MAX_NAME_LENGTH,
}


@pytest.mark.parametrize("shape", OF_SHAPES)
def test_a_limit_is_that_of_the_service_model(shape):
    assert SHAPES[shape]["max"] == OF_SHAPES[shape]


@pytest.mark.parametrize("shape", ["TableName", "IndexName"])
def test_the_rule_of_names_is_that_of_the_service_model(shape):
    assert (SHAPES[shape]["min"], SHAPES[shape]["pattern"]) == (limits.MIN_NAME_LENGTH, limits.NAME_PATTERN)


@pytest.mark.parametrize(
    ("name", "is_legal"),
    [("ab", False), ("abc", True), ("a" * 255, True), ("a" * 256, False), ("a b", False), ("abc\n", False)],
)
def test_a_declared_name_follows_the_rule(name, is_legal):
    assert bool(LEGAL_NAME.fullmatch(name)) is is_legal
