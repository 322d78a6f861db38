"""The fast check and the slow conversion agree on every operation, on valid and invalid requests of the model."""

import copy
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashrange.core.errors import SerializationException, ValidationException
from hashrange.engine import shape
from hashrange.engine.shape.constraint import broken_constraints
from hashrange.engine.shape.request_shape import (
    AttributeValueShape,
    BooleanShape,
    ListShape,
    MapShape,
    NumberShape,
    StringShape,
    StructureShape,
    find_input,
)
from tests.unit.engine.shape.conversion import convert

VALUES = st.sampled_from(
    [{"S": ""}, {"N": "1"}, {"L": [{"BOOL": True}]}, {"M": {"a": {"NULL": True}}}, {"BS": ["YQ=="]}]
)
JUNK = st.sampled_from([
    None, True, False, 0, -1, 3, 2.5, 10**18, 1e30, "", "x", "no", "arn:x", "a b", "ALL", "a" * 2000,
    [], [None], ["x"], [{}], [[]], {}, {"a": None}, {"a": "x"}, {"a": {}}, {"a": [{}]},
])  # fmt: skip
QUIET = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def find_texts(kind):
    """Return some texts that a member may be."""
    lengths = sorted({kind.minimum or 0, 1, 3, 12, 112, kind.maximum or 1})
    candidates = [*kind.enum, *(letter * length for letter in "a0," for length in lengths)]
    if kind.or_arn:
        candidates.append("arn:aws:dynamodb:eu-west-2:000000000000:table/orders")
    return [text for text in candidates if not list(broken_constraints(kind, text))]


def lists(kind):
    least = kind.minimum or 0
    return st.lists(well_formed(kind.of), min_size=least, max_size=max(least, min(kind.maximum or 3, 3)))


def maps(kind):
    keys = st.sampled_from(find_texts(kind.key)) if kind.key else st.sampled_from(["a", "B", "#c", ""])
    return st.dictionaries(keys, well_formed(kind.of), min_size=kind.minimum or 0, max_size=3)


def structures(kind):
    members = {name: well_formed(member) for name, member in kind.members.items()}
    required = {name: members[name] for name in kind.required}
    return st.fixed_dictionaries(required, optional={name: members[name] for name in members.keys() - kind.required})


MAKERS = {
    StructureShape: structures,
    ListShape: lists,
    MapShape: maps,
    StringShape: lambda kind: st.sampled_from(find_texts(kind)),
    NumberShape: lambda kind: st.integers(kind.minimum or 0, kind.maximum or 2**40),
    BooleanShape: lambda _: st.booleans(),
    AttributeValueShape: lambda _: VALUES,
}


def well_formed(kind):
    return MAKERS[type(kind)](kind)


@cache
def requests_for(operation):
    return well_formed(find_input(operation))


def named_requests():
    return st.sampled_from(shape.OPERATION_NAMES).flatmap(
        lambda operation: st.tuples(st.just(operation), requests_for(operation))
    )


def places(kind, found):
    """Yield every container outside attribute values, and the keys or positions in it."""
    if isinstance(kind, StructureShape) and type(found) is dict:
        for name, content in found.items():
            yield found, name
            yield from places(kind.members[name], content)
    elif isinstance(kind, ListShape | MapShape) and type(found) in {list, dict}:
        for key, content in enumerate(found) if type(found) is list else found.items():
            yield found, key
            yield from places(kind.of, content)


@QUIET
@given(named_requests())
def test_a_well_formed_request_is_accepted_and_converts_to_itself(named):
    operation, request = named
    assert shape.accept(operation, request)
    assert convert(operation, request) == request


@QUIET
@given(named_requests(), st.data())
def test_a_spoilt_request_is_refused_converted_or_still_in_order(named, data):
    operation, request = named
    request = copy.deepcopy(request)
    spots = list(places(find_input(operation), request)) or [(request, "Unknown")]
    container, key = data.draw(st.sampled_from(spots))
    if data.draw(st.booleans()) and key in container and type(container) is dict:
        del container[key]
    else:
        container[key] = data.draw(JUNK)
    check_agreement(operation, request)


@QUIET
@given(st.sampled_from(shape.OPERATION_NAMES), st.dictionaries(st.text(max_size=3), JUNK, max_size=3), st.data())
def test_junk_is_refused_or_converted(operation, junk, data):
    members = sorted(find_input(operation).members) or ["Unknown"]
    request = {**data.draw(st.dictionaries(st.sampled_from(members), JUNK, max_size=4)), **junk}
    check_agreement(operation, request)


def check_agreement(operation, request):
    request = blank_values(find_input(operation), request)
    before = copy.deepcopy(request)
    accepted = shape.accept(operation, request)
    converted = convert_or_none(operation, request)
    assert request == before
    if accepted:
        assert converted == request
    if converted is not None:
        assert shape.accept(operation, converted)
        assert convert(operation, converted) == converted


def convert_or_none(operation, request):
    try:
        return convert(operation, request)
    except (SerializationException, ValidationException):
        return None


def blank_values(kind, found):
    """Return what was found with every attribute value in order: they and what is inside them are the engine's."""
    if isinstance(kind, AttributeValueShape) and type(found) is dict:
        return {"S": ""}
    if isinstance(kind, StructureShape) and type(found) is dict:
        return {name: blank_values(kind.members.get(name), content) for name, content in found.items()}
    if isinstance(kind, MapShape) and isinstance(kind.of, AttributeValueShape) and type(found) is dict:
        return {key: {"S": ""} for key in found}
    if isinstance(kind, MapShape) and type(found) is dict:
        return {key: blank_values(kind.of, content) for key, content in found.items()}
    if isinstance(kind, ListShape) and type(found) is list:
        return [blank_values(kind.of, content) for content in found]
    return found


@pytest.mark.parametrize("operation", shape.OPERATION_NAMES)
def test_every_member_left_out_in_turn_is_missed_only_if_it_is_required(operation):
    request = build_full(find_input(operation))
    assert shape.accept(operation, request)
    for member in request:
        rest = {name: content for name, content in request.items() if name != member}
        assert shape.accept(operation, rest) == (member not in find_input(operation).required)


def build_full(kind):
    """Return the least request that has every member."""
    if isinstance(kind, StructureShape):
        return {name: build_full(member) for name, member in kind.members.items()}
    if isinstance(kind, ListShape):
        return [build_full(kind.of)] * max(1, kind.minimum or 0)
    if isinstance(kind, MapShape):
        return {"abc": build_full(kind.of)}
    if isinstance(kind, StringShape):
        return next(filter(None, find_texts(kind)))
    return (
        kind.minimum or 0 if isinstance(kind, NumberShape) else True if isinstance(kind, BooleanShape) else {"S": "x"}
    )
