"""The registry of check types: every module of `checks.types` is one.

Reading attributes keeps unknown ones; writing reports all errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from pydantic import ValidationError

from hashrange_systems.checks import types
from hashrange_systems.checks.model.attributes import Attributes, ParsedAttributes
from hashrange_systems.checks.schema import Check
from hashrange_systems.checks.service.check_type import CheckType, show_url
from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.validation import MESSAGES


def find_check_types() -> dict[str, CheckType]:
    """Return the types of all modules of `checks.types`, in the order in which they are offered."""
    modules = [import_module(f"{types.__name__}.{found.name}") for found in iter_modules(types.__path__)]
    found = [module.CHECK_TYPE for module in modules]
    ordered = sorted(found, key=lambda each: (FIRST.index(each.name) if each.name in FIRST else len(FIRST), each.name))
    return {each.name: each for each in ordered}


FIRST = ("AVAILABILITY", "HEARTBEAT", "EBAY")
CHECK_TYPES: Mapping[str, CheckType] = find_check_types()


def read_attributes(check_type: str, stored: Mapping[str, object]) -> ParsedAttributes:
    """Parse stored attributes without raising: a check that cannot be run can still be shown."""
    if check_type not in CHECK_TYPES:
        return ParsedAttributes(
            check_type=check_type, attributes=None, kept=dict(stored), errors=(explain_type(check_type),)
        )
    known = name_attributes(check_type)
    kept = {name: value for name, value in stored.items() if name not in known}
    try:
        attributes = parse_attributes(check_type, {name: value for name, value in stored.items() if name in known})
    except InvalidInput as refused:
        return ParsedAttributes(check_type=check_type, attributes=None, kept=kept, errors=refused.errors)
    return ParsedAttributes(check_type=check_type, attributes=attributes, kept=kept)


def write_attributes(
    check_type: str, given: Mapping[str, object], stored: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Return the map to store; raise InvalidInput with all errors. Stored unknown attributes stay."""
    if check_type not in CHECK_TYPES:
        raise InvalidInput([explain_type(check_type)])
    known = name_attributes(check_type)
    kept = {name: value for name, value in (stored or {}).items() if name not in known}
    checked = {name: value for name, value in given.items() if name not in kept and value is not None}
    return kept | parse_attributes(check_type, checked).model_dump(by_alias=True, exclude_unset=True, exclude_none=True)


def parse_attributes(check_type: str, given: Mapping[str, object]) -> Attributes:
    """Return typed attributes; raise InvalidInput with all errors."""
    try:
        attributes = CHECK_TYPES[check_type].attributes.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidInput(list(translate_errors(check_type, error))) from None
    if conflicts := list(attributes.find_conflicts()):
        raise InvalidInput(conflicts)
    return attributes


def name_attributes(check_type: str) -> frozenset[str]:
    """Return the attribute names of a type, as they are stored."""
    fields = CHECK_TYPES[check_type].attributes.model_fields
    return frozenset(info.alias or name for name, info in fields.items())


def explain_type(check_type: str) -> FieldError:
    """Return the error for an unknown type."""
    return FieldError("checkType", f"must be one of {', '.join(CHECK_TYPES)}, not {check_type[:40]!r}")


def translate_errors(check_type: str, error: ValidationError) -> Iterator[FieldError]:
    """Yield a field error for each error of pydantic."""
    for detail in error.errors(include_url=False, include_input=False):
        path = ".".join(str(step) for step in detail["loc"])
        if detail["type"] == "extra_forbidden":
            yield FieldError(
                path[:100], f"is not an attribute of {check_type}: {', '.join(sorted(name_attributes(check_type)))}"
            )
        else:
            yield FieldError(path[:100], MESSAGES.get(detail["type"], detail["msg"]).format(**detail.get("ctx", {})))


def name_check(check: Check) -> str:
    """Return the name of a check; if it has none, what its type calls it."""
    if check.name:
        return check.name
    known = CHECK_TYPES.get(check.check_type)
    return (known.make_name if known else show_url)(check.url, check.attributes)
