"""The registry of check types. Reading keeps what it does not know; writing says what is wrong, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from hashrange_systems.checks.model.attributes import Attributes, Availability, Ebay
from hashrange_systems.checks.model.refusal import Fault, InputRefused

KINDS: Mapping[str, type[Attributes]] = {kind.check_type: kind for kind in (Availability, Ebay)}

MESSAGES = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of reasonable size",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be valid Unicode",
    "dict_type": "must be a map of names to texts",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters",
    "literal_error": "must be one of {expected}",
    "value_error": "{error}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Stored attributes as read: typed when we understand all we know of, and always what we do not know."""

    check_type: str
    attributes: Attributes | None
    kept: Mapping[str, object] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    @property
    def runnable(self) -> bool:
        """Whether a worker can run the check."""
        return self.attributes is not None


def read_attributes(check_type: str, stored: Mapping[str, object]) -> Reading:
    """Read stored attributes and refuse nothing: a check we cannot run can still be seen."""
    if check_type not in KINDS:
        return Reading(check_type=check_type, attributes=None, kept=dict(stored), faults=(explain_type(check_type),))
    known = name_attributes(check_type)
    kept = {name: value for name, value in stored.items() if name not in known}
    try:
        attributes = settle(check_type, {name: value for name, value in stored.items() if name in known})
    except InputRefused as refused:
        return Reading(check_type=check_type, attributes=None, kept=kept, faults=refused.faults)
    return Reading(check_type=check_type, attributes=attributes, kept=kept)


def write_attributes(
    check_type: str, given: Mapping[str, object], stored: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Return the map to store, or refuse with every fault; what is stored and unknown to us stays."""
    if check_type not in KINDS:
        raise InputRefused([explain_type(check_type)])
    known = name_attributes(check_type)
    kept = {name: value for name, value in (stored or {}).items() if name not in known}
    checked = {name: value for name, value in given.items() if name not in kept and value is not None}
    return kept | settle(check_type, checked).model_dump(by_alias=True, exclude_unset=True, exclude_none=True)


def settle(check_type: str, given: Mapping[str, object]) -> Attributes:
    """Return typed attributes, or refuse with every fault found."""
    try:
        attributes = KINDS[check_type].model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InputRefused(list(translate_errors(check_type, error))) from None
    if conflicts := list(attributes.find_conflicts()):
        raise InputRefused(conflicts)
    return attributes


def name_attributes(check_type: str) -> frozenset[str]:
    """Return the attribute names of a type, as they are stored."""
    fields = KINDS[check_type].model_fields
    return frozenset(info.alias or name for name, info in fields.items())


def explain_type(check_type: str) -> Fault:
    """Say that a type is not one we can run."""
    return Fault("checkType", f"must be one of {', '.join(KINDS)}, not {check_type[:40]!r}")


def translate_errors(check_type: str, error: ValidationError) -> Iterator[Fault]:
    """Yield one fault for each of pydantic's errors, in words for the check's owner."""
    for detail in error.errors(include_url=False, include_input=False):
        path = ".".join(str(step) for step in detail["loc"])
        if detail["type"] == "extra_forbidden":
            yield Fault(
                path[:100], f"is no attribute of {check_type}: {', '.join(sorted(name_attributes(check_type)))}"
            )
        else:
            yield Fault(path[:100], MESSAGES.get(detail["type"], detail["msg"]).format(**detail.get("ctx", {})))
