"""Input for adding and editing a check, and its validation: all errors are reported together.

Errors name fields as the web does; fields of attributes, rules and windows by their path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from hashrange_systems.checks.model.alert import MIN_REMINDER_MS
from hashrange_systems.checks.model.attributes import MAX_GROUP_LENGTH, MAX_NAME_LENGTH
from hashrange_systems.checks.model.delay import validate_delay
from hashrange_systems.checks.model.maintenance_window import WINDOW
from hashrange_systems.checks.model.tier import Tier
from hashrange_systems.checks.registry import CHECK_TYPES, write_attributes
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.user_url import validate_url
from hashrange_systems.shared.validation import MESSAGES

MAX_WINDOWS = 20
WEEK_MS = 7 * DAY_MS
MAX_TAGS = 20
TAG = re.compile(r"[^\s,][^,\n]{0,38}[^\s,]|[^\s,]")


class Unset(Enum):
    """Marks a field that is not changed."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """The input for a new check, not validated."""

    url: object = None
    check_type: str = "AVAILABILITY"
    delay_ms: object = UNSET  # that of its type
    attributes: object = field(default_factory=dict)
    name: object = None
    rules: object = None
    channels: object = None
    maintenance: object = None
    group: object = None
    tags: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckChanges:
    """Changes to a check; attributes, rules and windows are replaced as a whole.

    `seen` is the revision that was edited: a later edit is not overwritten.
    """

    url: object = UNSET
    delay_ms: object = UNSET
    attributes: object = UNSET
    name: object = UNSET
    rules: object = UNSET
    channels: object = UNSET
    maintenance: object = UNSET
    group: object = UNSET
    tags: object = UNSET
    seen: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationContext:
    """What validation needs besides the input."""

    check_type: str
    tier: Tier
    own_origins: Collection[str] = ()
    channels: frozenset[str] = frozenset()
    stored: Mapping[str, object] = field(default_factory=dict)


class AlertRules(BaseModel):
    """Which alerts an owner wants, as stored."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, strict=True, hide_input_in_errors=True
    )

    reminder_ms: int | None = Field(default=None, ge=MIN_REMINDER_MS, le=WEEK_MS)
    resolved: bool = True
    warnings: bool = True
    gone: bool = False
    hysteresis_percent: int = Field(default=2, ge=1, le=50)


def list_given_fields(asked: CheckInput | CheckChanges) -> dict[str, object]:
    """Return the given fields."""
    names = [each.name for each in fields(asked) if each.name not in ("check_type", "seen")]
    given = {name: value for name in names if (value := getattr(asked, name)) is not UNSET}
    known = CHECK_TYPES.get(asked.check_type) if isinstance(asked, CheckInput) else None
    return {"delay_ms": known.usual_delay_ms, **given} if known is not None else given


def validate_fields(given: Mapping[str, object], context: ValidationContext) -> dict[str, Any]:
    """Return the fields as they are stored; raise InvalidInput with all errors."""
    validated: dict[str, Any] = {}
    errors: list[FieldError] = []
    for name, value in given.items():
        try:
            validated[name] = VALIDATORS[name](value, context)
        except InvalidInput as refused:
            errors += refused.errors
    if errors:
        raise InvalidInput(errors)
    return validated


def _validate_url(value: object, context: ValidationContext) -> str:
    known = CHECK_TYPES.get(context.check_type)
    return (known.validate_target if known else validate_url)(value, context.own_origins)


def _validate_delay(value: object, context: ValidationContext) -> int:
    known = CHECK_TYPES.get(context.check_type)
    return validate_delay(value, context.tier, known.shortest_delay_ms if known else 0)


def _validate_attributes(value: object, context: ValidationContext) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput([FieldError("attributes", "must be a map")])
    try:
        written = write_attributes(context.check_type, value, context.stored)
    except InvalidInput as refused:
        raise InvalidInput([_prefix_path(error) for error in refused.errors]) from None
    if isinstance(written.get("url"), str):
        validate_url(written["url"], context.own_origins, "attributes.url")
    return written


def _prefix_path(error: FieldError) -> FieldError:
    return error if error.field == "checkType" else FieldError(f"attributes.{error.field}", error.message)


def _validate_name(value: object, _scope: ValidationContext) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_NAME_LENGTH or not value.isprintable():
        raise InvalidInput([FieldError("name", f"must be a line of at most {MAX_NAME_LENGTH} characters")])
    return value.strip() or None


def _validate_group(value: object, _scope: ValidationContext) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_GROUP_LENGTH or not value.isprintable():
        raise InvalidInput([FieldError("group", f"must be a line of at most {MAX_GROUP_LENGTH} characters")])
    return " ".join(value.split()) or None


def _validate_tags(value: object, _scope: ValidationContext) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise InvalidInput([FieldError("tags", "must be a list of words")])
    tags = list(dict.fromkeys(each.strip().casefold() for each in value if each.strip()))
    if len(tags) > MAX_TAGS or not all(TAG.fullmatch(tag) and tag.isprintable() for tag in tags):
        raise InvalidInput([FieldError("tags", f"must be at most {MAX_TAGS}, each of at most 40 characters")])
    return tags or None


def _validate_rules(value: object, _scope: ValidationContext) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        rules = AlertRules.model_validate(value)
    except ValidationError as error:
        raise InvalidInput(_explain("rules", error)) from None
    return rules.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)


def _validate_channels(value: object, context: ValidationContext) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidInput([FieldError("channels", "must be a list of channel ids")])
    if unknown := [each for each in value if not isinstance(each, str) or each not in context.channels]:
        raise InvalidInput([FieldError("channels", f"must be channels of yours; {str(unknown[0])[:40]!r} is none")])
    return list(dict.fromkeys(value))


def _validate_maintenance(value: object, _scope: ValidationContext) -> list[dict[str, Any]] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_WINDOWS:
        raise InvalidInput([FieldError("maintenance", f"must be a list of at most {MAX_WINDOWS} windows")])
    windows: list[dict[str, Any]] = []
    errors: list[FieldError] = []
    for number, window in enumerate(value):
        try:
            windows.append(WINDOW.validate_python(window).model_dump(mode="json"))
        except ValidationError as error:
            errors += _explain(f"maintenance.{number}", error)
    if errors:
        raise InvalidInput(errors)
    return windows


def _explain(location: str, error: ValidationError) -> list[FieldError]:
    """Return a field error for each error of pydantic."""
    return [
        FieldError(
            ".".join([location, *(str(step)[:40] for step in detail["loc"])]),
            (MESSAGES | OTHER_MESSAGES).get(detail["type"], detail["msg"]).format(**detail.get("ctx", {})),
        )
        for detail in error.errors(include_url=False, include_input=False)
    ]


OTHER_MESSAGES = {
    "extra_forbidden": "is not known",
    "union_tag_invalid": "must be of kind ONCE or WEEKLY",
    "union_tag_not_found": "must be of kind ONCE or WEEKLY",
    "model_type": "must be a map",
    "model_attributes_type": "must be a map",
    "string_pattern_mismatch": "must be a time of day such as 02:30",
}

VALIDATORS: Mapping[str, Callable[[Any, ValidationContext], Any]] = {
    "url": _validate_url,
    "delay_ms": _validate_delay,
    "attributes": _validate_attributes,
    "name": _validate_name,
    "rules": _validate_rules,
    "channels": _validate_channels,
    "maintenance": _validate_maintenance,
    "group": _validate_group,
    "tags": _validate_tags,
}
