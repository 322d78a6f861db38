"""Which attribute definitions, key schemas and projections a table and its indexes may have.

Pure rules over a request; `create_table` and `update_table_request` decide when and in which order they are checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hashrange.core.errors import ValidationException
from hashrange.core.limits import MAX_KEY_ATTRIBUTES, MAX_PROJECTED
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire

SAME_NAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"


def attribute_names(elements: Iterable[Wire]) -> list[str]:
    """Return the attribute names of a key schema or of attribute definitions."""
    return [element["AttributeName"] for element in elements]


def check_definitions(definitions: list[Wire]) -> None:
    """Raise when an attribute is defined twice."""
    seen: set[str] = set()
    for name in attribute_names(definitions):
        if name in seen:
            raise ValidationException(f"Attribute Name is duplicated: {name}")
        seen.add(name)


def check_table_keys(schema: list[Wire], definitions: list[Wire]) -> None:
    """Raise unless a table's key is one defined hash attribute, or that and a range attribute."""
    if len(definitions) < len(schema):
        raise ValidationException(NO_DEFINITION)
    if not set(attribute_names(schema)) <= set(attribute_names(definitions)):
        if len(schema) > 1:
            raise ValidationException(NO_DEFINITION)
        raise _undefined(schema, definitions)
    _check_pair(schema)


def check_local_keys(index: Wire, table_schema: list[Wire], definitions: list[Wire]) -> None:
    """Raise unless a local index has the table's hash attribute and a range attribute of its own."""
    schema, name = index["KeySchema"], index["IndexName"]
    _check_defined(schema, definitions)
    _check_pair(schema)
    if len(schema) < 2:
        raise ValidationException(f"{INVALID_PARAMETER}Index KeySchema does not have a range key for index: {name}")
    own, table = schema[0]["AttributeName"], table_schema[0]["AttributeName"]
    if own != table:
        raise ValidationException(
            f"{INVALID_PARAMETER}Index KeySchema does not have the same leading hash key as table KeySchema for "
            f"index: {name}. "
            f"index hash key: {own}, table hash key: {table}"
        )


def check_global_keys(index: Wire, definitions: list[Wire]) -> None:
    """Raise unless a global index has one to four hash attributes, then up to four range attributes."""
    schema = index["KeySchema"]
    _check_defined(schema, definitions)
    key_types = [element["KeyType"] for element in schema]
    _check_first(schema)
    if key_types != sorted(key_types):
        raise ValidationException(
            f"{INVALID_PARAMETER}All HASH key attributes must precede RANGE key attributes in the KeySchema"
        )
    for key_type in ("HASH", "RANGE"):
        if key_types.count(key_type) > MAX_KEY_ATTRIBUTES:
            raise ValidationException(
                f"{INVALID_PARAMETER}The KeySchema exceeds the maximum allowed number of {key_type} key attributes"
            )
    if len(set(attribute_names(schema))) < len(schema):
        pair = key_types == ["HASH", "RANGE"]
        raise ValidationException(
            SAME_NAME if pair else "The KeySchema contains multiple key attributes with the same name"
        )


def _check_pair(schema: list[Wire]) -> None:
    _check_first(schema)
    if len(schema) > 1:
        if schema[1]["KeyType"] != "RANGE":
            raise ValidationException("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
        if schema[0]["AttributeName"] == schema[1]["AttributeName"]:
            raise ValidationException(SAME_NAME)


def _check_first(schema: list[Wire]) -> None:
    if schema[0]["KeyType"] != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")


def _check_defined(schema: list[Wire], definitions: list[Wire]) -> None:
    if not set(attribute_names(schema)) <= set(attribute_names(definitions)):
        raise _undefined(schema, definitions)


def _undefined(schema: list[Wire], definitions: list[Wire]) -> ValidationException:
    return ValidationException(
        f"{INVALID_PARAMETER}Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: {_format_set(attribute_names(schema))}, "
        f"AttributeDefinitions: {_format_map(attribute_names(definitions))}"
    )


def check_usage(definitions: list[Wire], schemas: list[list[Wire]]) -> None:
    """Raise when an attribute is defined that no key uses; the first schema is the table's, then its indexes'."""
    used = dict.fromkeys(name for schema in schemas for name in attribute_names(schema))
    if len(definitions) <= len(used):
        return
    if len(schemas) == 1:
        raise ValidationException(
            f"{INVALID_PARAMETER}Number of attributes in KeySchema does not exactly match number of attributes "
            "defined in "
            "AttributeDefinitions"
        )
    raise ValidationException(
        f"{INVALID_PARAMETER}Some AttributeDefinitions are not used. AttributeDefinitions: "
        f"{_format_map(attribute_names(definitions))}, "
        f"keys used: {_format_set(used)}"
    )


def check_projection(projection: Wire) -> None:
    """Raise when a projection's type and its attributes do not go together."""
    projection_type, others = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if projection_type is None:
        raise ValidationException(f"{INVALID_PARAMETER}Unknown ProjectionType: null")
    if projection_type == "INCLUDE" and others is None:
        raise ValidationException(
            f"{INVALID_PARAMETER}ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
        )
    if projection_type != "INCLUDE" and others is not None:
        raise ValidationException(
            f"{INVALID_PARAMETER}ProjectionType is {projection_type}, but NonKeyAttributes is specified"
        )
    seen: set[str] = set()
    for name in others or ():
        if name in seen:
            raise ValidationException(f"{INVALID_PARAMETER}Duplicate element in NonKeyAttributes: {name}")
        seen.add(name)


def check_projected_total(projected: Iterable[Sequence[str] | None]) -> None:
    """Raise when the indexes of a table together name too many attributes to project."""
    if sum(len(names or ()) for names in projected) > MAX_PROJECTED:
        raise ValidationException(
            f"{INVALID_PARAMETER}Number of projected NonKeyAttributes exceeds per-table limit of {MAX_PROJECTED}"
        )


# -- sets as the service lists them ------------------------------------------------------------------------------------
# Its texts show Java's hash sets and maps, whose order follows from the names alone; so the same request gets the
# same text here.


def _format_set(names: Iterable[str]) -> str:
    """Show names as a set that started with Java's 16 buckets."""
    return _format(dict.fromkeys(names), 16)


def _format_map(names: Iterable[str]) -> str:
    """Show names as a map that was made for just so many."""
    unique = dict.fromkeys(names)
    expected = len(unique)
    return _format(unique, expected + 1 if expected < 3 else int(expected / 0.75 + 1))


def _format(names: Collection[str], capacity: int) -> str:
    buckets = 1
    while buckets < capacity or len(names) > 0.75 * buckets:
        buckets *= 2
    return "[" + ", ".join(sorted(names, key=lambda name: _hash(name) % buckets)) + "]"


def _hash(name: str) -> int:
    units = name.encode("utf-16-be")
    code = 0
    for at in range(0, len(units), 2):
        code = (code * 31 + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return code ^ (code >> 16)
