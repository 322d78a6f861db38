"""Tags: which keys and values there may be, how many, and on what."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from hashrange.core.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.arn import PARTITION, parse_resource

if TYPE_CHECKING:
    from hashrange.engine.catalog import CatalogContext
    from hashrange.engine.table import Table


MAX_TAGS = 50
MAX_KEY_LENGTH = 128
MAX_VALUE_LENGTH = 256
PUNCTUATION = frozenset("+-=._:/@")
TOO_MANY = "Number of Tags exceed the current limit for the provided ResourceArn"


def check_tags(tags: list[Wire]) -> dict[str, str]:
    """Return tags by key, or raise for the first that may not be."""
    checked: dict[str, str] = {}
    for tag in tags:
        key, value = tag.get("Key"), tag.get("Value")
        check_key(key)
        if not _is_valid(value, 0, MAX_VALUE_LENGTH):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {_show(value)}")
        if key in checked:
            raise ValidationException(f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
        checked[str(key)] = str(value)
    check_count(checked)
    return checked


def check_key(key: str | None) -> None:
    """Raise for a key that no tag may have."""
    if not _is_valid(key, 1, MAX_KEY_LENGTH):
        raise ValidationException(f"The Tag Key provided is invalid, Key: {_show(key)}")
    if str(key).lower().startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")


def check_keys(keys: list[str]) -> None:
    """Raise for keys that UntagResource does not take."""
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    for key in keys:
        check_key(key)
    check_count(keys)


def check_count(tags: dict[str, str] | list[str]) -> None:
    """Raise when there are more than a resource may have."""
    if len(tags) > MAX_TAGS:
        raise ValidationException(TOO_MANY)


def list_tags(tags: dict[str, str]) -> list[Wire]:
    """Return tags as the wire lists them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _is_valid(text: str | None, shortest: int, longest: int) -> bool:
    return text is not None and shortest <= len(text) <= longest and all(map(_is_allowed, text))


def _is_allowed(character: str) -> bool:
    """Return whether a character is a letter, digit or space of any script, or one of the few marks."""
    return character in PUNCTUATION or unicodedata.category(character)[0] in "LNZ"


def _show(text: str | None) -> str:
    return "null" if text is None else text


def find_tagged(engine: CatalogContext, arn: str) -> Table:
    """Return the table whose tags an ARN means."""
    resource, settings = parse_resource(arn), engine.settings
    if resource.account != settings.account:
        raise AccessDeniedException("Access is denied")
    if resource.home != (PARTITION, settings.region):
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = engine.catalog.get(resource.table) if resource.stream is None else None
    if table is None:
        raise ResourceNotFoundException(f"Requested resource not found: ResourceArn: {arn} not found")
    return table
