"""The extract of the service's model, and what is made of it."""

import importlib.util
import json
from pathlib import Path

import pytest

from hashrange.engine import shape
from hashrange.engine.shape import model_overrides
from hashrange.engine.shape.request_shape import ATTRIBUTE_VALUE, Shape, StructureShape, compile_pattern, find_input

ROOT = Path(__file__).parents[4]
EXTRACT = ROOT / "src" / "hashrange" / "engine" / "model.json"
MODEL = json.loads(EXTRACT.read_text("utf-8"))


def load_script():
    spec = importlib.util.spec_from_file_location("extract_model", ROOT / "scripts" / "extract_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_extract_is_what_the_installed_model_says():
    script = load_script()
    assert script.render(script.extract()) == EXTRACT.read_text("utf-8")


def test_the_extract_has_every_operation_of_both_services():
    assert {title: len(section) for title, section in MODEL.items() if title != "shapes"} == {
        "DynamoDB_20120810": 62,
        "DynamoDBStreams_20120810": 4,
    }
    assert len(shape.OPERATION_NAMES) == len(set(shape.OPERATION_NAMES)) == 66
    assert {"GetItem", "SearchVectors", "GetRecords"} < set(shape.OPERATION_NAMES)


def test_the_extract_carries_no_prose():
    assert "documentation" not in EXTRACT.read_text("utf-8")
    assert EXTRACT.stat().st_size < 60_000


@pytest.mark.parametrize("operation", shape.OPERATION_NAMES)
def test_every_operation_can_be_checked(operation):
    built = find_input(operation)
    assert built.required <= built.members.keys()
    assert shape.accept(operation, {}) == (not built.required)


def test_every_departure_names_something_in_the_model():
    shapes = MODEL["shapes"]
    for name, order in model_overrides.MEMBER_ORDERS.items():
        assert set(order) <= set(shapes[name]["members"]), name
    for name, members in model_overrides.REQUIRED.items():
        assert members <= set(shapes[name]["members"]), name
    for name, order in model_overrides.ENUM_ORDERS.items():
        assert sorted(order) == sorted(shapes[name]["enum"]), name
    assert all(member in shapes[name]["members"] for name, member in model_overrides.LIMITS)
    assert shapes.keys() >= model_overrides.UNLIMITED | model_overrides.DATA_STRUCTURES
    assert model_overrides.PATTERNS.keys() <= {facts.get("pattern") for facts in shapes.values()}


def test_every_pattern_of_the_model_is_one_of_python_too():
    patterns = {facts["pattern"] for facts in MODEL["shapes"].values() if "pattern" in facts}
    assert all(compile_pattern(pattern) for pattern in patterns)
    assert len(patterns) > 5


def test_attribute_values_are_the_only_shape_that_is_not_read_from_the_extract():
    assert MODEL["shapes"]["AttributeValue"] == {"type": "value"}
    assert set(ATTRIBUTE_VALUE.members) == {"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"}


def test_an_unknown_operation_is_not_the_business_of_the_shapes():
    with pytest.raises(KeyError):
        shape.accept("MakeCoffee", {})


def test_a_structure_is_built_once():
    first: Shape = find_input("CreateTable").members["ProvisionedThroughput"]
    assert isinstance(first, StructureShape)
    assert find_input("UpdateTable").members["ProvisionedThroughput"] is first
