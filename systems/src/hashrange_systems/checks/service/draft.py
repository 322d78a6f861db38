"""What a user asks for when adding or editing a check, and its trial: all faults are found before any is told.

Fields are named in faults as the web spells them; those of a check's attributes, rules and windows by their path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from hashrange_systems.checks.model.alert import SHORTEST_REMINDER_MS
from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.delay import settle_delay
from hashrange_systems.checks.model.kind import MESSAGES, write_attributes
from hashrange_systems.checks.model.maintenance import WINDOW
from hashrange_systems.checks.model.refusal import Fault, InputRefused
from hashrange_systems.checks.model.target import settle_url
from hashrange_systems.checks.model.tier import Tier

LONGEST_NAME = 100
MOST_WINDOWS = 20
WEEK_MS = 7 * 86_400_000
EBAY_SITE = "https://www.ebay.com/"
USUAL_DELAY_MS = 300_000


class Unset(Enum):
    """Stands for a field that is not to be changed."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A check as it is asked for; nothing in it has been tried yet, so anything can be in it."""

    url: object = None
    check_type: str = "AVAILABILITY"
    delay_ms: object = USUAL_DELAY_MS
    attributes: object = field(default_factory=dict)
    name: object = None
    rules: object = None
    channels: object = None
    maintenance: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What is to be different; attributes, rules and windows are replaced as a whole.

    With `seen`, the revision that the editor looked at, an edit made meanwhile by somebody else is not overwritten.
    """

    url: object = UNSET
    delay_ms: object = UNSET
    attributes: object = UNSET
    name: object = UNSET
    rules: object = UNSET
    channels: object = UNSET
    maintenance: object = UNSET
    seen: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a trial needs to know beside the draft."""

    check_type: str
    tier: Tier
    own_origins: Collection[str] = ()
    channels: frozenset[str] = frozenset()
    stored: Mapping[str, object] = field(default_factory=dict)


class AlertRules(BaseModel):
    """What an owner wants to be told, as it is stored."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, strict=True, hide_input_in_errors=True
    )

    reminder_ms: int | None = Field(default=None, ge=SHORTEST_REMINDER_MS, le=WEEK_MS)
    resolved: bool = True
    warnings: bool = True
    gone: bool = False
    hysteresis_percent: int = Field(default=2, ge=1, le=50)


def list_given(asked: Draft | Changes) -> dict[str, object]:
    """Return the fields that are asked for."""
    names = [each.name for each in fields(asked) if each.name not in ("check_type", "seen")]
    return {name: value for name in names if (value := getattr(asked, name)) is not UNSET}


def settle_fields(given: Mapping[str, object], scope: Scope) -> dict[str, Any]:
    """Return the fields as they are stored, or refuse them with every fault there is."""
    if scope.check_type == Ebay.check_type and not given.get("url", True):
        given = {**given, "url": EBAY_SITE}  # what is searched for is in its attributes
    settled: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, value in given.items():
        try:
            settled[name] = SETTLERS[name](value, scope)
        except InputRefused as refused:
            faults += refused.faults
    if faults:
        raise InputRefused(faults)
    return settled


def _settle_url(value: object, scope: Scope) -> str:
    return settle_url(value, scope.own_origins)


def _settle_delay(value: object, scope: Scope) -> int:
    return settle_delay(value, scope.tier)


def _settle_attributes(value: object, scope: Scope) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputRefused([Fault("attributes", "must be a map")])
    try:
        written = write_attributes(scope.check_type, value, scope.stored)
    except InputRefused as refused:
        raise InputRefused([_place(fault) for fault in refused.faults]) from None
    if isinstance(written.get("url"), str):
        settle_url(written["url"], scope.own_origins, "attributes.url")
    return written


def _place(fault: Fault) -> Fault:
    return fault if fault.field == "checkType" else Fault(f"attributes.{fault.field}", fault.message)


def _settle_name(value: object, _scope: Scope) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
        raise InputRefused([Fault("name", f"must be a line of at most {LONGEST_NAME} characters")])
    return value.strip() or None


def _settle_rules(value: object, _scope: Scope) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        rules = AlertRules.model_validate(value)
    except ValidationError as error:
        raise InputRefused(_explain("rules", error)) from None
    return rules.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)


def _settle_channels(value: object, scope: Scope) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InputRefused([Fault("channels", "must be a list of channel ids")])
    if unknown := [each for each in value if not isinstance(each, str) or each not in scope.channels]:
        raise InputRefused([Fault("channels", f"must be channels of yours; {str(unknown[0])[:40]!r} is none")])
    return list(dict.fromkeys(value))


def _settle_maintenance(value: object, _scope: Scope) -> list[dict[str, Any]] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MOST_WINDOWS:
        raise InputRefused([Fault("maintenance", f"must be a list of at most {MOST_WINDOWS} windows")])
    windows: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for number, window in enumerate(value):
        try:
            windows.append(WINDOW.validate_python(window).model_dump(mode="json"))
        except ValidationError as error:
            faults += _explain(f"maintenance.{number}", error)
    if faults:
        raise InputRefused(faults)
    return windows


def _explain(place: str, error: ValidationError) -> list[Fault]:
    """Return a fault for each of pydantic's errors."""
    return [
        Fault(
            ".".join([place, *(str(step)[:40] for step in detail["loc"])]),
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

SETTLERS: Mapping[str, Callable[[Any, Scope], Any]] = {
    "url": _settle_url,
    "delay_ms": _settle_delay,
    "attributes": _settle_attributes,
    "name": _settle_name,
    "rules": _settle_rules,
    "channels": _settle_channels,
    "maintenance": _settle_maintenance,
}
