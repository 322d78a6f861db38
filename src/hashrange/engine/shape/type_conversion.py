"""Type conversion: converts a request as the service's JSON parser does, or raises its exact SerializationException.

Drops nulls and unknown members, converts strings to booleans, rounds numbers down. It walks the request depth first in
its own order, so that the first mismatch is reported. `constraint` checks limits and enums, `core.values` attribute
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any, NoReturn

import orjson

from hashrange.core.errors import DYNAMO, SerializationException, ValidationException
from hashrange.core.values import INVALID_PARAMETER, NO_TYPE, WrongWireType, decode_binary
from hashrange.core.wire import Wire
from hashrange.engine.shape.request_shape import (
    ATTRIBUTE_VALUE,
    FRACTIONAL,
    MAX_REQUEST_DEPTH,
    AttributeValueShape,
    BinaryShape,
    BooleanShape,
    ListShape,
    MapShape,
    NumberShape,
    Shape,
    StringShape,
    StructureShape,
)

# Elements over a limit of the model that are still converted, for the message; 360,000 of them took 9 seconds.
OVER_LIMIT = 100
# Attribute values of one request that are converted. No client sends values that need it, let alone so many of them.
MAX_CONVERTED = 20_000

FIELD = "Unexpected field type"
NULL_MEMBERS = {  # AWS's texts for NS and BS are unknown
    "SS": f"{INVALID_PARAMETER}An string set may not have a null string as a member",
    "NS": NO_TYPE,
    "BS": NO_TYPE,
}
ELEMENT = "Unexpected value type in payload"
STRUCTURE = "Start of structure or map found where not expected"
NOT_BASE64 = "Invalid last non-pad Base64 character dectected"
# Java's text for a scalar in place of a list or map that is itself an element.
GENERIC = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base "
    "of loader 'bootstrap')"
)
MAX_LONG = 2**63 - 1
YES = frozenset({"true", "1", "yes"})
NO = frozenset({"false", "0", "no"})


class ConversionWalk:
    """How deep inside attribute values a conversion is, and how many more of them it converts."""

    __slots__ = ("depth", "left")

    def __init__(self) -> None:
        self.depth = 0
        self.left = MAX_CONVERTED


def convert_request(shape: StructureShape, request: Any) -> Wire:
    """Return the request as the service reads it, or raise its SerializationException."""
    return _convert_structure(shape, request, ConversionWalk(), element=True)


def refuse_nulls(shape: StructureShape, request: Wire) -> None:
    """Raise SearchVectors' error for a null; columns are those of compact JSON."""
    read: Wire = {}
    for member, found in request.items():
        read[member] = found
        if found is None and member in shape.members:
            wanted, column = _STRICT_NAMES[type(shape.members[member])], len(orjson.dumps(read)) - 1
            raise SerializationException(f"invalid type: null, expected {wanted} at line 1 column {column}")


def _convert(shape: Shape, found: Any, walk: ConversionWalk, *, element: bool) -> Any:
    """Convert one value: a member of a structure, or an element of a list or map."""
    if found is None:  # an element; null members were dropped
        return _convert_null(shape)
    if scalar := _SCALARS.get(type(shape)):
        return scalar(found)
    if isinstance(shape, NumberShape):
        return _convert_number(shape.java, found)
    if isinstance(shape, ListShape):
        return _convert_list(shape, found, walk, element=element)
    if isinstance(shape, MapShape):
        return _convert_map(shape, found, walk, element=element)
    if isinstance(shape, StructureShape):
        return _convert_structure(shape, found, walk, element=element)
    walk.depth += 1
    converted = _convert_structure(ATTRIBUTE_VALUE, found, walk, element=element)
    walk.depth -= 1
    return converted


def _convert_structure(shape: StructureShape, found: Any, walk: ConversionWalk, *, element: bool) -> Wire:
    if not isinstance(found, dict):
        _refuse_collection(found, f"class {DYNAMO}.{shape.name}", ELEMENT if element else FIELD)
    if walk.depth > MAX_REQUEST_DEPTH:
        return found
    if shape is ATTRIBUTE_VALUE:
        _check_sets(found)
    return {
        member: _convert(shape.members[member], content, walk, element=False)
        for member, content in found.items()
        if content is not None and member in shape.members
    }


def _check_sets(value: Wire) -> None:
    """Raise for null in a set."""
    for tag, text in NULL_MEMBERS.items():
        members = value.get(tag)
        if isinstance(members, list) and None in members:
            raise ValidationException(text)


def _convert_map(shape: MapShape, found: Any, walk: ConversionWalk, *, element: bool) -> Wire:
    if not isinstance(found, dict):
        _refuse_collection(found, _name_java(shape), GENERIC if element else FIELD)
    valued = isinstance(shape.of, AttributeValueShape)
    if shape.maximum is not None and len(found) > shape.maximum + OVER_LIMIT:
        found = dict(islice(found.items(), shape.maximum + OVER_LIMIT))
    if valued and not _may_convert(found, walk):
        return dict(found)
    return {
        key: _convert(shape.of, content, walk, element=True)
        for key, content in found.items()
        if content is not None or valued
    }


def _convert_list(shape: ListShape, found: Any, walk: ConversionWalk, *, element: bool) -> list[Any]:
    if isinstance(found, dict):
        raise SerializationException(STRUCTURE)
    if not isinstance(found, list):
        raise SerializationException(GENERIC if element else FIELD)
    if shape.maximum is not None:
        found = found[: shape.maximum + OVER_LIMIT]
    if walk.depth and not _may_convert(found, walk):
        return list(found)
    nullable = isinstance(shape.of, StructureShape | ListShape | MapShape)
    return [
        None if content is None and nullable else _convert(shape.of, content, walk, element=True) for content in found
    ]


def _may_convert(found: Wire | list[Any], walk: ConversionWalk) -> bool:
    """Return whether so many attribute values or members of a set may still be converted; count them."""
    walk.left -= len(found)
    return walk.left >= 0


def _convert_null(shape: Shape) -> Wire:
    """Return an attribute value without a type, which the engine refuses; raise for a null scalar."""
    if isinstance(shape, AttributeValueShape):
        return {}
    raise SerializationException(ELEMENT)


def _convert_text(found: Any) -> str:
    if not isinstance(found, str):
        _refuse_scalar(found, "java.lang.String", f"{_name_token(found)} cannot be converted to String")
    return str(found)


def _convert_number(java: str, found: Any) -> int | float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        package = "java.util" if java == "Date" else "java.lang"
        _refuse_scalar(found, f"{package}.{java}", f"{_name_token(found)} cannot be converted to {java}")
    if isinstance(found, int) or java in FRACTIONAL:
        return found
    return math.floor(max(-MAX_LONG, min(MAX_LONG, found)))


def _convert_flag(found: Any) -> bool:
    if isinstance(found, bool):
        return found
    if not isinstance(found, str):
        _refuse_scalar(found, "java.lang.Boolean", f"{_name_token(found)} cannot be converted to Boolean")
    word = found.lower()
    if word not in YES | NO:
        raise SerializationException("Unexpected token received from parser")
    return word in YES


def _convert_binary(found: Any) -> str:
    if not isinstance(found, str):
        _refuse_scalar(found, "java.nio.ByteBuffer", "only base-64-encoded strings are convertible to bytes")
    if len(found) % 4:
        raise SerializationException(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(found)}")
    try:
        decode_binary(found)
    except WrongWireType:
        raise SerializationException(NOT_BASE64) from None
    return str(found)


def _refuse_scalar(found: Any, java: str, otherwise: str) -> NoReturn:
    """Raise the error for an object, a list or another scalar in place of a scalar."""
    if isinstance(found, dict):
        raise SerializationException(STRUCTURE)
    _refuse_collection(found, f"class {java}", otherwise)


def _refuse_collection(found: Any, java: str, otherwise: str) -> NoReturn:
    """Raise the error for a list or a scalar in place of an object."""
    raise SerializationException(f"Unrecognized collection type {java}" if isinstance(found, list) else otherwise)


def _name_token(found: Any) -> str:
    """Return the JSON parser's name of a scalar."""
    if isinstance(found, bool):
        return "TRUE_VALUE" if found else "FALSE_VALUE"
    if isinstance(found, str):
        return "STRING_VALUE"
    return "DECIMAL_VALUE" if isinstance(found, float) else "NUMBER_VALUE"


def _name_java(shape: Shape) -> str:
    """Return the service's Java type of an element."""
    if isinstance(shape, ListShape):
        return f"java.util.List<{_name_java(shape.of)}>"
    if isinstance(shape, MapShape):
        return f"java.util.Map<java.lang.String, {_name_java(shape.of)}>"
    if isinstance(shape, StringShape):
        return "java.lang.String"
    return f"{DYNAMO}.{shape.name if isinstance(shape, StructureShape) else ATTRIBUTE_VALUE.name}"


_SCALARS: dict[type, Callable[[Any], Any]] = {
    StringShape: _convert_text,
    BooleanShape: _convert_flag,
    BinaryShape: _convert_binary,
}
_STRICT_NAMES: dict[type, str] = {
    StringShape: "a string",
    NumberShape: "i32",
    ListShape: "a sequence",
    MapShape: "a map",
}
